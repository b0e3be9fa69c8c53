"""Start agents: plan them, write their rows, hand their locks to a launcher and follow its progress.

The invariant: an agent's lock is held from before its row is written until the launcher holds it. If anything fails in
between, neither row nor folder is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_tui import paths
from fleet_tui.errors import FleetError, Refused
from fleet_tui.fast_dataclasses import replace
from fleet_tui.holder.lock import is_held, take_lock
from fleet_tui.holder.run_folder import read_holder
from fleet_tui.lifecycle import ending, reconcile
from fleet_tui.lifecycle.launcher_client import Launcher, LaunchProgress, take
from fleet_tui.models import Agent, ReceiptState, Status
from fleet_tui.store import backup
from fleet_tui.store.database import Store
from fleet_tui.system.identity import boot_id, here
from fleet_tui.system.processes import look_up

if TYPE_CHECKING:
    from fleet_tui.lifecycle.intent import Intent
    from fleet_tui.lifecycle.plan import LaunchPlan
    from fleet_tui.lifecycle.request import LaunchRequest, RevivalRequest

PORT_FIRST, PORT_STEP, PORT_LAST = 21_000, 20, 60_000
"""Each live agent has its own block of ports, passed to it as FLEET_PORT_BASE."""
AT_ONCE_SECONDS = 0.06
"""A wrongly called program ends within this much CPU time; its end is then part of the start's report."""
AT_ONCE_LIMIT = 2.0
"""The longest wait for that on a machine too busy to run the program."""
SETUP_SECONDS = 0.05

OnProgress = Callable[[Agent, LaunchProgress], None]


class Starter:
    """Starts agents for one fleet."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # ── new agents ──────────────────────────────────────────────────────────────────────────────────────────────

    def create(self, request: LaunchRequest, *, on_progress: OnProgress | None) -> list[Agent]:
        """Create all requested agents, or none if anything is refused beforehand."""
        self._refuse_taken(request.batch.project, [one.name for one in request.agents])
        with _launching() as launcher:
            # Imported while the launcher starts.
            from fleet_tui.lifecycle.plan import plan_launch

            plan = plan_launch(request)
            locks = {agent.id: _first_lock(agent.id) for agent, _ in plan.rows}
            with _releasing(locks):
                self._commit(plan, request)
            agents = [self._store.agents.get(agent.id) for agent, _ in plan.rows]
            return self._follow(launcher, agents, locks, plan.parallel, on_progress)

    def _refuse_taken(self, project: str, wanted: Sequence[str]) -> None:
        taken = self._store.agents.taken_names(project, wanted)
        if taken:
            raise Refused(
                f"there is already an agent {taken[0]!r}", hint="choose another name, or kill it first"
            )

    def _commit(self, plan: LaunchPlan, request: LaunchRequest) -> None:
        with self._store.transaction():
            self._refuse_taken(request.batch.project, [agent.name for agent, _ in plan.rows])
            used = self._store.agents.used_ports()
            rows: list[tuple[Agent, dict[str, Any]]] = []
            for agent, intent in plan.rows:
                port = _free_port(used)
                used.add(port)
                rows.append((replace(agent, port_base=port), intent.to_plain()))
            self._store.batches.add(request.batch, request.repository.name, rows)
            for agent, _ in rows:
                self._add_first_receipt(agent, agent.prompt)

    # ── ended agents ────────────────────────────────────────────────────────────────────────────────────────────

    def revive(self, agent: Agent, request: RevivalRequest, *, on_progress: OnProgress | None) -> Agent:
        """Start another run of an ended agent."""
        with _launching() as launcher:
            # Imported while the launcher starts.
            from fleet_tui.lifecycle.revive import plan_revival

            lock = take_lock(paths.lock(agent.id), seconds=1.0)
            if lock is None:
                raise Refused(f"{agent.name} is already being started", hint="see: fleet list")
            locks = {agent.id: lock}
            with _releasing(locks):
                # The row is read again: it cannot change while the lock is held.
                agent, intent = plan_revival(self._store, self._store.agents.get(agent.id), request)
                ending.sweep(agent)
                self._begin_run(agent, intent)
            return self._follow(launcher, [self._store.agents.get(agent.id)], locks, 1, on_progress)[0]

    def _begin_run(self, agent: Agent, intent: Intent) -> None:
        now = time.time()
        with self._store.transaction():
            used = self._store.agents.used_ports()
            port = agent.port_base if agent.port_base not in used else _free_port(used)
            self._store.agents.change(
                agent.id, now, status=Status.SETUP, status_detail="", run=agent.run + 1, events_read=0, exit_code=None,
                exit_signal=None, ended_at=None, pid=None, keeper_pid=None, lost_output=0, intent=json.dumps(intent.to_plain()),
                argv=intent.argv, machine=here(), boot_id=boot_id(), port_base=port, session_id=agent.session_id,
            )  # fmt: skip
            self._add_first_receipt(replace(agent, run=agent.run + 1), intent.prompt)

    def _add_first_receipt(self, agent: Agent, prompt: str) -> None:
        """Give the prompt that a run begins with a receipt like any other; the holder updates it."""
        if prompt:
            self._store.receipts.put(
                f"{agent.id}.{agent.run}", agent.id, prompt, ReceiptState.QUEUED, "", time.time()
            )

    # ── progress ────────────────────────────────────────────────────────────────────────────────────────────────

    def _follow(
        self,
        launcher: Launcher,
        agents: list[Agent],
        locks: Mapping[str, int],
        parallel: int,
        on_progress: OnProgress | None,
    ) -> list[Agent]:
        by_id = {agent.id: agent for agent in agents}
        for progress in launcher.start(locks, parallel=parallel):
            if on_progress is not None:
                on_progress(by_id[progress.agent], progress)
        self._see_quick_ends(agents)
        return self._now(agents)

    def _see_quick_ends(self, agents: Sequence[Agent]) -> None:
        """Wait for programs that end at once, for example because of a wrong argument, and record their end."""
        began = time.monotonic()
        waiting = list(agents)
        while waiting and time.monotonic() < began + AT_ONCE_LIMIT:
            time.sleep(0.005)
            waiting = [agent for agent in waiting if is_held(paths.lock(agent.id))]
            if time.monotonic() >= began + AT_ONCE_SECONDS:
                waiting = [agent for agent in waiting if _is_beginning(paths.run(agent.id, agent.run))]
        reconcile.reconcile(self._store)

    def wait_for_setup(self, agents: Sequence[Agent], on_progress: OnProgress | None = None) -> list[Agent]:
        """Wait until the setup commands of these agents have ended, successfully or not."""
        reported: dict[str, str] = {}
        slow: list[Agent] = []
        while waiting := [agent for agent in self._now(agents) if agent.status is Status.SETUP]:
            slow = slow or waiting
            for agent in waiting:
                if on_progress is not None and agent.status_detail not in ("", reported.get(agent.id)):
                    reported[agent.id] = agent.status_detail
                    on_progress(agent, LaunchProgress(agent.id, "setup", agent.status_detail))
            time.sleep(SETUP_SECONDS)
            reconcile.reconcile(self._store)
        self._see_quick_ends(slow)
        return self._now(agents)

    def _now(self, agents: Sequence[Agent]) -> list[Agent]:
        return [self._store.agents.get(agent.id) for agent in agents]


@contextlib.contextmanager
def _launching() -> Iterator[Launcher]:
    launcher = take()
    try:
        yield launcher
    finally:
        launcher.dismiss()


@contextlib.contextmanager
def _releasing(locks: Mapping[str, int]) -> Iterator[None]:
    """Release the locks if the block fails, and remove the folders of agents that have never run."""
    try:
        yield
    except BaseException:
        for agent, descriptor in locks.items():
            os.close(descriptor)
            folder = paths.agent(agent)
            if not any(entry.is_dir() for entry in folder.iterdir()):
                (folder / backup.FILE).unlink(missing_ok=True)
                (folder / "lock").unlink(missing_ok=True)
                folder.rmdir()
        raise


def _first_lock(agent_id: str) -> int:
    paths.private(paths.agent(agent_id))
    lock = take_lock(paths.lock(agent_id))
    if lock is None:
        raise FleetError(f"the new agent {agent_id} is locked by another process", hint="try again")
    return lock


def _free_port(used: set[int]) -> int:
    return next(port for port in range(PORT_FIRST, PORT_LAST, PORT_STEP) if port not in used)


def _is_beginning(run: Path) -> bool:
    """Whether a program is still runnable but has had little CPU time, or has ended without a record yet."""
    holder = read_holder(run)
    process = look_up(holder.pid) if holder is not None else None
    if process is None or not process.is_alive:
        return holder is not None
    return process.state in "RD" and process.cpu < AT_ONCE_SECONDS
