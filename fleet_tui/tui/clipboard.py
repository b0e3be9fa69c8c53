"""Put text on the user's clipboard, and find out when that cannot work.

The host terminal takes it as OSC 52. tmux passes that sequence on only if configured to, but sets the clipboard itself when
a buffer is loaded. GNU screen does neither. A clipboard tool of the desktop is used as well, if there is one. Text goes to
programs through their input, never through a shell.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from textual.app import App

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.text import one_line
from fleet_tui.tui import tmux

TOOL_SECONDS = 3.0
SEQUENCE_LIMIT = 100_000
"""Characters. Terminals refuse a much larger clipboard; clipboard tools take any size."""
_QUESTION = "#{set-clipboard} #{client_termname} #{client_termfeatures}"

Write = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Unreached:
    """Why the clipboard does not have the text, and what to do about it."""

    reason: str
    hint: str


TMUX_IS_OFF = Unreached(
    "tmux does not pass copied text on to the clipboard", "put `set -g set-clipboard on` into ~/.tmux.conf"
)
SCREEN = Unreached(
    "GNU screen does not pass copied text on to the clipboard",
    "hold shift and select with the mouse, or use tmux",
)


def deliver(text: str, environment: Mapping[str, str], write: Write) -> Unreached | None:
    """Put text on the clipboard in every way that works here; returns the reason if none does. Blocks while tools run."""
    tool = desktop_tool(environment)
    has_tool = tool is not None and _fed(tool, text, environment)
    problem = _to_terminal(text, environment, write)
    return None if has_tool else problem


def _to_terminal(text: str, environment: Mapping[str, str], write: Write) -> Unreached | None:
    if tmux.is_around(environment):
        return _through_tmux(text, environment, write)
    if environment.get("STY"):
        return SCREEN
    write(sequence(text))
    return None


def _through_tmux(text: str, environment: Mapping[str, str], write: Write) -> Unreached | None:
    passes, _, client = tmux.ask(environment, _QUESTION).partition(" ")
    term, _, features = client.partition(" ")
    if passes == "on":
        write(sequence(text))
    elif passes != "external" or not _fed(["tmux", "load-buffer", "-w", "-"], text, environment):
        return TMUX_IS_OFF
    if term and "clipboard" not in features.split(","):
        kind = one_line(term)
        return Unreached(
            f"tmux does not know that {kind} has a clipboard",
            f"put `set -as terminal-features ',{kind}:clipboard'` into ~/.tmux.conf if it has one",
        )
    return None


def sequence(text: str) -> str:
    """The OSC 52 sequence. It is base64, so no text can break out of it."""
    return f"\x1b]52;c;{base64.b64encode(text[:SEQUENCE_LIMIT].encode('utf-8', 'replace')).decode()}\x07"


def desktop_tool(environment: Mapping[str, str], platform: str = sys.platform) -> list[str] | None:
    """The program that sets the clipboard of the display that this environment names."""
    tools = [
        ("WAYLAND_DISPLAY", ["wl-copy"]),
        ("DISPLAY", ["xclip", "-selection", "clipboard"]),
        ("DISPLAY", ["xsel", "--clipboard", "--input"]),
    ]
    if platform == "darwin" and not environment.get("SSH_CONNECTION"):
        tools.append(("HOME", ["pbcopy"]))
    path = environment.get("PATH")
    for variable, command in tools:
        found = shutil.which(command[0], path=path) if environment.get(variable) else None
        if found is not None:
            return [found, *command[1:]]
    return None


def _fed(command: list[str], text: str, environment: Mapping[str, str]) -> bool:
    """Whether the program took the text from its input."""
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TOOL_SECONDS,
            env=dict(environment),
            # A tool keeps running to serve the clipboard, even after the dashboard has ended.
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


class HostClipboard:
    """Copies without blocking, and reports once why a copy failed."""

    def __init__(
        self,
        app: App[Any],
        on_problem: Callable[[Unreached], None],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._app = app
        self._on_problem = on_problem
        self._environment = environment
        self._has_reported = False

    def copy(self, text: str) -> None:
        self._app.run_worker(self._copy(text), group="clipboard", exit_on_error=False)

    async def _copy(self, text: str) -> None:
        loop = asyncio.get_running_loop()

        def write(data: str) -> None:
            loop.call_soon_threadsafe(self._write, data)

        problem = await asyncio.to_thread(deliver, text, self._environment, write)
        if problem is not None and not self._has_reported:
            self._has_reported = True
            self._on_problem(problem)

    def _write(self, data: str) -> None:
        if self._app._driver is not None:
            self._app._driver.write(data)
