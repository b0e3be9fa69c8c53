"""Run the git program: its environment, its safe options, decoding, retries and error messages.

`run` is safe by default: git runs no hook, no file watcher, no pager and no transport, whatever is configured.
`trusted=True` lets git do all that the user's own git would do, and is for making a worktree or a repository only.
Commands that read the files of a work tree also need `plain`, because no option turns filters off.
No command of git is chosen here. The reasons are in docs/decisions/0015-what-we-run-where.md.
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
SAFE_OPTIONS = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "diff.ignoreSubmodules=dirty"),
    "--no-pager",
)
"""Nothing that a configuration names is run. Git looks into submodules by a child that reads their configuration:
their own changes are left out for that reason."""
SAFE_VARIABLES = {
    # No protocol at all: a partial clone would fetch what is missing, by whatever program its configuration names.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
}
_HARMLESS_VARIABLES = re.compile(
    "GIT_(?:CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_[0-9]+|VALUE_[0-9]+)|CEILING_DIRECTORIES"
    "|DISCOVERY_ACROSS_FILESYSTEM|EXEC_PATH|(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|TEST_ASSUME_DIFFERENT_OWNER)"
)
"""The caller's variables that a safe git still gets: where the user's configuration is, and who they are."""
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
    trusted: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, ignoring the repository that a calling hook's environment names.

    Unless `trusted`, git runs none of the programs that its configuration or the environment names.
    Where `is_unwanted` is given, it is polled, and git is ended once it returns true.
    """
    options = () if trusted else SAFE_OPTIONS
    environment = (_trusted_environment() if trusted else safe_environment()) | dict(variables or {})
    return start(
        ["git", "-C", str(where), *options, *arguments],
        environment,
        stdin=stdin,
        keep_open=keep_open,
        is_unwanted=is_unwanted,
    )


def _trusted_environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in _LOCATION_VARIABLES}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def safe_environment() -> dict[str, str]:
    """The caller's environment without any variable by which git would find a repository or a program."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GIT_") or _HARMLESS_VARIABLES.fullmatch(key)
    }
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **SAFE_VARIABLES}


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: str = "",
    keep_open: Sequence[int] = (),
    is_unwanted: Callable[[], bool] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Start git with exactly this environment, and wait for it."""
    try:
        started = subprocess.Popen(
            command,
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


def output(
    where: Path,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    stdin: str = "",
    trusted: bool = False,
) -> str:
    """What git printed, or GitFailed with its reason."""
    return printed(lambda: run(where, *arguments, variables=variables, stdin=stdin, trusted=trusted))


def printed(attempt: Callable[[], subprocess.CompletedProcess[str]]) -> str:
    """What git printed, retried while another git is at work in the same repository."""
    for number in range(1, TRIES + 1):
        done = attempt()
        if done.returncode == 0:
            return done.stdout
        if not is_busy(done):
            break
        pause(number)
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
