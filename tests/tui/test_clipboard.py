"""Copying: through the terminal, through a real tmux, through a tool of the desktop."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleet_tui.tui.clipboard import SCREEN, TMUX_IS_OFF, deliver, desktop_tool, sequence
from tests.tui.ptyapp import PtyApp
from tests.tui.running_dashboard import drive, opened

TEXT = "what was; copied \x1b]\n"
ARRIVED = base64.b64encode(TEXT.encode())

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


def bare(**environment: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]} | environment


@contextmanager
def in_tmux(
    folder: Path, *options: str, term: str = "xterm-256color"
) -> Iterator[tuple[PtyApp, dict[str, str]]]:
    """A terminal with a tmux in it, and the environment of a program in that tmux."""
    socket = Path(os.environ["XDG_RUNTIME_DIR"]) / "t"
    told = folder / "environment"
    script = f"echo $TMUX,$TMUX_PANE > {told}.new; mv {told}.new {told}; exec cat"
    command = ["-S", str(socket), "-f", "/dev/null", *options, "new-session", script]
    with PtyApp(command, cols=80, rows=24, program="tmux", env={"TERM": term, "TMUX": ""}) as app:
        try:
            app.wait_for(told.exists, "tmux began")
            *where, pane = told.read_text().strip().split(",")
            yield app, bare(TMUX=",".join(where), TMUX_PANE=pane)
        finally:
            subprocess.run(["tmux", "-S", str(socket), "kill-server"], check=False, capture_output=True)


def test_a_terminal_gets_the_text_by_a_sequence_that_no_text_leaves() -> None:
    written: list[str] = []
    assert deliver(TEXT, bare(TERM="xterm"), written.append) is None
    assert written == [f"\x1b]52;c;{ARRIVED.decode()}\x07"]


def test_gnu_screen_is_named_as_the_obstacle() -> None:
    written: list[str] = []
    assert (deliver(TEXT, bare(STY="1.pts"), written.append), written) == (SCREEN, [])


@needs_tmux
def test_tmux_as_it_comes_puts_it_on_the_clipboard_of_its_terminal(tmp_path: Path) -> None:
    with in_tmux(tmp_path) as (app, environment):
        assert deliver(TEXT, environment, lambda _: None) is None
        app.wait_for(lambda: ARRIVED in app.output, "the clipboard")


@needs_tmux
def test_tmux_that_keeps_it_is_named_with_what_to_set(tmp_path: Path) -> None:
    with in_tmux(tmp_path, "set", "-g", "set-clipboard", "off", ";") as (_, environment):
        written: list[str] = []
        assert (deliver(TEXT, environment, written.append), written) == (TMUX_IS_OFF, [])
        subprocess.run(["tmux", "set", "-g", "set-clipboard", "on"], env=environment, check=True)
        assert deliver(TEXT, environment, written.append) is None
        assert written == [sequence(TEXT)], "tmux passes it on now"


@needs_tmux
def test_a_terminal_without_a_clipboard_is_named(tmp_path: Path) -> None:
    with in_tmux(tmp_path, term="linux") as (_, environment):
        problem = deliver(TEXT, environment, lambda _: None)
        assert problem is not None
        assert "linux" in problem.reason
        assert "set -as terminal-features ',linux:clipboard'" in problem.hint


def test_a_tool_of_the_desktop_gets_the_text_as_its_input(tmp_path: Path) -> None:
    tool, copied = tmp_path / "xclip", tmp_path / "copied"
    tool.write_text(f"#!{sys.executable}\nimport sys; open({str(copied)!r}, 'w').write(sys.stdin.read())\n")
    tool.chmod(0o755)
    environment = bare(PATH=str(tmp_path), DISPLAY=":7", STY="1.pts")
    assert deliver(TEXT, environment, lambda _: None) is None
    assert copied.read_text() == TEXT
    assert desktop_tool(environment | {"DISPLAY": ""}) is None, "without a display there is no clipboard"
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert deliver(TEXT, environment, lambda _: None) == SCREEN, "a tool that fails is no way"


def test_the_dashboard_says_once_why_a_copy_did_not_arrive(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TMUX", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STY", "1.pts")

    async def go() -> None:
        async with opened(repository) as driven:
            driven.app.copy_to_clipboard("one")
            await driven.until(lambda: SCREEN.hint in driven.toasts(), "the hint")
            driven.app.clear_notifications()
            driven.app.copy_to_clipboard("two")
            await driven.app.workers.wait_for_complete()
            await driven.keyboard.pause()
            assert driven.app.clipboard == "two"
            assert SCREEN.hint not in driven.toasts()

    drive(go())
