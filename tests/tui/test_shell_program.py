"""The shell of an agent's worktree: it says how to come back, and the exit chord does."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleet_tui import __version__
from fleet_tui.terminal.input_events import KeyEvent
from fleet_tui.tui.dashboard import outside, shell_program
from tests.tui.ptyapp import PtyApp

Start = Callable[[str], PtyApp]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a shell that runs a script, under the program of the dashboard's shell key."""
    opened: list[PtyApp] = []

    def start(script: str) -> PtyApp:
        program, *rest = shell_program.command("/bin/sh", "one", ("ctrl+q", "f12"))
        app = PtyApp([*rest, "-c", script], program=program, cols=90, rows=10)
        opened.append(app)
        return app.__enter__()

    yield start
    for app in opened:
        app.__exit__(None, None, None)


def test_a_shell_says_how_to_come_back_and_ends_with_the_code_of_its_program(start: Start) -> None:
    app = start("read line; echo got $line; exit 3")
    app.wait_for_text("shell in the worktree of one; exit or ctrl+q returns to the dashboard")
    app.send(b"it\r")
    app.wait_for_text("got it")
    assert app.exit_code() == 3


@pytest.mark.parametrize("chord", [b"\x11", b"\x1b[24~", b"\x1b[113;5u"], ids=["ctrl+q", "F12", "kitty"])
def test_the_exit_chord_returns_from_a_shell(start: Start, chord: bytes) -> None:
    app = start("echo ready; read line; echo got $line")
    app.wait_for_text("ready")
    app.send(chord)
    app.exit_code()
    assert "got" not in app.text


def test_a_program_in_the_shell_is_ended_only_by_a_second_press(start: Start) -> None:
    app = start("set -m; sh -c 'echo inner; read a; echo $a; read b'; echo over")
    app.wait_for_text("inner")
    app.send(b"\x11")
    app.wait_for_text("ctrl+q again ends it and returns")
    app.send(b"still here\r")
    app.wait_for(lambda: app.text.count("still here") == 2, "the program goes on")
    app.send(b"\x11")
    app.wait_for(lambda: app.text.count("again ends it") == 1, "the question again")
    app.send(b"\x11")
    app.exit_code()
    assert "over" not in app.text


def test_more_than_the_terminal_takes_at_once_arrives(start: Start) -> None:
    app = start("stty -icanon -echo; echo ready; head -c 100000 | wc -c")
    app.wait_for_text("ready")
    app.send(b"x" * 100_000)
    app.wait_for_text("100000")
    app.exit_code()


@pytest.mark.pure
def test_chords_are_told_from_keys_that_look_like_them() -> None:
    assert shell_program.is_chord(KeyEvent("q", ctrl=True), "ctrl+q")
    assert shell_program.is_chord(KeyEvent("й", ctrl=True, base="q"), "ctrl+q")
    assert not shell_program.is_chord(KeyEvent("q", ctrl=True, shift=True), "ctrl+q")
    assert not shell_program.is_chord(KeyEvent("q", "q"), "ctrl+q")
    assert not shell_program.is_chord(KeyEvent("f12", action="release"), "f12")


# ── planted modules ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with modules of an agent or of a stranger's repository, which say so when they are imported."""
    for name in ("fleet_tui", "json", "select", "click"):
        (tmp_path / f"{name}.py").write_text(f"print('PLANTED {name}')\n")
    return tmp_path


def test_the_shell_of_a_worktree_runs_no_module_of_the_worktree(planted: Path) -> None:
    program, *rest = shell_program.command("/bin/sh", "one", ("ctrl+q",))
    with PtyApp([*rest, "-c", "echo in $PWD"], program=program, cols=200, rows=10, cwd=planted) as app:
        assert app.exit_code() == 0

    assert f"in {planted}" in app.text
    assert "PLANTED" not in app.text


def test_the_dashboard_runs_no_module_of_its_folder_as_fleet(planted: Path) -> None:
    done = subprocess.run(
        [*outside.FLEET, "--version"], cwd=planted, capture_output=True, text=True, check=True
    )

    assert done.stdout == f"fleet, version {__version__}\n"
