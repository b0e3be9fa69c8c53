"""A real screen server around real programs: what viewers see, what programs are answered, what is on record."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from fleet_tui.holder import wire
from fleet_tui.holder.event_log import read_events
from fleet_tui.holder.frames import MAX_UNACKNOWLEDGED
from fleet_tui.holder.prompts.reasons import UNKNOWABLE
from fleet_tui.holder.run_folder import read_holder
from fleet_tui.holder.server.pty import INPUT_LIMIT
from fleet_tui.holder.session import Session, final_view
from fleet_tui.holder.transcript import segments
from fleet_tui.holder.transcript.follow import last_lines
from fleet_tui.terminal.input_events import KeyEvent
from fleet_tui.terminal.view import View
from tests.holder.holders import RunningHolder, last_output, start_holder, wait_until
from tests.holder.screens import shows, wait_for_screen
from tests.scripted import agent

SECONDS = 15.0


def newest_line(view: View) -> int:
    """The highest number that the flood has shown."""
    return max((int(line.split()[1]) for line in view.text() if line.startswith("line ")), default=-1)


def is_drawn(session: Session, cols: int, rows: int) -> bool:
    """Whether the program has drawn that size and the view shows it."""
    return wait_for_screen(
        session,
        lambda view: (view.cols, view.rows) == (cols, rows) and f"size {cols}x{rows}" in view.text(),
        seconds=SECONDS,
    )


def type_line(session: Session, text: str) -> None:
    session.send("text", data=text.encode() + b"\r")


def socket_of(holder: RunningHolder) -> Path:
    found = read_holder(holder.folder)
    assert found is not None
    return Path(found.socket)


def kinds(holder: RunningHolder) -> list[str]:
    return [event["kind"] for event in read_events(holder.folder, 0)[1]]


def events(holder: RunningHolder, kind: str) -> list[dict[str, object]]:
    return [event["data"] for event in read_events(holder.folder, 0)[1] if event["kind"] == kind]


def wait_for_status(session: Session, status: str) -> wire.Message:
    for message in session.messages(time.monotonic() + SECONDS):
        if message["t"] == "status" and message["status"] == status:
            return message
    raise AssertionError(f"it never came to be {status}")


# ── the program's side ──────────────────────────────────────────────────────────────────────────────────────────


def test_queries_are_answered_without_a_viewer(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("asks")) as holder:
        wait_until(lambda: b"END" in last_output(holder.folder, 3), "all answers", seconds=60)
        with holder.session(rate=0) as session:
            answers = dict(line.split("=", 1) for line in session.ask("peek")["lines"] if "=" in line)

    assert answers["status"] == repr(b"\x1b]7501;?\x1b\\")
    assert answers["cpr"] == repr(b"\x1b[3;7R")
    assert answers["da1"].startswith(r"b'\x1b[?")
    assert answers["dsr"] == repr(b"\x1b[0n")
    assert "fleet-tui" in answers["version"]
    assert answers["background"].startswith(r"b'\x1b]11;rgb:")
    assert answers["cells"] == repr(b"\x1b[8;24;80t")
    assert [name for name, answer in answers.items() if answer == "nothing"] == []


def test_a_program_that_never_reads_wedges_nothing_and_further_input_is_refused(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("deaf")) as holder, holder.session(kind="terminal") as session:
        assert shows("alive 0", session)
        piece = b"x" * (wire.LIMIT // 2)
        for _ in range(INPUT_LIMIT // len(piece) + 1):
            session.send("text", data=piece)
        refusal = next(
            message for message in session.messages(time.monotonic() + SECONDS) if message["t"] == "error"
        )

        assert "does not read" in refusal["text"]
        os.kill(holder.pid, signal.SIGUSR1)
        assert shows("alive 1", session)
        with holder.session(rate=0) as other:
            receipt = other.ask("prompt", id="p1", text="x" * 200_000, now=True)
        assert (receipt["state"], receipt["reason"]) == ("refused", "the program does not read its input")


def test_a_program_that_closes_its_terminal_lives_on_and_its_end_is_recorded(tmp_path: Path) -> None:
    beats = tmp_path / "beats"
    with start_holder(tmp_path, agent("closes", beats)) as holder:
        wait_until(lambda: beats.exists() and beats.read_text() == "alive\n", "the first beat")
        with holder.session() as session:
            assert shows("going", session)
            type_line(session, "never read")
            assert session.ask("ping")["t"] == "answer"
        os.kill(holder.pid, signal.SIGUSR1)
        wait_until(lambda: beats.read_text() == "alive\nalive\n", "the second beat")
        os.kill(holder.pid, signal.SIGKILL)

        assert holder.exit().signal == signal.SIGKILL


def test_a_child_that_keeps_the_terminal_open_does_not_delay_the_end(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("leaves")) as holder:
        end = holder.exit()

    assert (end.cause, end.code, list(end.survivors)) == ("exited", 7, [])
    assert "last word" in "\n".join(last_lines(holder.folder, 5))


# ── what viewers see ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 20))])
def test_a_view_made_of_frames_is_the_screen(tmp_path: Path, seed: int) -> None:
    with (
        start_holder(tmp_path, agent("scribbles", seed, 4000)) as holder,
        holder.session() as session,
        holder.session(rate=5) as seldom,
    ):
        assert shows("END", session)
        assert shows("END", seldom)
        screen = session.ask("peek")["lines"]

        assert session.view.text() == screen
        assert seldom.view.text() == screen
        assert seldom.view.lines == session.view.lines


def test_keys_go_through_and_what_they_cause_comes_back(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder, holder.session(kind="terminal") as session:
        assert shows("ready", session)
        session.keys(*(KeyEvent(letter, letter) for letter in "hi"), KeyEvent("enter"))

        assert shows("got: hi", session)


@pytest.mark.slow
def test_a_viewer_that_asks_for_few_frames_gets_few(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("flood", "gently")) as holder:
        counts: dict[Session, int] = {}
        with holder.session(rate=60) as fast, holder.session(rate=4) as slow:
            deadline = time.monotonic() + 1.0
            while time.monotonic() < deadline:
                for session in (fast, slow):
                    soon = min(deadline, time.monotonic() + 0.01)
                    counts[session] = counts.get(session, 0) + sum(
                        message["t"] == "frame" for message in session.messages(soon)
                    )

        assert 2 <= counts[slow] <= 6
        assert counts[fast] > 2 * counts[slow]


def test_a_viewer_that_acknowledges_nothing_gets_two_frames_and_no_more(tmp_path: Path) -> None:
    with (
        start_holder(tmp_path, agent("flood", "gently")) as holder,
        Raw(holder) as silent,
        holder.session() as other,
    ):
        silent.send("hello", v=1, rate=60)
        assert wait_for_screen(other, lambda view: newest_line(view) > 500, seconds=60)

        seen = [message["seq"] for message in silent.received(0.3) if message["t"] == "frame"]
        assert seen == list(range(1, MAX_UNACKNOWLEDGED + 1))

        silent.send("ack", seq=MAX_UNACKNOWLEDGED)
        assert any(message["t"] == "frame" for message in silent.received(SECONDS, until="frame"))


def test_at_rate_zero_come_the_status_and_the_last_lines_only(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("flood", 50)) as holder, holder.session(rate=0) as session:
        tails = []
        for message in session.messages(time.monotonic() + SECONDS):
            assert message["t"] != "frame"
            if message["t"] == "tail":
                tails.append(message["lines"])
                if "END" in message["lines"]:
                    break

    assert tails[-1][-2].startswith("line 49")
    assert len(tails[-1]) == 3


def test_a_redraw_is_never_seen_half_done(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("redraws")) as holder, holder.session(rate=120) as session:
        seen: set[str] = set()
        for message in session.messages(time.monotonic() + SECONDS):
            if message["t"] == "frame" and not message["more"]:
                lines = session.view.text()
                assert len(set(lines)) == 1, lines
                seen.add(lines[0])
            if len(seen) > 15:
                break

    assert len(seen) > 15


def test_a_redraw_that_never_ends_is_shown_all_the_same(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("redraws", "stuck")) as holder, holder.session() as session:
        assert shows("after", session)


def test_the_terminal_takes_the_size_of_the_viewer_that_typed_last_and_others_see_it_whole(
    tmp_path: Path,
) -> None:
    with (
        start_holder(tmp_path, agent("drawing")) as holder,
        holder.session(kind="pane", cols=60, rows=20) as pane,
        holder.session(kind="terminal", cols=110, rows=35) as terminal,
    ):
        assert is_drawn(pane, 110, 35)
        type_nothing(pane)
        assert is_drawn(terminal, 60, 20)
        type_nothing(terminal)
        assert is_drawn(pane, 110, 35)
        terminal.close()
        assert is_drawn(pane, 60, 20)


def type_nothing(session: Session) -> None:
    """Send empty input, which still counts as having typed last."""
    session.send("text", data=b"")


def test_a_reader_changes_no_size_and_a_new_one_is_given_the_size_there_is(tmp_path: Path) -> None:
    holder = start_holder(tmp_path, agent("drawing"), cols=90, rows=20)
    with holder, holder.session(cols=40, rows=10) as reader:
        assert is_drawn(reader, 90, 20)
        assert (reader.welcome["cols"], reader.welcome["rows"]) == (90, 20)


@pytest.mark.slow
def test_scrollback_comes_on_request_and_as_much_as_fits_a_message(tmp_path: Path) -> None:
    code = (
        "import signal\n"
        "line = ''.join(f'\\x1b[38;2;{n % 256};{n // 256};9mx' for n in range(500))\n"
        "for _ in range(150): print(line)\n"
        "print('END', flush=True); signal.pause()"
    )
    holder = start_holder(tmp_path, [sys.executable, "-c", code], cols=500)
    with holder, holder.session(rate=0) as session:
        wait_until(lambda: b"END" in last_output(holder.folder, 10), "all lines")
        rows: list[object] = []
        while len(rows) < 120:
            answer = session.ask("rows", start=len(rows), count=130)
            assert answer["lines"]
            rows += answer["lines"]
        assert session.ask("find", text="END")["found"]


# ── clients of all kinds ────────────────────────────────────────────────────────────────────────────────────────


class Raw:
    """A connection that says what it likes."""

    def __init__(self, holder: RunningHolder) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        wait_until(lambda: self.socket.connect_ex(str(socket_of(holder))) == 0, "a connection")
        self._unpacker = wire.Unpacker()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, kind: str, /, **fields: object) -> None:
        self.socket.sendall(wire.pack(kind, **fields))

    def received(self, seconds: float, *, until: str = "") -> list[wire.Message]:
        """The messages that arrive in that time, up to one of that kind."""
        found: list[wire.Message] = []
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and until not in [message["t"] for message in found]:
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                break
            if not data:
                break
            found += self._unpacker.feed(data)
        return found

    def was_dropped(self) -> bool:
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False
        return True


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="another protocol"),
        pytest.param(b"\xff\xff\xff\xff", id="an oversize message"),
        pytest.param(b"\x00\x00\x00\x02\xc1\xc1", id="no msgpack"),
        pytest.param(wire.pack("ping", id=1), id="no hello"),
        pytest.param(wire.pack("hello", kind=[], cols="many", rows={}), id="a hello of nonsense"),
        pytest.param(wire.pack("hello") + wire.pack("resize", cols="x", rows=None), id="a size of nonsense"),
        pytest.param(wire.pack("hello") + wire.pack("text", data=1 << 40), id="a number for bytes"),
        pytest.param(wire.pack("hello") + wire.pack("key", events=[{"x": 1}, 7]), id="keys of nonsense"),
        pytest.param(wire.pack("hello") + wire.pack("ack"), id="a field missing"),
        pytest.param(wire.pack("hello") + wire.pack("rows", start="a", count=[]), id="rows of nonsense"),
    ],
)
def test_only_the_client_that_sends_garbage_is_disconnected(quiet: RunningHolder, garbage: bytes) -> None:
    server = quiet.living_server()
    with quiet.session() as other, Raw(quiet) as client:
        client.socket.sendall(garbage)

        assert client.was_dropped()
        assert other.ask("ping")["t"] == "answer"
    assert quiet.server_pid() == server


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHolder]:
    with start_holder(tmp_path_factory.mktemp("quiet"), agent("echoes")) as holder:
        holder.living_server()
        yield holder


def test_a_screen_that_has_become_part_of_the_log_says_so(tmp_path: Path) -> None:
    with (
        start_holder(tmp_path, ["/bin/sh", "-c", "echo words; read end"]) as holder,
        holder.session() as session,
        Raw(holder) as idle,
    ):
        assert shows("words", session)
        assert session.ask("peek")["in_log"] is False
        # A client that has not received everything yet keeps the server alive for a while.
        idle.send("hello", v=1, kind="reader")
        for number in range(400):
            idle.send("peek", id=number)
        session.send("text", data=b"\r")
        wait_until(lambda: "words" in last_lines(holder.folder, 9), "the screen in the log")

        assert session.ask("peek")["in_log"] is True


def test_half_a_message_and_silence_delay_no_other_client(quiet: RunningHolder) -> None:
    with Raw(quiet) as client, quiet.session() as other:
        client.socket.sendall(wire.pack("hello")[:-3])

        assert other.ask("ping")["t"] == "answer"


def test_fields_and_kinds_of_a_later_version_are_harmless(quiet: RunningHolder) -> None:
    with Raw(quiet) as client:
        client.send("hello", v=99, kind="hologram", cols=80, rows=24, depth=7, rate=30, wishes=["x"])
        client.send("teleport", where="elsewhere")
        client.send("ping", id=5, why="because")

        answers = client.received(SECONDS, until="answer")

    assert [message["t"] for message in answers if message["t"] in {"welcome", "answer"}] == [
        "welcome",
        "answer",
    ]


def test_a_client_that_knows_no_fields_at_all_is_served(quiet: RunningHolder) -> None:
    with Raw(quiet) as client:
        client.send("hello")

        (welcome, *_), frames = client.received(SECONDS, until="frame"), client.received(0.0)

    assert welcome["t"] == "welcome"
    assert frames == []


@pytest.mark.slow
def test_a_client_that_greets_twice_counts_once(tmp_path: Path) -> None:
    with (
        start_holder(tmp_path, agent("drawing")) as holder,
        holder.session(kind="terminal", cols=50, rows=15) as next_in_line,
        Raw(holder) as client,
    ):
        client.send("hello", kind="terminal", cols=100, rows=30)
        client.send("hello", kind="terminal", cols=70, rows=25)
        assert is_drawn(next_in_line, 70, 25)
        client.socket.close()

        assert is_drawn(next_in_line, 50, 15)


def test_a_client_that_never_reads_is_cut_off_and_costs_the_others_nothing(tmp_path: Path) -> None:
    with (
        start_holder(tmp_path, agent("flood", "gently")) as holder,
        Raw(holder) as client,
        holder.session() as other,
    ):
        client.send("hello", rate=120)
        for number in range(2000):
            try:
                client.send("peek", id=number)
            except OSError:
                break
        assert shows("line", other)
        assert other.ask("ping")["t"] == "answer"
        assert holder.living_server()


# ── what is on record ───────────────────────────────────────────────────────────────────────────────────────────


def test_title_bell_and_notifications_are_on_record(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("tells")) as holder, holder.session() as session:
        assert shows("told", session)
        wait_until(lambda: "title" in kinds(holder), "the title on record")

        assert events(holder, "title")[-1] == {"text": "the title"}
        assert len(events(holder, "bell")) == 1
        notifications = events(holder, "notification")
        assert [note["text"] for note in notifications] == ["build is done", "the body"]
        assert notifications[1]["title"] == "The head"
        assert session.view.title == "the title"


@pytest.mark.slow
def test_a_flood_of_notes_does_not_fill_the_disk(tmp_path: Path) -> None:
    code = (
        "import signal\n"
        "for n in range(3000): print(f'\\x07\\x1b]2;title {n}\\x07\\x1b]9;note {n}\\x07', end='')\n"
        "print('END', flush=True); signal.pause()"
    )
    with start_holder(tmp_path, [sys.executable, "-c", code]) as holder, holder.session() as session:
        assert shows("END", session)
        wait_until(lambda: events(holder, "title")[-1:] == [{"text": "title 2999"}], "the last title")

        assert len(read_events(holder.folder, 0)[1]) < 100


def is_logged(holder: RunningHolder, line: str) -> bool:
    return line in last_lines(holder.folder, 99)


def test_a_program_on_the_alternate_screen_leaves_readable_lines_and_its_last_screen(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("alternate")) as holder, holder.session() as session:
        for page, after in (("welcome", "second"), ("second", "third")):
            settled = partial(is_logged, holder, f"the text of {page}")
            wait_until(settled, "a line that settled")
            type_line(session, after)
            assert shows(f"= {after} =", session)
        os.kill(holder.pid, signal.SIGKILL)
        holder.exit()

        lines = last_lines(holder.folder, 99)
        last = final_view(holder.folder)

    assert [line for line in lines if line.startswith("the text")] == [
        f"the text of {page}" for page in ("welcome", "second", "third")
    ]
    assert last is not None
    assert last.text()[:2] == ["= third =", "the text of third"]


def test_a_flood_is_recorded_byte_by_byte_and_judged_and_shown_to_its_end(tmp_path: Path) -> None:
    flood = b"".join(b"%07d \x1b[3%dm%s\x1b[0m\r\n" % (n, n % 8, b"x" * (n % 97)) for n in range(30_000))
    (tmp_path / "flood").write_bytes(flood)
    script = "stty raw -echo; cat flood; printf '\\033]7501;state=done\\007END'; exec cat"
    with start_holder(tmp_path, ["/bin/sh", "-c", script]) as holder, holder.session() as session:
        assert shows("END", session)
        wait_until(lambda: "done" in [one["status"] for one in events(holder, "status")], "the last status")
        session.send("text", data=b"typed")
        assert shows("ENDtyped", session)
        start, recorded = segments.read(holder.folder, 0, 2 * len(flood))
        last = session.view.text()

    assert start == 0
    assert recorded == flood + b"\x1b]7501;state=done\x07ENDtyped"
    assert [line.split()[0] for line in last if line][-3:-1] == ["0029998", "0029999"]


def test_the_end_of_a_flood_is_recorded_when_its_program_ends_at_once(tmp_path: Path) -> None:
    flood = b"".join(b"%07d\r\n" % n for n in range(100_000))
    (tmp_path / "flood").write_bytes(flood)
    with start_holder(tmp_path, ["/bin/sh", "-c", "stty raw; exec cat flood"]) as holder:
        holder.exit()
        _, recorded = segments.read(holder.folder, 0, 2 * len(flood))
        view = final_view(holder.folder)

    assert recorded == flood
    assert view is not None
    assert "0099999" in view.text()


def test_lines_that_scrolled_away_are_readable_in_order(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("flood", 3000)) as holder, holder.session() as session:
        assert shows("END", session)
        os.kill(holder.pid, signal.SIGTERM)
        holder.exit()

        numbers = [
            int(line.split()[1]) for line in last_lines(holder.folder, 5000) if line.startswith("line ")
        ]

    assert numbers == list(range(3000))


@pytest.mark.slow
def test_what_a_program_says_of_itself_is_its_status(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("tells")) as holder, holder.session() as session:
        assert shows("told", session)
        type_line(session, "state=blocked:kind=permission")
        message = wait_for_status(session, "blocked")
        assert (message["detail"], message["source"]) == ("permission", "osc7501")

        with holder.session(rate=0) as other:
            receipt = other.ask("prompt", id="p1", text="yes")
        assert receipt["state"] == "queued"
        type_line(session, "state=idle")
        wait_for_status(session, "idle")
        wait_until(lambda: "typed" in [one["state"] for one in events(holder, "receipt")], "the prompt typed")


def test_what_a_client_types_just_before_it_leaves_reaches_the_program(tmp_path: Path) -> None:
    with start_holder(tmp_path, ["/bin/cat"]) as holder:
        for number in range(50):
            with holder.session(rate=120) as passing:
                passing.paste(f"word{number}\r")

        wait_until(lambda: last_output(holder.folder, 1 << 16).count(b"word49") == 2, "the last one")
        words = last_output(holder.folder, 1 << 16).decode().split()

    assert sorted(words) == sorted([f"word{number}" for number in range(50)] * 2)


def reported_statuses(holder: RunningHolder) -> list[tuple[str, str]]:
    """Each status with its source."""
    return [(str(event["status"]), str(event["source"])) for event in events(holder, "status")]


@pytest.mark.slow
def test_what_a_program_in_a_shell_reported_goes_with_it_and_not_before(tmp_path: Path) -> None:
    """A shell with job control gives each program the terminal, even one that only sends reports for others."""
    script = r"""
set -m
env printf '\033]7501;state=blocked\007'
sleep 0.8
echo still
sleep 0.2
env sh -c "printf '\033]7501;state=idle\007'; sleep 0.8; printf '\033]7501;state=working\007'; read go; kill -9 \$\$"
exec cat
"""
    with (
        start_holder(tmp_path, ["sh", "-c", script], signals={"reports": True}) as holder,
        holder.session() as session,
    ):
        assert shows("still", session)
        assert reported_statuses(holder)[-1] == ("blocked", "osc7501")
        wait_until(lambda: ("working", "osc7501") in reported_statuses(holder), "the second report")
        server = holder.living_server()
        os.kill(server, signal.SIGKILL)
        wait_until(lambda: holder.server_pid() not in (0, server), "a server that has to be told")
        with holder.session() as again:
            assert again.welcome["status"] == "working"
            type_line(again, "go")
        wait_until(lambda: reported_statuses(holder)[-1][1] != "osc7501", "the end of what it reported")


GUEST_AND_LEADER = r"""
import os, signal, sys, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def report(state):
    os.write(1, f"\x1b]7501;state={state}\x07".encode())
guest = os.fork()
if not guest:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    report("idle")
    time.sleep(0.8)
    report("working")
    time.sleep(1.3)
    os._exit(0)
os.waitpid(guest, 0)
report("error")
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_report_made_while_no_program_has_the_terminal_is_recorded_before_it_is_dropped(
    tmp_path: Path,
) -> None:
    """A shell reports the end of a program that it ran, after a time without output."""
    with start_holder(
        tmp_path, [sys.executable, "-c", GUEST_AND_LEADER], signals={"reports": True}
    ) as holder:
        wait_until(lambda: ("working", "osc7501") in reported_statuses(holder), "the program's own report")
        wait_until(lambda: ("error", "osc7501") in reported_statuses(holder), "the report about it")


# ── what is not the program's doing ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_the_echo_of_a_prompt_does_not_show_that_it_was_taken(tmp_path: Path) -> None:
    with start_holder(tmp_path, ["sleep", "1000"]) as holder, holder.session() as session:
        wait_for_status(session, "idle")
        with holder.session(rate=0) as other:
            other.ask("prompt", id="p1", text="are you there?")

        wait_until(lambda: events(holder, "receipt")[-1]["reason"] == UNKNOWABLE, "all that can be known")
        assert "are you there?" in last_output(holder.folder, 100).decode()
        assert [one["state"] for one in events(holder, "receipt")] == ["queued", "typed", "typed"]
        assert reported_statuses(holder)[-1] == ("idle", "silence")


@pytest.mark.slow
def test_what_a_program_prints_after_the_echo_shows_that_it_was_taken(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder, holder.session() as session:
        wait_for_status(session, "idle")
        with holder.session(rate=0) as other:
            other.ask("prompt", id="p1", text="are you there?")

        wait_until(lambda: events(holder, "receipt")[-1]["state"] == "answered", "an answer")


@pytest.mark.slow
def test_redrawing_in_another_size_does_not_count_as_work(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("drawing")) as holder:
        with holder.session() as session:
            wait_for_status(session, "idle")
        with holder.session(kind="terminal", cols=91, rows=31) as session:
            assert is_drawn(session, 91, 31)
            session.ask("ping")

        assert reported_statuses(holder)[-1] == ("idle", "silence")


COMPUTES = r"""
import os, sys, time
print("begin", flush=True)
until = time.monotonic() + 2.6
while time.monotonic() < until:
    pass
os.write(1, b"end\r\n")
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_program_that_computes_in_silence_is_not_idle(tmp_path: Path) -> None:
    with (
        start_holder(tmp_path, [sys.executable, "-c", COMPUTES]) as holder,
        holder.session() as session,
    ):
        assert shows("end", session)
        assert ("idle", "silence") not in reported_statuses(holder)

        wait_for_status(session, "idle")
