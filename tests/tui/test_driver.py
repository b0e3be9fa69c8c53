"""The host terminal and the dashboard: every key arrives as it was pressed, and the terminal is left as it was."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui.terminal.host_input import HostKey, Tokenizer
from fleet_tui.terminal.input_events import KeyEvent
from fleet_tui.tui.host_keys import named_key, textual_key
from tests import scripted
from tests.holder.holders import start_holder, wait_until
from tests.tui.ptyapp import PtyApp

StartApp = Callable[..., PtyApp]
RESTORED = (
    b"\x1b[<u",
    b"\x1b[?1049l",
    b"\x1b[?25h",
    b"\x1b[?2004l",
    b"\x1b[?1004l",
    b"\x1b[?1003l",
    b"\x1b[?1006l",
)

LEGACY = (
    # what the host sends, and what a program without special modes gets
    (b"a", b"a"),
    (b"A", b"A"),
    (b" ", b" "),
    (b"\r", b"\r"),
    (b"\t", b"\t"),
    (b"\x7f", b"\x7f"),
    (b"\x08", b"\x08"),  # Ctrl+H
    (b"\x00", b"\x00"),  # Ctrl+Space
    (b"\x03", b"\x03"),
    (b"\x04", b"\x04"),
    (b"\x1a", b"\x1a"),
    (b"\x1c", b"\x1c"),
    (b"\x1f", b"\x1f"),
    (b"\x1b", b"\x1b"),
    (b"\x1b\x1b", b"\x1b\x1b"),
    (b"\x1b\r", b"\x1b\r"),  # Alt+Enter
    (b"\x1b\x7f", b"\x1b\x7f"),  # Alt+Backspace
    (b"\x1b1", b"\x1b1"),
    (b"\x1bb", b"\x1bb"),
    (b"\x1bX", b"\x1bX"),
    (b"\x1b.", b"\x1b."),
    (b"\x1b\x08", b"\x1b\x08"),  # Ctrl+Alt+H
    (b"\x1b[A", b"\x1b[A"),
    (b"\x1b[1;5D", b"\x1b[1;5D"),
    (b"\x1b[1;2C", b"\x1b[1;2C"),
    (b"\x1b[H", b"\x1b[H"),
    (b"\x1b[5~", b"\x1b[5~"),
    (b"\x1b[3;5~", b"\x1b[3;5~"),
    (b"\x1b[Z", b"\x1b[Z"),
    (b"\x1bOP", b"\x1bOP"),
    (b"\x1b[15~", b"\x1b[15~"),
    (b"\x1b[23;2~", b"\x1b[23;2~"),
    (b"\x1b[13;2u", b"\x1b\r"),  # Shift+Enter
    (b"\x1b[27u", b"\x1b"),
    (b"\x1b[99;5u", b"\x03"),
    (b"\x1b[1089::99;5u", b"\x03"),  # Ctrl+C on a Cyrillic layout
    (b"\x1b[105;5u", b"\t"),
    ("ж".encode(), "ж".encode()),
    ("你".encode(), "你".encode()),
    ("👨‍👩‍👧".encode(), "👨‍👩‍👧".encode()),
    (b"several at once", b"several at once"),
)
KITTY = (
    (b"a", b"a"),
    (b"\r", b"\r"),
    (b"\x1b", b"\x1b[27u"),
    (b"\x1b\r", b"\x1b[13;3u"),
    (b"\x1b[13;2u", b"\x1b[13;2u"),
    (b"\x1b[13;5u", b"\x1b[13;5u"),
    (b"\x03", b"\x1b[99;5u"),
    (b"\x1b[1089::99;5u", b"\x1b[1089::99;5u"),
    (b"\x1b1", b"\x1b[49;3u"),
    (b"\x1b[A", b"\x1b[A"),
    ("ж".encode(), "ж".encode()),
)


def test_every_key_reaches_the_program_as_a_terminal_would_send_it(
    tmp_path: Path, start_app: StartApp
) -> None:
    legacy, kitty = tmp_path / "legacy", tmp_path / "kitty"
    with (
        start_holder(tmp_path, scripted.agent("record", legacy)) as first,
        start_holder(tmp_path, scripted.agent("record", kitty, ">5u")) as second,
        start_app(first.agent, second.agent) as app,
    ):
        app.wait_for(lambda: app.text.count("ready") == 2)
        for number, record, table in ((b"1", legacy, LEGACY), (b"2", kitty, KITTY)):
            app.send(number + b"\r")
            app.wait_for_text(f"TYPING {number.decode()}")
            _press_all(app, record, table)
            app.send(b"\x11")
            app.wait_for_text("LIST left")
        assert legacy.read_bytes() == b"".join(received for _, received in LEGACY)


def _press_all(app: PtyApp, record: Path, table: tuple[tuple[bytes, bytes], ...]) -> None:
    wanted = b""
    for sent, received in table:
        wanted += received
        app.send(sent)
        app.wait_for(lambda: len(record.read_bytes()) >= len(wanted), f"{sent!r}")  # noqa: B023 - called at once
        assert record.read_bytes()[-len(received) :] == received, f"{sent!r}"
    assert record.read_bytes() == wanted


def test_a_paste_arrives_whole_whatever_is_in_it(tmp_path: Path, start_app: StartApp) -> None:
    record = tmp_path / "record"
    lines = "".join(f"line {number} ümläut\n" for number in range(4000))
    with (
        start_holder(tmp_path, scripted.agent("record", record, "?2004h")) as holder,
        start_app(holder.agent) as app,
    ):
        app.wait_for_text("ready")
        app.send(b"\x1b[200~q\x1b[31mq\x1b[201~")
        app.wait_for_text("LIST pasted 7")
        app.send(b"\r")
        app.wait_for_text("TYPING 1")
        app.send(b"\x1b[200~red \x1b[31mtext\r\nq\x1b[201~")
        app.wait_for(lambda: record.read_bytes().endswith(b"\x1b[201~"))
        assert record.read_bytes() == b"\x1b[200~red  [31mtext\nq\x1b[201~"
        app.send(b"\x1b[200~" + lines.encode() + b"\x1b[201~")
        app.wait_for(lambda: record.read_bytes().count(b"\x1b[201~") == 2)
        assert record.read_bytes().endswith(b"\x1b[200~" + lines.encode() + b"\x1b[201~")


def test_the_list_gets_keys_and_never_answers_of_the_terminal(tmp_path: Path, start_app: StartApp) -> None:
    (tmp_path / "state").mkdir()
    with start_app() as app:
        app.wait_for_text("LIST")
        app.send(b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c\x1bP>|host 1.0\x1b\\\x1b[?5u")
        app.send(b"jk\x1b\r\x1b1\x08\x1b[1089::99;5u")
        app.wait_for_text("LIST j k alt+enter alt+1 ctrl+h ctrl+c")


@pytest.mark.parametrize("how", ["SIGTERM", "SIGHUP", "exception"])
def test_the_host_terminal_is_left_as_it_was_found(tmp_path: Path, start_app: StartApp, how: str) -> None:
    with contextlib.ExitStack() as stack:
        if how == "SIGTERM":
            command = scripted.agent("record", tmp_path / "record")
            app = stack.enter_context(start_app(stack.enter_context(start_holder(tmp_path, command)).agent))
            app.wait_for_text("ready")
            app.send(b"\r")
            app.wait_for_text("TYPING 1")
        else:
            app = stack.enter_context(start_app())
            app.wait_for_text("LIST")
        assert termios.tcgetattr(app.slave) != app.termios_before
        if how == "exception":
            app.send(b"b")
        else:
            app.signal(signal.Signals[how])

        assert app.exit_code() == {"SIGTERM": 143, "SIGHUP": 129, "exception": 1}[how]
        _expect_restored(app)


def _expect_restored(app: PtyApp) -> None:
    assert termios.tcgetattr(app.slave) == app.termios_before
    end = bytes(app.output[app.output.rindex(b"\x1b[?2004l") :])
    assert not [sequence for sequence in RESTORED if sequence not in end]
    modes = app.screen.modes
    assert (modes.alternate, modes.kitty_flags, modes.mouse, modes.focus_events) == (False, 0, "", False)
    assert app.screen.cursor.visible


def test_a_stopped_dashboard_gives_the_terminal_back_and_takes_it_again(
    tmp_path: Path, start_app: StartApp
) -> None:
    (tmp_path / "state").mkdir()
    with start_app() as app:
        app.wait_for_text("LIST")
        app.signal(signal.SIGTSTP)
        app.wait_for(lambda: _state(app.process.pid) == "T", "being stopped")
        app.wait_for(lambda: not app.screen.modes.alternate)
        _expect_restored(app)
        app.signal(signal.SIGCONT)
        app.wait_for(lambda: app.screen.modes.alternate and "LIST" in app.text, "the screen again")
        app.send(b"j")
        app.wait_for_text("LIST j")
        assert app.screen.modes.kitty_flags == 5
        app.send(b"q")
        assert app.exit_code() == 0
        _expect_restored(app)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_a_terminal_that_goes_away_ends_the_dashboard(tmp_path: Path, start_app: StartApp) -> None:
    (tmp_path / "state").mkdir()
    with start_app() as app:
        app.wait_for_text("LIST")
        os.close(app.slave)
        os.close(app.master)
        assert app.process.wait(10) == 129


REDRAWS = """
import os, time
for n in range(10**9):
    text = "".join(f"\\x1b[38;5;{(n + x) % 256}m{chr(65 + (n + x) % 26)}" for x in range(40))
    os.write(1, "".join(f"\\x1b[{y};1H{text}" for y in range(1, 28)).encode())
    time.sleep(0.01)
"""


def test_a_host_that_does_not_read_loses_frames_and_nothing_else(tmp_path: Path, start_app: StartApp) -> None:
    record = tmp_path / "record"
    with (
        start_holder(tmp_path, [sys.executable, "-c", REDRAWS]) as redrawing,
        start_holder(tmp_path, scripted.agent("record", record)) as holder,
        start_app(redrawing.agent, holder.agent) as app,
    ):
        app.wait_for_text("ready")
        app.send(b"2\r")
        app.wait_for_text("TYPING 2")
        app.wait_until_stuck()
        for number in range(1, 6):
            os.write(app.master, b"x")
            wait_until(lambda: len(record.read_bytes()) == number, seconds=5.0)  # noqa: B023 - called at once
        app.send(b"\x11")
        app.wait_for_text("LIST left")
        app.wait_for(lambda: app.screen.text()[1][50:].strip() == "5", "one consistent screen")
        app.send(b"q")
        assert app.exit_code() == 0


@pytest.mark.parametrize("raw", [sent for sent, _ in LEGACY if len(sent) < 9])
def test_a_key_known_only_by_its_name_is_the_key_itself(raw: bytes) -> None:
    tokenizer = Tokenizer()
    tokens = tokenizer.feed(raw) + tokenizer.flush()
    event = tokens[0].event if isinstance(tokens[0], HostKey) else KeyEvent("")
    named = named_key(*textual_key(event))
    if not event.key.startswith("kp_") and event.key:
        assert (named.key, named.ctrl, named.alt) == (event.base or event.key, event.ctrl, event.alt)


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (KeyEvent("enter", alt=True), "alt+enter"),
        (KeyEvent("1", "1", alt=True), "alt+1"),
        (KeyEvent("h", ctrl=True), "ctrl+h"),
        (KeyEvent("]", ctrl=True), "ctrl+right_square_bracket"),
        (KeyEvent("space", ctrl=True), "ctrl+space"),
        (KeyEvent("?", "?"), "question_mark"),
        (KeyEvent("a", "A", shift=True), "A"),
        (KeyEvent("x", "X", shift=True, alt=True), "alt+shift+x"),
        (KeyEvent("с", ctrl=True, base="c"), "ctrl+c"),
        (KeyEvent("ф", "ф"), "ф"),
        (KeyEvent("tab", shift=True), "shift+tab"),
        (KeyEvent("kp_5", "5"), "5"),
        (KeyEvent("kp_enter"), "enter"),
    ],
)
def test_keys_have_the_names_that_bindings_use(event: KeyEvent, name: str) -> None:
    assert textual_key(event)[0] == name


def test_the_dashboard_loads_neither_the_emulator_nor_git() -> None:
    code = (
        "import sys, fleet_tui.tui.driver, fleet_tui.tui.panes.connection, fleet_tui.tui.panes.pane\n"
        "print([name for name in ('pygit2', 'pyghostty', 'psutil') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
