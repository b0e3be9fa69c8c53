"""Fixtures of every test: a home of its own, a repository, a fleet, and a check that nothing is left running."""

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

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.models import Agent
from fleet_tui.system import agent_processes, processes
from tests.fork_pool import MARK, pool_pids
from tests.watched_fleet import WatchedFleet

GIT_IDENTITY = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.invalid",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
}
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 2 * 1024**3
"""Required free space; a full run uses a tenth of it."""


QUIET_CONFIG = "[checkpoint]\nautomatic = false\n"
"""No program for each turn of each agent: tests of checkpoints ask for it."""
NOWHERE = Path(os.devnull)
LONGEST_NAME = 60
"""Characters of an argument in the name of a test."""


def _spare_the_machine() -> None:
    """Compile modules once, and keep files in memory if there is room.

    A run starts a thousand programs that import the package, and creates a hundred thousand files.
    """
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
    """Restore the default for SIGINT and SIGHUP.

    A shell starts background jobs with SIGINT ignored, and nohup ignores SIGHUP; the programs that tests start would
    inherit both.
    """
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


_let_programs_be_interrupted()

settings.register_profile(
    "quick",
    max_examples=15,
    deadline=None,
    # All examples of a test share its home.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=400)
settings.load_profile("quick")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Shorten long arguments: the name of a test is part of every report, and of the environment of what the test starts."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_NAME:
        return f"{ascii(val[:LONGEST_NAME])[:LONGEST_NAME]}…{len(val)}"
    return None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Freeze what lives until the end, and name the tests that are run again.

    Scanning the collected tests for garbage again and again takes a third of the time of a test that opens a
    dashboard.
    """
    if session.config.getoption("lf", False):
        for item in session.items:
            # A line of its own, which .ci/run repeats at its end.
            print(f"\nwarning: failed before, run again: {item.nodeid}", flush=True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_sessionfinish() -> None:
    """Shorten the end of a run.

    pytest collects garbage five times at its end; once is enough to find files that were left open. Each xdist worker
    also compares all pictures with all tests, for a report that only the controller prints.
    """
    gc.collect()
    gc.freeze()
    if is_xdist_worker():
        SnapshotReport.lines = property(lambda _: iter(()))  # type: ignore[method-assign,assignment] # its only way


@pytest.fixture(autouse=True)
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home directory for this test. A process that the test leaves running is killed, and the test fails.

    A pure test gets a home that cannot be written: creating one would take longer than most pure tests.
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
    """Point the environment at this home, and remove the user's settings from it."""
    home.mkdir(exist_ok=True)
    for name in list(os.environ):
        if name.startswith(("FLEET_", "XDG_", "GIT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    # Caches are made once per machine, not once per test.
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tempfile.gettempdir()}/fleet-tui-test-cache-{os.getuid()}")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    for name, value in GIT_IDENTITY.items():
        monkeypatch.setenv(name, value)
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    if not paths.user_config().exists():
        paths.user_config().write_text(QUIET_CONFIG)


@contextlib.contextmanager
def nothing_left(home: Path, runtime: Path) -> Iterator[None]:
    """Fail if a process that was started with this home still runs at the end, and kill it."""
    before = _pids()
    yield
    try:
        left = _end_what_is_left(home, before)
        assert not left, f"left running: {left}"
    finally:
        shutil.rmtree(runtime, ignore_errors=True)


def _end_what_is_left(home: Path, before: set[int]) -> list[str]:
    """Kill processes of this test that started since: they have its home, or the mark of a fork pool, in their environment."""
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
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 - called thousands of times


def _bears(pid: int, marks: set[bytes]) -> bool:
    if pid == os.getpid() or pid in pool_pids():
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
    """The repository that each test gets a copy of: created once, without the sample hooks."""
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
    """A real fleet in that repository; its agents are stopped at the end of the test."""
    made = WatchedFleet(repository)
    # Its first refresh creates the store, as a face does when it opens.
    made.refresh()
    yield made
    end_all(made)
    made.close()


def end_all(fleet: Fleet) -> None:
    living = [agent for agent in fleet.agents(everywhere=True) if is_held(paths.lock(agent.id))]
    fleet.stop(living, grace=0.2)


def processes_of(agent: Agent) -> list[int]:
    """All running processes of an agent, including those that left its process tree."""
    table = processes.snapshot()
    return [pid for pid in agent_processes.marked(agent.id, table, started_after=0) if table[pid].is_alive]
