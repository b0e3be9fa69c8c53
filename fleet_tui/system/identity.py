"""Identity of this machine, this boot, this PID namespace, and of one terminal."""

from __future__ import annotations

import os

from fleet_tui.system.proc import LINUX
from fleet_tui.system.processes import content


def boot_id() -> str:
    """An id that changes with every boot."""
    if LINUX:
        return _line("/proc/sys/kernel/random/boot_id")
    import psutil

    return str(int(psutil.boot_time()))


def terminal(path: str) -> tuple[int, ...]:
    """A permanent id of one terminal, whose number the kernel reuses: device, number, creation. Empty if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - keepers do not load pathlib
    except OSError:
        return ()
    return found.st_dev, found.st_rdev, found.st_ctime_ns


def machine_id() -> str:
    """A stable id of this machine that reveals nothing about it."""
    import hashlib

    known = _line("/etc/machine-id") or os.uname().nodename
    return hashlib.sha256(b"fleet-tui " + known.encode()).hexdigest()[:16]


def pid_namespace() -> str:
    """The id of the PID namespace: pids are comparable only within one. Empty on systems without namespaces."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path, a name
    except OSError:
        return ""


def here() -> str:
    """This machine and PID namespace: where pids and locks have the same meaning."""
    return f"{machine_id()}/{pid_namespace()}"


def user_and_host() -> str:
    """`user@host`, for people; the number of a user without a name."""
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    return f"{name}@{os.uname().nodename}"


def _line(path: str) -> str:
    return content(path).decode("ascii", "replace").strip()
