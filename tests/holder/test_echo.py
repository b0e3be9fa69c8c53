"""What a real terminal echoes, told apart from what its program prints."""

from __future__ import annotations

import contextlib
import os
import termios
from collections.abc import Iterator

import pytest

from fleet_tui.holder.echo import ExpectedEcho
from tests.holder.holders import wait_until

pytestmark = pytest.mark.pure


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends; nothing reads the program's end."""
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def printed(ours: int, least: int) -> bytes:
    found = b""

    def has_come() -> bool:
        nonlocal found
        with contextlib.suppress(BlockingIOError):
            found += os.read(ours, 65536)
        return len(found) >= least

    wait_until(has_come, "output")
    return found


@pytest.mark.parametrize(
    "text", [b"hello\r", b"two\nlines\r", "zażółć 🛠\r".encode(), b"tab\tand \x1b[200~esc"]
)
def test_what_the_terminal_prints_by_itself_is_echo(terminal: tuple[int, int], text: bytes) -> None:
    ours, _ = terminal
    echo = ExpectedEcho(ours)
    echo.expect(text)
    os.write(ours, text)

    data = printed(ours, len(text))

    assert echo.covers(data[:3])
    assert echo.covers(data[3:])
    assert not echo.covers(b"more")


def test_what_a_program_prints_after_the_echo_is_not_echo(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    echo = ExpectedEcho(ours)
    echo.expect(b"hello\r")
    os.write(ours, b"hello\r")
    os.write(theirs, b"got it")

    assert not echo.covers(printed(ours, len(b"hello\r\ngot it")))
    assert not echo.covers(b"hello")


def test_where_nothing_is_echoed_everything_is_the_programs(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    settings = termios.tcgetattr(theirs)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    echo = ExpectedEcho(ours)
    echo.expect(b"hello")

    assert not echo.covers(b"hello")
