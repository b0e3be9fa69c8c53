"""The colors that the installed dashboard writes to host terminals of every depth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tui.installed_dashboard import PROGRAM
from tests.tui.ptyapp import PtyApp

TRUE, INDEXED = re.compile(rb"[34]8;2;"), re.compile(rb"[34]8;5;")
NAMED = re.compile(rb"\x1b\[(?:[1-7];)*[39][0-7](?:;[0-9;]*)?m")

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")


@pytest.mark.parametrize(
    ("environment", "kinds"),
    [
        pytest.param({"COLORTERM": "truecolor"}, (True, False, False), marks=pytest.mark.slow),
        ({"COLORTERM": ""}, (False, True, False)),
        pytest.param({"COLORTERM": "", "TERM": "linux"}, (False, False, True), marks=pytest.mark.slow),
        pytest.param({"NO_COLOR": "1"}, (False, False, False), marks=pytest.mark.slow),
    ],
    ids=["truecolor", "256", "16", "none"],
)
def test_a_host_gets_only_the_colors_that_it_has(
    repository: Path, environment: dict[str, str], kinds: tuple[bool, bool, bool]
) -> None:
    plain = {"TMUX": "", "STY": "", "TERM": "xterm-256color", "TEXTUAL_COLOR_SYSTEM": "auto"}
    with PtyApp(
        [], program=PROGRAM, is_warm=True, cols=120, rows=40, cwd=repository, env=plain | environment
    ) as app:
        app.wait_for_text("new agent")
        app.send(b"?")
        app.wait_for_text("zoom the pane")
        app.send(b"\x1b")
        app.wait_for(lambda: "zoom the pane" not in app.text)
        app.send(b"q")
        assert app.exit_code() == 0
        painted = bytes(app.output)
        assert tuple(bool(kind.search(painted)) for kind in (TRUE, INDEXED, NAMED)) == kinds
        has_own_cursor = b"\x1b]12;#" in painted
        assert has_own_cursor is (kinds[0] or kinds[1])
        assert (b"\x1b]112" in painted) is has_own_cursor, "given back at the end"
