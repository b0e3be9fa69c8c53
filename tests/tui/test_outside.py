"""What reaches beyond the dashboard: the clipboard, a shell, an editor, an agent on the whole terminal; themes and the scrim."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import pytest

from fleet_tui.cells import TRUECOLOR
from tests.tui.desk import LEADER, PROGRAM, Desk, open_desk

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")
TELLS = """#!/bin/sh
stty sane
printf 'OUTSIDE %s in %s\\n' "$*" "$PWD"
read -r line
printf '%s' "$line" > "$(dirname "$0")/said"
printf '\\033[2J\\033[H'
"""
"""Stands for a shell and for an editor: says where it is and with what, and goes when it is told something, without a trace on the screen."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    program = folder / "tells"
    program.write_text(TELLS)
    program.chmod(0o755)
    with open_desk(
        folder, {"one": ()}, env={"SHELL": str(program), "EDITOR": f"{program} --wait", "VISUAL": ""}
    ) as opened:
        yield opened


def clipboard(desk: Desk, key: bytes) -> str:
    """What the host's clipboard is given when a key is pressed."""
    desk.to_list()
    begin = len(desk.app.output)
    desk.app.send(key)
    whole = re.compile(rb"\x1b\]52;c;([^\x07\x1b]*)[\x07\x1b]")
    desk.app.wait_for(lambda: whole.search(desk.app.output, begin) is not None, "a clipboard")
    sent = whole.search(desk.app.output, begin)
    assert sent is not None
    return base64.b64decode(sent[1]).decode()


def outside(desk: Desk, key: bytes, word: str) -> str:
    """What a program says that was given the terminal; it is left again, and the dashboard is back."""
    desk.app.send(key)
    desk.app.wait_for_text("OUTSIDE")
    shown = desk.app.text.replace("\n", "")
    desk.app.send(f"{word}\r".encode())
    desk.app.wait_for_text(" LIST ")
    assert (desk.folder / "said").read_text() == word, "what was typed went to it"
    return shown


@pytest.mark.slow
def test_the_path_and_the_branch_go_to_the_hosts_clipboard(desk: Desk) -> None:
    agent = desk.agents["one"]
    assert clipboard(desk, b"y") == agent.worktree
    assert clipboard(desk, b"Y") == agent.branch


@pytest.mark.slow
def test_a_shell_opens_in_the_worktree_and_the_dashboard_comes_back(desk: Desk) -> None:
    desk.to_list()
    assert f"in {desk.agents['one'].worktree}" in outside(desk, b"t", "done")


def test_a_shell_opened_while_typing_takes_the_keys_and_typing_is_over(desk: Desk) -> None:
    before = desk.received("one")
    desk.type_to("one")
    assert f"in {desk.agents['one'].worktree}" in outside(desk, LEADER + b"t", "enough")
    assert desk.received("one") == before


def test_the_editor_is_given_the_worktree_with_its_own_options(desk: Desk) -> None:
    worktree = desk.agents["one"].worktree
    desk.to_list()
    assert f"OUTSIDE --wait {worktree} in {worktree}" in outside(desk, b"o", "saved")


def test_attaching_gives_the_agent_the_whole_terminal_until_it_is_left(desk: Desk) -> None:
    desk.to_list()
    before = desk.received("one")
    desk.app.send(b"A")
    desk.app.wait_for(lambda: " LIST " not in desk.app.text and "ready" in desk.app.text, "the agent alone")
    desk.app.send(b"whole")
    desk.app.wait_for(lambda: desk.received("one") == before + b"whole", "what was typed")
    desk.app.send(b"\x11")
    desk.app.wait_for_text(" LIST ")
    assert desk.typed("one", b"again") == b"again"


def test_programs_stand_back_behind_a_dialog_in_whatever_colours_they_print(desk: Desk) -> None:
    desk.to_list()
    x, y = next(
        (text.index("ready", 44), y) for y, text in enumerate(desk.app.screen.text()) if "ready" in text[44:]
    )
    assert desk.app.cells(x, y, 1, 1) == [[("r", None)]], "the host's own colour"
    desk.app.send(b"r")
    desk.app.wait_for_text("The branch keeps its name.")
    desk.app.wait_for(lambda: desk.app.cells(x, y, 1, 1) != [[("r", None)]], "the scrim")
    ((text, style),) = desk.app.cells(x, y, 1, 1)[0]
    assert style is not None
    assert text == "r"
    assert style[0] & TRUECOLOR
    assert max(style[0] >> 16 & 255, style[0] >> 8 & 255, style[0] & 255) < 0x80
    desk.app.send(b"\x1b[27u")
    desk.app.wait_for(lambda: desk.app.cells(x, y, 1, 1) == [[("r", None)]], "the colour of before")


@pytest.mark.slow
def test_another_theme_is_chosen_by_name(desk: Desk) -> None:
    desk.to_list()
    dark = desk.app.cells(0, 0, 1, 1)

    def choose(name: str, other: str) -> None:
        desk.app.send(b"T")
        desk.app.wait_for_text("Search for themes")
        desk.app.send(name.encode())
        desk.app.wait_for(lambda: other not in desk.app.text and name in desk.app.text, "one theme")
        desk.app.send(b"\r")
        desk.app.wait_for(lambda: name not in desk.app.text, "the end of the choice")

    choose("fleet-light", "fleet-dark")
    desk.app.wait_for(lambda: desk.app.cells(0, 0, 1, 1) != dark, "the light")
    choose("fleet-dark", "fleet-light")
    desk.app.wait_for(lambda: desk.app.cells(0, 0, 1, 1) == dark, "the dark")
