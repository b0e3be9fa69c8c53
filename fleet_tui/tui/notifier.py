"""Send notices to the user: through the host terminal, and by the user's own command.

A terminal only gets a sequence that it is known to understand; others ring. Inside tmux a sequence is passed on only
where tmux lets it through and the terminal around it is known. The command gets its words as arguments, never through a
shell, and the dashboard does not wait for it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from textual.app import App

from fleet_tui.faces.notices import Notice, NotifySettings
from fleet_tui.text import in_sequence
from fleet_tui.tui import tmux
from fleet_tui.tui.driver import host_of

NotifyProtocol = Literal["osc9", "osc777", "bell", "off"]

COMMANDS_AT_ONCE = 3
COMMAND_SECONDS = 10.0
"""Timeout of the user's command."""
BELL = "\x07"

_BY_PROGRAM: Mapping[str, NotifyProtocol] = {
    "iTerm.app": "osc9",
    "ghostty": "osc777",
    "WezTerm": "osc777",
    "WarpTerminal": "osc777",
    "contour": "osc777",
}
_BY_TERM: Mapping[str, NotifyProtocol] = {
    "xterm-kitty": "osc9",
    "xterm-ghostty": "osc777",
    "ghostty": "osc777",
    "wezterm": "osc777",
    "foot": "osc777",
    "rxvt": "osc777",
    "contour": "osc777",
}
_TMUX_QUESTION = "#{allow-passthrough} #{client_termname}"


def known_protocol(environment: Mapping[str, str], term: str = "") -> NotifyProtocol:
    """The notification protocols that the host terminal is known to support; all support the bell."""
    found = _BY_PROGRAM.get(environment.get("TERM_PROGRAM", ""))
    if found is not None:
        return found
    if environment.get("LC_TERMINAL") == "iTerm2":
        return "osc9"
    name = term or environment.get("TERM", "")
    return next(
        (protocol for start, protocol in _BY_TERM.items() if name == start or name.startswith(f"{start}-")),
        "bell",
    )


def sequence(protocol: NotifyProtocol, notice: Notice, *, through_tmux: bool = False) -> str:
    """Build the escape sequence; a notice cannot break out of it."""
    title, text = in_sequence(notice.title), in_sequence(notice.text)
    if protocol == "off":
        return ""
    if protocol == "bell":
        return BELL
    said = f"9;{title}{f': {text}' if text else ''}" if protocol == "osc9" else f"777;notify;{title};{text}"
    plain = f"\x1b]{said}\x1b\\"
    return f"\x1bPtmux;{plain.replace(chr(27), chr(27) * 2)}\x1b\\" if through_tmux else plain


def is_enclosed(environment: Mapping[str, str]) -> bool:
    """Whether a multiplexer in between drops notifications."""
    return bool(environment.get("STY") or environment.get("ZELLIJ"))


def ask_tmux(environment: Mapping[str, str]) -> tuple[bool, str]:
    """Query whether tmux passes sequences through, and the terminal around it."""
    allows, _, term = tmux.ask(environment, _TMUX_QUESTION).partition(" ")
    return allows in ("on", "all", "1", "2"), term


def in_tmux(
    wanted: str, environment: Mapping[str, str], answer: tuple[bool, str]
) -> tuple[NotifyProtocol, bool]:
    """The protocol through tmux, and whether to wrap it; without passthrough, tmux's own bell."""
    allows, term = answer
    outside = {name: value for name, value in environment.items() if name != "TERM_PROGRAM"}
    protocol: NotifyProtocol = known_protocol(outside, term) if wanted == "auto" else wanted  # type: ignore[assignment]  # checked when it was configured
    return (protocol, True) if allows and protocol in ("osc9", "osc777") else ("bell", False)


class Notifier:
    """Sends notices one by one; never blocks and never raises."""

    def __init__(
        self,
        app: App[Any],
        switches: NotifySettings,
        on_problem: Callable[[str], None],
        environment: Mapping[str, str] = os.environ,
        *,
        seconds: float = COMMAND_SECONDS,
    ) -> None:
        self._app = app
        self._switches = switches
        self._on_problem = on_problem
        self._environment = environment
        self._seconds = seconds
        self._running: list[tuple[subprocess.Popen[bytes], float]] = []
        self._has_complained = False

    def notify(self, notice: Notice) -> None:
        if self._switches.command:
            self._run(command_line(self._switches.command, notice))
        if self._switches.terminal != "off":
            self._app.run_worker(self._to_terminal(notice), group="notices", exit_on_error=False)

    async def _to_terminal(self, notice: Notice) -> None:
        protocol, through_tmux = await self._protocol()
        host = host_of(self._app)
        if host is not None and not host.is_stalled:
            host.write(sequence(protocol, notice, through_tmux=through_tmux))

    async def _protocol(self) -> tuple[NotifyProtocol, bool]:
        wanted, environment = self._switches.terminal, self._environment
        if wanted == "bell":
            return "bell", False
        if tmux.is_around(environment):
            return in_tmux(wanted, environment, await asyncio.to_thread(ask_tmux, environment))
        if wanted != "auto":
            return wanted, False  # type: ignore[return-value]  # checked when it was configured
        return ("bell" if is_enclosed(environment) else known_protocol(environment)), False

    def _run(self, argv: Sequence[str]) -> None:
        self.reap()
        if len(self._running) >= COMMANDS_AT_ONCE:
            return
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            if not self._has_complained:
                self._has_complained = True
                self._on_problem(f"notify.command {argv[0]!r}: {getattr(error, 'strerror', None) or error}")
            return
        self._running.append((process, time.monotonic() + self._seconds))

    def reap(self) -> int:
        """Reap ended commands and kill those that timed out; returns how many are left."""
        now = time.monotonic()
        for process, deadline in self._running:
            if process.poll() is None and now >= deadline:
                process.kill()
        self._running = [(process, deadline) for process, deadline in self._running if process.poll() is None]
        return len(self._running)

    def close(self) -> None:
        """Leave running commands alone: one may be showing something."""
        with suppress(OSError):
            self.reap()


def command_line(command: Sequence[str], notice: Notice) -> list[str]:
    """Fill a notice into the user's command; inserted text is not expanded again."""
    words = {"{title}": notice.title, "{text}": notice.text}
    return [_filled(part, words) for part in command]


def _filled(part: str, words: Mapping[str, str]) -> str:
    pieces = part.replace("{text}", "\0{text}\0").replace("{title}", "\0{title}\0").split("\0")
    return "".join(words.get(piece, piece) for piece in pieces)
