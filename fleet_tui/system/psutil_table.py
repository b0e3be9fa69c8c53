"""Process table by psutil, for systems without `/proc`: macOS and the BSDs."""

from __future__ import annotations

import os

import psutil

from fleet_tui.system.processes import Process


def snapshot() -> dict[int, Process]:
    table: dict[int, Process] = {}
    for handle in psutil.process_iter():
        process = _from_psutil(handle)
        if process is not None:
            table[process.pid] = process
    return table


def look_up(pid: int) -> Process | None:
    try:
        return _from_psutil(psutil.Process(pid))
    except psutil.Error:
        return None


def _from_psutil(handle: psutil.Process) -> Process | None:
    try:
        with handle.oneshot():
            ppid, status, started = handle.ppid(), handle.status(), int(handle.create_time() * 100)
            times, memory = _costs(handle)
    except psutil.Error:
        return None
    try:
        pgrp, session = os.getpgid(handle.pid), os.getsid(handle.pid)
    except OSError:
        pgrp = session = 0
    state = "Z" if status == psutil.STATUS_ZOMBIE else "S"
    return Process(handle.pid, ppid, pgrp, session, state, started, times[0], times[1], memory)


def _costs(handle: psutil.Process) -> tuple[tuple[float, float], int]:
    """CPU seconds and bytes; 0 for other users' processes, which some systems hide."""
    try:
        times = handle.cpu_times()
        own = times.user + times.system
        waited = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
        return (own, waited), handle.memory_info().rss
    except (psutil.AccessDenied, psutil.ZombieProcess):
        return (0.0, 0.0), 0


def environment(pid: int) -> list[bytes]:
    try:
        handle = psutil.Process(pid)
        if handle.uids().real != os.getuid():
            return []
        return [f"{name}={value}".encode() for name, value in handle.environ().items()]
    except (psutil.Error, OSError):
        return []
