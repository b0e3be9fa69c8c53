"""Run `gh` or `glab`, the user's own program for a code host: never asking, for a limited time, with bounded output.

Texts of users are passed as values of options or through standard input. The user's tokens in the environment stay as
they are, and the programs run outside of any repository, so that no repository's configuration matters.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from fleet_tui.errors import FleetError
from fleet_tui.system.bounded_program import run_bounded
from fleet_tui.text import one_line

SECONDS = 60.0
MOST_ANSWER = 8 << 20
MOST_WORDS = 300
_UNASKED = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_SPINNER_DISABLED": "1",
    "GLAB_CHECK_UPDATE": "false",
    "NO_PROMPT": "1",
    "NO_COLOR": "1",
    "CLICOLOR": "0",
    "PAGER": "cat",
    "GH_PAGER": "cat",
    "GLAB_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
}
_LEFT_OUT = re.compile("GIT_.*|CLICOLOR_FORCE|GH_FORCE_TTY|GH_REPO|GH_DEBUG|DEBUG")
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)


class HostProgramFailed(FleetError):
    """gh or glab failed, or answered something that cannot be read; one line says what."""


def program(name: str) -> str:
    """The path of a program; empty if it is not installed. What a relative entry of PATH finds does not count."""
    found = shutil.which(name) or ""
    return found if os.path.isabs(found) else ""  # noqa: PTH117 - of a text


def ask(
    path: str,
    arguments: Sequence[str],
    *,
    stdin: str = "",
    seconds: float | None = None,
    most: int = MOST_ANSWER,
    keep: Literal["start", "end"] = "start",
) -> str:
    """What the program prints. Raises HostProgramFailed with its reason on one line."""
    name, seconds = Path(path).name, seconds or SECONDS
    what = " ".join([name, *arguments[:2]])
    try:
        done = run_bounded(
            [path, *arguments],
            environment(),
            folder=Path("/"),
            seconds=seconds,
            most=most,
            keep=keep,
            stdin=stdin.encode("utf-8", "replace"),
        )
    except OSError as error:
        raise HostProgramFailed(f"{name} cannot be started: {error.strerror}") from None
    if done.is_late:
        raise HostProgramFailed(f"{what} took more than {seconds:.0f} seconds")
    if done.code:
        raise HostProgramFailed(
            f"{what}: {_words(done.err) or _words(done.out) or f'it exited with {done.code}'}"
        )
    if done.is_cut and keep == "start":
        raise HostProgramFailed(f"{what} printed more than {most >> 20} MB")
    return done.out.decode("utf-8", "replace")


def ask_json(path: str, arguments: Sequence[str], *, stdin: str = "") -> Any:
    """As `ask`, for programs that answer in JSON."""
    text = ask(path, arguments, stdin=stdin)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise HostProgramFailed(
            f"{Path(path).name} {arguments[0]} answered something that is not JSON"
        ) from None


def succeeds(path: str, arguments: Sequence[str]) -> bool:
    try:
        ask(path, arguments, seconds=SECONDS / 3)
    except HostProgramFailed:
        return False
    return True


def environment() -> Mapping[str, str]:
    return {key: value for key, value in os.environ.items() if not _LEFT_OUT.fullmatch(key)} | _UNASKED


def without_sequences(text: str) -> str:
    """Remove what a terminal would act on: escape sequences with their contents, and other control characters."""
    text = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    return "".join(char for char in text if char in "\n\t" or char.isprintable())


def _words(text: bytes) -> str:
    """The first lines of what it said, on one line."""
    lines = without_sequences(text[: 64 << 10].decode("utf-8", "replace")).split("\n")
    return one_line(" ".join([line for line in lines if line.strip()][:3]))[:MOST_WORDS]
