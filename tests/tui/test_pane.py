"""A pane shows its agent's terminal: looks, input, reconnecting and scrollback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from textual.pilot import Pilot
from textual.screen import Screen

from fleet_tui.terminal.cells import TRUECOLOR, UNDERLINE_SHIFT, Attribute
from fleet_tui.tui.panes.painting import MAX_STYLES, REVERSE, Styles, fitted, strip
from fleet_tui.tui.panes.pane import Pane
from tests import scripted
from tests.holder.holders import start_holder, wait_until
from tests.places import RECORDINGS
from tests.tui.keyboard import Keyboard, key_event
from tests.tui.panes_app import PanesApp, agent
from tests.tui.ptyapp import PtyApp

StartApp = Callable[..., PtyApp]
FOLDER = RECORDINGS / "programs"
LINES = "for i in $(seq 1 {count}); do echo line $i; done; exec sleep 1000"


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def test_programs_look_as_they_do_in_a_terminal_of_their_own(tmp_path: Path, start_app: StartApp) -> None:
    """Recorded sessions of two agents, an editor and a pager: every cell, its character and its style."""
    names = ("claude2", "codex", "vim", "less")
    with contextlib.ExitStack() as stack:
        alone, agents = [], []
        for name in names:
            command = shell(f"stty -onlcr -echo; cat {FOLDER / name}.bin; exec sleep 1000")
            alone.append(stack.enter_context(PtyApp(command[1:], cols=80, rows=24, program=command[0])))
            agents.append(stack.enter_context(start_holder(tmp_path, command, cols=80, rows=24)).agent)
        app = stack.enter_context(start_app(*agents, cols=80 * len(names), rows=25))
        for number, (name, one) in enumerate(zip(names, alone, strict=True)):
            one.wait_for(lambda: len(one.output) >= (FOLDER / f"{name}.bin").stat().st_size)  # noqa: B023 - called at once
            wanted = one.cells(0, 0, 80, 24)
            x = 80 * number
            with contextlib.suppress(AssertionError):
                app.wait_for(lambda: app.cells(x, 0, 80, 24) == wanted, seconds=5.0)  # noqa: B023 - called at once
            shown = app.cells(x, 0, 80, 24)
            differing = [(y, row, wanted[y]) for y, row in enumerate(shown) if row != wanted[y]]
            assert not differing, f"{name}: {differing}"


@pytest.mark.skipif(not Path("/usr/bin/vim").exists(), reason="needs vim")
def test_a_running_editor_looks_as_it_does_alone_and_after_a_resize(
    tmp_path: Path, start_app: StartApp
) -> None:
    text = tmp_path / "text.py"
    text.write_text("".join(f"def function_{n}():  # wide 你好 {n}\n    return '{n}'\n" for n in range(50)))
    command = [
        "/usr/bin/vim",
        "-n",
        "-u",
        "NONE",
        "-N",
        "-c",
        "syntax on | set number ruler laststatus=2 nomodeline",
        text.name,
    ]
    with (
        start_holder(tmp_path, command, cols=80, rows=24) as holder,
        start_app(holder.agent, cols=90, rows=30) as app,
    ):
        app.wait_for_text("function_1")
        app.send(b"\r")
        app.wait_for_text("TYPING 1")
        app.send(b"\x06/_3\r")
        for cols, rows in ((90, 30), (70, 20)):
            app.resize(cols, rows)
            with PtyApp(command[1:], cols=cols, rows=rows - 1, program=command[0], cwd=tmp_path) as alone:
                alone.wait_for_text("function_1")
                alone.send(b"\x06/_3\r")
                app.send(b"\x0cggGgg\x0c")
                alone.send(b"\x0cggGgg\x0c")

                def same(alone: PtyApp = alone, cols: int = cols, rows: int = rows) -> bool:
                    alone.step(0.0)
                    return app.cells(0, 0, cols, rows - 1) == alone.cells(0, 0, cols, rows - 1)

                app.wait_for(same, f"the same screen at {cols}×{rows}", seconds=5.0)
                alone.send(b":q!\r")


def test_a_screen_server_that_dies_gives_the_pane_a_new_one(tmp_path: Path, start_app: StartApp) -> None:
    record = tmp_path / "record"
    with (
        start_holder(tmp_path, scripted.agent("record", record)) as holder,
        start_app(holder.agent) as app,
    ):
        app.wait_for_text("ready")
        app.send(b"\r")
        app.wait_for_text("TYPING 1")
        old = holder.living_server()
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: holder.server_pid() != old)
        app.send(b"typed meanwhile")
        app.wait_for(lambda: record.read_bytes() == b"typed meanwhile")
        app.wait_for(lambda: "15" in app.screen.text()[1], "the new screen in the pane")


def test_a_pane_tells_the_program_its_size_and_crops_what_is_larger(
    tmp_path: Path, start_app: StartApp
) -> None:
    with (
        start_holder(tmp_path, scripted.agent("drawing"), cols=80, rows=24) as holder,
        start_app(holder.agent, cols=100, rows=30) as app,
    ):
        app.wait_for_text("size 100x29")
        app.resize(60, 21)
        app.wait_for_text("size 60x20")
        app.resize(30, 9)
        app.wait_for_text("size 40x10")
        edge = "".join(str(x % 10) for x in range(1, 31))
        app.wait_for(lambda: app.screen.text()[7] == edge, "the row of the cursor and the last one, cropped")


def test_typing_shows_its_cursor_and_dims_the_other_panes(tmp_path: Path, start_app: StartApp) -> None:
    with (
        start_holder(tmp_path, shell("printf 'one\033[6 q\033[5;7H'; exec sleep 1000")) as first,
        start_holder(tmp_path, shell("printf '\033[31mtwo'; exec sleep 1000")) as second,
        start_app(first.agent, second.agent) as app,
    ):
        app.wait_for(lambda: "one" in app.text and "two" in app.text)
        assert not app.screen.cursor.visible
        assert app.cells(50, 0, 1, 1) == [[("t", (1, -1, 0, -1))]]
        app.send(b"\r")
        app.wait_for(lambda: app.screen.cursor.visible)
        cursor = app.screen.cursor
        assert (cursor.x, cursor.y, cursor.shape) == (6, 4, "bar")
        app.wait_for(
            lambda: app.cells(50, 0, 1, 1) == [[("t", (1, -1, Attribute.FAINT, -1))]], "a dimmed red"
        )
        assert app.cells(0, 0, 1, 1) == [[("o", None)]]
        app.send(b"\x11")
        app.wait_for(lambda: "LIST left" in app.text and not app.screen.cursor.visible)
        app.send(b"2\r")
        app.wait_for(lambda: app.screen.cursor.visible)
        assert (app.screen.cursor.x, app.screen.cursor.y) == (53, 0)


def test_a_key_goes_where_it_was_pressed_however_quickly_the_next_one_follows(
    tmp_path: Path, start_app: StartApp
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with (
        start_holder(tmp_path, scripted.agent("record", one, "?1004h")) as first,
        start_holder(tmp_path, scripted.agent("record", two, "?1004h")) as second,
        start_app(first.agent, second.agent) as app,
    ):
        app.wait_for(lambda: app.text.count("ready") == 2)
        app.send(b"\rfirst\x112\rsecond\x1b[24~jj1\ragain\x1d\x1d\x1dzend")
        app.wait_for(lambda: one.read_bytes().endswith(b"end"))
        assert one.read_bytes() == b"\x1b[Ifirst\x1b[O\x1b[Iagain\x1dend"
        app.wait_for(lambda: two.read_bytes().endswith(b"O"))
        assert two.read_bytes() == b"\x1b[Isecond\x1b[O"
        app.send(b"\x1b[O")
        app.wait_for(lambda: one.read_bytes().endswith(b"\x1b[O"))
        app.send(b"\x1b[I\x11jj")
        app.wait_for_text("LIST j j 1 enter j j")
        assert first.is_running


def test_the_mouse_goes_to_a_program_that_asked_and_the_wheel_scrolls_the_others(
    tmp_path: Path, start_app: StartApp
) -> None:
    record, keys = tmp_path / "record", tmp_path / "keys"
    with (
        start_holder(tmp_path, scripted.agent("record", record, "?1002h", "?1006h")) as pointed,
        start_holder(tmp_path, scripted.agent("record", keys, "?1049h", "?1007h")) as pager,
        start_holder(tmp_path, shell(LINES.format(count=300)), cols=50, rows=29) as printer,
        start_app(pointed.agent, pager.agent, printer.agent, cols=150) as app,
    ):
        app.wait_for(lambda: app.text.count("ready") == 2 and "line 300" in app.text)
        app.send(b"\x1b[<0;5;3M\x1b[<0;5;3m")
        app.wait_for_text("CLICKED 1")
        assert record.read_bytes() == b""
        app.send(b"\r")
        app.wait_for_text("TYPING 1")
        wanted = b"\x1b[<0;5;3M\x1b[<32;6;4M\x1b[<0;6;4m\x1b[<2;1;1M\x1b[<2;1;1m\x1b[<64;9;9M"
        app.send(wanted.replace(b"\x1b[<0;6;4m", b"\x1b[<32;6;4M\x1b[<0;6;4m") + b"\x1b[<128;1;1M")
        app.wait_for(lambda: len(record.read_bytes()) >= len(wanted))
        assert record.read_bytes() == wanted
        app.send(b"\x112\r")
        app.wait_for_text("TYPING 2")
        app.send(b"\x1b[<65;55;5M")
        app.wait_for(lambda: len(keys.read_bytes()) >= 9)
        assert keys.read_bytes() == b"\x1b[B" * 3
        app.send(b"\x11")
        app.wait_for_text("LIST left")
        app.send(b"\x1b[<64;110;5M" * 20)
        app.wait_for(lambda: "line 235" in app.text and "line 300" not in app.text, "older lines")
        app.send(b"\x1b[<65;110;5M" * 20)
        app.wait_for_text("line 300")


# ── without a host terminal ─────────────────────────────────────────────────────────────────────────────────────

Acts = Callable[[PanesApp, "Pilot[None]"], Awaitable[None]]


def play(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    agents: list[str],
    acts: Acts,
    *,
    size: tuple[int, int] = (100, 30),
) -> None:
    """Run the little dashboard in this process and act on it."""
    (tmp_path / "fleet-tui").symlink_to(tmp_path / "state")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async def run() -> None:
        app = PanesApp([agent(name) for name in agents])
        async with app.run_test(size=size):
            keyboard = Keyboard(app)
            await keyboard.pause()
            await acts(app, keyboard)

    asyncio.run(run())


async def until(condition: Callable[[], bool], what: str = "it") -> None:
    deadline = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        await asyncio.sleep(0.01)


def text_of(pane: Pane) -> str:
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


def test_keys_that_no_host_has_sent_reach_the_program_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "record"

    async def acts(app: PanesApp, pilot: Pilot[None]) -> None:
        await until(lambda: "ready" in text_of(app.pane))
        await pilot.press("enter")
        keys = (
            "a",
            "A",
            "question_mark",
            "space",
            "enter",
            "alt+enter",
            "ctrl+h",
            "backspace",
            "up",
            "f5",
            "shift+tab",
            "ctrl+backslash",
        )
        await pilot.press(*keys)
        wanted = b"aA? \r\x1b\r\x08\x7f\x1b[A\x1b[15~\x1b[Z\x1c"
        await until(lambda: len(record.read_bytes()) >= len(wanted))
        assert record.read_bytes() == wanted
        await until(
            lambda: REVERSE in [segment.style for segment in app.pane.render_line(1)], "a cursor of our own"
        )

    with start_holder(tmp_path, scripted.agent("record", record)) as holder:
        play(monkeypatch, tmp_path, [holder.agent], acts)


def test_copy_mode_finds_selects_and_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def acts(app: PanesApp, pilot: Pilot[None]) -> None:
        await until(lambda: "line 500" in text_of(app.pane))
        await pilot.press("c", *"/line 123", "enter")
        await until(lambda: "1 × line 123" in text_of(app.pane) and "line 120" in text_of(app.pane))
        await pilot.press("v", "j", "$", "y")
        await until(lambda: app.clipboard == "line 123\nline 124")
        await until(lambda: "line 500" in text_of(app.pane))
        await pilot.press("c", *"/line 223")
        for key in ("enter", "v", "j", "$", "y"):
            # Faster than the search is answered.
            app.post_message(key_event(key))
        await until(lambda: app.clipboard == "line 223\nline 224")
        await until(lambda: "line 500" in text_of(app.pane))
        assert app.focused is None
        await pilot.mouse_down("#pane1", offset=(0, 2))
        await pilot.hover("#pane1", offset=(7, 3))
        await pilot.mouse_up("#pane1", offset=(7, 3))
        await until(lambda: app.clipboard == "line 475\nline 476")
        await pilot.press("pageup")
        await until(lambda: "line 450" in text_of(app.pane))
        await pilot.press("pagedown")
        await until(lambda: "line 500" in text_of(app.pane) and not app.pane.is_scrolled)

    with start_holder(tmp_path, shell(LINES.format(count=500)), cols=100, rows=29) as holder:
        play(monkeypatch, tmp_path, [holder.agent], acts)


@pytest.mark.slow
def test_paging_shows_no_empty_rows_below_the_screen_and_nothing_where_there_is_no_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def acts(app: PanesApp, pilot: Pilot[None]) -> None:
        past, young = app.panes
        await until(lambda: "the end" in text_of(past) and "the end" in text_of(young))
        young.scrolling.scroll_pages(1)
        assert not young.is_scrolled, "output would no longer be shown"
        past.scrolling.scroll_pages(1)
        await until(lambda: "line" in text_of(past))
        past.scrolling.scroll_pages(-1)
        assert not past.is_scrolled
        assert "the end" in text_of(past)

    cleared = "for i in $(seq 1 99); do echo line $i; done; printf '\\033[2J\\033[Hthe end'; exec sleep 1000"
    with (
        start_holder(tmp_path, shell(cleared), cols=100, rows=60) as past,
        start_holder(tmp_path, shell("printf 'the end'; exec sleep 1000"), cols=100, rows=60) as young,
    ):
        play(monkeypatch, tmp_path, [past.agent, young.agent], acts, size=(100, 8))


def test_a_full_screen_program_with_an_empty_log_and_a_drag_in_a_small_pane_leave_the_screen_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def acts(app: PanesApp, pilot: Pilot[None]) -> None:
        full, small = app.panes
        await until(lambda: "page" in text_of(full) and "text" in text_of(small))
        full.scrolling.scroll_pages(1)
        await until(lambda: not full.is_scrolled, "the return from a past that is empty")
        await pilot.mouse_down("#pane2", offset=(0, 0))
        await pilot.hover("#pane2", offset=(3, 0))
        assert small.is_scrolled
        await pilot.mouse_up("#pane2", offset=(3, 0))
        await until(lambda: app.clipboard == "text")
        assert not small.is_scrolled

    with (
        start_holder(tmp_path, shell("printf '\033[?1049hpage'; exec sleep 1000"), rows=60) as full,
        start_holder(tmp_path, shell("printf text; exec sleep 1000"), rows=60) as small,
    ):
        play(monkeypatch, tmp_path, [full.agent, small.agent], acts, size=(100, 8))


@pytest.mark.slow
def test_the_past_of_a_full_screen_program_comes_from_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "printf '\\033[?1049h'; for i in 1 2 3; do printf '\\033[2J\\033[Hpage %s' $i; read x; done; exec sleep 1000"

    async def acts(app: PanesApp, pilot: Pilot[None]) -> None:
        log = holder.folder / "lines.log"
        await until(lambda: "page 1" in text_of(app.pane))
        await pilot.press("enter")
        for page in (1, 2):
            await until(lambda: log.exists() and f"page {page}" in log.read_text(), f"page {page} in the log")  # noqa: B023 - called at once
            await pilot.press("enter")
        await until(lambda: "page 3" in text_of(app.pane))
        await pilot.press("f12")
        await pilot.press("pageup")
        await until(lambda: "page 1" in text_of(app.pane))

    with start_holder(tmp_path, shell(script), cols=100, rows=29) as holder:
        play(monkeypatch, tmp_path, [holder.agent], acts)


def test_title_bell_and_notes_are_shown_until_the_program_ends_and_its_last_screen_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "printf ready; read x; printf '\\033]2;a \\001title\\007'; read x; printf '\\007'; read x; printf '\\033]9;hello\\007'; read x; printf ' gone'"

    async def acts(app: PanesApp, pilot: Pilot[None]) -> None:
        await until(lambda: "ready" in text_of(app.pane))
        await pilot.press("enter")
        for told in ("TITLE a", "BELL", "NOTE : hello", "ENDED"):
            await pilot.press("enter")
            await until(lambda: any(line.startswith(told) for line in app.told), told)  # noqa: B023 - called at once
        assert "gone" in text_of(app.pane)
        app.pane.agent = None
        assert text_of(app.pane).strip() == ""
        app.pane.agent = agent(holder.agent)
        await until(lambda: "gone" in text_of(app.pane) and app.told.count("ENDED") == 2)

    with start_holder(tmp_path, shell(script)) as holder:
        play(monkeypatch, tmp_path, [holder.agent], acts)


def test_a_hidden_pane_is_attached_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def acts(app: PanesApp, pilot: Pilot[None]) -> None:
        connection = app.pane.connection
        assert connection is not None
        await until(lambda: connection.is_connected and "line 1" in text_of(app.pane))
        app.pane.display = False
        await until(lambda: not connection.is_connected)
        app.pane.display = True
        await until(lambda: connection.is_connected)
        await app.push_screen(Screen())
        await until(lambda: not connection.is_connected)
        app.pop_screen()
        await until(lambda: connection.is_connected)

    with start_holder(tmp_path, shell(LINES.format(count=1))) as holder:
        play(monkeypatch, tmp_path, [holder.agent], acts)


# ── painting ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "cells", "drawn", "undrawn"),
    [
        ("abc", 3, "abc", "abc"),
        ("你好", 4, "你好", "你好"),
        ("👨‍👩‍👧", 2, "👨‍👩‍👧", "👨"),
        ("❤️", 2, "❤️", "❤ "),
        ("e\u0301", 1, "e\u0301", "e"),
        ("a\x9bb", 3, "a b", "a b"),
    ],
)
def test_every_text_has_exactly_its_cells(text: str, cells: int, drawn: str, undrawn: str) -> None:
    assert fitted(text, cells, True) == drawn
    assert fitted(text, cells, False) == undrawn
    assert cell_len(undrawn) == cells


def test_a_row_is_cut_through_a_wide_character_into_blanks() -> None:
    row = strip([("a你b", None, 4)], 2, 4, Styles(), draws_clusters=True)
    assert (row.text, row.cell_length) == (" b  ", 4)


def test_ten_thousand_colors_do_not_stay_in_memory() -> None:
    styles = Styles()
    for color in range(10_000):
        assert styles[TRUECOLOR | color, -1, 0, -1] is not None
    assert len(styles) <= MAX_STYLES


def test_a_curly_colored_underline_is_passed_on() -> None:
    made = strip(
        [("x", (1, -1, 3 << UNDERLINE_SHIFT, TRUECOLOR | 0xFF0000), 1)], 0, 1, Styles(), draws_clusters=True
    )
    assert made.render(Console(color_system="truecolor")) == "\x1b[4;31;4:3;58:2::255:0:0mx\x1b[0m"
