"""The launcher's forker: import what holders need once, then fork a keeper for each request of the worker."""

from __future__ import annotations

import gc
import json
import os
import socket

from fleet_tui import names
from fleet_tui.holder.forking import fork_keeper, scope_entry
from fleet_tui.holder.run_spec import RunSpec

LOCK_COMES = b"+"
"""The byte that carries a lock: a descriptor cannot be sent without data."""
LOADED = b"."
"""The worker sends this once it has imported its own modules."""


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
    enter_scope = scope_entry()
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


def receive_locks(line: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Receive data and the locks that come with it; both empty when the other end has closed."""
    data, locks, _, _ = socket.recv_fds(line, size, names.MAX_COUNT)
    for lock in locks:
        os.set_inheritable(lock, False)
    return data, locks
