"""Files of a run folder that holders and faces share: locks, records, events and requests."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleet_tui.holder import keeper
from fleet_tui.holder.event_log import READ_MOST, EventLog, read_events, read_last_events
from fleet_tui.holder.frames import Frames
from fleet_tui.holder.lock import is_held, take_lock, trying_lock
from fleet_tui.holder.prompts.prompt import Prompt
from fleet_tui.holder.prompts.record import PromptRecord
from fleet_tui.holder.run_folder import (
    FINAL_FRAME,
    RECORD_SIZE,
    SETUP_LOG,
    Exit,
    ExitRecord,
    Holder,
    read_exit,
    read_holder,
    read_record,
    write_record,
)
from fleet_tui.holder.server.screen_log import ScreenLog
from fleet_tui.holder.session import final_view
from fleet_tui.holder.stop_requests import StopRequest, read_stop, request_stop
from fleet_tui.holder.transcript import segments
from fleet_tui.holder.transcript.follow import last_lines
from fleet_tui.holder.transcript.lines import LogWriter
from fleet_tui.holder.transcript.segments import Transcript
from fleet_tui.system import processes
from fleet_tui.terminal.emulator import Screen
from tests.system.small_disks import fill, small_disk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's."""
    made = tmp_path / "run"
    made.mkdir()
    return made


END = Exit("exited", 12.5, code=3, lost_output=7, survivors=(4, 5))


def holder_record(**values: object) -> Holder:
    return Holder(**{
        "agent": "a", "run": 1, "keeper_pid": 1, "keeper_started": 2, "pid": 3, "socket": "/s", "boot_id": "b",
        "started_at": 1.0, **values,
    })  # type: ignore[arg-type] # fmt: skip # a test's own values


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Every write beyond that fails, as on a full disk but for the errno."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


# ── records ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_record_is_read_as_it_was_written(folder: Path) -> None:
    write_record(folder / "holder.json", holder_record(pid=77))

    assert read_holder(folder) == holder_record(pid=77)


def test_a_record_of_another_version_is_read_as_far_as_it_is_known(folder: Path) -> None:
    (folder / "exit.json").write_text('{"cause": "stop", "at": 1.0, "mood": "fine"}')

    assert read_exit(folder) == Exit("stop", 1.0)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"at": 1}', b"\xff\xfe", b" " * RECORD_SIZE, b"[" * 100_000]
)
def test_a_malformed_record_reads_as_none(folder: Path, content: bytes) -> None:
    (folder / "exit.json").write_bytes(content)

    assert read_exit(folder) is None
    assert read_record(folder / "missing", Exit) is None


def test_a_record_that_does_not_fit_leaves_the_one_before_in_place(folder: Path) -> None:
    write_record(folder / "holder.json", holder_record(pid=1))

    with files_of_at_most(20), pytest.raises(OSError, match="too large"):
        write_record(folder / "holder.json", holder_record(pid=2))

    assert read_holder(folder) == holder_record(pid=1)


def test_only_the_owner_can_read_a_record(folder: Path) -> None:
    write_record(folder / "holder.json", holder_record())
    ExitRecord(folder).write(END)

    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_there_is_no_exit_record_before_the_end_and_it_is_whole_after(folder: Path) -> None:
    record = ExitRecord(folder)
    assert read_exit(folder) is None

    record.write(END)

    found = read_exit(folder)
    assert found is not None
    assert (found.cause, found.code, found.lost_output, tuple(found.survivors)) == ("exited", 3, 7, (4, 5))


def test_a_reason_too_long_for_the_record_is_cut_and_the_end_is_recorded(folder: Path) -> None:
    ExitRecord(folder).write(Exit("failed", 1.0, reason="x" * 10_000, survivors=tuple(range(3000))))

    found = read_exit(folder)
    assert found is not None
    assert found.reason == "x" * 500


def test_the_end_is_recorded_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder:
        record = ExitRecord(folder)
        fill(folder)
        with pytest.raises(OSError, match="No space"):
            write_record(folder / "another.json", END)

        record.write(END)

        found = read_exit(folder)
        assert found is not None
        assert found.code == 3


def test_the_end_is_recorded_where_files_may_be_no_larger_than_its_room(folder: Path) -> None:
    record = ExitRecord(folder)
    with files_of_at_most(RECORD_SIZE):
        record.write(END)

    assert read_exit(folder) is not None


# ── the lock ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lock_is_held_once_and_free_after(folder: Path) -> None:
    lock = folder / "lock"
    assert not is_held(lock)
    first = take_lock(lock)
    assert first is not None

    assert is_held(lock)
    assert take_lock(lock) is None

    os.close(first)
    assert not is_held(lock)


def test_a_child_that_inherited_the_lock_holds_it_until_it_dies(folder: Path) -> None:
    lock = folder / "lock"
    descriptor = take_lock(lock)
    assert descriptor is not None
    heir = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[descriptor])
    os.close(descriptor)
    assert is_held(lock)

    heir.kill()
    heir.communicate()

    assert not is_held(lock)


def test_asking_whether_a_lock_is_held_does_not_make_the_file(folder: Path) -> None:
    assert not is_held(folder / "lock")
    assert list(folder.iterdir()) == []


def test_several_processes_may_try_the_lock_at_once_and_none_takes_it_meanwhile(folder: Path) -> None:
    lock = folder / "lock"
    lock.touch()
    with trying_lock(lock) as first, trying_lock(lock) as second:
        assert (first, second) == (True, True)
        assert take_lock(lock) is None

    descriptor = take_lock(lock)
    assert descriptor is not None
    with trying_lock(lock) as third:
        assert not third
    os.close(descriptor)


# ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_request_to_a_run_without_a_keeper_fails_with_that_reason(folder: Path) -> None:
    write_record(folder / "holder.json", holder_record(keeper_pid=os.getpid()))

    assert not request_stop(folder, folder / "lock", StopRequest("stop", 1.0))
    assert read_stop(folder) == StopRequest("stop", 1.0)


def test_a_process_that_was_given_the_keepers_number_is_not_signaled(folder: Path) -> None:
    lock = take_lock(folder / "lock")
    assert lock is not None
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = processes.look_up(bystander.pid)
    assert started is not None
    write_record(
        folder / "holder.json",
        holder_record(keeper_pid=bystander.pid, keeper_started=started.started - 1),
    )

    request_stop(folder, folder / "lock", StopRequest("stop", 1.0))

    bystander.communicate(b"\n", timeout=10)
    assert bystander.returncode == 0
    os.close(lock)


# ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_events_are_numbered_across_writers_and_read_from_an_offset(folder: Path) -> None:
    EventLog(folder).append("bell", 1.0)
    offset, first = read_events(folder, 0)
    EventLog(folder).append("title", 2.0, text="new")

    _, second = read_events(folder, offset)

    assert [event["seq"] for event in first + second] == [1, 2]
    assert second[0]["data"] == {"text": "new"}


def test_half_a_line_is_left_for_the_next_time(folder: Path) -> None:
    EventLog(folder).append("bell", 1.0)
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b'{"seq": 2, "at": 2.0, "ki')

    offset, events = read_events(folder, 0)
    assert [event["seq"] for event in events] == [1]

    EventLog(folder).append("bell", 3.0)
    _, later = read_events(folder, offset)
    assert [event["seq"] for event in later] == [2]


@pytest.mark.parametrize(
    "line",
    [
        "7",
        "{}",
        '{"seq": 1, "kind": "bell"}',
        '{"seq": "1", "at": 1, "kind": "bell", "data": {}}',
        '{"seq": 1, "at": 1, "kind": "bell", "data": []}',
        '{"seq": 1, "at": "noon", "kind": "bell", "data": {}}',
    ],
)
def test_lines_that_are_not_events_are_skipped(folder: Path, line: str) -> None:
    good = json.dumps({"seq": 2, "at": 1.0, "kind": "bell", "data": {}})
    (folder / "events.jsonl").write_text(f"{line}\n{good}\n")

    assert [event["seq"] for event in read_events(folder, 0)[1]] == [2]


def test_events_wait_for_free_space_and_then_each_has_its_own_line(folder: Path) -> None:
    events = EventLog(folder)
    events.append("bell", 1.0)
    size = (folder / "events.jsonl").stat().st_size
    with files_of_at_most(size + 10):
        events.append("title", 2.0, text="cut short")
        events.append("title", 3.0, text="not at all")

    events.flush()

    _, found = read_events(folder, 0)
    assert [(event["seq"], event["at"]) for event in found] == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_a_run_without_events_has_none(folder: Path) -> None:
    assert read_events(folder, 5) == (5, [])


PUT_THERE: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("what", PUT_THERE)
def test_what_an_agent_puts_in_place_of_its_files_blocks_no_reader(tmp_path: Path, what: str) -> None:
    """Each command reads these files of all agents."""
    for name in ("lock", "holder.json", "events.jsonl"):
        PUT_THERE[what](tmp_path / name)
    assert not is_held(tmp_path / "lock")
    assert read_holder(tmp_path) is None
    assert read_events(tmp_path, 7) == (7, [])


def test_deeply_nested_lines_are_no_events(tmp_path: Path) -> None:
    event = {"seq": 1, "at": 1.0, "kind": "x", "data": {}}
    (tmp_path / "events.jsonl").write_text("[" * 100_000 + "\n" + json.dumps(event) + "\n")
    assert read_events(tmp_path, 0)[1] == [event]


def test_events_wait_while_their_file_cannot_be_opened(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    events = EventLog(folder)
    events.append("bell", 1.0)
    folder.mkdir()

    events.append("title", 2.0, text="new")

    assert [event["kind"] for event in read_events(folder, 0)[1]] == ["bell", "title"]


@pytest.mark.parametrize(
    "values",
    [
        {"socket": 7},
        {"socket": "/s\0"},
        {"socket": "/\ud800"},
        {"keeper_pid": [1]},
        {"keeper_pid": -1},
        {"keeper_pid": 1 << 40},
        {"pid": 0},
        {"keeper_started": 1 << 70},
        {"started_at": "now"},
        {"started_at": float("inf")},
        {"boot_id": None},
    ],
)
def test_a_holder_record_with_a_value_that_no_holder_writes_is_invalid(
    folder: Path, values: dict[str, object]
) -> None:
    write_record(folder / "holder.json", holder_record(**values))

    assert read_holder(folder) is None


@pytest.mark.parametrize(
    "values",
    [
        {"cause": 1},
        {"at": float("nan")},
        {"at": 1e300},
        {"code": "3"},
        {"code": 1 << 70},
        {"signal": [9]},
        {"reason": "\ud800"},
        {"lost_output": None},
    ],
)
def test_a_record_of_an_end_with_a_value_that_no_holder_writes_is_invalid(
    folder: Path, values: dict[str, object]
) -> None:
    write_record(folder / "exit.json", Exit(**{"cause": "exited", "at": 1.0, **values}))  # type: ignore[arg-type] # a test's own values

    assert read_exit(folder) is None


# ── what an agent writes there ──────────────────────────────────────────────────────────────────────────────────


def test_events_behind_a_huge_hole_are_reached_without_reading_it_at_once(folder: Path) -> None:
    """A file of 40 GB that takes no disk space made every command fail for want of memory."""
    EventLog(folder).append("bell", 1.0)
    offset, _ = read_events(folder, 0)
    _make_huge(folder / "events.jsonl")

    further, nothing = read_events(folder, offset)

    assert offset < further <= offset + READ_MOST
    assert nothing == []
    EventLog(folder).append("bell", 2.0)
    assert [event["at"] for event in read_last_events(folder)] == [2.0]


def test_a_backlog_is_read_in_parts_and_no_event_is_left_out(folder: Path) -> None:
    line = json.dumps({"seq": 1, "at": 1.0, "kind": "title", "data": {"text": "x" * 1000}}) + "\n"
    count = READ_MOST // len(line) + 100
    (folder / "events.jsonl").write_text(line * count)

    offset, first = read_events(folder, 0)
    _, second = read_events(folder, offset)

    assert (len(first) < count, len(first) + len(second)) == (True, count)


def _make_huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 40 << 30)


IN_THE_WAY: dict[str, Callable[[Path], object]] = {
    **PUT_THERE,
    "a link": lambda path: path.symlink_to(path.with_name("precious")),
    "a file with a huge hole": _make_huge,
}


@pytest.fixture
def precious(folder: Path) -> Iterator[Path]:
    """A file of the user that a link leads to."""
    file = folder / "precious"
    file.write_text("unchanged\n")
    yield file
    assert file.read_text() == "unchanged\n"


@pytest.mark.parametrize("what", [what for what in IN_THE_WAY if what != "a file with a huge hole"])
def test_holders_neither_wait_for_nor_follow_what_an_agent_has_put_there(
    folder: Path, precious: Path, what: str
) -> None:
    """A link would have an agent's output written wherever the agent wants."""
    names = ("events.jsonl", "prompts.jsonl", "lines.log", "sizes.jsonl", f"out.{8:020}.log", FINAL_FRAME)
    for name in names:
        IN_THE_WAY[what](folder / name)
    screen = Screen(20, 3)

    EventLog(folder).append("bell", 1.0)
    PromptRecord(folder).write(Prompt("p", "text", is_now=False))
    LogWriter(folder).append(["line"])
    output = Transcript(folder, segment=8)
    output.resized(20, 3)
    output.write(b"12345678rm -rf ~")
    ScreenLog(folder, screen).write_end(Frames(screen))

    assert output.lost == 8


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_nothing_that_an_agent_puts_there_blocks_or_breaks_a_reader(
    folder: Path, precious: Path, what: str
) -> None:
    for name in ("prompts.jsonl", "sizes.jsonl", FINAL_FRAME, "lines.log", f"out.{0:020}.log", SETUP_LOG):
        IN_THE_WAY[what](folder / name)

    assert PromptRecord(folder).read() == {}
    assert segments.list_sizes(folder) == []
    assert final_view(folder) is None
    assert keeper._setup_failure(folder, ("make",)) == ""
    if what != "a file with a huge hole":
        assert last_lines(folder, 5) == []
        assert segments.read(folder, 0, 10) == (0, b"")


@pytest.mark.parametrize("text", [b"failed 99 1\n", b"failed x 1\n", b"run 99\n", b"\xff", b"", b"\n"])
def test_a_forged_progress_of_the_setup_does_not_keep_an_end_from_being_recorded(
    folder: Path, text: bytes
) -> None:
    (folder / SETUP_LOG).write_bytes(text)

    assert keeper._setup_failure(folder, ("make",)) == ""
