"""A program that draws with everything a terminal has, htop, is in a pane as it is in a terminal of its own.

What it shows changes from second to second, so the comparison is with the very bytes that it printed, played into a
plain terminal of the same sizes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui.holder.transcript import segments
from fleet_tui.terminal.cells import Style
from fleet_tui.terminal.emulator import Screen
from tests.holder.holders import RunningHolder, last_output, start_holder
from tests.tui.ptyapp import PtyApp, cells_of

HTOP = shutil.which("htop")
StartApp = Callable[..., PtyApp]
Cells = list[list[tuple[str, Style | None]]]

pytestmark = pytest.mark.skipif(
    HTOP is None, reason="htop is not installed: apt install htop, brew install htop"
)


@pytest.fixture
def htop(tmp_path: Path) -> list[str]:
    """One that shows only this process, and seldom looks again."""
    return [str(HTOP), "-d", "100", "-p", str(os.getpid())]


def alone(holder: RunningHolder) -> Cells:
    """What a plain terminal shows of all that the program has printed, at the sizes it had meanwhile."""
    first, *later = segments.list_sizes(holder.folder)
    screen = Screen(first.cols, first.rows)
    at = first.offset
    printed = last_output(holder.folder, 1 << 24)
    for size in later:
        screen.feed(printed[at : size.offset])
        screen.resize(size.cols, size.rows)
        at = size.offset
    screen.feed(printed[at:])
    screen.update()
    cols, rows = (later or [first])[-1][1:]
    return [cells_of(screen, row, cols) for row in range(rows)]


def wait_until_same(app: PtyApp, holder: RunningHolder, cols: int, rows: int) -> Cells:
    def is_same() -> bool:
        return app.cells(0, 0, cols, rows) == alone(holder)

    app.wait_for(is_same, f"the same cells at {cols}×{rows}")
    return alone(holder)


def test_htop_looks_as_it_does_in_a_terminal_of_its_own(
    tmp_path: Path, start_app: StartApp, htop: list[str]
) -> None:
    with (
        start_holder(
            tmp_path, htop, cols=80, rows=24, env={"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        ) as holder,
        start_app(holder.agent, cols=80, rows=25) as app,
    ):
        app.wait_for_text("Quit")
        cells = wait_until_same(app, holder, 80, 24)
        colors = {style for row in cells for _, style in row if style is not None}
        assert len(colors) >= 6, "it is drawn in colors"
        assert cells[23][79][1] is not None, "a bar of keys reaches the edge in its own background"

        app.send(b"\r")
        app.wait_for_text("TYPING 1")
        app.send(b"\x1bOR")  # F3: a line to search in takes the place of the keys
        app.wait_for_text("Search:")
        app.send(b"pyt")
        app.wait_for_text("Search: pyt")
        wait_until_same(app, holder, 80, 24)
        app.send(b"\x1b")
        app.wait_for_text("Quit")

        app.resize(100, 31)
        app.wait_for(lambda: segments.list_sizes(holder.folder)[-1][1:] == (100, 30), "the new size")
        app.wait_for(lambda: "Quit" in app.screen.text()[29], "the keys in the new last line")
        wait_until_same(app, holder, 100, 30)
