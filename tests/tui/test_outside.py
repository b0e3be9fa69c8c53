"""The clipboard, a shell, an editor and an attached agent outside of the dashboard; themes and the scrim."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import pytest

from fleet_tui.terminal.cells import TRUECOLOR
from tests.tui.installed_dashboard import LEADER, PROGRAM, InstalledDashboard, open_dashboard

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")
TELLS = """#!/bin/sh
stty sane
printf 'OUTSIDE %s in %s\\n' "$*" "$PWD"
read -r line
printf '%s' "$line" > "$(dirname "$0")/said"
printf '\\033[2J\\033[H'
"""
"""Replaces the shell and the editor: prints its folder and arguments, exits at the first line of input, and clears the screen."""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstalledDashboard]:
    folder = tmp_path_factory.mktemp("dashboard")
    program = folder / "tells"
    program.write_text(TELLS)
    program.chmod(0o755)
    with open_dashboard(
        folder, {"one": ()}, env={"SHELL": str(program), "EDITOR": f"{program} --wait", "VISUAL": ""}
    ) as opened:
        yield opened


def clipboard(dashboard: InstalledDashboard, key: bytes) -> str:
    """The text that a key copies to the host's clipboard."""
    dashboard.to_list()
    begin = len(dashboard.app.output)
    dashboard.app.send(key)
    whole = re.compile(rb"\x1b\]52;c;([^\x07\x1b]*)[\x07\x1b]")
    dashboard.app.wait_for(lambda: whole.search(dashboard.app.output, begin) is not None, "a clipboard")
    sent = whole.search(dashboard.app.output, begin)
    assert sent is not None
    return base64.b64decode(sent[1]).decode()


def outside(dashboard: InstalledDashboard, key: bytes, word: str) -> str:
    """What a program says that was given the terminal; it is left again, and the dashboard is back."""
    dashboard.app.send(key)
    dashboard.app.wait_for_text("OUTSIDE")
    shown = dashboard.app.text.replace("\n", "")
    dashboard.app.send(f"{word}\r".encode())
    dashboard.app.wait_for_text(" LIST ")
    assert (dashboard.folder / "said").read_text() == word, "what was typed went to it"
    return shown


@pytest.mark.slow
def test_the_path_and_the_branch_go_to_the_hosts_clipboard(dashboard: InstalledDashboard) -> None:
    agent = dashboard.agents["one"]
    assert clipboard(dashboard, b"y") == agent.worktree
    assert clipboard(dashboard, b"Y") == agent.branch


@pytest.mark.slow
def test_a_shell_opens_in_the_worktree_and_the_dashboard_comes_back(dashboard: InstalledDashboard) -> None:
    dashboard.to_list()
    assert f"in {dashboard.agents['one'].worktree}" in outside(dashboard, b"t", "done")


def test_a_shell_opened_while_typing_takes_the_keys_and_typing_is_over(dashboard: InstalledDashboard) -> None:
    before = dashboard.received("one")
    dashboard.type_to("one")
    assert f"in {dashboard.agents['one'].worktree}" in outside(dashboard, LEADER + b"t", "enough")
    assert dashboard.received("one") == before


def test_the_editor_is_given_the_worktree_with_its_own_options(dashboard: InstalledDashboard) -> None:
    worktree = dashboard.agents["one"].worktree
    dashboard.to_list()
    assert f"OUTSIDE --wait {worktree} in {worktree}" in outside(dashboard, b"o", "saved")


def test_attaching_gives_the_agent_the_whole_terminal_until_it_is_left(dashboard: InstalledDashboard) -> None:
    dashboard.to_list()
    before = dashboard.received("one")
    dashboard.app.send(b"A")
    dashboard.app.wait_for(
        lambda: " LIST " not in dashboard.app.text and "ready" in dashboard.app.text, "the agent alone"
    )
    dashboard.app.send(b"whole")
    dashboard.app.wait_for(lambda: dashboard.received("one") == before + b"whole", "what was typed")
    dashboard.app.send(b"\x11")
    dashboard.app.wait_for_text(" LIST ")
    assert dashboard.typed("one", b"again") == b"again"


def test_programs_are_dimmed_behind_a_dialog_in_any_color_they_print(
    dashboard: InstalledDashboard,
) -> None:
    dashboard.to_list()
    x, y = next(
        (text.index("ready", 44), y)
        for y, text in enumerate(dashboard.app.screen.text())
        if "ready" in text[44:]
    )
    plain = [[("r", (TRUECOLOR | 0xD7DCE5, TRUECOLOR | 0x0F131A, 0, -1))]]
    dashboard.app.wait_for(lambda: dashboard.app.cells(x, y, 1, 1) == plain, "the theme's own colors")
    dashboard.app.send(b"r")
    dashboard.app.wait_for_text("The branch keeps its name.")
    dashboard.app.wait_for(lambda: dashboard.app.cells(x, y, 1, 1) != plain, "the scrim")
    ((text, style),) = dashboard.app.cells(x, y, 1, 1)[0]
    assert style is not None
    assert text == "r"
    assert style[0] & TRUECOLOR
    assert max(style[0] >> 16 & 255, style[0] >> 8 & 255, style[0] & 255) < 0x80
    dashboard.app.send(b"\x1b[27u")
    dashboard.app.wait_for(lambda: dashboard.app.cells(x, y, 1, 1) == plain, "the color of before")


@pytest.mark.slow
def test_another_theme_is_chosen_by_name(dashboard: InstalledDashboard) -> None:
    dashboard.to_list()

    def grounds() -> list[int]:
        """The backgrounds of the header and of a pane's last cell."""
        styles = [dashboard.app.cells(*place, 1, 1)[0][0][1] for place in ((0, 0), (117, 37))]
        return [style[1] if style is not None else -1 for style in styles]

    dark = grounds()

    def choose(name: str, other: str) -> None:
        dashboard.app.send(b"T")
        dashboard.app.wait_for_text("Search for themes")
        dashboard.app.send(name.encode())
        dashboard.app.wait_for(
            lambda: other not in dashboard.app.text and name in dashboard.app.text, "one theme"
        )
        dashboard.app.send(b"\r")
        dashboard.app.wait_for(lambda: name not in dashboard.app.text, "the end of the choice")

    choose("fleet-light", "fleet-dark")
    light = [TRUECOLOR | 0xECECE7, TRUECOLOR | 0xFBFBF9]
    dashboard.app.wait_for(lambda: grounds() == light, "the light, in panes too")
    choose("fleet-dark", "fleet-light")
    dashboard.app.wait_for(lambda: grounds() == dark, "the dark")
