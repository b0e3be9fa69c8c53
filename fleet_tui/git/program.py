"""How the git program is called: always with a list of arguments, never with a hook's environment.

Owns the environment, the decoding, trying again and what a failure says. No command of git is chosen here.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleet_tui.errors import FleetError

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A full object name, SHA-1 or SHA-256."""

TRIES = 6
LOOK_SECONDS = 0.1
"""How often it is asked whether what git does is still wanted."""
END_SECONDS = 0.5
"""For a git that is told to end: it takes its own locks away."""

# Any git that looks at all worktrees fails with the last of these while another git is making one.
_BUSY = re.compile(r"\.lock'?: File exists|could not lock config|failed to read .*commondir")
# Lines that only tell what could not be done after something else had failed.
_FOLLOWS = re.compile(r"fatal: (?:adding files failed$|Could not reset index file to revision)")
# What the system itself says of files: everything after it follows from it.
_CAUSE = re.compile(
    ": (?:No space left on device|Disk quota exceeded|Read-only file system|Permission denied|Input/output error"
    "|File name too long|File too large|Too many open files|Cannot allocate memory)$"
)
_LOCATION_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)


class GitFailed(FleetError):
    """The git program refused; the message is its own line that says why."""


class Unwanted(GitFailed):
    """Git was ended, with the hooks and filters that it had started: nobody wants any more what it was doing."""


def run(
    where: Path,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    stdin: str = "",
    keep_open: Sequence[int] = (),
    is_unwanted: Callable[[], bool] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, whatever a hook that called us has put into the environment.

    Where `is_unwanted` is given, it is asked again and again, and a git that is not wanted any more is ended.
    """
    environment = {key: value for key, value in os.environ.items() if key not in _LOCATION_VARIABLES}
    environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **(variables or {})}
    try:
        started = subprocess.Popen(
            ["git", "-C", str(where), *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=keep_open,
            # A group of its own can be ended with all that git has started; without one, Ctrl+C is for both of us.
            process_group=None if is_unwanted is None else 0,
        )
    except FileNotFoundError:
        raise FleetError("git is not installed", hint="install git 2.31 or newer") from None
    with started:
        printed = _finished(started, stdin.encode("utf-8", "surrogateescape"), is_unwanted)
    # Not subprocess's own decoding: it turns every carriage return into a new line.
    out, err = (text.decode("utf-8", "surrogateescape") for text in printed)
    return subprocess.CompletedProcess(started.args, started.returncode, out, err)


def _finished(
    started: subprocess.Popen[bytes], stdin: bytes, is_unwanted: Callable[[], bool] | None
) -> tuple[bytes, bytes]:
    """What it has printed on both of its outputs once it has ended."""
    told: bytes | None = stdin
    try:
        while True:
            try:
                return started.communicate(told, timeout=None if is_unwanted is None else LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                told = None
                if is_unwanted is not None and is_unwanted():
                    _end_group(started)
                    raise Unwanted("git was ended, nobody wants its work any more") from None
    except BaseException:
        started.kill()
        raise


def _end_group(started: subprocess.Popen[bytes]) -> None:
    """End git with its hooks and filters. Until it is waited for, its number is that of its group and of no other."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(started.pid, signal.SIGTERM)
        deadline = time.monotonic() + END_SECONDS
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, started.pid, how) is None and time.monotonic() < deadline:
            time.sleep(0.005)
        os.killpg(started.pid, signal.SIGKILL)


def output(where: Path, *arguments: str, variables: Mapping[str, str] | None = None, stdin: str = "") -> str:
    """What git printed, or GitFailed with its reason."""
    for attempt in range(1, TRIES + 1):
        done = run(where, *arguments, variables=variables, stdin=stdin)
        if done.returncode == 0:
            return done.stdout
        if not is_busy(done):
            break
        pause(attempt)
    raise GitFailed(reason(done))


def is_busy(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether git failed only because another git was at work in the same repository."""
    return bool(_BUSY.search(done.stderr)) and "exists; cannot create" not in done.stderr


def pause(attempt: int) -> None:
    """Wait before trying again, longer each time, and not as long as everybody else."""
    time.sleep(0.01 * 2**attempt * (0.5 + os.urandom(1)[0] / 256))


def query(git_dir: Path, *arguments: str, stdin: str = "") -> str:
    """What git says about a repository as a whole, wherever its work trees are."""
    return output(git_dir, "--git-dir", str(git_dir), *arguments, stdin=stdin)


def lines(text: str) -> list[str]:
    """Git's lines; a path may hold characters at which str.splitlines would cut."""
    return text.removesuffix("\n").split("\n") if text else []


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Git's line that names the cause, or else its last, without the words that every git failure starts with."""
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    telling = [line for line in said if not _FOLLOWS.match(line)] or said
    named = [line for line in telling if line.startswith(("fatal: ", "error: "))]
    if not said:
        return f"git ended with {done.returncode} and said nothing, as when a hook refuses"
    found = next(filter(_CAUSE.search, named), (named or telling)[-1])
    # What such a line announces stands on the next one.
    announced = said[said.index(found) + 1 :][:1] if found.endswith(":") else []
    return " ".join([found.removeprefix("fatal: ").removeprefix("error: "), *announced])
