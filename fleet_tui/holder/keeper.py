"""The keeper: runs one agent's program in a pseudo-terminal, independently of any client.

Owns the PTY master, the lock and the exit record; restarts the screen server when it dies. Never feeds the emulator and
never opens the store: what can crash or stall lives elsewhere. Runs in a process forked from the launcher and imports
nothing after that, so that an upgrade or removal of the package does not affect it.

One file, because one loop owns the PTY, the lock and both child processes: each way to end passes through all of them,
and the order of these steps is what keeps an end from being lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import select
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

from ptyprocess import PtyProcess

from fleet_tui import __version__
from fleet_tui.holder.control import EXITED, RECORDED
from fleet_tui.holder.run_folder import (
    HOLDER_FILE,
    SETUP_LOG,
    SETUP_SCRIPT,
    STRAYS_FILE,
    TIMED_OUT,
    Exit,
    ExitRecord,
    Holder,
    Strays,
    write_record,
)
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.server_process import ServerMain, ServerProcess
from fleet_tui.holder.stop_requests import StopRequest, StopRequests, read_stop
from fleet_tui.system import agent_processes, end_tree, files, identity, priority, processes

DRAIN_SECONDS = 2.0
"""How long the screen server may take to read what the program left in the terminal."""
LINGER_SECONDS = 2.0
"""How long it may take to send its clients the end."""
LEFTOVER_GRACE = 1.0
"""Grace for processes that the program left running when it ended."""
SHUTDOWN_GRACE = 5.0
LONGEST_GRACE = 1e8
STRAYS_SECONDS = 5.0
"""Between two scans of all descendants while the list of children stays the same."""
TIOCGPTN = 0x80045430
"""ioctl that returns a terminal's number; Linux only."""
OOM_ADJUSTMENT = b"300"
"""When memory runs out, agents are killed before their keepers."""


class Keeper:
    """One run of one program."""

    def __init__(self, spec: RunSpec, serve: ServerMain) -> None:
        self._spec = spec
        self._folder = Path(spec.folder)
        self._exit_record = ExitRecord(self._folder)
        self._requests = StopRequests(self._folder.with_name("lock"), spec.run)
        self._request: StopRequest | None = None
        """The newest stop request."""
        self._kill_at = math.inf
        self._deadline = time.monotonic() + spec.seconds if spec.seconds else math.inf
        self._strays = Strays()
        self._children: list[int] = []
        self._look_at = 0.0
        self._status: int | None = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._stop_asked = False
        self._shutdown_asked = False
        self._install_signals()
        self._program = self._spawn()
        self._is_session_lowered = not spec.settings.nice
        self._server = ServerProcess(spec, int(self._program.fd), serve, self._become_server_process)
        try:
            self._record_start()
        except OSError:
            # A program without a record could never be found again.
            self._end_tree(grace=0.0)
            raise

    # ── start ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _install_signals(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (
            signal.SIGHUP,
            signal.SIGINT,
            signal.SIGQUIT,
            signal.SIGPIPE,
            signal.SIGTSTP,
            signal.SIGUSR2,
        ):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGUSR1, lambda *_: setattr(self, "_stop_asked", True))
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "_shutdown_asked", True))

    def _spawn(self) -> PtyProcess:
        if not os.path.isdir(self._spec.cwd):  # noqa: PTH112 - as below
            # After the fork it would be too late to report this.
            raise NotADirectoryError(f"the folder {self._spec.cwd} is gone")
        argv = list(self._spec.argv)
        if self._spec.setup:
            script = str(self._folder / SETUP_SCRIPT)
            progress = str(self._folder / SETUP_LOG)
            argv = ["/bin/sh", script, progress, str(len(self._spec.setup)), *self._spec.setup, *argv]
        # ptyprocess would search the launcher's PATH, not the one that the program gets.
        program = shutil.which(argv[0], path=self._spec.env.get("PATH") or os.defpath)
        if program is None:
            raise FileNotFoundError(f"The command was not found or was not executable: {argv[0]}.")
        # Not pexpect, which matches output, too: its code would cost each keeper pages of its own.
        return PtyProcess.spawn(
            [program, *argv[1:]],
            cwd=self._spec.cwd,
            env=self._spec.env,
            dimensions=(self._spec.rows, self._spec.cols),
            preexec_fn=lambda: _become_program(self._spec.settings.nice),
        )

    def _record_start(self) -> None:
        own = processes.look_up(os.getpid())
        write_record(
            self._folder / HOLDER_FILE,
            Holder(
                agent=self._spec.agent,
                run=self._spec.run,
                keeper_pid=os.getpid(),
                keeper_started=own.started if own else 0,
                pid=int(self._program.pid or 0),
                socket=self._spec.socket,
                boot_id=identity.boot_id(),
                started_at=time.time(),
                version=__version__,
                terminal=self._terminal(),
            ),
        )

    def _terminal(self) -> tuple[int, ...]:
        """The terminal's identity, by which a process that has left our tree is still recognized."""
        try:
            number = fcntl.ioctl(int(self._program.fd), TIOCGPTN, bytes(4))
        except OSError:
            return ()
        return identity.terminal(f"/dev/pts/{int.from_bytes(number, sys.byteorder)}")

    @property
    def pid(self) -> int:
        return int(self._program.pid or 0)

    def _become_server_process(self) -> None:
        """Drop what belongs to the keeper alone: the lock must be released when the keeper dies."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_DFL)
        # A shutdown signals all processes at once, and the keeper still needs this one to read the last output.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.close(self._lock)
        self._requests.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    # ── the loop ────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, lock: int) -> None:
        """Run until the program has ended and its end is recorded."""
        self._lock = lock
        self._server.start()
        while self._status is None:
            self._lower_session()
            self._wait(1.0)
            if self._take_requests():
                self._end()
                return
            self._server.watch()
            self._note_strays()
        self._finish("exited", grace=LEFTOVER_GRACE)

    def _lower_session(self) -> None:
        if not self._is_session_lowered:
            self._is_session_lowered = priority.lower_session(self.pid, self._spec.settings.nice)

    def _wait(self, seconds: float) -> None:
        """Wait for a child to end, a signal, a stop request or a message of the screen server."""
        due = min(self._deadline, self._server.restart_at or math.inf)
        seconds = min(seconds, max(0.0, due - time.monotonic()))
        sources: list[int] = [self._wake_read]
        if self._requests.fileno() >= 0:
            sources.append(self._requests.fileno())
        if self._server.fileno() >= 0:
            sources.append(self._server.fileno())
        ready, _, _ = select.select(sources, [], [], seconds)
        if self._wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        if self._server.fileno() in ready:
            self._server.read()
        if self._requests.fileno() in ready:
            self._take_requests()
        self._reap()

    def _reap(self) -> None:
        """Reap the program, the server, and orphans that a subreaper inherits."""
        for pid, status in processes.reap():
            self._note_end(pid, status)

    def _note_end(self, pid: int, status: int) -> None:
        if pid == self.pid:
            self._status = status
        elif pid == self._server.pid:
            self._server.died()

    def _note_strays(self) -> None:
        """Record descendants without the agent's mark in their environment, when they have changed."""
        now = time.monotonic()
        children = processes.children_of_ours()
        if children is None or (children == self._children and now < self._look_at):
            return
        self._children, self._look_at = children, now + STRAYS_SECONDS
        found = agent_processes.unmarked_below(
            os.getpid(), self._spec.agent, state_folder=self._spec.state_folder, spare=(self._server.pid,)
        )
        strays = Strays(tuple(sorted((process.pid, process.started) for process in found or ())))
        if strays != self._strays:
            # On a full disk, retry later.
            with contextlib.suppress(OSError):
                write_record(self._folder / STRAYS_FILE, strays)
                self._strays = strays

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _take_requests(self) -> bool:
        """Take new stop requests and signals; True if the program is to end."""
        for request in self._requests.take():
            self._note_request(request)
        if self._stop_asked:
            # The sender found no pipe and left the request in a file.
            self._stop_asked = False
            self._note_request(read_stop(self._folder) or StopRequest("stop", SHUTDOWN_GRACE))
        if time.monotonic() >= self._deadline:
            self._deadline = math.inf
            self._note_request(StopRequest(TIMED_OUT, SHUTDOWN_GRACE))
        if self._shutdown_asked:
            self._kill_at = min(self._kill_at, time.monotonic() + SHUTDOWN_GRACE)
        return self._request is not None or self._shutdown_asked

    def _note_request(self, request: StopRequest) -> None:
        """The first request sets the grace time; a second one ends it."""
        before, self._request = self._request, request
        if before is None:
            # NaN counts as zero.
            self._kill_at = time.monotonic() + max(0.0, min(request.grace, LONGEST_GRACE))
        elif not request.id or request.id != before.id:
            self._kill_at = 0.0

    def _is_time_to_kill(self) -> bool:
        self._take_requests()
        return time.monotonic() >= self._kill_at

    def _end(self) -> None:
        """End the program on request."""
        self._finish("", grace=max(0.0, self._kill_at - time.monotonic()))

    def _finish(self, cause: str, *, grace: float) -> None:
        report = self._end_tree(grace=grace)
        self._drain(self._final_cause(cause))
        self._exit_record.write(self._outcome(cause, report.survivors))
        self._server.send(RECORDED)
        self._let_server_go()
        with contextlib.suppress(OSError):
            os.unlink(self._spec.socket)  # noqa: PTH108 - no more than a system call in a process kept small

    def _end_tree(self, *, grace: float) -> end_tree.EndReport:
        return end_tree.end_tree(
            os.getpid(),
            self.pid,
            self._spec.agent,
            grace=grace,
            state_folder=self._spec.state_folder,
            spare={self._server.pid},
            reaped=self._note_end,
            hurry=self._is_time_to_kill,
        )

    def _drain(self, cause: str) -> None:
        """Let the screen server read the rest of the output from the terminal."""
        if self._server.pid == 0:
            self._server.start()
        code, number = self._code()
        self._server.send(EXITED, code=code, signal=number, cause=cause)
        deadline = time.monotonic() + DRAIN_SECONDS
        while not self._server.is_drained and self._server.pid and time.monotonic() < deadline:
            self._wait(0.2)

    def _let_server_go(self) -> None:
        self._wait_for_server(LINGER_SECONDS)
        if self._server.pid:
            self._server.kill()
            self._wait_for_server(LINGER_SECONDS)

    def _wait_for_server(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._server.pid and time.monotonic() < deadline:
            self._wait(0.2)

    def _code(self) -> tuple[int | None, int | None]:
        if self._status is None:
            return None, None
        code = os.waitstatus_to_exitcode(self._status)
        return (code, None) if code >= 0 else (None, -code)

    def _outcome(self, cause: str, survivors: tuple[int, ...]) -> Exit:
        code, number = self._code()
        cause = self._final_cause(cause)
        reason = _setup_failure(self._folder, self._spec.setup) if cause == "exited" else ""
        return Exit(
            cause="failed" if reason else cause,
            at=time.time(),
            code=code,
            signal=number,
            reason=reason,
            lost_output=self._server.lost_output,
            survivors=survivors,
        )

    def _final_cause(self, cause: str) -> str:
        """The cause to record: in a shutdown all processes are signaled at once, and the program may end first."""
        if cause:
            return "shutdown" if cause == "exited" and self._shutdown_asked else cause
        return self._request.cause if self._request is not None else "shutdown"


def _setup_failure(folder: Path, commands: tuple[str, ...]) -> str:
    if not commands:
        return ""
    # The commands and the program may have written anything there.
    try:
        last = files.read(folder / SETUP_LOG).decode("utf-8", "replace").splitlines()[-1].split()
        if last[:1] == ["failed"] and len(last) == 3:
            return f"setup: {commands[int(last[1]) - 1]!r} ended with code {last[2]}"
        if last[:1] == ["run"]:
            return f"setup: {commands[int(last[1]) - 1]!r} was interrupted"
    except (OSError, ValueError, IndexError):
        pass
    return ""


def _become_program(nice: int) -> None:
    _reset_child()
    priority.lower(nice)


def _reset_child() -> None:
    """Restore in the child, before exec, what Python and the keeper changed for themselves."""
    for name in (
        "SIGPIPE",
        "SIGXFSZ",
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGTSTP",
        "SIGCHLD",
        "SIGUSR1",
        "SIGUSR2",
        "SIGTERM",
    ):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    with contextlib.suppress(OSError):
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(descriptor, OOM_ADJUSTMENT)
        os.close(descriptor)


def keep(spec: RunSpec, lock: int, report: int, serve: ServerMain, complaint: str = "") -> NoReturn:
    """The keeper's whole life, in a process just forked from the launcher.

    `report` is a pipe: the keeper writes one JSON line, either {"pid": …} once the program runs or {"error": …}.
    `complaint` is a message of the launcher for the holder's log.
    """
    code = 1
    try:
        os.setsid()
        os.chdir("/")
        _redirect_streams(Path(spec.folder))
        if complaint:
            sys.stderr.write(f"{complaint}\n")
            sys.stderr.flush()
        processes.become_subreaper()
        keeper = _started(spec, report, serve)
        if keeper is not None:
            keeper.run(lock)
            code = 0
    except Exception:  # noqa: BLE001 - the last frame of this process: what ended it must be on record
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _started(spec: RunSpec, report: int, serve: ServerMain) -> Keeper | None:
    try:
        keeper = Keeper(spec, serve)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        _report(report, error=reason)
        return None
    _report(report, pid=keeper.pid, keeper_pid=os.getpid())
    return keeper


def _report(report: int, **values: object) -> None:
    # The launcher may have been killed; the agent lives on.
    with contextlib.suppress(OSError):
        os.write(report, json.dumps(values).encode() + b"\n")
    os.close(report)


def _redirect_streams(folder: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    problems = os.open(folder / "holder.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(problems, 2)
    os.close(nothing)
    os.close(problems)
