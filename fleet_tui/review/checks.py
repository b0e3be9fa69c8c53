"""Run the project's check command on agents' work, and say how it went.

A check runs in a holder of its own: in a pseudo-terminal that panes can show, with all of its processes ended at its
end. `check_runner` is the detached process that starts the holders, a few at a time. From the moment a run is recorded,
somebody holds its lock: whoever starts it, then the runner, then its keeper. A run that is not over and whose lock is
free was therefore abandoned, and a reader says so without writing anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleet_tui import git, names, paths
from fleet_tui.errors import FleetError, HolderGone, LaunchFailed
from fleet_tui.fast_dataclasses import asdict, dataclass, field, replace
from fleet_tui.holder.lock import is_held, take_lock
from fleet_tui.holder.run_folder import TIMED_OUT, Exit, read_exit
from fleet_tui.holder.session import Session
from fleet_tui.holder.stop_requests import StopRequest, request_stop
from fleet_tui.holder.transcript.follow import last_lines
from fleet_tui.models import Agent
from fleet_tui.review import check_folder
from fleet_tui.review.check_summary import MOST_LINES, summarized
from fleet_tui.review.diff import git_dir_of
from fleet_tui.store.database import Store
from fleet_tui.work import CheckRun, CheckState

CANCEL_GRACE = 2.0
CANCEL_SECONDS = 20.0
"""How long a cancelled check may take to end, its processes included."""
LOOK_SECONDS = 0.05
KEPT_RUNS = 3
"""Of each agent, with their output."""
ABANDONED = "its runner was killed"
_NOT_RUN = frozenset({126, 127})
"""Codes of a shell for a command that cannot be executed, or is not found."""

OnCheck = Callable[[CheckRun], None]


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """What a check takes from the configuration."""

    command: str
    minutes: float = 15
    """0 for no limit."""
    at_once: int = 2
    nice: int = 10
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedCheck:
    """One check as the runner gets it."""

    run: CheckRun
    cwd: str
    profile: str
    port_base: int
    name: str


# ── starting ────────────────────────────────────────────────────────────────────────────────────────────────────


def start(store: Store, agents: Sequence[Agent], settings: CheckSettings) -> list[CheckRun]:
    """Check the work of these agents in their worktrees, in the background; a check that runs for one of them is cancelled."""
    cancel(store, agents, "another check was started")
    trees = {agent.id: current_tree(store, agent) for agent in agents}
    planned = [_planned(agent, settings, agent.worktree, trees[agent.id], "") for agent in agents]
    return _launch(store, planned, settings)


def start_in(
    store: Store, agent: Agent, settings: CheckSettings, *, folder: Path, tree: str, onto: str
) -> CheckRun:
    """Check an agent's work where it was merged onto a commit: in a folder that has that tree checked out."""
    return _launch(store, [_planned(agent, settings, str(folder), tree, onto)], settings)[0]


def run_in(
    store: Store,
    agent: Agent,
    settings: CheckSettings,
    *,
    folder: Path,
    tree: str,
    onto: str,
    on_change: OnCheck = lambda _: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> CheckRun:
    """As `start_in`, and wait for the end. Returns a run that is over: green, red or cancelled."""
    return wait(
        store,
        [start_in(store, agent, settings, folder=folder, tree=tree, onto=onto)],
        on_change=on_change,
        is_cancelled=is_cancelled,
    )[0]


def current_tree(store: Store, agent: Agent) -> str:
    """The tree of an agent's files now, uncommitted ones included."""
    git_dir = git_dir_of(store, agent)
    place = git.place_of(git_dir, Path(agent.worktree), agent.id)
    with git.scratch_objects(git_dir) as scratch:
        return git.take_snapshot(place, scratch, agent.id).tree


def _planned(agent: Agent, settings: CheckSettings, cwd: str, tree: str, onto: str) -> PlannedCheck:
    run = CheckRun(
        names.new_id(os.urandom), agent.id, settings.command, tree, onto, CheckState.WAITING, time.time()
    )
    return PlannedCheck(run, cwd, agent.profile, agent.port_base, agent.name)


def _launch(store: Store, planned: Sequence[PlannedCheck], settings: CheckSettings) -> list[CheckRun]:
    locks: list[int] = []
    try:
        for one in planned:
            _drop_old(store, one.run.agent)
            paths.private(check_folder.run(one.run))
            lock = take_lock(check_folder.lock(one.run))
            if lock is None:
                raise LaunchFailed("the check could not be started", hint="try again")
            locks.append(lock)
        with store.transaction():
            for one in planned:
                store.checks.add(one.run)
        _spawn(planned, settings, locks)
    finally:
        for lock in locks:
            os.close(lock)
    return [one.run for one in planned]


def _spawn(planned: Sequence[PlannedCheck], settings: CheckSettings, locks: Sequence[int]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
    order = {"checks": [asdict(one) for one in planned], "settings": asdict(settings), "locks": list(locks)}
    log = os.open(paths.log() / "checks.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        # It forks at once and runs on in the background.
        subprocess.run(
            # -P: never import from the current folder.
            [sys.executable, "-P", "-m", "fleet_tui.review.check_runner"],
            input=json.dumps(order).encode(),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=locks,
            start_new_session=True,
            check=True,
            cwd="/",
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise LaunchFailed(
            "the check could not be started", hint=f"see {paths.log() / 'checks.log'}"
        ) from error
    finally:
        os.close(log)


def _drop_old(store: Store, agent_id: str) -> None:
    """Remove the oldest runs of an agent with their output, so that a few are left and one can be added."""
    over = [run for run in store.checks.of([agent_id]) if as_found(run).is_over]
    for run in over[: max(0, len(over) - KEPT_RUNS + 1)]:
        with store.transaction():
            store.checks.forget(run.id)
        with contextlib.suppress(OSError):
            git.remove_tree(check_folder.of(run))


# ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────


def newest(store: Store, agents: Sequence[Agent]) -> dict[str, CheckRun]:
    """The newest check in each agent's worktree, by the agent's id."""
    found = {run.agent: run for run in store.checks.of([agent.id for agent in agents]) if not run.onto}
    return {agent_id: as_found(run) for agent_id, run in found.items()}


def as_found(run: CheckRun) -> CheckRun:
    """The run as its lock and its holder's record show it, because the runner may have been killed."""
    if run.is_over or is_held(check_folder.lock(run)):
        return run
    return ended(run)


def ended(run: CheckRun) -> CheckRun:
    """How a run without a holder ended, by its holder's record."""
    record = read_exit(check_folder.run(run))
    if record is None:
        return replace(
            run,
            state=CheckState.CANCELLED,
            ended_at=run.ended_at or run.started_at,
            note=run.note or ABANDONED,
        )
    state, note = _outcome(record)
    lines = last_lines(check_folder.run(run), MOST_LINES)
    return replace(
        run,
        state=state,
        ended_at=record.at,
        exit_code=record.code,
        summary=summarized(lines),
        note=run.note or note,
    )


def _outcome(record: Exit) -> tuple[CheckState, str]:
    left = ", ".join(map(str, record.survivors))
    note = f"these processes could not be ended: {left}" if left else ""
    match record.cause:
        case "exited" if record.code == 0:
            return CheckState.PASSED, note
        case "exited" if record.code in _NOT_RUN:
            return CheckState.NOT_STARTED, note
        case "exited":
            killed = f"signal {record.signal} ended it" if record.signal else ""
            return CheckState.FAILED, note or killed
        case "failed":
            return CheckState.NOT_STARTED, record.reason
        case cause if cause == TIMED_OUT:
            return CheckState.TIMED_OUT, note
        case "shutdown":
            return CheckState.CANCELLED, "the machine was shut down"
    return CheckState.CANCELLED, note


def output(run: CheckRun, count: int) -> list[str]:
    """The last lines that a check has printed so far."""
    folder = check_folder.run(run)
    if is_held(check_folder.lock(run)):
        with (
            contextlib.suppress(HolderGone),
            Session.open(folder, check_folder.lock(run), "the check", rate=0) as session,
        ):
            seen = session.ask("peek")
            shown: list[str] = seen["joined"]
            while shown and not shown[-1].strip():
                shown.pop()
            inode, offset = seen["log"]
            return [*last_lines(folder, count, (inode, offset)), *shown][-count:]
    return last_lines(folder, count)


# ── waiting and cancelling ──────────────────────────────────────────────────────────────────────────────────────


def wait(
    store: Store,
    runs: Sequence[CheckRun],
    *,
    seconds: float | None = None,
    on_change: OnCheck = lambda _: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> list[CheckRun]:
    """Wait until these runs are over, or for so many seconds; each change of a state is reported."""
    deadline = time.monotonic() + seconds if seconds is not None else None
    seen: dict[str, CheckState] = {}
    is_asked = False
    while True:
        found = [as_found(store.checks.get(run.id) or run) for run in runs]
        for run in found:
            if seen.get(run.id) is not run.state:
                seen[run.id] = run.state
                on_change(run)
        if all(run.is_over for run in found) or (deadline is not None and time.monotonic() >= deadline):
            return found
        if not is_asked and is_cancelled():
            is_asked = True
            cancel_runs(store, found, "")
        time.sleep(LOOK_SECONDS)


def cancel(store: Store, agents: Sequence[Agent], reason: str) -> list[CheckRun]:
    """End the checks of these agents with all their processes; returns those that were not over."""
    unfinished = store.checks.unfinished([agent.id for agent in agents])
    return cancel_runs(store, [run for run in unfinished if not as_found(run).is_over], reason)


def cancel_runs(store: Store, runs: Sequence[CheckRun], reason: str) -> list[CheckRun]:
    running = []
    for run in runs:
        with store.transaction():
            if not store.checks.cancel(run, reason, time.time()):
                running.append(run)
    request = StopRequest("cancel", CANCEL_GRACE, os.urandom(8).hex())
    deadline = time.monotonic() + CANCEL_SECONDS
    asked: set[str] = set()
    while left := [run for run in running if is_held(check_folder.lock(run))]:
        if time.monotonic() > deadline:
            raise FleetError("a check could not be ended", hint="run: fleet doctor")
        for run in left:
            # Its keeper may just be starting, and then it does not listen yet.
            if run.id not in asked and request_stop(check_folder.run(run), check_folder.lock(run), request):
                asked.add(run.id)
        time.sleep(LOOK_SECONDS / 5)
    return [as_found(store.checks.get(run.id) or run) for run in runs]
