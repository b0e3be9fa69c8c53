"""`fleet attach` in a real terminal against real holders."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import termios
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fleet_tui.cli.attach.attachment import attach
from fleet_tui.errors import HolderGone, UsageError
from fleet_tui.terminal.cells import Modes
from tests.holder.holders import RunningHolder, start_holder
from tests.holder.screens import wait_for_screen
from tests.places import AGENTS
from tests.terminal.host_terminal import Host, merged, python

HINT = "Ctrl+Q detaches"

LEGACY = {
    b"a": b"a",
    b"A": b"A",
    b"hello": b"hello",
    b" ": b" ",
    b"\r": b"\r",
    b"\t": b"\t",
    b"\x1b": b"\x1b",
    b"\x1b\x1b": b"\x1b\x1b",
    b"\x7f": b"\x7f",
    b"\x08": b"\x08",
    b"\x00": b"\x00",
    b"\x03": b"\x03",
    b"\x1a": b"\x1a",
    b"\x13": b"\x13",
    b"\x16": b"\x16",
    b"\x1c": b"\x1c",
    b"\x1f": b"\x1f",
    b"\x1b\r": b"\x1b\r",
    b"\x1b\x7f": b"\x1b\x7f",
    b"\x1b1": b"\x1b1",
    b"\x1bb": b"\x1bb",
    b"\x1bB": b"\x1bB",
    b"\x1b\x08": b"\x1b\x08",
    b"\x1b[": b"\x1b[",
    b"\x1bO": b"\x1bO",
    b"\x1b]": b"\x1b]",
    b"\x1b[A": b"\x1b[A",
    b"\x1bOA": b"\x1b[A",
    b"\x1b[1;5D": b"\x1b[1;5D",
    b"\x1b[H": b"\x1b[H",
    b"\x1b[Z": b"\x1b[Z",
    b"\x1bOP": b"\x1bOP",
    b"\x1b[15~": b"\x1b[15~",
    b"\x1b[24;5~": b"\x1b[24;5~",
    b"\x1b[3~": b"\x1b[3~",
    "ä你🚀".encode(): "ä你🚀".encode(),
    "👨‍👩‍👧".encode(): "👨‍👩‍👧".encode(),
    # What a host with the kitty protocol sends instead.
    b"\x1b[27u": b"\x1b",
    b"\x1b[99;5u": b"\x03",
    b"\x1b[1089::99;5u": b"\x03",
    b"\x1b[13;2u": b"\x1b\r",
    b"\x1b[13;3u": b"\x1b\r",
    b"\x1b[105;5u": b"\t",
    b"\x1b[97:65;4u": b"\x1bA",
    b"\x1b[49:33;4u": b"\x1b!",
    # Nothing else arrives.
    b"\x1b[?62;22cx": b"x",
    b"\x1b]11;rgb:0000/0000/0000\x1b\\y": b"y",
    b"\x1b[5;10Rz": b"z",
    b"\x1b[Iw": b"w",
    b"\x1b[<0;5;3Mv": b"v",
    # The chords, where they are not meant.
    b"\x1d\x1d": b"\x1d",
    b"\x1dx": b"",
    b"\x1dxyz": b"yz",
    b"\x1b\x11": b"\x1b\x11",
    b"\x1b[24;2~": b"\x1b[24;2~",
}
KITTY = {
    b"a": b"a",
    b"\r": b"\r",
    b"\x1b": b"\x1b[27u",
    b"\x1b[27u": b"\x1b[27u",
    b"\x03": b"\x1b[99;5u",
    b"\x1b[13;2u": b"\x1b[13;2u",
    b"\x1b\r": b"\x1b[13;3u",
    b"\x1b[105;5u": b"\x1b[105;5u",
    b"\x1b[A": b"\x1b[A",
    b"\x1b[I": b"\x1b[I",
    b"\x1b[O": b"\x1b[O",
}


def attached(holder: RunningHolder, tmp_path: Path, *, cols: int = 80, rows: int = 24, **env: str) -> Host:
    report = tmp_path / f"outcome-{cols}x{rows}.json"
    argv = python(Path(__file__).with_name("attached.py"), holder.agent, holder.folder, holder.lock, report)
    return Host(argv, cols=cols, rows=rows, env=env)


def outcome(tmp_path: Path) -> dict[str, Any]:
    (report,) = tmp_path.glob("outcome-*.json")
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def recorder(tmp_path: Path, *modes: str) -> tuple[RunningHolder, Callable[[], bytes]]:
    record = tmp_path / "received"
    record.touch()
    holder = start_holder(tmp_path, python(AGENTS / "record.py", record, *modes))
    with holder.session() as session:
        wait_for_screen(session, lambda view: "ready" in view.text(), seconds=10)
    return holder, record.read_bytes


def drawing(tmp_path: Path) -> RunningHolder:
    return start_holder(tmp_path, python(AGENTS / "drawing.py"))


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHolder]:
    """An agent for the tests that leave it running."""
    with drawing(tmp_path_factory.mktemp("lasting")) as holder:
        holder.living_server()
        yield holder


def show_same(holder: RunningHolder, host: Host) -> bool:
    with holder.session() as session:
        wait_for_screen(session, lambda view: view.rows > 0, seconds=5)
        return [merged(line) for line in session.view.lines] == host.cells()


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("modes", "table", "greeting"),
    [((), LEGACY, b""), ((">1u", "?1004h"), KITTY, b"\x1b[I")],
    ids=["to a program that asked for nothing", "to a program that asked for kitty keys"],
)
def test_the_program_reads_what_was_typed(
    tmp_path: Path, modes: tuple[str, ...], table: dict[bytes, bytes], greeting: bytes
) -> None:
    holder, received = recorder(tmp_path, *modes)
    wrong = {}
    with holder, attached(holder, tmp_path) as host:
        host.pump(lambda: "ready" in host.text and received() == greeting, "the focus")
        for typed, expected in table.items():
            start = len(received())
            host.type(typed)
            host.pump(partial(has_grown, received, start + len(expected)), repr(typed))
            if received()[start:] != expected:
                wrong[typed] = received()[start:]

        assert wrong == {}


def has_grown(received: Callable[[], bytes], size: int) -> bool:
    return len(received()) >= size


def test_a_paste_reaches_the_program_whole_and_in_brackets_when_it_asked_for_them(tmp_path: Path) -> None:
    text = "first line\nsecond\twith ^[ and ünïcode\n" * 4000
    holder, received = recorder(tmp_path, "?2004h")
    with holder, attached(holder, tmp_path) as host:
        host.pump(host.shows("ready"))

        paste(host, f"\x1b[200~{text}\x1b[201~".encode())
        host.pump(lambda: received().endswith(b"\x1b[201~"), "the end of the paste")

        assert received() == f"\x1b[200~{text}\x1b[201~".encode()


@pytest.mark.slow
def test_a_paste_reaches_a_program_without_brackets_as_lines_that_were_entered(tmp_path: Path) -> None:
    holder, received = recorder(tmp_path)
    with holder, attached(holder, tmp_path) as host:
        host.pump(host.shows("ready"))

        host.type(b"\x1b[200~one\r\ntwo\x1b[31m\x11three\x1b[201~!")
        host.pump(lambda: received().endswith(b"!"), "the end of the paste")

        assert received() == b"one\rtwo [31m three!"
        assert host.process.poll() is None


def paste(host: Host, data: bytes) -> None:
    """Write more than the terminal takes at once, while it is being read."""
    os.set_blocking(host.master, False)
    rest = data
    while rest:
        try:
            rest = rest[os.write(host.master, rest[:4096]) :]
        except BlockingIOError:
            host.take()
    os.set_blocking(host.master, True)


def test_the_mouse_is_the_programs_only_while_it_asks_for_it(tmp_path: Path) -> None:
    holder, received = recorder(tmp_path, "?1002h", "?1006h")
    with holder, attached(holder, tmp_path) as host:
        host.pump(lambda: host.screen.modes.mouse == "button", "mouse reports of the host")

        host.type(b"\x1b[<0;5;3M\x1b[<32;6;3M\x1b[<0;6;3m\x1b[<64;6;3M")
        host.pump(lambda: received().endswith(b"\x1b[<64;6;3M"), "the wheel")

        assert received() == b"\x1b[<0;5;3M\x1b[<32;6;3M\x1b[<0;6;3m\x1b[<64;6;3M"


# ── the picture ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_host_shows_cell_by_cell_what_the_program_drew(tmp_path: Path, lasting: RunningHolder) -> None:
    with attached(lasting, tmp_path, cols=90, rows=30) as host:
        host.pump(host.shows("size 90x30"))
        host.type(b"\x1b[D")
        host.pump(lambda: HINT not in host.text, "the hint to go")
        host.pump(lambda: show_same(lasting, host), "the same picture")

        assert (host.screen.cursor.x, host.screen.cursor.y) == (4, 28)
        assert host.screen.cursor.shape == "bar"
        assert host.screen.cursor.visible


def test_colors_are_reduced_for_a_host_without_truecolor(tmp_path: Path, lasting: RunningHolder) -> None:
    with attached(lasting, tmp_path, COLORTERM="") as host:
        host.pump(host.shows("size 80x24"))
        styles = {text.strip(): style for row in host.cells() for text, style, _ in row}

        assert styles["truecolor"] == (40, -1, 0, -1)
        assert styles["palette"] == (208, -1, 0, -1)
        assert styles["bold red"] == (1, -1, 1, -1)


def test_resizing_the_host_resizes_the_program_and_repaints(tmp_path: Path, lasting: RunningHolder) -> None:
    with attached(lasting, tmp_path) as host:
        host.pump(host.shows("size 80x24"))
        for cols, rows in ((100, 40), (50, 12), (132, 25)):
            host.resize(cols, rows)
            host.pump(host.shows(f"size {cols}x{rows}"))
        host.type(b"\x1b[D")
        host.pump(lambda: show_same(lasting, host), "the same picture")


def test_the_terminal_that_types_sets_the_size_and_the_other_crops_around_the_cursor(
    tmp_path: Path,
    lasting: RunningHolder,
) -> None:
    with (
        attached(lasting, tmp_path, cols=100, rows=30) as large,
        attached(lasting, tmp_path, cols=60, rows=15) as small,
    ):
        large.pump(lambda: "size" in large.text and "size" in small.text, also=[small])

        large.type(b"\x1b[D")
        large.pump(lambda: "size 100x30" in large.text, also=[small])
        large.pump(lambda: "size 100x30" in small.text, also=[small])

        large.pump(lambda: show_same(lasting, large), "the same picture", also=[small])
        cropped = [line[:60].rstrip() for line in large.screen.text()[15:29]]
        large.pump(
            lambda: [line.rstrip() for line in small.screen.text()[:14]] == cropped, "a part", also=[small]
        )
        assert (small.screen.cursor.x, small.screen.cursor.y) == (4, 13)


def test_a_host_that_is_too_small_shows_a_message_until_it_has_grown(
    tmp_path: Path, lasting: RunningHolder
) -> None:
    with attached(lasting, tmp_path, cols=12, rows=2) as host:
        host.pump(host.shows("too small"))

        host.resize(80, 24)
        host.pump(host.shows("size 80x24"))

        assert "too small" not in host.text


def test_the_hint_disappears_with_the_first_key_and_never_reaches_the_agents_screen(
    tmp_path: Path, lasting: RunningHolder
) -> None:
    with attached(lasting, tmp_path) as host, lasting.session() as session:
        host.pump(host.shows(HINT))
        host.pump(host.shows("size 80x24"))
        assert wait_for_screen(session, lambda view: "size 80x24" in view.text(), seconds=5)
        assert HINT not in "\n".join(session.view.text())

        host.type(b"\x1b[D")
        host.pump(lambda: show_same(lasting, host), "the same picture")

        assert HINT not in host.text


def test_an_unknown_key_after_the_leader_is_reported_and_swallowed(tmp_path: Path) -> None:
    holder, received = recorder(tmp_path)
    with holder, attached(holder, tmp_path) as host:
        host.pump(host.shows("ready"))

        host.type(b"\x1d")
        host.pump(host.shows("Ctrl+] d detaches"))
        host.type(b"x")
        host.pump(host.shows("unknown key"))
        host.type(b"y")
        host.pump(lambda: received() == b"y", "the next key")


# ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────


def assert_as_found(host: Host) -> None:
    assert termios.tcgetattr(host.slave) == host.termios_before
    assert host.screen.modes == host.modes_before
    # Hosts differ in whether each screen has kitty flags of its own.
    assert host.output.count(b"\x1b[>5u") == host.output.count(b"\x1b[<u") > 0
    assert host.screen.cursor.visible
    assert host.screen.cursor.shape == host.cursor_shape_before
    assert host.screen.text()[0] == "$ fleet attach"
    assert HINT not in host.text


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param(b"\x11", id="ctrl+q"),
        pytest.param(b"\x1b[24~", id="f12", marks=pytest.mark.slow),
        pytest.param(b"\x1dd", id="leader d"),
        pytest.param(b"\x1b[113;5u", id="ctrl+q in kitty", marks=pytest.mark.slow),
        pytest.param(b"\x1b[1081::113;5u", id="ctrl+q on Cyrillic", marks=pytest.mark.slow),
        pytest.param(b"\x1d\xd0\xb2", id="leader d on Cyrillic", marks=pytest.mark.slow),
    ],
)
def test_detaching_restores_the_terminal_and_leaves_the_agent_running(
    tmp_path: Path, lasting: RunningHolder, typed: bytes
) -> None:
    with attached(lasting, tmp_path) as host:
        host.pump(host.shows("size 80x24"))
        assert host.screen.modes != host.modes_before
        assert host.screen.modes.kitty_flags == 5

        host.type(typed)

        assert host.pump_until_ended() == 0
        assert_as_found(host)
        assert host.screen.text()[1] == f"detached from {lasting.agent}; it keeps running"
        assert outcome(tmp_path)["reason"] == "detached"
        assert lasting.is_running


@pytest.mark.parametrize(
    "number",
    [signal.SIGHUP, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGTERM, signal.SIGINT))],
)
def test_a_signal_restores_the_terminal(
    tmp_path: Path, lasting: RunningHolder, number: signal.Signals
) -> None:
    with attached(lasting, tmp_path) as host:
        host.pump(host.shows("size 80x24"))

        host.signal(number)

        assert host.pump_until_ended() == 0
        assert_as_found(host)
        assert outcome(tmp_path) | {"exit": None} == {
            "reason": "signal",
            "message": "",
            "exit": None,
            "signal": number,
        }
        assert lasting.is_running


def test_an_exit_of_the_program_is_reported_with_its_code(tmp_path: Path) -> None:
    with drawing(tmp_path) as holder, attached(holder, tmp_path) as host:
        host.pump(host.shows("size 80x24"))

        host.type(b"7")

        assert host.pump_until_ended() == 0
        assert_as_found(host)
        assert host.screen.text()[1] == f"{holder.agent} exited with code 7"
        assert outcome(tmp_path)["exit"]["code"] == 7


def test_a_stopped_agent_is_reported_as_stopped(tmp_path: Path) -> None:
    with drawing(tmp_path) as holder, attached(holder, tmp_path) as host:
        host.pump(host.shows("size 80x24"))

        holder.stop()

        assert host.pump_until_ended() == 0
        assert_as_found(host)
        assert host.screen.text()[1] == f"{holder.agent} was stopped"


def test_the_death_of_the_keeper_restores_the_terminal(tmp_path: Path) -> None:
    with drawing(tmp_path) as holder, attached(holder, tmp_path) as host:
        host.pump(host.shows("size 80x24"))

        os.kill(holder.keeper_pid, signal.SIGKILL)

        assert host.pump_until_ended() == 0
        assert_as_found(host)
        assert host.screen.text()[1] == f"{holder.agent} is gone without a record of its end"


@pytest.mark.slow
def test_the_death_of_the_screen_server_is_not_noticed(tmp_path: Path) -> None:
    with drawing(tmp_path) as holder, attached(holder, tmp_path) as host:
        host.pump(host.shows("size 80x24"))
        host.type(b"\x1b[D")
        host.pump(lambda: HINT not in host.text, "the hint to go")
        before = holder.living_server()

        os.kill(before, signal.SIGKILL)
        host.pump(lambda: holder.server_pid() not in {0, before}, "a new screen server")
        host.pump(lambda: show_same(holder, host) and "size 80x24" in host.text, "the same picture")
        host.type(b"3")

        assert host.pump_until_ended() == 0
        assert_as_found(host)
        assert host.screen.text()[1] == f"{holder.agent} exited with code 3"


def test_an_internal_error_restores_the_terminal(tmp_path: Path) -> None:
    argv = python(Path(__file__).with_name("attached.py"), "--fail", tmp_path, tmp_path, tmp_path)
    with Host(argv) as host:
        assert host.pump_until_ended() == 1
        assert_as_found(host)
        assert "RuntimeError" in host.text


def test_a_hangup_ends_the_attachment_and_not_the_agent(tmp_path: Path, lasting: RunningHolder) -> None:
    with attached(lasting, tmp_path) as host:
        host.pump(host.shows("size 80x24"))

        os.close(host.slave)
        os.close(host.master)

        assert host.process.wait(timeout=5) == 0
        assert outcome(tmp_path)["reason"] in {"hangup", "signal"}
        assert lasting.is_running


def test_suspending_restores_the_terminal_and_continuing_takes_it_again(
    tmp_path: Path, lasting: RunningHolder
) -> None:
    with attached(lasting, tmp_path) as host:
        host.pump(host.shows("size 80x24"))

        host.signal(signal.SIGTSTP)
        host.pump(lambda: not host.screen.modes.alternate, "the main screen")
        _, status = os.waitpid(host.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert_as_found(host)

        host.signal(signal.SIGCONT)
        host.pump(host.shows("size 80x24"))
        host.type(b"\x11")

        assert host.pump_until_ended() == 0
        assert_as_found(host)
        assert lasting.is_running


# ── a host that does not read ───────────────────────────────────────────────────────────────────────────────────


FLOOD = """
import sys, time
print("ready")
for number in range(int(sys.stdin.readline())):
    print("\\n".join(f"{number:0199}" for _ in range(60)), flush=True)
    time.sleep(0.015)
print("done")
sys.stdin.readline()
"""
"""Screens that are all different, no faster than a host could be shown them."""


def flooding(tmp_path: Path) -> RunningHolder:
    return start_holder(tmp_path, python("-c", FLOOD), cols=200, rows=60)


@pytest.mark.slow
def test_a_stalled_host_gets_the_newest_frame_and_not_all_of_them(tmp_path: Path) -> None:
    with flooding(tmp_path) as holder, attached(holder, tmp_path, cols=200, rows=60) as host:
        host.pump(host.shows("ready"))
        with holder.session() as session:
            host.type(b"50\r")
            assert wait_for_screen(session, lambda view: "done" in view.text(), seconds=20)
        read_before = len(host.output)
        host.pump(host.shows("done"))
        host.pump(lambda: show_same(holder, host), "the same picture")

        assert len(host.output) - read_before < 150_000


@pytest.mark.slow
def test_a_stalled_host_does_not_prevent_the_end(tmp_path: Path) -> None:
    with flooding(tmp_path) as holder, attached(holder, tmp_path, cols=200, rows=60) as host:
        host.pump(host.shows("ready"))
        with holder.session() as session:
            host.type(b"100000\r")
            frames = count()
            assert wait_for_screen(session, lambda _view: next(frames) > 30, seconds=10)

        host.signal(signal.SIGTERM)

        assert host.process.wait(timeout=5) == 0
        assert termios.tcgetattr(host.slave) == host.termios_before
        assert outcome(tmp_path)["signal"] == signal.SIGTERM


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_terminal_attach_is_refused_with_alternatives(tmp_path: Path) -> None:
    incoming, outgoing = os.pipe()
    try:
        with pytest.raises(UsageError, match="fleet peek"):
            attach("agent", tmp_path, tmp_path / "lock", stdin=incoming, stdout=outgoing)
    finally:
        os.close(incoming)
        os.close(outgoing)


def test_an_ended_agent_is_refused_before_the_terminal_is_touched(tmp_path: Path) -> None:
    master, slave = os.openpty()
    before = termios.tcgetattr(slave)
    try:
        with pytest.raises(HolderGone, match="fleet logs agent"):
            attach("agent", tmp_path, tmp_path / "lock", stdin=slave, stdout=slave)
        assert termios.tcgetattr(slave) == before
        assert unread_of(master) == 0
    finally:
        os.close(master)
        os.close(slave)


def unread_of(descriptor: int) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
    return int(count)


def test_a_fresh_host_has_no_modes_on(tmp_path: Path) -> None:
    """Checks the baseline that the other tests compare with."""
    with Host(["/bin/true"]) as host:
        host.process.wait()
        found = host.modes_before

    assert (found.alternate, found.mouse, found.kitty_flags) == (False, "", 0)
    assert (found.bracketed_paste, found.focus_events) == (Modes().bracketed_paste, Modes().focus_events)
