"""A holder that reads no request: python deaf_holder.py FOLDER (pipe|signal). Prints the pid of its program.

`pipe` opens the pipe for requests as a holder of this version does; `signal` is a holder of an earlier version, which
has none and ignores the signal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from fleet_tui.holder import run_folder
from fleet_tui.holder.lock import take_lock
from fleet_tui.holder.stop_requests import StopRequests
from fleet_tui.system import identity, processes


def main(folder: Path, way: str) -> None:
    lock = take_lock(folder.parent / "lock")
    requests = StopRequests(folder.parent / "lock", 1) if way == "pipe" else None
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    own = processes.look_up(os.getpid())
    assert own is not None
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    record = run_folder.Holder(
        "deaf", 1, os.getpid(), own.started, child.pid, "", identity.boot_id(), time.time()
    )
    run_folder.write_record(folder / "holder.json", record)
    print(child.pid, flush=True)
    signal.pause()
    del lock, requests  # held until here


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
