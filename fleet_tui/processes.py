"""The machine's processes in one pass, and the end of a tree that we started.

On Linux everything comes from `/proc`; elsewhere psutil is imported when first needed, and what it cannot
tell (subreaping, locks held by others) is best effort. A keeper loads this module and may import nothing
after its fork: `prepare()` loads the rest beforehand. What an agent's processes cost is `usage`'s business.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import psutil

LINUX = sys.platform == "linux"
PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36
SWEEP_SECONDS = 3.0
"""For killing what is left, until no more is found."""
_CLEAN_LOOKS = 2
"""A process can slip through a pass by forking and exiting while it runs, seldom through two in a row."""
_SLICE = 0.05
_DEAD = frozenset("ZXx")


class Process(NamedTuple):
    """One process as one pass saw it; a tuple, for a pass makes hundreds of them."""

    pid: int
    ppid: int
    pgrp: int
    session: int
    state: str
    """One letter as in ps; Z is a zombie."""
    started: int
    """Ticks since boot (elsewhere: hundredths of a second of the epoch); with the pid, names one process."""
    own_cpu: float
    """Seconds of its own."""
    children_cpu: float
    """Seconds of its ended children that were waited for, and of theirs."""
    rss: int
    """Bytes, shared pages included."""

    @property
    def cpu(self) -> float:
        return self.own_cpu + self.children_cpu

    @property
    def is_alive(self) -> bool:
        return self.state not in _DEAD


class EndReport(NamedTuple):
    """What it took to end a tree."""

    killed: tuple[int, ...]
    """Pids that had to be killed; those that ended when asked are not among them."""
    survivors: tuple[int, ...]
    statuses: dict[int, int]
    """Raw wait status of every child of the keeper that was reaped meanwhile: the program, orphans, and
    a spared child that happened to end."""


Table = Mapping[int, Process]


def _enters_all(pid: int) -> bool:
    return False


def prepare() -> None:
    """Load what the functions below would import when first called; for the moment before a fork."""
    if LINUX:
        import ctypes  # noqa: F401 - kept out of the module's own imports: only keepers need it
    else:
        import psutil  # noqa: F401 - as above


def snapshot(*, portable: bool = not LINUX) -> dict[int, Process]:
    """All processes in one pass, zombies included; one that vanishes meanwhile is left out."""
    if portable:
        return _portable_snapshot()
    table: dict[int, Process] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a path object per process would double the cost
        if name.isdecimal():
            process = _read(name)
            if process is not None:
                table[process.pid] = process
    return table


def look_up(pid: int) -> Process | None:
    """One process as it is now, or None when there is none."""
    return _read(str(pid)) if LINUX else _portable_look_up(pid)


def is_running(pid: int, started: int) -> bool:
    """Whether that very process runs: not a zombie, and not a later one with its number."""
    process = look_up(pid)
    return process is not None and process.started == started and process.is_alive


def children_of(table: Table) -> dict[int, list[Process]]:
    """Each parent's children."""
    families: dict[int, list[Process]] = {}
    for process in table.values():
        families.setdefault(process.ppid, []).append(process)
    return families


def descendants(table: Table, root: int, *, stop_at: Callable[[int], bool] = _enters_all) -> list[Process]:
    """All below root, parents before children; leaves out each subtree whose top satisfies stop_at."""
    families = children_of(table)
    found: list[Process] = []
    parents = [root]
    while parents:
        for child in families.get(parents.pop(0), ()):
            if child.pid != root and not stop_at(child.pid):
                found.append(child)
                parents.append(child.pid)
    return found


def holds_fleet_lock(pid: int, state_folder: str, *, but_not: str = "") -> bool:
    """Whether a process has a file named lock below the state folder open: a keeper, launcher, dispatcher.

    A lock below `but_not` (one agent's own folder) does not count. What cannot be read holds nothing.
    """
    inside = os.path.realpath(state_folder) + "/"
    outside = os.path.realpath(but_not) + "/" if but_not else ""
    for target in _open_files(pid):
        # The kernel appends this to the name of a file that has been unlinked.
        path = target.removesuffix(" (deleted)")
        is_fleets = path.endswith("/lock") and path.startswith(inside)
        if is_fleets and not (outside and path.startswith(outside)):
            return True
    return False


def marked(agent_id: str, table: Table, *, started_after: int) -> list[int]:
    """Our user's processes with exactly FLEET_AGENT_ID=<id> in their environment, not older than given."""
    mark = f"FLEET_AGENT_ID={agent_id}".encode()
    return [
        process.pid
        for process in table.values()
        if process.started >= started_after
        and process.is_alive
        and process.pid != os.getpid()
        and mark in environment(process.pid)
    ]


def unmarked_below(
    root: int, agent_id: str, *, state_folder: str, spare: Collection[int] = ()
) -> list[Process] | None:
    """What came of a process and does not have the agent's id in its environment; None where that cannot be told.

    By the kernel's lists of children, which costs little where there are few. Other holders, with all below them, and
    `spare` are left out.
    """
    mark = f"FLEET_AGENT_ID={agent_id}".encode()
    parents, found = [root], list[Process]()
    while parents:
        children = _children(parents.pop())
        if children is None:
            return None
        for pid in children:
            if pid in spare:
                continue
            if mark not in environment(pid):
                process = look_up(pid)
                if process is None or not process.is_alive or holds_fleet_lock(pid, state_folder):
                    continue
                found.append(process)
            parents.append(pid)
    return found


def become_subreaper() -> bool:
    """Adopt the orphans among our descendants from now on; Linux only. Not inherited by a fork."""
    if not LINUX:
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0


def boot_id() -> str:
    """Differs after each boot of the machine."""
    if LINUX:
        return _line("/proc/sys/kernel/random/boot_id")
    import psutil

    return str(int(psutil.boot_time()))


def terminal(path: str) -> tuple[int, ...]:
    """What names one terminal for ever: its number is given to others later. Empty when there is none at that path."""
    try:
        found = os.stat(path)  # noqa: PTH116 - no more than a system call in a process kept small
    except OSError:
        return ()
    return found.st_dev, found.st_rdev, found.st_ctime_ns


def machine_id() -> str:
    """Stable for this machine, and tells nothing about it."""
    import hashlib

    known = _line("/etc/machine-id") or os.uname().nodename
    return hashlib.sha256(b"fleet-tui " + known.encode()).hexdigest()[:16]


def pid_namespace() -> str:
    """Pids mean the same to two processes only where this is equal; empty where there is just one."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path, a name
    except OSError:
        return ""


def here() -> str:
    """Where pids and locks mean the same as to us: this machine, this namespace."""
    return f"{machine_id()}/{pid_namespace()}"


def end_tree(
    keeper_pid: int,
    program_pid: int,
    agent_id: str,
    *,
    grace: float,
    state_folder: str,
    spare: Collection[int] = (),
    signals: tuple[signal.Signals, ...] = (signal.SIGTERM,),
    reaped: Callable[[int, int], None] | None = None,
    hurry: Callable[[], bool] | None = None,
) -> EndReport:
    """End a program and all that came of it; called in its keeper, the parent and subreaper of it all.

    The program's process group gets the signals (and HUP where the program ignores TERM, as shells do) and
    has the grace to end; then the group, every descendant and every process marked with the agent's id is
    killed until none is left. `spare` and other holders (whoever has a fleet lock) live on with all below
    them. Each child that ends is reaped: `reaped` gets its pid and raw wait status at once, the report has
    all of them. `hurry` is asked every 50 ms and ends the grace when it says so.
    """
    ending = _Ending(keeper_pid, program_pid, agent_id, state_folder, frozenset(spare), reaped, hurry)
    if not ending.wait_for_group(ending.ask(signals), grace):
        ending.signal_group(signal.SIGKILL, snapshot())
    return ending.sweep()


def upwards(process: Process, table: Table) -> Iterator[Process]:
    """It and all above it."""
    above: Process | None = process
    seen: set[int] = set()
    while above is not None and above.pid not in seen:
        yield above
        seen.add(above.pid)
        above = table.get(above.ppid)


class _Ending:
    """One tree on its way out."""

    def __init__(
        self,
        keeper: int,
        program: int,
        agent_id: str,
        state_folder: str,
        spare: frozenset[int],
        reaped: Callable[[int, int], None] | None,
        hurry: Callable[[], bool] | None,
    ) -> None:
        self.keeper = keeper
        self.program = program
        self.agent_id = agent_id
        self.state_folder = state_folder
        self.own_folder = f"{state_folder}/agents/{agent_id}"
        self.spare = spare
        self.reaped = reaped
        self.hurry = hurry
        self.statuses: dict[int, int] = {}
        self.killed: dict[int, None] = {}
        # Without a subreaper (not Linux) an orphan leaves the tree: whoever was seen in it is remembered.
        self.known: dict[int, Process] = {}

    def ask(self, signals: Collection[signal.Signals]) -> list[Process]:
        """Signal the program's process group, and say who is in it."""
        table = snapshot()
        for number in signals:
            self.signal_group(number, table)
        if signal.SIGTERM in signals and _ignores(self.program, signal.SIGTERM):
            self.signal_group(signal.SIGHUP, table)
        # A stopped process would handle the signal only when continued.
        self.signal_group(signal.SIGCONT, table)
        return self._group(table)

    def signal_group(self, number: signal.Signals, table: Table) -> None:
        """Signal the program's process group, whole where the number is certain to be the program's still."""
        members = self._group(table)
        for_all = [process for process in table.values() if process.pgrp == self.program]
        program = table.get(self.program)
        # A child that nobody has waited for keeps its number, and so its group's, from being given again.
        is_certain = program is not None and program.ppid == self.keeper and self.program not in self.statuses
        if is_certain and all(process in members or not process.is_alive for process in for_all):
            try:
                os.killpg(self.program, number)
            except OSError:
                return
        else:
            for process in members:
                send(process, number)
        if number == signal.SIGKILL:
            self.killed.update(dict.fromkeys(process.pid for process in members))

    def wait_for_group(self, members: list[Process], grace: float) -> bool:
        """Whether the program and its process group ended in time."""
        deadline = time.monotonic() + grace
        while members:
            left = deadline - time.monotonic()
            is_hurried = left > 0 and wait_for_end(members, left, self.hurry)
            self.reap()
            if self._children() == []:
                return True
            members = self._group(snapshot())
            if members and (left <= 0 or is_hurried):
                return False
        return True

    def sweep(self) -> EndReport:
        """Kill what is left until a look finds nothing, or two where a fast forker could hide from one."""
        deadline = time.monotonic() + SWEEP_SECONDS
        clean = 0
        victims: list[Process] = []
        while clean < _CLEAN_LOOKS:
            self._kill_children(deadline)
            victims = self._left(snapshot())
            is_certain = self._children() == []
            clean = 0 if victims else _CLEAN_LOOKS if is_certain else clean + 1
            left = deadline - time.monotonic()
            if left <= 0:
                break
            for process in victims:
                if send(process, signal.SIGKILL):
                    self.killed[process.pid] = None
            wait_for_end(victims, min(left, 0.5), None)
            self.reap()
        return EndReport(tuple(self.killed), tuple(process.pid for process in victims), self.statuses)

    def _kill_children(self, deadline: float) -> None:
        """Kill and reap our own children until none is left but the spared.

        Whoever forks and exits faster than a pass over all processes can see still does not get out of this
        list: an orphan is in it the moment its parent ends, and the dead stay in it until they are reaped.
        """
        self.reap()
        before: list[int] = []
        while (children := self._children()) and time.monotonic() < deadline:
            for pid in children:
                try:
                    # Nobody else can get the number of a child that has not been reaped.
                    os.kill(pid, signal.SIGKILL)
                except OSError:  # it runs as another user
                    continue
                self.killed[pid] = None
            if children == before:
                time.sleep(0.001)
            before = children
            self.reap()

    def _children(self) -> list[int] | None:
        """Our children but the spared, the unreaped dead included; None where no such list is to be had."""
        children = children_of_ours() if self.keeper == os.getpid() else None
        return None if children is None else [pid for pid in children if not self._is_spared(pid)]

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.statuses[pid] = status
            if self.reaped is not None:
                self.reaped(pid, status)

    def _tree(self, table: Table) -> list[Process]:
        """Our living processes, as far as they can be told by descent."""
        found = {process.pid: process for process in descendants(table, self.keeper, stop_at=self._is_spared)}
        for old in list(self.known.values()):
            now = table.get(old.pid)
            if now is None or now.started != old.started:
                del self.known[old.pid]
            elif now.pid not in found and not self._is_sheltered(now, table):
                found[now.pid] = now
                found |= {each.pid: each for each in descendants(table, now.pid, stop_at=self._is_spared)}
        living = {pid: process for pid, process in found.items() if process.is_alive}
        self.known |= living
        return list(living.values())

    def _group(self, table: Table) -> list[Process]:
        return [process for process in self._tree(table) if process.pgrp == self.program]

    def _left(self, table: Table) -> list[Process]:
        victims = {process.pid: process for process in self._tree(table)}
        keeper = table.get(self.keeper)
        if keeper is not None:
            for pid in marked(self.agent_id, table, started_after=keeper.started):
                if pid not in victims and not self._is_sheltered(table[pid], table):
                    victims[pid] = table[pid]
        return list(victims.values())

    def _is_spared(self, pid: int) -> bool:
        return (
            pid in self.spare
            or pid == self.keeper
            or holds_fleet_lock(pid, self.state_folder, but_not=self.own_folder)
        )

    def _is_sheltered(self, process: Process, table: Table) -> bool:
        """Whether it, or one above it up to our keeper, is spared."""
        for above in upwards(process, table):
            if above.pid == self.keeper:
                break
            if self._is_spared(above.pid):
                return True
        return process.pid == self.keeper


def send(process: Process, number: signal.Signals) -> bool:
    """Signal that very process: the number is held by a descriptor, or checked at the last moment."""
    try:
        handle = os.pidfd_open(process.pid) if LINUX else -1
    except OSError as error:
        if error.errno == errno.ESRCH:
            return False
        handle = -1
    try:
        if not is_running(process.pid, process.started):
            return False
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(process.pid, number)
    except OSError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)
    return True


def wait_for_end(processes: Iterable[Process], seconds: float, hurry: Callable[[], bool] | None) -> bool:
    """Return once all have ended or the time is over; True only when `hurry` cut it short."""
    deadline = time.monotonic() + seconds
    waiting = list(processes)
    pause = 0.001
    while waiting:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        if hurry is not None and hurry():
            return True
        if not _wait_for_one(waiting[0], min(left, _SLICE) if hurry is not None else left, pause):
            pause = min(pause * 2, _SLICE)
        waiting = [process for process in waiting if is_running(process.pid, process.started)]
    return False


def _wait_for_one(process: Process, seconds: float, pause: float) -> bool:
    """Wait for one end at most so long, or for a pause where no descriptor tells; whether one did."""
    try:
        handle = os.pidfd_open(process.pid) if LINUX else -1
    except OSError as error:
        if error.errno == errno.ESRCH:
            return True
        handle = -1
    if handle < 0:
        time.sleep(min(pause, seconds))
        return False
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(seconds * 1000)
    finally:
        os.close(handle)
    return True


def _ignores(pid: int, number: signal.Signals) -> bool:
    """Whether a process has set a signal to be ignored; not knowing is no."""
    for line in content(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"SigIgn:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def _read(pid: str) -> Process | None:
    try:
        handle = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        data = os.read(handle, 1024)
    except OSError:
        return None
    finally:
        os.close(handle)
    # The name in brackets may itself contain brackets and spaces.
    fields = data[data.rfind(b")") + 2 :].split(None, 22)
    if len(fields) < 22:
        return None
    state = chr(fields[0][0])
    if state == "Z" and int(fields[17]) > 1:
        state = "S"  # only the first thread has ended; the kernel shows that one's state
    return Process(
        int(pid),
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        state,
        int(fields[19]),
        (int(fields[11]) + int(fields[12])) / _TICKS,
        (int(fields[13]) + int(fields[14])) / _TICKS,
        int(fields[21]) * PAGE,
    )


def _open_files(pid: int) -> Iterable[str]:
    return (target for _, target in open_descriptors(pid))


def open_descriptors(pid: int) -> Iterable[tuple[str, str]]:
    """Numbers of open files, and what they are."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208 - as in snapshot
    except OSError:
        return
    for name in names:
        try:
            yield name, os.readlink(f"{folder}/{name}")  # noqa: PTH115 - as above
        except OSError:
            continue


def children_of_ours() -> list[int] | None:
    """This process's children, the unreaped dead included; None where the system has no such list."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):  # noqa: PTH208 - as in snapshot
            path = f"/proc/self/task/{thread}/children"
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - loading pathlib is not for keepers
                found += [int(pid) for pid in file.read().split()]
    except OSError:
        return None
    return found


def _children(pid: int) -> list[int] | None:
    """The same of any process; none of one that has just ended."""
    if pid == os.getpid():
        return children_of_ours()
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - as in snapshot
            found += [int(one) for one in content(f"/proc/{pid}/task/{thread}/children").split()]
    except OSError:
        return []
    return found


def environment(pid: int) -> list[bytes]:
    """A process's variables as NAME=value; none when it is not our user's or cannot be read."""
    if not LINUX:
        return _portable_environment(pid)
    try:
        if os.stat(f"/proc/{pid}").st_uid != os.getuid():  # noqa: PTH116 - as in snapshot
            return []
    except OSError:
        return []
    return content(f"/proc/{pid}/environ").split(b"\0")


def content(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - loading pathlib is not for keepers
            return file.read()
    except OSError:
        return b""


def _line(path: str) -> str:
    return content(path).decode("ascii", "replace").strip()


def _portable_snapshot() -> dict[int, Process]:
    import psutil

    table: dict[int, Process] = {}
    for handle in psutil.process_iter():
        process = _from_psutil(handle)
        if process is not None:
            table[process.pid] = process
    return table


def _portable_look_up(pid: int) -> Process | None:
    import psutil

    try:
        return _from_psutil(psutil.Process(pid))
    except psutil.Error:
        return None


def _from_psutil(handle: psutil.Process) -> Process | None:
    import psutil

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
    """CPU seconds and bytes; nothing for other users' processes, which some systems do not show."""
    import psutil

    try:
        times = handle.cpu_times()
        own = times.user + times.system
        waited = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
        return (own, waited), handle.memory_info().rss
    except (psutil.AccessDenied, psutil.ZombieProcess):
        return (0.0, 0.0), 0


def _portable_environment(pid: int) -> list[bytes]:
    import psutil

    try:
        handle = psutil.Process(pid)
        if handle.uids().real != os.getuid():
            return []
        return [f"{name}={value}".encode() for name, value in handle.environ().items()]
    except (psutil.Error, OSError):
        return []
