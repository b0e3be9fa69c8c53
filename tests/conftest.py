"""What every test stands on: a home of its own, and nothing left running or listening afterwards."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from syrupy.report import SnapshotReport
from syrupy.utils import is_xdist_worker

from fleet_tui import paths, processes
from fleet_tui.fleet import Fleet
from fleet_tui.holder import is_held
from fleet_tui.models import Agent
from tests.holders import MARK, forker_pid

GIT_IDENTITY = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.invalid",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
}
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 2 * 1024**3
"""What must be free there: a run of all tests takes a tenth of it."""


NOWHERE = Path(os.devnull)
LONGEST_NAME = 60
"""Of an argument, in the name of a test."""


def _spare_the_machine() -> None:
    """A run starts a thousand programs that import the package, and makes a hundred thousand files: compiled once and
    kept in memory where the system allows both."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if "TMPDIR" not in os.environ and _has_room_for_programs(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


def _has_room_for_programs(folder: Path) -> bool:
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize > MEMORY_BYTES and not found.f_flag & os.ST_NOEXEC


_spare_the_machine()


def _let_programs_be_interrupted() -> None:
    """Tests that a shell runs in the background ignore interrupts, and with nohup hang-ups, and so would all that they
    start and end that way."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


_let_programs_be_interrupted()

settings.register_profile(
    "quick",
    max_examples=15,
    deadline=None,
    # The home of each test is one for all examples.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=400)
settings.load_profile("quick")


def pytest_make_parametrize_id(val: object) -> str | None:
    """The name of a test goes with every report of it and into the environment of all that it starts."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_NAME:
        return f"{ascii(val[:LONGEST_NAME])[:LONGEST_NAME]}…{len(val)}"
    return None


def pytest_collection_finish() -> None:
    """All that stays to the end, the tests themselves above all, need not be looked through for garbage again and
    again: that took a third of the time of a test that opens a dashboard."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_sessionfinish() -> None:
    """At its end pytest collects garbage five times over; once is enough to find what was left open.

    And each of its processes compares all pictures with all tests, for a report that only the first one shows."""
    gc.collect()
    gc.freeze()
    if is_xdist_worker():
        SnapshotReport.lines = property(lambda _: iter(()))  # type: ignore[method-assign,assignment] # its only way


@pytest.fixture(autouse=True)
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of this test's own; whatever it left running is ended, and the test fails for it.

    A pure test has a home that nobody can write to: making one would take longer than most of them.
    """
    if request.node.get_closest_marker("pure"):
        monkeypatch.setenv("HOME", str(NOWHERE))
        yield NOWHERE
        return
    folder = request.getfixturevalue("tmp_path") / "user"
    runtime = Path(tempfile.mkdtemp(prefix="ft-"))
    settle_in(folder, runtime, monkeypatch)
    with nothing_left(folder, runtime):
        yield folder


def settle_in(home: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs know this home and nothing of the user's."""
    home.mkdir(exist_ok=True)
    for name in list(os.environ):
        if name.startswith(("FLEET_", "XDG_", "GIT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    # What is made once for a machine need not be made anew in every test.
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tempfile.gettempdir()}/fleet-tui-test-cache-{os.getuid()}")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    for name, value in GIT_IDENTITY.items():
        monkeypatch.setenv(name, value)


@contextlib.contextmanager
def nothing_left(home: Path, runtime: Path) -> Iterator[None]:
    """Whatever was begun at this home and still runs in the end is ended, and that is a failure."""
    before = _pids()
    yield
    try:
        left = _end_what_is_left(home, before)
        assert not left, f"left running: {left}"
    finally:
        shutil.rmtree(runtime, ignore_errors=True)


def _end_what_is_left(home: Path, before: set[int]) -> list[str]:
    """Processes begun since that are of this test: by its home in their environment, or as a holder's of `start_holder`."""
    marks = {f"HOME={home}".encode(), f"{MARK}={os.getpid()}".encode()}
    deadline = time.monotonic() + 3.0
    while left := [pid for pid in _pids() - before if _bears(pid, marks)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    shown = []
    for pid in left:
        shown.append(f"{pid} {_command(pid)}")
        os.kill(pid, signal.SIGKILL)
    return shown


def _pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 - thousands of times


def _bears(pid: int, marks: set[bytes]) -> bool:
    if pid in (os.getpid(), forker_pid()):
        return False
    try:
        return not marks.isdisjoint(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return False


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return "?"


@pytest.fixture(scope="session")
def first_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the repository of each test is a copy of: made by git once, without the examples of hooks."""
    folder = tmp_path_factory.mktemp("first") / "project"
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
    environment |= {**GIT_IDENTITY, "HOME": str(folder.parent)}
    (folder / "readme.txt").write_text("hello\n")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)
    for example in (folder / ".git" / "hooks").iterdir():
        example.unlink()
    return folder


@pytest.fixture
def repository(first_repository: Path, tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "project"
    shutil.copytree(first_repository, folder)
    git(folder, "update-index", "--refresh")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def fleet(repository: Path) -> Iterator[Fleet]:
    """A real fleet in that repository; its agents are ended with the test."""
    made = Fleet(repository)
    yield made
    end_all(made)
    made.close()


def end_all(fleet: Fleet) -> None:
    living = [agent for agent in fleet.agents(everywhere=True) if is_held(paths.lock(agent.id))]
    fleet.stop(living, grace=0.2)


def processes_of(agent: Agent) -> list[int]:
    """Everything that still runs of an agent, wherever it has gone."""
    table = processes.snapshot()
    return [pid for pid in processes.marked(agent.id, table, started_after=0) if table[pid].is_alive]
