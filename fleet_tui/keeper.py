"""Keeps one agent's program alive in its pseudo-terminal, whoever is watching.

Owns the PTY master, the lock and the exit record; restarts the screen server when that dies. Loads no native
parser state and never opens the store: what can crash or stall lives elsewhere. Runs in a process forked from the
launcher and imports nothing after that, so that an upgrade or removal of the package does not reach it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import re
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pexpect

from fleet_tui import __version__, processes
from fleet_tui.holder import (
    Exit,
    ExitRecord,
    Holder,
    Requests,
    RunSpec,
    StopRequest,
    Strays,
    read_stop,
    write_record,
)

DRAIN_SECONDS = 2.0
"""How long the screen server may take to read what the program left in the terminal."""
LINGER_SECONDS = 2.0
"""How long it may take to tell its viewers."""
WATCHDOG_SECONDS = 30.0
"""A screen server that has not beaten for this long hangs, and is replaced."""
LEFTOVER_GRACE = 1.0
"""What a program left running gets, once the program itself has ended."""
SHUTDOWN_GRACE = 5.0
LONGEST_GRACE = 1e8
STRAYS_SECONDS = 5.0
"""Between two looks at all descendants while the list of children stays the same."""
TIOCGPTN = 0x80045430
"""Asks a terminal's master for its number; Linux only."""
OOM_ADJUSTMENT = b"300"
"""Agents are to go before their keepers when memory runs out."""

ServerMain = Callable[[RunSpec, int, socket.socket, bool], NoReturn]


class Keeper:
    """One run of one program."""

    def __init__(self, spec: RunSpec, serve: ServerMain) -> None:
        self._spec = spec
        self._serve = serve
        self._folder = Path(spec.folder)
        self._exit_record = ExitRecord(self._folder)
        self._requests = Requests(self._folder.with_name("lock"), spec.run)
        self._request: StopRequest | None = None
        """The newest one."""
        self._kill_at = math.inf
        self._strays = Strays()
        self._children: list[int] = []
        self._look_at = 0.0
        self._server_pid = 0
        self._server_beat = 0.0
        self._server_starts: list[float] = []
        self._restart_at: float | None = None
        self._control: socket.socket | None = None
        self._buffer = b""
        self._status: int | None = None
        self._drained = False
        self._lost_output = 0
        self._lost_earlier = 0
        """By screen servers that are gone."""
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._stop_asked = False
        self._shutdown_asked = False
        self._install_signals()
        self._program = self._spawn()
        try:
            self._record_start()
        except OSError:
            # Nobody would ever find what runs without a record.
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

    def _spawn(self) -> pexpect.spawn[bytes]:
        if not os.path.isdir(self._spec.cwd):  # noqa: PTH112 - as below
            # The program's process would find out too late to say so.
            raise NotADirectoryError(f"the folder {self._spec.cwd} is gone")
        argv = list(self._spec.argv)
        if self._spec.setup:
            script = str(self._folder / "setup.sh")
            progress = str(self._folder / "setup.log")
            argv = ["/bin/sh", script, progress, str(len(self._spec.setup)), *self._spec.setup, *argv]
        return pexpect.spawn(
            argv[0] if argv[1:] else _as_one_word(argv[0]),
            argv[1:],
            cwd=self._spec.cwd,
            env=self._spec.env,
            dimensions=(self._spec.rows, self._spec.cols),
            timeout=None,
            preexec_fn=_as_a_terminal_would_start_it,
        )

    def _record_start(self) -> None:
        own = processes.look_up(os.getpid())
        write_record(
            self._folder / "holder.json",
            Holder(
                agent=self._spec.agent,
                run=self._spec.run,
                keeper_pid=os.getpid(),
                keeper_started=own.started if own else 0,
                pid=int(self._program.pid or 0),
                socket=self._spec.socket,
                boot_id=processes.boot_id(),
                started_at=time.time(),
                version=__version__,
                terminal=self._terminal(),
            ),
        )

    def _terminal(self) -> tuple[int, ...]:
        """What a process that has left our tree can still be known by."""
        try:
            number = fcntl.ioctl(int(self._program.child_fd), TIOCGPTN, bytes(4))
        except OSError:
            return ()
        return processes.terminal(f"/dev/pts/{int.from_bytes(number, sys.byteorder)}")

    @property
    def pid(self) -> int:
        return int(self._program.pid or 0)

    def _start_server(self) -> None:
        try:
            ours, theirs = socket.socketpair()
        except OSError:
            self._restart_at = time.monotonic() + 1.0
            return
        restarted = bool(self._server_starts)
        try:
            pid = os.fork()
        except OSError:
            # No process is to be had right now; the program goes on without anybody watching.
            ours.close()
            theirs.close()
            self._restart_at = time.monotonic() + 1.0
            return
        if pid == 0:
            try:
                ours.close()
                self._become_server_process()
                self._serve(self._spec, int(self._program.child_fd), theirs, restarted)
            finally:
                os._exit(70)
        theirs.close()
        if self._control is not None:
            self._control.close()
        ours.setblocking(False)
        self._control, self._buffer = ours, b""
        self._server_pid, self._server_beat = pid, time.monotonic()
        self._server_starts.append(self._server_beat)
        self._lost_earlier = self._lost_output
        self._restart_at = None

    def _become_server_process(self) -> None:
        """The lock is the keeper's alone: it must go when the keeper goes."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_DFL)
        # A system that shuts down tells all processes at once, and the keeper needs this one for the last words.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.close(self._lock)
        self._requests.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
        if self._control is not None:
            self._control.close()

    # ── the loop ────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, lock: int) -> None:
        """Until the program has ended and that is on record."""
        self._lock = lock
        self._start_server()
        while self._status is None:
            self._wait(1.0)
            if self._take_requests():
                self._end()
                return
            self._watch_server()
            self._note_strays()
        self._finish("exited", grace=LEFTOVER_GRACE)

    def _wait(self, seconds: float) -> None:
        """Until a child ends, a signal comes, or the screen server says something."""
        if self._restart_at is not None:
            seconds = min(seconds, max(0.0, self._restart_at - time.monotonic()))
        sources: list[int] = [self._wake_read]
        if self._requests.fileno() >= 0:
            sources.append(self._requests.fileno())
        if self._control is not None:
            sources.append(self._control.fileno())
        ready, _, _ = select.select(sources, [], [], seconds)
        if self._wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        if self._control is not None and self._control.fileno() in ready:
            self._hear()
        if self._requests.fileno() in ready:
            self._take_requests()
        self._reap()

    def _hear(self) -> None:
        if self._control is None:
            return
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._control.close()
            self._control = None
            return
        self._server_beat = time.monotonic()
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            if line.startswith(b"{"):
                # From a process that hostile bytes may have corrupted.
                with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError):
                    message = json.loads(line)
                    self._drained = self._drained or message.get("t") == "drained"
                    self._lost_output = self._lost_earlier + int(message.get("lost", 0))

    def _reap(self) -> None:
        """Collect every child that has ended: the program, the server, and orphans that were given to us."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._note_end(pid, status)

    def _note_end(self, pid: int, status: int) -> None:
        if pid == self.pid:
            self._status = status
        elif pid == self._server_pid:
            self._server_pid = 0
            now = time.monotonic()
            recent = sum(1 for start in self._server_starts if now - start < 30.0)
            self._restart_at = now if recent < 3 else now + min(5.0, 0.1 * 2 ** (recent - 3))

    def _watch_server(self) -> None:
        now = time.monotonic()
        if self._server_pid and now - self._server_beat > WATCHDOG_SECONDS:
            os.kill(self._server_pid, signal.SIGKILL)
            self._server_beat = now
        if self._restart_at is not None and now >= self._restart_at:
            self._start_server()

    def _note_strays(self) -> None:
        """Write down which descendants do not have the agent's mark, when that has changed."""
        now = time.monotonic()
        children = processes.children_of_ours()
        if children is None or (children == self._children and now < self._look_at):
            return
        self._children, self._look_at = children, now + STRAYS_SECONDS
        found = processes.unmarked_below(
            os.getpid(), self._spec.agent, state_folder=self._spec.state_folder, spare=(self._server_pid,)
        )
        strays = Strays(tuple(sorted((process.pid, process.started) for process in found or ())))
        if strays != self._strays:
            # On a full disk it is tried again later.
            with contextlib.suppress(OSError):
                write_record(self._folder / "strays.json", strays)
                self._strays = strays

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _take_requests(self) -> bool:
        """Note what was asked since the last call; whether the program is to end."""
        for request in self._requests.take():
            self._note_request(request)
        if self._stop_asked:
            # From a face that found no pipe: the request is in a file.
            self._stop_asked = False
            self._note_request(read_stop(self._folder) or StopRequest("stop", SHUTDOWN_GRACE))
        if self._shutdown_asked:
            self._kill_at = min(self._kill_at, time.monotonic() + SHUTDOWN_GRACE)
        return self._request is not None or self._shutdown_asked

    def _note_request(self, request: StopRequest) -> None:
        """The first request says how long the program gets; a second one ends the wait."""
        before, self._request = self._request, request
        if before is None:
            # Not a number counts as none.
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
        self._drain(self._true(cause))
        self._exit_record.write(self._outcome(cause, report.survivors))
        self._say(t="recorded")
        self._let_server_go()
        with contextlib.suppress(OSError):
            os.unlink(self._spec.socket)  # noqa: PTH108 - no more than a system call in a process kept small

    def _end_tree(self, *, grace: float) -> processes.EndReport:
        return processes.end_tree(
            os.getpid(),
            self.pid,
            self._spec.agent,
            grace=grace,
            state_folder=self._spec.state_folder,
            spare={self._server_pid},
            reaped=self._note_end,
            hurry=self._is_time_to_kill,
        )

    def _drain(self, cause: str) -> None:
        """Let the screen server take what is left in the terminal, so that the last words are not lost."""
        if self._server_pid == 0:
            self._start_server()
        code, number = self._code()
        self._say(t="exited", code=code, signal=number, cause=cause)
        deadline = time.monotonic() + DRAIN_SECONDS
        while not self._drained and self._server_pid and time.monotonic() < deadline:
            self._wait(0.2)

    def _let_server_go(self) -> None:
        self._wait_for_server(LINGER_SECONDS)
        if self._server_pid:
            os.kill(self._server_pid, signal.SIGKILL)
            self._wait_for_server(LINGER_SECONDS)

    def _wait_for_server(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._server_pid and time.monotonic() < deadline:
            self._wait(0.2)

    def _code(self) -> tuple[int | None, int | None]:
        if self._status is None:
            return None, None
        code = os.waitstatus_to_exitcode(self._status)
        return (code, None) if code >= 0 else (None, -code)

    def _outcome(self, cause: str, survivors: tuple[int, ...]) -> Exit:
        code, number = self._code()
        cause = self._true(cause)
        reason = _setup_failure(self._folder, self._spec.setup) if cause == "exited" else ""
        return Exit(
            cause="failed" if reason else cause,
            at=time.time(),
            code=code,
            signal=number,
            reason=reason,
            lost_output=self._lost_output,
            survivors=survivors,
        )

    def _true(self, cause: str) -> str:
        """What the run ended by. A system that shuts down tells all processes at once, and the program may be quicker
        than we are."""
        if cause:
            return "shutdown" if cause == "exited" and self._shutdown_asked else cause
        return self._request.cause if self._request is not None else "shutdown"

    def _say(self, **message: object) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(json.dumps(message).encode() + b"\n")


def _as_one_word(program: str) -> str:
    """pexpect splits a command without arguments as a shell would."""
    return re.sub(r"([\\\s'\"])", r"\\\1", program)


def _setup_failure(folder: Path, commands: tuple[str, ...]) -> str:
    if not commands:
        return ""
    try:
        last = (folder / "setup.log").read_text(encoding="utf-8").splitlines()[-1].split()
    except (OSError, IndexError):
        return ""
    if last[:1] == ["failed"] and len(last) == 3:
        return f"setup: {commands[int(last[1]) - 1]!r} ended with code {last[2]}"
    if last[:1] == ["run"]:
        return f"setup: {commands[int(last[1]) - 1]!r} was interrupted"
    return ""


def _as_a_terminal_would_start_it() -> None:
    """Runs in the child before exec: undo what Python and the keeper changed for themselves."""
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
    `complaint` is what the launcher has to say to the holder's log.
    """
    code = 1
    try:
        os.setsid()
        os.chdir("/")
        _own_streams(Path(spec.folder))
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
    except (pexpect.ExceptionPexpect, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        _report(report, error=reason)
        return None
    _report(report, pid=keeper.pid, keeper_pid=os.getpid())
    return keeper


def _report(report: int, **values: object) -> None:
    # The launcher may have been killed; what it started is to live on.
    with contextlib.suppress(OSError):
        os.write(report, json.dumps(values).encode() + b"\n")
    os.close(report)


def _own_streams(folder: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    problems = os.open(folder / "holder.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(problems, 2)
    os.close(nothing)
    os.close(problems)
