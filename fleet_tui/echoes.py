"""What a terminal itself prints of what is typed: no sign that its program has done anything.

Goes by the terminal's settings at the moment of typing. Pure but for reading those; imports nothing once it runs.
"""

from __future__ import annotations

import contextlib
import re
import termios

LIMIT = 65536
"""Bytes of an echo that are waited for; more is nobody's typing."""

_LOCAL, _INPUT = 3, 0
"""Where a terminal's settings have its local and its input flags."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


class Echoes:
    """The echo that is still to come from one terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._expected = b""

    def typed(self, data: bytes) -> None:
        """Somebody has typed this."""
        with contextlib.suppress(termios.error):
            settings = termios.tcgetattr(self._terminal)
            if settings[_LOCAL] & termios.ECHO and len(self._expected) + len(data) <= LIMIT:
                if settings[_INPUT] & termios.ICRNL:
                    data = data.replace(b"\r", b"\n")
                shown = _CONTROL.sub(lambda found: b"^" + bytes([found[0][0] ^ 0x40]), data)
                self._expected += shown.replace(b"\n", b"\r\n")

    def are_all_of(self, data: bytes) -> bool:
        """Whether this output is nothing but echo; what follows anything else is none."""
        if self._expected.startswith(data):
            self._expected = self._expected[len(data) :]
            return True
        self._expected = b""
        return False
