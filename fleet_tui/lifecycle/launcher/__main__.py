"""Entry point of the launcher: fork the worker, then serve as the forker."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import sys
from typing import IO

from fleet_tui import paths
from fleet_tui.errors import FleetError, LaunchFailed
from fleet_tui.lifecycle.launcher import forker
from fleet_tui.lifecycle.launcher.worker import LaunchWorker, log_exception

FIRST_INHERITED = 3
"""The first descriptor after the standard streams."""
ORDER_BYTES = 1 << 16


def _receive_order(face: socket.socket) -> tuple[dict[str, int], int] | None:
    """The agents' locks by id, and how many worktrees to make in parallel; None if the face hung up."""
    data, locks = b"", list[int]()
    while not data.endswith(b"\n"):
        some, locks = forker.receive_locks(face, ORDER_BYTES)
        if not some:
            return None
        data += some
    order = json.loads(data)
    return dict(zip(order["agents"], locks, strict=True)), order["parallel"]


def _work(face: socket.socket, to_forker: socket.socket, out: IO[str]) -> None:
    """Import what the worker needs, then wait for the order."""
    import concurrent.futures.thread  # noqa: F401 - preload

    from fleet_tui.git import add  # noqa: F401 - preload
    from fleet_tui.store import database  # noqa: F401 - preload

    to_forker.sendall(forker.LOADED)
    with face:
        order = _receive_order(face)
    if order is not None:
        LaunchWorker(*order, to_forker, out).run()


def main() -> None:
    # Importing makes hardly any garbage, and collecting takes a tenth of the time.
    gc.disable()
    # The caller's descriptors would stay open as long as the agents live.
    os.closerange(FIRST_INHERITED, os.sysconf("SC_OPEN_MAX"))
    os.chdir("/")
    _log_stderr()
    face = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        code = 1
        try:
            out = os.fdopen(os.dup(1), "w", encoding="utf-8")
            _close_stdout()
            _work(face, theirs, out)
            code = 0
        except BrokenPipeError:
            code = 0
        except Exception:  # noqa: BLE001 - the last frame of this process: record what ended it
            log_exception()
        finally:
            sys.stderr.flush()
            os._exit(code)
    theirs.close()
    face.close()
    _close_stdout()
    forker.serve(ours)
    # Skip the interpreter's shutdown: the caller waits for this process.
    sys.stderr.flush()
    os._exit(0)


def _log_stderr() -> None:
    """Redirect standard error to the launchers' log, if it can be written."""
    with contextlib.suppress(OSError, FleetError):
        problems = os.open(
            paths.log() / "launch.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        os.dup2(problems, 2)
        os.close(problems)


def _close_stdout() -> None:
    """Let the reader of progress see the end when the worker ends, not when the last keeper does."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


if __name__ == "__main__":
    try:
        main()
    except (LaunchFailed, BrokenPipeError) as problem:
        sys.exit(str(problem))
