"""The detached process that runs checks: `python -P -m fleet_tui.review.check_runner`, with its order on standard input.

It forks a holder for each check, a few at a time over all runners of the user, and records how each one ended. It
receives the checks' locks with its order. If it is killed, the checks that run go on until their time limit, and those
that wait are over, because nobody holds their locks.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleet_tui import git, paths
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.holder.event_log import read_last_events
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import read_exit
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.models import RunSettings
from fleet_tui.programs import profiles
from fleet_tui.programs.environment import program_environment
from fleet_tui.review import check_folder
from fleet_tui.review.checks import CheckSettings, PlannedCheck, current_tree, ended
from fleet_tui.review.diff import git_dir_of
from fleet_tui.store.database import Store
from fleet_tui.system import processes
from fleet_tui.work import CheckRun, CheckState

LOOK_SECONDS = 0.05
TRANSCRIPT_BYTES = 8 << 20
COLS, ROWS = 120, 40
NAMED_FILES = 3
"""How many of the files that changed during a check are named."""
_AT_REST = frozenset({"idle", "done", "blocked", "limited", "error"})


@dataclass(frozen=True, slots=True)
class _Running:
    """A check whose keeper has been forked."""

    check: PlannedCheck
    slot: int
    """The descriptor of the slot that it takes."""
    lock: int
    """The lock is held until the end is recorded, so that nobody sees a check without an outcome."""
    keeper: int
    started: int
    """Of the keeper; with the pid it identifies one process."""


class CheckRunner:
    """Runs the checks of one order."""

    def __init__(self, checks: Mapping[int, PlannedCheck], settings: CheckSettings) -> None:
        self._waiting = dict(checks)
        """By the descriptor of the check's lock."""
        self._running: list[_Running] = []
        self._settings = settings

    def run(self) -> None:
        from fleet_tui.holder.forking import scope_entry
        from fleet_tui.holder.server.warm_up import warm_up

        processes.prepare()
        warm_up()
        self._enter_scope = scope_entry()
        gc.freeze()
        while self._waiting or self._running:
            while self._waiting and (slot := self._free_slot()) >= 0:
                self._start_next(slot)
            for one in self._running[:]:
                if not processes.is_running(one.keeper, one.started):
                    self._finish(one)
            time.sleep(LOOK_SECONDS)

    def _free_slot(self) -> int:
        """The descriptor of a slot that no runner uses; -1 if there is none."""
        folder = paths.private(paths.state() / "check-slots")
        for number in range(max(1, self._settings.at_once)):
            slot = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(slot)
            else:
                return slot
        return -1

    def _start_next(self, slot: int) -> None:
        lock = next(iter(self._waiting))
        check = self._waiting.pop(lock)
        with _store() as store, store.transaction():
            is_wanted = store.checks.begin(check.run, time.time())
        problem = self._fork(check, lock, slot) if is_wanted else ""
        if problem:
            self._record(replace(check.run, state=CheckState.NOT_STARTED, ended_at=time.time(), note=problem))
        if problem or not is_wanted:
            _remove_temporary(check.run)
            os.close(lock)
            os.close(slot)

    def _fork(self, check: PlannedCheck, lock: int, slot: int) -> str:
        """Start the check's holder; returns what went wrong."""
        from fleet_tui.holder import keeper
        from fleet_tui.holder.forking import fork_keeper
        from fleet_tui.holder.server.loop import serve

        # A keeper gets no other check's lock, and no connection to the store.
        others = [*self._waiting, lock, slot]
        others += [descriptor for one in self._running for descriptor in (one.lock, one.slot)]
        try:
            spec = self._spec(check)
            # It is closed here by the call, and stays open in the keeper.
            report = json.loads(
                fork_keeper(spec, os.dup(lock), others, keeper.keep, serve, self._enter_scope)
            )
        except OSError as error:
            return error.strerror or str(error)
        if "error" in report:
            return str(report["error"])
        found = processes.look_up(report["keeper_pid"])
        started = found.started if found is not None else 0
        self._running.append(_Running(check, slot, lock, report["keeper_pid"], started))
        return ""

    def _spec(self, check: PlannedCheck) -> RunSpec:
        folder = check_folder.run(check.run)
        address = str(paths.sockets() / f"{check.run.id}.sock")
        settings = self._settings
        return RunSpec(
            agent=check.run.id,
            run=1,
            folder=str(folder),
            state_folder=str(paths.state()),
            socket=address,
            # The user has trusted exactly this line, which is a shell's.
            argv=("/bin/sh", "-c", settings.command),
            cwd=check.cwd,
            env=self._environment(check, address, folder),
            cols=COLS,
            rows=ROWS,
            settings=RunSettings(transcript_cap=TRANSCRIPT_BYTES, nice=settings.nice),
            name=f"check of {check.name}",
            seconds=settings.minutes * 60.0,
        )

    def _environment(self, check: PlannedCheck, address: str, folder: Path) -> dict[str, str]:
        try:
            profile = profiles.load(check.profile)
        except FleetError:
            # It was uninstalled; the check does not need it.
            profile = profiles.load("sh")
        temporary = check_folder.temporary(check.run)
        temporary.mkdir(mode=0o700)
        environment = program_environment(
            profile,
            os.environ,
            # An id of its own: whoever ends the agent's processes must not end half a check.
            agent_id=check.run.id,
            socket=address,
            folder=str(folder),
            port_base=check.port_base,
            extra=self._settings.env,
        )
        return environment | {"TMPDIR": str(temporary), "FLEET_PORT": str(_free_port()), "PWD": check.cwd}

    def _finish(self, one: _Running) -> None:
        self._running.remove(one)
        _remove_temporary(one.check.run)
        with _store() as store:
            run = ended(store.checks.get(one.check.run.id) or one.check.run)
        self._record(run if run.onto else _with_changes(run))
        os.close(one.slot)
        os.close(one.lock)

    def _record(self, run: CheckRun) -> None:
        with _store() as store, store.transaction():
            store.checks.finish(run)


def _with_changes(run: CheckRun) -> CheckRun:
    """Add the files at the end of a check, and name those that changed while it ran."""
    try:
        with _store() as store:
            agent = store.agents.get(run.agent)
            tree = current_tree(store, agent)
            git_dir = git_dir_of(store, agent)
        if tree == run.tree:
            return replace(run, after=tree)
        with git.scratch_objects(git_dir) as scratch:
            files = git.changed_files(git_dir, run.tree, tree, objects=scratch.variables)
    except (FleetError, OSError):
        # The agent was killed meanwhile, or its worktree is unreadable: then nothing is known.
        return run
    named = ", ".join(file.path for file in files[:NAMED_FILES])
    more = f" and {len(files) - NAMED_FILES} more" if len(files) > NAMED_FILES else ""
    if _was_at_rest(agent.id, agent.run, run.started_at):
        return replace(run, after=tree, note=run.note or f"the check changed {named}{more}")
    return replace(run, note=run.note or f"files changed while it ran: {named}{more}")


def _was_at_rest(agent_id: str, number: int, since: float) -> bool:
    """Whether the agent has done nothing since then, by its holder's own log."""
    folder = paths.run(agent_id, number)
    if not is_held(paths.lock(agent_id)):
        record = read_exit(folder)
        return record is None or record.at < since
    statuses = [event for event in read_last_events(folder) if event["kind"] == "status"]
    if not statuses:
        return False
    return statuses[-1]["at"] < since and statuses[-1]["data"].get("status") in _AT_REST


@contextlib.contextmanager
def _store() -> Iterator[Store]:
    """The store, open for one step only."""
    store = Store(paths.store())
    try:
        yield store
    finally:
        store.close()


def _remove_temporary(run: CheckRun) -> None:
    # What a check has made unremovable stays; the system empties that folder.
    with contextlib.suppress(OSError):
        git.remove_tree(check_folder.temporary(run))


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def _planned(values: Mapping[str, Any]) -> PlannedCheck:
    run = values["run"]
    return PlannedCheck(**{**values, "run": CheckRun(**{**run, "state": CheckState(run["state"])})})


def main() -> None:
    order = json.load(sys.stdin)
    if os.fork():
        # The caller waits for this process.
        os._exit(0)
    checks = {lock: _planned(values) for lock, values in zip(order["locks"], order["checks"], strict=True)}
    for lock in checks:
        os.set_inheritable(lock, False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    CheckRunner(checks, CheckSettings(**order["settings"])).run()


if __name__ == "__main__":
    main()
