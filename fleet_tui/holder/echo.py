"""Terminal echo: distinguish output that only repeats typed input from the program's own.

Reads the terminal's settings at the moment of typing. Pure apart from that; imports nothing once it runs.
"""

from __future__ import annotations

import contextlib
import re
import termios

LIMIT = 65536
"""Bytes of expected echo; beyond that it is no longer typing."""

_LOCAL, _INPUT = 3, 0
"""Indexes of the local and the input flags in a terminal's settings."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


class ExpectedEcho:
    """The echo still to come from one terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._expected = b""

    def expect(self, data: bytes) -> None:
        """Expect the echo of typed data, if the terminal echoes now."""
        with contextlib.suppress(termios.error):
            settings = termios.tcgetattr(self._terminal)
            if settings[_LOCAL] & termios.ECHO and len(self._expected) + len(data) <= LIMIT:
                if settings[_INPUT] & termios.ICRNL:
                    data = data.replace(b"\r", b"\n")
                shown = _CONTROL.sub(lambda found: b"^" + bytes([found[0][0] ^ 0x40]), data)
                self._expected += shown.replace(b"\n", b"\r\n")

    def covers(self, data: bytes) -> bool:
        """Whether this output is nothing but expected echo. Any other output ends the expectation."""
        if self._expected.startswith(data):
            self._expected = self._expected[len(data) :]
            return True
        self._expected = b""
        return False
