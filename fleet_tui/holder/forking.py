"""Fork the keeper of a run from a process that has imported what holders need.

Whoever calls this has no threads and no open store: both would be broken in the keeper.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from typing import NoReturn

from fleet_tui.holder.run_spec import RunSpec

USER_MANAGER = "systemd/private"
"""The user manager's socket, in the runtime folder."""


def scope_entry() -> Callable[[RunSpec], str]:
    """The function by which a process enters its agent's systemd scope, if there is a manager; it returns a complaint."""
    manager = _user_manager()
    if not manager:
        return _stay
    # Deferred: most machines without systemd never need it.
    from fleet_tui.system import systemd_scope

    return entry_to(manager) if systemd_scope.are_safer(os.getuid()) else _stay


def entry_to(manager: str) -> Callable[[RunSpec], str]:
    """Like `scope_entry`, for this manager. A manager that hangs is waited for once, not for each agent."""
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
