"""Real holders for tests: a keeper with its screen server around a scripted program, ended when the test is.

Use: `with start_holder(tmp_path, [sys.executable, program]) as holder, holder.session() as session: …`
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import fleet_tui
from fleet_tui.holder import hooks
from fleet_tui.holder.lock import is_held, take_lock
from fleet_tui.holder.run_folder import Exit, read_exit
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.session import Session
from fleet_tui.holder.stop_requests import StopRequest, request_stop
from fleet_tui.holder.transcript.segments import TranscriptReader
from fleet_tui.system import processes
from tests.fork_pool import ForkPool

SECONDS = 10.0
"""What anything may take before a test gives up."""

FIRST_PAUSE, LAST_PAUSE = 0.002, 0.04
"""Pauses between two polls: short at first, and longer for conditions that take long."""

KEEPERS = ForkPool("fleet_tui.holder.keeper", "fleet_tui.holder.server.loop", "fleet_tui.holder.forking")
FORK_KEEPER = Path(__file__).with_name("fork_keeper.py")

_numbers = itertools.count(1)


def wait_until(condition: Callable[[], bool], what: str = "it", *, seconds: float = SECONDS) -> None:
    """Poll for a condition that no event announces, such as a process or a file of another process."""
    deadline, pause = time.monotonic() + seconds, FIRST_PAUSE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        time.sleep(pause)
        pause = min(pause * 1.3, LAST_PAUSE)


@dataclass(frozen=True, slots=True)
class RunningHolder:
    """The holder of a running agent; leaving the block ends it."""

    agent: str
    folder: Path
    lock: Path
    pid: int
    """The program's."""
    keeper_pid: int
    _sockets: Path = field(repr=False)

    def __enter__(self) -> RunningHolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        return is_held(self.lock)

    def session(
        self,
        *,
        kind: str = "reader",
        cols: int = 0,
        rows: int = 0,
        rate: float = 60.0,
        seconds: float = SECONDS,
    ) -> Session:
        return Session.open(
            self.folder, self.lock, self.agent, kind=kind, cols=cols, rows=rows, rate=rate, seconds=seconds
        )

    def server_pid(self) -> int:
        """The screen server's; 0 while there is none."""
        return _server_of(self.keeper_pid, self.pid)

    def living_server(self) -> int:
        """The screen server's, once there is one: a signal to pid 0 would reach the test run itself."""
        return living_server(self.keeper_pid, self.pid)

    def exit(self, *, seconds: float = SECONDS) -> Exit:
        """The exit record; None while the run goes on."""
        descriptor = take_lock(self.lock, seconds=seconds)
        if descriptor is None:
            raise AssertionError(f"{self.agent} still runs after {seconds} s")
        os.close(descriptor)
        found = read_exit(self.folder)
        if found is None:
            raise AssertionError(f"{self.agent} left no record of its end: {self.complaints()}")
        return found

    def stop(self, *, cause: str = "stop", grace: float = 0.3) -> None:
        """End the run in any state, unless it has ended."""
        if self.is_running:
            request_stop(self.folder, self.lock, StopRequest(cause, grace))
            descriptor = take_lock(self.lock, seconds=SECONDS)
            if descriptor is not None:
                os.close(descriptor)
            else:
                self._kill()
        shutil.rmtree(self._sockets, ignore_errors=True)

    def complaints(self) -> str:
        """What the keeper and the screen server wrote to standard error."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "holder.err").read_text()
        return ""

    def _kill(self) -> None:
        for pid in (self.keeper_pid, self.server_pid(), self.pid):
            with contextlib.suppress(ProcessLookupError):
                if pid:
                    os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"{self.agent} had to be killed: {self.complaints()}")


def living_server(keeper: int | None, program: int | None) -> int:
    """The screen server of that keeper, once there is one."""
    found: list[int] = []

    def is_there() -> bool:
        found.append(_server_of(keeper, program))
        return found[-1] != 0

    wait_until(is_there, "a screen server")
    return found[-1]


def _server_of(keeper: int | None, program: int | None) -> int:
    table = processes.snapshot().values()
    return next((one.pid for one in table if one.ppid == keeper and one.pid != program and one.is_alive), 0)


def last_output(folder: Path, limit: int) -> bytes:
    """The last bytes of a run's transcript, without the gaps between them."""
    output = b""
    reader = TranscriptReader(folder)
    while data := reader.read()[1]:
        output = (output + data)[-limit:]
    reader.close()
    return output


def start_holder(
    tmp_path: Path,
    argv: Sequence[str | Path],
    *,
    cols: int = 80,
    rows: int = 24,
    setup: Sequence[str] = (),
    env: dict[str, str] | None = None,
    **fields: object,
) -> RunningHolder:
    """Start a program in a holder of its own; `fields` are more of a RunSpec's."""
    agent = f"a{os.getpid()}n{next(_numbers)}"
    state = tmp_path / "state"
    folder = state / "agents" / agent / "1"
    folder.mkdir(parents=True)
    hooks.prepare(folder)
    if setup:
        shutil.copy(Path(fleet_tui.__file__).parent / "holder" / "setup.sh", folder)
    # A socket's path is limited to some 100 bytes, which the test's own folder may well exceed.
    sockets = Path(tempfile.mkdtemp(prefix="fleet"))
    spec = RunSpec(
        agent=agent,
        run=1,
        folder=str(folder),
        state_folder=str(state),
        socket=str(sockets / "s"),
        argv=tuple(str(part) for part in argv),
        cwd=str(tmp_path),
        env=_environment(agent, tmp_path, folder) | (env or {}),
        cols=cols,
        rows=rows,
        setup=tuple(setup),
        **fields,  # type: ignore[arg-type] # what a test overrides
    )
    lock = folder.parent / "lock"
    try:
        report = fork(spec, lock)
    except BaseException:
        shutil.rmtree(sockets)
        raise
    return RunningHolder(agent, folder, lock, report["pid"], report["keeper_pid"], sockets)


def _environment(agent: str, home: Path, folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "FLEET_AGENT_ID": agent,
        "FLEET_FOLDER": str(folder),
    }


def fork(spec: RunSpec, lock: Path) -> dict[str, int]:
    """What the keeper of a run reports once it has been forked."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as answer, open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a device
        arguments = [str(FORK_KEEPER), json.dumps(asdict(spec)), str(lock)]
        process = KEEPERS.start(arguments, (nothing.fileno(), writing, 2), os.environ)
        os.close(writing)
        if not select.select([answer], [], [], SECONDS)[0]:
            raise AssertionError(f"nothing was forked within {SECONDS} s")
        report: dict[str, str] = json.loads(answer.readline() or '{"error": "it printed no report"}')
    process.wait(SECONDS)
    if "error" in report:
        raise AssertionError(f"the holder did not start: {report['error']}")
    return {name: int(value) for name, value in report.items()}
