"""What a real terminal echoes, told apart from what its program prints."""

from __future__ import annotations

import contextlib
import os
import termios
from collections.abc import Iterator

import pytest

from fleet_tui.echoes import Echoes
from tests.holders import wait_until

pytestmark = pytest.mark.pure


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends; nobody reads at the program's."""
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
    echoes = Echoes(ours)
    echoes.typed(text)
    os.write(ours, text)

    data = printed(ours, len(text))

    assert echoes.are_all_of(data[:3])
    assert echoes.are_all_of(data[3:])
    assert not echoes.are_all_of(b"more")


def test_what_a_program_prints_behind_it_is_not(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    echoes = Echoes(ours)
    echoes.typed(b"hello\r")
    os.write(ours, b"hello\r")
    os.write(theirs, b"got it")

    assert not echoes.are_all_of(printed(ours, len(b"hello\r\ngot it")))
    assert not echoes.are_all_of(b"hello")


def test_where_nothing_is_echoed_everything_is_the_programs(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    settings = termios.tcgetattr(theirs)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    echoes = Echoes(ours)
    echoes.typed(b"hello")

    assert not echoes.are_all_of(b"hello")
