"""Agents on their way from a plan to a running program: rows and locks of this process, handed to a launcher.

What to make is planned elsewhere (plans, reviving); a launcher makes it. Here is what has to be true in between: each
agent's lock is held from before its row is written until somebody else holds it, or nothing of it is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_tui import land, paths, reconcile
from fleet_tui.errors import FleetError, Refused
from fleet_tui.holder import is_held, read_holder, take_lock
from fleet_tui.launcher import Launcher, Progress, called
from fleet_tui.models import Agent, Batch, ReceiptState, Status
from fleet_tui.processes import boot_id, here, look_up
from fleet_tui.store import Store
from fleet_tui.values import asdict, replace

if TYPE_CHECKING:
    from fleet_tui.intents import Intent
    from fleet_tui.plans import Plans

PORT_FIRST, PORT_STEP, PORT_LAST = 21_000, 20, 60_000
"""Each live agent has a block of ports of its own to serve on, told to it as FLEET_PORT_BASE."""
AT_ONCE_SECONDS = 0.06
"""A program that ends this soon after its start was not started right, and is reported so."""
AT_ONCE_LIMIT = 2.0
"""How long that may take on a machine that is too busy to let it run."""
SETUP_SECONDS = 0.05

OnProgress = Callable[[Agent, Progress], None]


class Starter:
    """Starts agents for one fleet."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # ── new ones ────────────────────────────────────────────────────────────────────────────────────────────────

    def make(
        self, plan: Callable[[], Plans], batch: Batch, *, project_name: str, on_progress: OnProgress | None
    ) -> list[Agent]:
        """Agents as planned: all of them or, when something is wrong beforehand, none."""
        with _launching() as launcher:
            plans = plan()
            locks = {agent.id: _first_lock(agent.id) for agent, _ in plans.rows}
            with _releasing(locks):
                self._commit(plans, batch, project_name)
            agents = [self._store.agent(agent.id) for agent, _ in plans.rows]
            return self._follow(launcher, agents, locks, plans.parallel, on_progress)

    def refuse_taken(self, project: str, wanted: Sequence[str]) -> None:
        taken = self._store.taken_names(project, wanted)
        if taken:
            raise Refused(
                f"there is already an agent {taken[0]!r}", hint="choose another name, or kill it first"
            )

    def _commit(self, plans: Plans, batch: Batch, project_name: str) -> None:
        with self._store.transaction():
            self.refuse_taken(batch.project, [agent.name for agent, _ in plans.rows])
            used = self._store.used_ports()
            rows: list[tuple[Agent, dict[str, Any]]] = []
            for agent, intent in plans.rows:
                port = _free_port(used)
                used.add(port)
                rows.append((replace(agent, port_base=port), asdict(intent)))
            self._store.add_batch(batch, project_name, rows)
            for agent, _ in rows:
                self._add_first_receipt(agent, agent.prompt)

    # ── ended ones ──────────────────────────────────────────────────────────────────────────────────────────────

    def make_again(
        self,
        agent: Agent,
        intend: Callable[[Agent], tuple[Agent, Intent]],
        *,
        on_progress: OnProgress | None,
    ) -> Agent:
        """Another run of an ended agent, as intended of what it is under its lock."""
        with _launching() as launcher:
            lock = take_lock(paths.lock(agent.id), seconds=1.0)
            if lock is None:
                raise Refused(f"{agent.name} is being started already")
            locks = {agent.id: lock}
            with _releasing(locks):
                # Only what is read under the lock stays true.
                agent, intent = intend(self._store.agent(agent.id))
                land.sweep(agent)
                self._begin_run(agent, intent)
            return self._follow(launcher, [self._store.agent(agent.id)], locks, 1, on_progress)[0]

    def _begin_run(self, agent: Agent, intent: Intent) -> None:
        now = time.time()
        with self._store.transaction():
            used = self._store.used_ports()
            port = agent.port_base if agent.port_base not in used else _free_port(used)
            self._store.change(
                agent.id, now, status=Status.SETUP, status_detail="", run=agent.run + 1, events_read=0, exit_code=None,
                exit_signal=None, ended_at=None, pid=None, keeper_pid=None, lost_output=0, intent=json.dumps(asdict(intent)),
                argv=intent.argv, machine=here(), boot_id=boot_id(), port_base=port, session_id=agent.session_id,
            )  # fmt: skip
            self._add_first_receipt(replace(agent, run=agent.run + 1), intent.prompt)

    def _add_first_receipt(self, agent: Agent, prompt: str) -> None:
        """The prompt that a run begins with has a receipt as every other; its holder moves it on."""
        if prompt:
            self._store.set_receipt(
                f"{agent.id}.{agent.run}", agent.id, prompt, ReceiptState.QUEUED, "", time.time()
            )

    # ── until they run ──────────────────────────────────────────────────────────────────────────────────────────

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
        """A program that was given wrong arguments ends at once; better said now than found out later."""
        began = time.monotonic()
        waiting = list(agents)
        while waiting and time.monotonic() < began + AT_ONCE_LIMIT:
            time.sleep(0.005)
            waiting = [agent for agent in waiting if is_held(paths.lock(agent.id))]
            if time.monotonic() >= began + AT_ONCE_SECONDS:
                waiting = [agent for agent in waiting if _is_beginning(paths.run(agent.id, agent.run))]
        reconcile.reconcile(self._store)

    def wait_for_setup(self, agents: Sequence[Agent], on_progress: OnProgress | None = None) -> list[Agent]:
        """Until the setup commands of these agents are over, however they ended."""
        told: dict[str, str] = {}
        slow: list[Agent] = []
        while waiting := [agent for agent in self._now(agents) if agent.status is Status.SETUP]:
            slow = slow or waiting
            for agent in waiting:
                if on_progress is not None and agent.status_detail not in ("", told.get(agent.id)):
                    told[agent.id] = agent.status_detail
                    on_progress(agent, Progress(agent.id, "setup", agent.status_detail))
            time.sleep(SETUP_SECONDS)
            reconcile.reconcile(self._store)
        self._see_quick_ends(slow)
        return self._now(agents)

    def _now(self, agents: Sequence[Agent]) -> list[Agent]:
        return [self._store.agent(agent.id) for agent in agents]


@contextlib.contextmanager
def _launching() -> Iterator[Launcher]:
    launcher = called()
    try:
        yield launcher
    finally:
        launcher.dismiss()


@contextlib.contextmanager
def _releasing(locks: Mapping[str, int]) -> Iterator[None]:
    """Until the launcher has them: when something goes wrong, nobody holds these agents any more."""
    try:
        yield
    except BaseException:
        for agent, descriptor in locks.items():
            os.close(descriptor)
            folder = paths.agent(agent)
            if not any(entry.is_dir() for entry in folder.iterdir()):
                (folder / "agent.json").unlink(missing_ok=True)
                (folder / "lock").unlink(missing_ok=True)
                folder.rmdir()
        raise


def _first_lock(agent_id: str) -> int:
    paths.private(paths.agent(agent_id))
    lock = take_lock(paths.lock(agent_id))
    if lock is None:
        raise FleetError(f"the new agent {agent_id} is locked by somebody else", hint="try again")
    return lock


def _free_port(used: set[int]) -> int:
    return next(port for port in range(PORT_FIRST, PORT_LAST, PORT_STEP) if port not in used)


def _is_beginning(run: Path) -> bool:
    """Whether a program wants to run and could not for long enough, or has ended and this is being written down."""
    holder = read_holder(run)
    process = look_up(holder.pid) if holder is not None else None
    if process is None or not process.is_alive:
        return holder is not None
    return process.state in "RD" and process.cpu < AT_ONCE_SECONDS
