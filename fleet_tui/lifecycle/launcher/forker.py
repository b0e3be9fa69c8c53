"""The launcher's forker: import what holders need once, then fork a keeper for each request of the worker."""

from __future__ import annotations

import gc
import json
import os
import socket
from collections.abc import Callable, Sequence
from typing import NoReturn

from fleet_tui import names
from fleet_tui.holder.run_spec import RunSpec

LOCK_COMES = b"+"
"""The byte that carries a lock: a descriptor cannot be sent without data."""
LOADED = b"."
"""The worker sends this once it has imported its own modules."""
USER_MANAGER = "systemd/private"
"""The user manager's socket, in the runtime folder."""


def serve(worker: socket.socket) -> None:
    """Fork keepers until the worker hangs up."""
    # On two cores, importing now would slow down the face and the worker, which are on the critical path.
    if not worker.recv(len(LOADED)):
        return
    from fleet_tui.holder import keeper
    from fleet_tui.holder.server.loop import serve as serve_screen
    from fleet_tui.holder.server.warm_up import warm_up
    from fleet_tui.system import processes

    processes.prepare()
    warm_up()
    enter_scope = _scope_entry()
    # Holders share these pages until one writes to them. A garbage collection in a holder would; one here would free
    # objects between those that stay, and each holder would put its own objects into these holes.
    gc.freeze()
    requests = worker.makefile("rb")
    # The worker waits for each answer, so buffered reading never takes in part of the next request.
    while locks := receive_locks(worker, len(LOCK_COMES))[1]:
        values = json.loads(requests.readline())
        try:
            answer = fork_keeper(
                RunSpec.from_plain(values),
                locks[0],
                [worker.fileno()],
                keeper.keep,
                serve_screen,
                enter_scope,
            )
        except OSError as error:
            answer = json.dumps({"error": str(error)}).encode()
        worker.sendall(answer + b"\n")


def _scope_entry() -> Callable[[RunSpec], str]:
    """The function by which a process enters its agent's systemd scope, if there is a manager; it returns a complaint."""
    manager = _user_manager()
    if not manager:
        return _stay
    # Deferred: most machines without systemd never need it.
    from fleet_tui.system import systemd_scope

    return entry_to(manager) if systemd_scope.are_safer(os.getuid()) else _stay


def entry_to(manager: str) -> Callable[[RunSpec], str]:
    """Like `_scope_entry`, for this manager. A manager that hangs is waited for once, not for each agent."""
    from fleet_tui.system import systemd_scope

    if not systemd_scope.answers(manager):
        return lambda _spec: "no scope of its own: systemd does not answer"

    def enter(spec: RunSpec) -> str:
        try:
            systemd_scope.enter(
                manager,
                f"{systemd_scope.unit_prefix(spec.agent)}{spec.run}.scope",
                f"fleet agent {spec.name}",
            )
        except OSError as error:
            return f"no scope of its own: {error}"
        return ""

    return enter


def _stay(_spec: RunSpec) -> str:
    """Stay in the launcher's scope: there is no user manager, or it offers nothing safer."""
    return ""


def _user_manager() -> str:
    """The socket of the user's own systemd; empty if there is none."""
    address = f"{os.environ.get('XDG_RUNTIME_DIR', '')}/{USER_MANAGER}"
    try:
        return address if os.stat(address).st_uid == os.getuid() else ""  # noqa: PTH116 - a plain system call
    except OSError:
        return ""


def fork_keeper(
    spec: RunSpec,
    lock: int,
    close_in_child: Sequence[int],
    keep: Callable[..., NoReturn],
    serve: object,
    enter_scope: Callable[[RunSpec], str] = _stay,
) -> bytes:
    """Fork a keeper with the agent's lock; returns its report. The caller must have no threads."""
    report_read, report_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for descriptor in (report_read, *close_in_child):
                os.close(descriptor)
            complaint = enter_scope(spec)
            gc.enable()
            # Fork twice, so that init adopts and reaps the keeper.
            if os.fork() == 0:
                keep(spec, lock, report_write, serve, complaint)
        finally:
            os._exit(0)
    os.close(report_write)
    os.close(lock)
    os.waitpid(pid, 0)
    with os.fdopen(report_read, "rb") as report:
        answer = report.readline().strip()
    return answer or b'{"error": "the keeper did not start"}'


def receive_locks(line: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Receive data and the locks that come with it; both empty when the other end has closed."""
    data, locks, _, _ = socket.recv_fds(line, size, names.MAX_COUNT)
    for lock in locks:
        os.set_inheritable(lock, False)
    return data, locks
