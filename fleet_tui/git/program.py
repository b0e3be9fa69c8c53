"""Run the git program: its environment, its safe options, decoding, retries and error messages.

`run` is safe by default: git runs no hook, no file watcher, no pager and no transport, whatever is configured.
`trusted=True` lets git do all that the user's own git would do, and is only for what the user asks for: creating a worktree or
a repository, landing, pushing.
Commands that read the files of a work tree also need `plain`, because no option turns filters off.
No git command is chosen here. docs/decisions/0015-what-we-run-where.md has the reasons.
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

SECONDS = 60.0
"""Timeout of a safe command: a FIFO in place of a file of the repository would block git forever."""
TRIES = 6
LOOK_SECONDS = 0.1
"""Interval at which `is_unwanted` is polled."""
END_SECONDS = 0.5
"""Grace period after SIGTERM, in which git removes its own locks."""

# A git command that lists worktrees fails with the last of these while another git creates one.
_BUSY = re.compile(r"\.lock'?: File exists|could not lock config|failed to read .*commondir")
# Lines that only report the consequence of an earlier failure.
_FOLLOWS = re.compile(r"fatal: (?:adding files failed$|Could not reset index file to revision)")
# Errors of the operating system: the lines after one are its consequences.
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
"""Keep git from running programs that a configuration names. Changes inside submodules are left out, because git
inspects them with a child process that reads their configuration."""
SAFE_VARIABLES = {
    # A replacement could make unsaved work look committed; libgit2 knows none either.
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A graft could make work look merged. Not an empty file: git warns on every command that it finds one.
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
    # No protocol at all: a partial clone would fetch missing objects with a program that its configuration names.
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
    """The git program failed; the message is git's own line with the reason."""


class GitCancelled(GitFailed):
    """Git was ended, with its hooks and filters, because the caller no longer needs the result."""


def run(
    where: Path,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    stdin: str = "",
    keep_open: Sequence[int] = (),
    is_unwanted: Callable[[], bool] | None = None,
    trusted: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, whatever repository the environment names, as it does inside a hook.

    Unless `trusted`, git runs none of the programs that its configuration or the environment names.
    `is_unwanted` is polled, and git is ended once it returns True. Raises GitFailed on a timeout, unless `trusted`.
    """
    options = () if trusted else SAFE_OPTIONS
    environment = (trusted_environment() if trusted else safe_environment()) | dict(variables or {})
    command = ["git", "-C", str(where), *options, *arguments]
    if trusted:
        return start(command, environment, stdin=stdin, keep_open=keep_open, is_unwanted=is_unwanted)
    return start_for(
        SECONDS, where, command, environment, stdin=stdin, keep_open=keep_open, is_unwanted=is_unwanted
    )


def converse(
    where: Path, *arguments: str, variables: Mapping[str, str], keep_open: Sequence[int] = ()
) -> subprocess.Popen[str]:
    """Start a trusted git that is given its orders line by line, and answers each."""
    return subprocess.Popen(
        ["git", "-C", str(where), *arguments],
        env=trusted_environment() | dict(variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=keep_open,
        encoding="utf-8",
        errors="surrogateescape",
    )


def trusted_environment() -> dict[str, str]:
    """The caller's environment without the variables that name a repository.

    Here, too, git sees what commits really hold: otherwise what is checked, merged by hand or written would differ from
    what a preview has shown and a landing adds.
    """
    kept = {key: value for key, value in os.environ.items() if key not in _LOCATION_VARIABLES}
    real = {key: SAFE_VARIABLES[key] for key in ("GIT_NO_REPLACE_OBJECTS", "GIT_GRAFT_FILE")}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **real}


def safe_environment() -> dict[str, str]:
    """The caller's environment without the variables that name a repository or a program to git."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GIT_") or _HARMLESS_VARIABLES.fullmatch(key)
    }
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **SAFE_VARIABLES}


def start_for(
    seconds: float,
    where: Path,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: str = "",
    keep_open: Sequence[int] = (),
    is_unwanted: Callable[[], bool] | None = None,
) -> subprocess.CompletedProcess[str]:
    """As `start`, for a limited time; GitFailed on a timeout says that it was on `where`."""
    deadline = time.monotonic() + seconds
    try:
        return start(
            command,
            environment,
            stdin=stdin,
            keep_open=keep_open,
            is_unwanted=lambda: time.monotonic() > deadline or (is_unwanted is not None and is_unwanted()),
        )
    except GitCancelled:
        if time.monotonic() <= deadline:
            raise
        raise GitFailed(
            f"git timed out on {where} after {seconds:.0f} seconds", hint="run git status there"
        ) from None


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
            # A process group can be ended with all that git has started; without one, Ctrl+C reaches git, too.
            process_group=None if is_unwanted is None else 0,
        )
    except FileNotFoundError:
        raise FleetError("git is not installed", hint="install git 2.31 or newer") from None
    with started:
        printed = _finished(started, stdin.encode("utf-8", "surrogateescape"), is_unwanted)
    # Not subprocess's own decoding: it turns carriage returns into newlines.
    out, err = (text.decode("utf-8", "surrogateescape") for text in printed)
    return subprocess.CompletedProcess(started.args, started.returncode, out, err)


def _finished(
    started: subprocess.Popen[bytes], stdin: bytes, is_unwanted: Callable[[], bool] | None
) -> tuple[bytes, bytes]:
    """Wait for git, and return its stdout and stderr."""
    unsent: bytes | None = stdin
    try:
        while True:
            try:
                return started.communicate(unsent, timeout=None if is_unwanted is None else LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                unsent = None
                if is_unwanted is not None and is_unwanted():
                    _end_group(started)
                    raise GitCancelled("git was ended: its result is no longer needed") from None
    except BaseException:
        started.kill()
        raise


def _end_group(started: subprocess.Popen[bytes]) -> None:
    """End git with its hooks and filters. Until it is reaped, its pid cannot name another process group."""
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
    """Git's output. Raises GitFailed with git's reason."""
    return printed(lambda: run(where, *arguments, variables=variables, stdin=stdin, trusted=trusted))


def printed(attempt: Callable[[], subprocess.CompletedProcess[str]]) -> str:
    """Git's output, with retries while another git process holds a lock in the same repository."""
    for number in range(1, TRIES + 1):
        done = attempt()
        if done.returncode == 0:
            return done.stdout
        if not is_busy(done):
            break
        pause(number)
    raise GitFailed(reason(done))


def is_busy(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether git failed only because another git process was at work in the same repository."""
    return bool(_BUSY.search(done.stderr)) and "exists; cannot create" not in done.stderr


def pause(attempt: int) -> None:
    """Sleep before a retry: exponential backoff with jitter."""
    time.sleep(0.01 * 2**attempt * (0.5 + os.urandom(1)[0] / 256))


def query(git_dir: Path, *arguments: str, stdin: str = "") -> str:
    """Run git on a repository as a whole, wherever its work trees are, and return its output."""
    return output(git_dir, "--git-dir", str(git_dir), *arguments, stdin=stdin)


def ask(git_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a git command that may fail: the caller reads the exit code."""
    return run(git_dir, "--git-dir", str(git_dir), *arguments)


def lines(text: str) -> list[str]:
    """Split git's output. Not str.splitlines, which also splits at characters that a path may hold."""
    return text.removesuffix("\n").split("\n") if text else []


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """The line of stderr that names the cause, or else the last one, without git's prefix."""
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    telling = [line for line in said if not _FOLLOWS.match(line)] or said
    named = [line for line in telling if line.startswith(("fatal: ", "error: "))]
    if not said:
        return f"git exited with {done.returncode} and no message, as when a hook refuses"
    found = next(filter(_CAUSE.search, named), (named or telling)[-1])
    # A line that ends with a colon introduces the next one.
    announced = said[said.index(found) + 1 :][:1] if found.endswith(":") else []
    return " ".join([found.removeprefix("fatal: ").removeprefix("error: "), *announced])


MOST_WORDS = 400
"""Characters of what a hook says in one line."""


def what_stopped(stderr: str) -> str:
    """Why git stopped: what a hook said if one refused, which git itself does not repeat, else git's reason."""
    said = [line.strip() for line in stderr.splitlines() if line.strip()]
    own = [line for line in said if not line.startswith(("fatal: ", "error: ", "hint: ", "warning: "))]
    git = [line for line in said if line.startswith(("fatal: ", "error: "))]
    if own and (not git or "hook" in git[-1]):
        return " ".join(own)[-MOST_WORDS:]
    return reason(subprocess.CompletedProcess([], 1, "", stderr))
