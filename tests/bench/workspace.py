"""The environment of the measures: a home, repositories and programs of their own, cleaned up afterwards.

Uses memory instead of disk if possible. Runs the command line as a user does: the console script beside this Python.
"""

from __future__ import annotations

import compileall
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import fleet_tui
from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.models import Agent, Status
from fleet_tui.system import processes
from tests.watched_fleet import WatchedFleet

FILES = 7000
ROOM = 6 << 30
"""Bytes the largest measures may need."""
SECONDS = 60.0
"""Seconds after which a run is aborted."""
DROPPED = ("FLEET_", "AI_FLEET_", "XDG_", "GIT_", "TMUX", "PYTHONDONT", "PYTHONUNBUFFERED")

PROGRAMS = {
    # Writes the current time to a file, then waits like an idle agent.
    "waiter": ': > "$BENCH_STARTED/$$"\nexec cat\n',
    "family": "sleep 9999 & sleep 9999 & sleep 9999 & sleep 9999 &\nwait\n",
    "flood": "exec yes 'one of very many lines that a program printed without being asked to stop'\n",
    "printer": "read -r _\n"
    "seq -f 'line %06g of what a program has to say, and wide enough to look like a real one' 10000\n"
    "printf 'all printed'\nexec cat\n",
    "escaper": "sleep 9991 &\n"
    "setsid sleep 9992 &\n"
    "nohup sleep 9993 >/dev/null 2>&1 &\n"
    "(setsid sh -c 'sleep 9994 & sleep 9994 &' &)\n"
    "timeout 9999 sleep 9995 &\n"  # in a process group of its own
    "printf 'all escaped'\nexec cat\n",
}


class Workspace:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fleet-bench-", dir=_roomiest()))
        self.home = self.folder / "home"
        self.started = self.folder / "started"
        self.programs = self.folder / "bin"
        for folder in (self.home, self.started, self.programs, self.folder / "run"):
            folder.mkdir(mode=0o700)
        for name, script in PROGRAMS.items():
            self.program(name, f"#!/bin/sh\n{script}")
        self._enter()
        _compile()

    def _enter(self) -> None:
        """Point the environment of this process and its children here."""
        for name in list(os.environ):
            if name.startswith(DROPPED):
                del os.environ[name]
        (self.home / ".gitconfig").write_text(
            "[user]\nname = Bench\nemail = bench@example.invalid\n[gc]\nauto = 0\n"
        )
        self.keep_spares(0)
        os.environ |= {
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "BENCH_STARTED": str(self.started),
            "PATH": f"{self.programs}:{os.environ['PATH']}",
        }

    def keep_spares(self, count: int) -> None:
        """How many worktrees launchers make in advance: none, except where they are measured."""
        file = self.home / ".config" / "aifleet" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"[spares]\ncount = {count}\n")

    def program(self, name: str, text: str) -> Path:
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    # ── repositories ────────────────────────────────────────────────────────────────────────────────────────────

    def large(self, name: str = "large") -> Path:
        return self.repository(name, FILES)

    def small(self) -> Path:
        return self.repository("small", 20)

    def repository(self, name: str, files: int) -> Path:
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            git(folder, "init", "--quiet", "--initial-branch", "main")
            subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=_history(files), check=True)
            git(folder, "reset", "--quiet", "--hard", "main")
            # Git compares whole seconds: every git status would read files again that are as new as the index.
            time.sleep(1.1)
            git(folder, "status")
        return folder

    # ── agents ──────────────────────────────────────────────────────────────────────────────────────────────────

    def fleet(self, repository: Path, *arguments: str) -> tuple[float, str]:
        """Run the command line; return its seconds and its output."""
        return timed([str(Path(sys.executable).with_name("fleet")), *arguments], repository)

    @contextlib.contextmanager
    def agents(self, repository: Path, count: int, program: str) -> Iterator[tuple[Fleet, list[Agent]]]:
        """Agents that run inside the block and are removed after it."""
        fleet = WatchedFleet(repository)
        try:
            made = fleet.fanout(count, program, prompt="x", profile=str(self.programs / program))
            down = [agent for agent in made if agent.has_ended]
            if down:
                raise RuntimeError(f"{down[0].name} did not start: {down[0].status_detail}")
            yield fleet, made
        finally:
            self.clear(repository)
            fleet.close()

    def clear(self, repository: Path) -> None:
        """End the agents of a repository and remove their files."""
        fleet = WatchedFleet(repository)
        agents = [agent for agent in fleet.agents() if agent.status is not Status.KILLED]
        fleet.kill(agents, delete_branch=True, grace=0.3)
        fleet.close()
        for folder in {Path(agent.worktree).parent for agent in agents}:
            shutil.rmtree(folder, ignore_errors=True)
        self.forget_worktrees(repository)

    def forget_worktrees(self, repository: Path) -> None:
        shutil.rmtree(repository / ".git" / "worktrees", ignore_errors=True)
        names = git(repository, "for-each-ref", "--format=%(refname)", "refs/heads").split()
        doomed = "".join(f"delete {name}\n" for name in names if name != "refs/heads/main")
        subprocess.run(["git", "update-ref", "--stdin"], cwd=repository, input=doomed.encode(), check=True)

    def start_times(self) -> list[float]:
        """The start times of all waiters, by the system clock; clears them."""
        found = []
        for mark in list(self.started.iterdir()):
            found.append(mark.stat().st_mtime)
            mark.unlink()
        return found

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        left = [agent for agent in _known_agents() if is_held(paths.lock(agent.id))]
        fleet = WatchedFleet(self.folder)
        fleet.stop(left, grace=0.3)
        fleet.close()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self) -> list[int]:
        """Processes whose environment points here, except this one."""
        mark = f"HOME={self.home}".encode()
        table = processes.snapshot()
        return [
            pid for pid, one in table.items() if one.is_alive and pid != os.getpid() and _bears(pid, mark)
        ]


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def timed(command: Sequence[str], folder: Path) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return seconds, done.stdout


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not happen within {SECONDS:g} s")
        time.sleep(0.005)


def screen_server(agent: Agent) -> int:
    """The pid of an agent's screen server; 0 while there is none."""
    children = (
        one.pid for one in processes.snapshot().values() if one.ppid == agent.keeper_pid and one.is_alive
    )
    return next((pid for pid in children if pid != agent.pid), 0)


def _known_agents() -> list[Agent]:
    from fleet_tui.store.database import Store

    store = Store(paths.store())
    try:
        return [agent for agent, _ in store.agents.live()]
    finally:
        store.close()


def _bears(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _roomiest() -> str | None:
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and shutil.disk_usage(shared).free > ROOM else None


def _compile() -> None:
    """Compile the modules as an installer does; an editable install may not have done so."""
    sys.dont_write_bytecode = False
    compileall.compile_dir(str(Path(fleet_tui.__file__).parent), quiet=2)


def _history(files: int) -> bytes:
    """A commit for git fast-import with as many source files, and as large ones, as a grown Python project."""
    chance = random.Random(7)
    words = [
        "self",
        "value",
        "return",
        "import",
        "class",
        "other_name",
        "request",
        "response",
        "None",
        "True",
        "for",
        "item",
        "in",
        "items",
        "if",
        "not",
    ]
    lines = [
        "    " * chance.randint(0, 3) + " ".join(chance.choices(words, k=chance.randint(2, 9)))
        for _ in range(5000)
    ]
    parts = [
        b"commit refs/heads/main\ncommitter Bench <bench@example.invalid> 1700000000 +0000\ndata 5\nfirst\n"
    ]
    for number in range(files):
        text = f"# {number}\n" + "\n".join(
            chance.choices(lines, k=int(chance.paretovariate(1.2) * 40) % 3000 + 5)
        )
        content = text.encode() + b"\n"
        path = f"package{number % 31}/part{number % 17}/module{number}.py"
        parts.append(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
    return b"".join(parts)
