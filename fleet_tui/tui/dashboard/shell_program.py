"""The program behind the shell key: runs a shell in a pseudo-terminal until it exits or the exit chord is pressed.

The dashboard hands over the host terminal meanwhile. This is a separate process because it forks; it imports neither Textual
nor the rest of the dashboard.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Sequence

from fleet_tui.terminal.host_input import ESCAPE_SECONDS, HostKey, Tokenizer
from fleet_tui.terminal.input_events import KeyEvent

READ_SIZE = 16384
HANGUP_SECONDS = 2.0
"""How long the shell may take to end once its terminal is gone."""
CANNOT_RUN = 127
_SCRIPT = "from fleet_tui.tui.dashboard.shell_program import main; main()"
_NOTICE = "\x1b7\x1b[999;1H\x1b[0;7m {} \x1b[K\x1b[0m\x1b8"
"""Written over the bottom row; the cursor stays where it is."""

_MODES_OFF = b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m"
"""Resets the modes that an ended program may have left on."""


def command(shell: str, name: str, leave: Sequence[str]) -> list[str]:
    """The command that runs a shell until it exits, or one of these chords is pressed."""
    return [sys.executable, "-P", "-c", _SCRIPT, name, " ".join(leave), shell]


def main() -> None:
    name, chords, *shell = sys.argv[1:]
    leave = chords.split()
    banner = f"shell in the worktree of {name}; exit or {leave[0]} returns to the dashboard"
    raise SystemExit(_Shell(shell, leave).run(f"\x1b[2m{banner}\x1b[0m\r\n"))


def is_chord(event: KeyEvent, chord: str) -> bool:
    *modifiers, key = chord.split("+") if not chord.endswith("++") else [*chord[:-2].split("+"), "+"]
    names = ("shift", "alt", "ctrl", "super")
    held = {name for name in names if getattr(event, name)}
    if len(key) == 1 and not modifiers:
        return key == event.text and event.action != "release"
    return event.action != "release" and held == set(modifiers) and key in (event.key, event.base)


class _Shell:
    """A shell in a pseudo-terminal of the host's size. Everything but the exit chord is passed on."""

    def __init__(self, shell: Sequence[str], leave: Sequence[str]) -> None:
        self._leave = leave
        self._keys = Tokenizer()
        self._is_warned = False
        """The chord was pressed while a program ran; the next press counts."""
        self._unread = b""
        """Typed bytes that the shell's terminal has no room for yet."""
        self._pid, self._terminal = pty.fork()
        if not self._pid:
            try:
                os.execvp(shell[0], [*shell])  # noqa: S606 - the user's own shell
            except OSError as error:
                os.write(2, f"{shell[0]} does not start: {error.strerror}\n".encode())
                os._exit(CANNOT_RUN)

    def run(self, banner: str) -> int:
        os.set_blocking(self._terminal, False)
        self._resize()
        signal.signal(signal.SIGWINCH, lambda *_: self._resize())
        before = termios.tcgetattr(0)
        tty.setraw(0, termios.TCSADRAIN)  # what is typed already stays
        try:
            os.write(1, banner.encode())
            self._pass_on()
        finally:
            os.write(1, _MODES_OFF)
            termios.tcsetattr(0, termios.TCSADRAIN, before)
            os.close(self._terminal)
        return self._end()

    def _resize(self) -> None:
        termios.tcsetwinsize(self._terminal, termios.tcgetwinsize(0))

    def _pass_on(self) -> None:
        """Copy in both directions until the shell ends, the chord is pressed, or the host is gone."""
        while True:
            seconds = ESCAPE_SECONDS if self._keys.pending else None
            writing = [self._terminal] if self._unread else []
            ready, writable, _ = select.select([0, self._terminal], writing, [], seconds)
            if self._terminal in ready and not self._show():
                return
            if writable:
                self._hand_over(b"")
            if 0 in ready:
                typed = os.read(0, READ_SIZE)
                if not typed or self._type(typed):
                    return
            elif not (ready or writable) and self._type(b""):
                return

    def _show(self) -> bool:
        try:
            printed = os.read(self._terminal, READ_SIZE)
        except OSError:
            # Linux raises EIO once no process has the terminal open.
            return False
        while printed:
            printed = printed[os.write(1, printed) :]
        return True

    def _type(self, typed: bytes) -> bool:
        """Pass typed bytes on; returns whether to leave."""
        for token in self._keys.feed(typed) if typed else self._keys.flush():
            is_key = isinstance(token, HostKey)
            if isinstance(token, HostKey) and any(is_chord(token.event, chord) for chord in self._leave):
                if not self._is_running_something() or self._is_warned:
                    return True
                self._is_warned = True
                notice = f"a program is running in this shell: {self._leave[0]} again ends it and returns"
                os.write(1, _NOTICE.format(notice).encode())
                continue
            self._is_warned = self._is_warned and not is_key
            self._hand_over(token.raw)
        return False

    def _hand_over(self, typed: bytes) -> None:
        self._unread += typed
        with contextlib.suppress(BlockingIOError):
            while self._unread:
                self._unread = self._unread[os.write(self._terminal, self._unread) :]

    def _is_running_something(self) -> bool:
        """Whether a program of the shell has the terminal: it would end together with the shell."""
        try:
            return os.tcgetpgrp(self._terminal) != self._pid
        except OSError:
            return False

    def _end(self) -> int:
        """Wait for the shell, to which closing its terminal has sent a hangup."""
        deadline = time.monotonic() + HANGUP_SECONDS
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                return max(0, os.waitstatus_to_exitcode(status))
            time.sleep(0.01)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        return 0
