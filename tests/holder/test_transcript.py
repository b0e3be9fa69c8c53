"""Output that is kept, rotated, lost and recovered, on real files and a full disk."""

from __future__ import annotations

import inspect
import os
import random
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.holder.transcript import follow, retention, segments
from fleet_tui.holder.transcript.follow import Follower
from fleet_tui.holder.transcript.lines import LogWriter
from fleet_tui.holder.transcript.segments import Transcript, TranscriptReader
from fleet_tui.holder.transcript.settled import SettledLines
from tests.holder.holders import last_output
from tests.system.small_disks import small_disk

DEADLINE = 20.0


def pattern(offset: int, length: int) -> bytes:
    """Bytes that tell their own offset."""
    numbers = b"".join(b"%08d" % (number * 8) for number in range(offset // 8, (offset + length) // 8 + 1))
    return numbers[offset % 8 :][:length]


def everything(folder: Path, offset: int = 0, limit: int = 1000) -> list[tuple[int, bytes]]:
    """What a reader gets from an offset on, run by run."""
    reader = TranscriptReader(folder, offset)
    runs = []
    while (run := reader.read(limit))[1]:
        runs.append(run)
    reader.close()
    return runs


def scripted(code: str, folder: Path) -> list[str]:
    """A program that writes in a process of its own."""
    imports = "import signal, sys\nfrom pathlib import Path\nfrom fleet_tui.holder.transcript.lines import LogWriter\nfrom fleet_tui.holder.transcript.segments import Transcript\n"
    return [sys.executable, "-c", imports + inspect.getsource(pattern) + code, str(folder)]


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


# ── raw output ──


def test_what_is_written_is_read_back_at_its_offset(tmp_path: Path) -> None:
    output = Transcript(tmp_path)
    output.write(b"hello ")
    output.write(b"world")

    assert output.end == 11
    assert segments.read(tmp_path, 0, 100) == (0, b"hello world")
    assert segments.read(tmp_path, 6, 3) == (6, b"wor")
    assert segments.read(tmp_path, 11, 100) == (11, b"")
    assert segments.read(tmp_path, 500, 100) == (11, b"")


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        output, lines = Transcript(tmp_path), LogWriter(tmp_path)
        output.write(b"secret")
        output.resized(80, 24)
        lines.append(["secret"])
    finally:
        os.umask(old)

    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in files(tmp_path)} == {
        "out.00000000000000000000.log": 0o600,
        "sizes.jsonl": 0o600,
        "lines.log": 0o600,
    }


def test_the_oldest_segments_are_dropped_and_offsets_stay(tmp_path: Path) -> None:
    output = Transcript(tmp_path, cap=400, segment=100)
    for start in range(0, 1000, 50):
        output.write(pattern(start, 50))

    kept = segments.list_segments(tmp_path)
    offset, data = segments.read(tmp_path, 0, 5000)

    assert [segment.base for segment in kept] == [600, 700, 800, 900]
    assert (offset, data) == (600, pattern(600, 400))
    assert output.end == 1000
    assert output.lost == 0


def test_one_write_larger_than_the_limit_keeps_its_end(tmp_path: Path) -> None:
    output = Transcript(tmp_path, cap=400, segment=100)
    output.write(pattern(0, 5000))

    assert last_output(tmp_path, 150) == pattern(4850, 150)
    assert sum(segment.size for segment in segments.list_segments(tmp_path)) <= 400


def test_a_later_writer_goes_on_where_the_last_stopped(tmp_path: Path) -> None:
    for part in range(7):
        output = Transcript(tmp_path, cap=1000, segment=100)
        assert output.end == part * 33
        output.write(pattern(part * 33, 33))
        output.close()

    assert segments.read(tmp_path, 0, 1000) == (0, pattern(0, 231))
    assert len(segments.list_segments(tmp_path)) == 3


@given(
    writes=st.lists(st.integers(0, 300), max_size=20),
    segment=st.integers(7, 200),
    cap=st.integers(15, 900),
    reopen=st.sets(st.integers(0, 19)),
    limit=st.integers(1, 400),
)
def test_any_byte_still_kept_is_found_at_its_offset(
    tmp_path_factory: pytest.TempPathFactory,
    writes: list[int],
    segment: int,
    cap: int,
    reopen: set[int],
    limit: int,
) -> None:
    folder = tmp_path_factory.mktemp("output")
    output = Transcript(folder, cap=cap, segment=segment)
    total = 0
    for number, length in enumerate(writes):
        if number in reopen:
            output.close()
            output = Transcript(folder, cap=cap, segment=segment)
        output.write(pattern(total, length))
        total += length
        assert output.end == total
        assert sum(each.size for each in segments.list_segments(folder)) <= cap
    output.close()

    runs = everything(folder, limit=limit)

    assert all(data == pattern(offset, len(data)) for offset, data in runs)
    assert all(offset + len(data) == after for (offset, data), (after, _) in pairwise(runs))
    if total:
        assert runs[-1][0] + len(runs[-1][1]) == total
    assert last_output(folder, limit) == b"".join(data for _, data in runs)[-limit:]


def test_a_reader_follows_across_segments_that_appear_and_vanish(tmp_path: Path) -> None:
    output = Transcript(tmp_path, cap=400, segment=100)
    reader = TranscriptReader(tmp_path)
    chance = random.Random(7)
    expected = 0
    for _ in range(200):
        output.write(pattern(output.end, chance.randrange(60)))
        if chance.random() < 0.5:
            offset, data = reader.read(1000)
            assert offset >= expected
            assert data == pattern(offset, len(data))
            expected = offset + len(data)
    reader.close()

    assert expected > 3000


def test_a_writer_killed_in_the_middle_is_followed_by_another(tmp_path: Path) -> None:
    code = """
output = Transcript(Path(sys.argv[1]), cap=100_000, segment=5_000)
while True:
    output.write(pattern(output.end, 777))
    if output.end > 20_000:
        print(flush=True)
"""
    for _ in range(3):
        before = Transcript(tmp_path).end
        with subprocess.Popen(scripted(code, tmp_path), stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert select.select([writer.stdout], [], [], DEADLINE)[0]
            writer.send_signal(signal.SIGKILL)
        output = Transcript(tmp_path, cap=100_000, segment=5_000)
        assert output.end > before
        output.write(pattern(output.end, 100))
        output.close()

        assert all(data == pattern(offset, len(data)) for offset, data in everything(tmp_path))
        assert len(list(everything(tmp_path, limit=10**9))) == 1, "no gap"


def test_sizes_are_noted_at_their_offsets(tmp_path: Path) -> None:
    output = Transcript(tmp_path)
    output.resized(80, 24)
    output.write(b"12345")
    output.resized(80, 24)
    output.resized(120, 40)
    output.close()
    with (tmp_path / "sizes.jsonl").open("ab") as file:
        file.write(b"\n[9,8")  # as a full disk leaves it
    again = Transcript(tmp_path)
    again.resized(120, 40)
    again.resized(100, 30)

    assert segments.list_sizes(tmp_path) == [(0, 80, 24), (5, 120, 40), (5, 100, 30)]


def test_a_terminal_that_is_resized_without_end_does_not_fill_the_disk(tmp_path: Path) -> None:
    output = Transcript(tmp_path)
    for number in range(6_000):
        output.resized(80 + number % 2, 24)

    assert (tmp_path / "sizes.jsonl").stat().st_size < 100_000
    assert segments.list_sizes(tmp_path)[-1] == (0, 81, 24)


# ── a disk that fails ──

FULL = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
folder, now = Path(sys.argv[1]), [0.0]
output = Transcript(folder, clock=lambda: now[0])
lines = LogWriter(folder)
output.write(pattern(0, 300))
lines.append(["before"])
resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
output.write(pattern(300, 400))
assert (output.end, output.lost) == (700, 200), (output.end, output.lost)
lines.append(["x" * 600])
assert lines.lost == 1
resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
now[0] = 5.0
output.write(pattern(700, 100))
assert (output.end, output.lost) == (800, 300)
output.resized(80, 24)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
output.write(pattern(800, 50))
assert output.lost == 350, "tried again too soon"
now[0] = 10.0
output.write(pattern(850, 50))
lines.append(["after"])
assert (output.end, output.lost) == (900, 350)
"""


def test_a_write_that_fails_leaves_a_gap_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run(scripted(FULL, tmp_path), check=True)

    assert everything(tmp_path) == [(0, pattern(0, 500)), (850, pattern(850, 50))]
    assert segments.read(tmp_path, 600, 10) == (850, pattern(850, 10))
    assert last_output(tmp_path, 60) == pattern(490, 10) + pattern(850, 50)
    assert Transcript(tmp_path).end == 900
    first, cut, mark, after = follow.last_lines(tmp_path, 10)
    assert (first, after) == ("before", "after")
    assert mark == "[lines lost because the disk was full: 1]"
    assert set(cut) == {"x"}


def test_a_writer_that_begins_after_a_failure_does_not_reuse_offsets(tmp_path: Path) -> None:
    code = FULL.split("resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))")[0]
    subprocess.run(scripted(code, tmp_path), check=True)

    assert Transcript(tmp_path).end >= 700


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", size="64k") as folder:
        yield folder


def test_a_full_disk_costs_output_and_no_more(disk: Path) -> None:
    now = 0.0
    ballast = disk / "ballast"
    output = Transcript(disk, cap=1 << 20, segment=16 << 10, clock=lambda: now)
    lines = LogWriter(disk)
    output.write(pattern(0, 20_000))
    ballast.write_bytes(b"x" * 30_000)
    output.write(pattern(20_000, 40_000))
    lost = output.lost
    lines.append(["lost"] * 5_000)
    ballast.unlink()
    now = 2.0
    output.write(pattern(60_000, 1_000))
    lines.append(["found"])

    runs = everything(disk, limit=1 << 20)

    assert lost > 0
    assert lines.lost > 0
    assert output.lost == lost
    assert [offset for offset, _ in runs] == [0, 60_000]
    assert all(data == pattern(offset, len(data)) for offset, data in runs)
    mark = f"[lines lost because the disk was full: {lines.lost}]"
    assert follow.last_lines(disk, 2) == [mark, "found"]
    output.close()
    lines.close()


def test_a_folder_that_vanishes_causes_no_error(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    output, lines = Transcript(folder), LogWriter(folder)
    output.write(b"12345")
    output.resized(80, 24)
    lines.append(["a", "b"])

    assert (output.end, output.lost, lines.lost) == (5, 5, 2)
    assert segments.read(folder, 0, 10) == (0, b"")
    assert last_output(folder, 10) == b""
    assert follow.last_lines(folder, 10) == []


# ── lines ──


def test_the_last_lines_are_found_from_the_end(tmp_path: Path) -> None:
    lines = LogWriter(tmp_path)
    lines.append([f"line {number}" for number in range(50_000)])

    assert follow.last_lines(tmp_path, 2) == ["line 49998", "line 49999"]
    assert len(follow.last_lines(tmp_path, 20_000)) == 20_000
    assert len(follow.last_lines(tmp_path, 90_000)) == 50_000
    assert follow.last_lines(tmp_path, 0) == []


def test_a_line_stays_one_line_whatever_is_in_it(tmp_path: Path) -> None:
    LogWriter(tmp_path).append(["a\nb\rc\x1b[31md", "", "é\u2028🐙\udc80", "\x85end"])

    assert follow.last_lines(tmp_path, 9) == ["a b c [31md", "", "é\u2028🐙?", " end"]


@pytest.mark.parametrize("length", [1, 10, 999])
def test_the_last_lines_cross_a_rotation(tmp_path: Path, length: int) -> None:
    lines = LogWriter(tmp_path, cap=4_000)
    for number in range(1_200):
        lines.append([f"{number:0{length}}"])
    found = [int(line) for line in follow.last_lines(tmp_path, 10_000)]

    assert [path.name for path in files(tmp_path)] == ["lines.1.log", "lines.log"]
    assert found == list(range(found[0], 1_200))
    assert follow.last_lines(tmp_path, len(found) - 1) == [f"{n:0{length}}" for n in found[1:]]
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 4_000


def test_a_line_cut_short_by_a_crash_does_not_swallow_the_next(tmp_path: Path) -> None:
    (tmp_path / "lines.log").write_bytes(b"whole\ncut sho")
    lines = LogWriter(tmp_path)

    assert follow.last_lines(tmp_path, 5) == ["whole"]
    lines.append(["next"])
    assert follow.last_lines(tmp_path, 5) == ["whole", "cut sho", "next"]


def test_a_follower_misses_and_repeats_nothing_across_rotations(tmp_path: Path) -> None:
    lines = LogWriter(tmp_path, cap=2_000)
    lines.append([str(number) for number in range(10)])
    follower = Follower(tmp_path, last=3)
    chance = random.Random(3)
    got: list[str] = []
    written = 10
    for _ in range(400):
        if chance.random() < 0.6:
            more = chance.randrange(30)
            lines.append([str(number) for number in range(written, written + more)])
            written += more
        else:
            got += follower.read()
    got += follower.read()
    follower.close()

    assert got == [str(number) for number in range(7, written)]


def test_a_follower_finds_the_file_between_two_rotations(tmp_path: Path) -> None:
    lines = LogWriter(tmp_path, cap=200)
    lines.append(["a" * 60])
    follower = Follower(tmp_path)
    lines.append(["b" * 60])
    lines.append(["c" * 60])

    assert follower.read() == ["b" * 60, "c" * 60]
    follower.close()


def test_a_follower_gives_only_complete_lines(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert follower.read() == []
    with (tmp_path / "lines.log").open("wb", buffering=0) as file:
        file.write(b"one\ntw")
        assert follower.read() == ["one"]
        file.write(b"o\n\nthree\n")
        assert follower.read() == ["two", "", "three"]
    assert follower.read() == []
    follower.close()


def test_a_follower_that_begins_at_a_cut_line_gives_it_whole(tmp_path: Path) -> None:
    (tmp_path / "lines.log").write_bytes(b"old\nhal")
    follower = Follower(tmp_path)
    with (tmp_path / "lines.log").open("ab") as file:
        file.write(b"f\n")

    assert follower.read() == ["half"]
    follower.close()


# ── lines of an alternate screen ──


def test_a_line_is_given_once_when_it_has_settled() -> None:
    screen = SettledLines(hold=1.0)

    assert screen.seen(["hello", ""], 0.0) == []
    assert screen.due == 1.0
    assert screen.seen(["hello  ", "later"], 0.5) == []
    assert screen.seen(["hello", "later"], 1.0) == ["hello"]
    assert screen.due == 1.5
    assert screen.seen(["hello", "later"], 1.5) == ["later"]
    assert screen.due is None
    assert screen.seen([], 2.0) == screen.seen(["later", "hello"], 3.0) == screen.seen(["hello"], 9.0) == []


def test_what_moves_up_the_screen_has_not_changed() -> None:
    screen = SettledLines(hold=1.0)
    screen.seen(["", "", "text"], 0.0)
    screen.seen(["", "text", ""], 0.6)

    assert screen.seen(["text", "", ""], 1.2) == ["text"]


def test_a_spinner_never_settles() -> None:
    screen = SettledLines(hold=1.0)

    assert [line for tick in range(50) for line in screen.seen([f"thinking {tick}s", "title"], tick / 2)] == [
        "title"
    ]


def test_memory_of_lines_is_bounded_and_never_loses_what_is_shown() -> None:
    screen = SettledLines(hold=0.0, remember=50)
    given = [line for tick in range(500) for line in screen.seen(["always", f"line {tick}"], float(tick))]

    assert given.count("always") == 1
    assert len(given) == 501
    assert screen.seen(["line 0"], 1000.0) == ["line 0"], "long forgotten"
    assert screen.seen(["line 499"], 1001.0) == []


def test_unsettled_lines_are_written_at_the_end() -> None:
    screen = SettledLines(hold=1.0)
    screen.seen(["first", "last words"], 0.0)

    assert screen.rest() == ["first", "last words"]
    assert screen.rest() == []


# ── all agents together ──


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """Three agents with 300 bytes each, which ended in order, and unrelated files."""
    for age, agent in enumerate(["ended-first", "ended-later", "alive"]):
        run = tmp_path / agent / "1"
        run.mkdir(parents=True)
        output = Transcript(run, cap=1000, segment=100)
        output.write(pattern(0, 300))
        output.close()
        for path in run.iterdir():
            os.utime(path, (1000 + age, 1000 + age))
        for name in ("exit.json", "lines.log", "out.log", "out.123.log"):
            (run / name).write_bytes(b"x" * 50)
    (tmp_path / "alive" / "1" / "out.00000000000000000300.log").symlink_to(tmp_path / "alive/1/exit.json")
    return tmp_path


def test_nothing_goes_while_all_fits(agents: Path) -> None:
    assert retention.total_size(agents) == 900
    assert retention.evict(agents, 900, keep=set()) == []


def test_the_output_of_those_that_ended_first_goes_first(agents: Path) -> None:
    gone = retention.evict(agents, 450, keep={"alive"})

    assert [(path.parts[-3], path.name) for path in gone] == [
        ("ended-first", "out.00000000000000000000.log"),
        ("ended-first", "out.00000000000000000100.log"),
        ("ended-first", "out.00000000000000000200.log"),
        ("ended-later", "out.00000000000000000000.log"),
        ("ended-later", "out.00000000000000000100.log"),
    ]
    assert retention.total_size(agents) == 400


def test_the_living_and_everything_else_are_left_alone(agents: Path) -> None:
    retention.evict(agents, 0, keep={"alive"})

    assert retention.total_size(agents) == 300
    left = sorted(path.name for path in (agents / "ended-first" / "1").iterdir())
    assert left == ["exit.json", "lines.log", "out.123.log", "out.log"]
