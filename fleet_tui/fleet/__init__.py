"""Every verb that a face offers, as one in-process class: `Fleet`, and the families of verbs that it holds.

Command line and dashboard each make a `Fleet` and add no verbs of their own. The truth is in the store, and locks show
which agents are alive; a `Fleet` keeps no state of its own and can be dropped at any moment.

A verb that reads does not write, except for `spending`, which caches its sums: a face calls `refresh` first. Verbs about
one agent take an `Agent`, verbs about several take a list, and only `find`, `match` and `trash.find` take names. No verb
prints or asks.

Verbs of one subject are a family in a module of their own. What is here is about agents as such. One class, because
it is the list of what faces may call: most methods only check their arguments and call the room that does the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import names, paths
from fleet_tui.errors import FleetError, Refused, StoreUnwritable
from fleet_tui.fleet.families import FamilyVerbs
from fleet_tui.lifecycle import reconcile
from fleet_tui.models import Agent, Batch, Evidence, PromptSummary, Spending, Status
from fleet_tui.system.identity import here
from fleet_tui.trashed import TrashReason

if TYPE_CHECKING:
    from fleet_tui.fleet.installation import Installation
    from fleet_tui.fleet.launches import Launches
    from fleet_tui.fleet.project_info import ProjectInfo
    from fleet_tui.lifecycle.doctor import Finding
    from fleet_tui.lifecycle.start import OnProgress
    from fleet_tui.lifecycle.trash import KillResult
    from fleet_tui.prompting.waiting import Waited

RECORD_SECONDS = 2.0
"""How long `refresh` waits for a store that another process keeps locked: what it records can be recorded later."""


class Fleet(FamilyVerbs):
    """The fleet of this user, seen from one folder."""

    # ── the project here ────────────────────────────────────────────────────────────────────────────────────────

    def project_info(self) -> ProjectInfo:
        """The current folder as a first screen shows it: repository, settings, programs, memory, trust."""
        from fleet_tui.fleet import project_info

        return project_info.describe(self)

    def prepare_repository(self) -> None:
        """Create what a first agent needs here: a repository if there is none, and a commit to start from."""
        from fleet_tui.fleet import project

        project.prepare_repository(self._start)

    # ── reading the fleet ───────────────────────────────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """Record in the store what agents have done since the last refresh.

        While nothing can be recorded, `unwritable` says why, and agents can still be listed and ended.
        """
        try:
            self.store.db.require_writable()
            with self.store.db.waiting_at_most(RECORD_SECONDS):
                reconcile.reconcile(self.store)
        except StoreUnwritable as error:
            self.unwritable = error
        else:
            self.unwritable = None

    # ── starting ────────────────────────────────────────────────────────────────────────────────────────────────

    def create(
        self,
        name: str,
        *,
        prompt: str = "",
        profile: str = "",
        quick: bool = False,
        base: str = "",
        existing: bool = False,
        headless: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Agent:
        """Start one agent on a branch of that name."""
        from fleet_tui.lifecycle.request import AgentRequest

        launches = self._launches
        return launches.start(
            [AgentRequest(name, prompt, profile)], launches.single(), quick=quick, base=base, existing=existing,
            headless=headless, own_settings=own_settings, on_progress=on_progress,
        )[0]  # fmt: skip

    def fanout(
        self,
        count: int,
        prefix: str = "",
        *,
        prompt: str,
        profile: str = "",
        mix: Sequence[tuple[str, int]] = (),
        quick: bool = False,
        base: str = "",
        headless: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> list[Agent]:
        """Start several agents with the same prompt, each on its own branch: PREFIX-A, PREFIX-B, …"""
        from fleet_tui.fleet.launches import spread

        names.check_count(count)
        names.check_prompt(prompt)
        programs = spread(count, profile, mix)
        prefix = names.check_branch(prefix or names.prefix(prompt))
        return self._launches.fan_out(
            count, prefix, prompt, programs, quick=quick, base=base, headless=headless, own_settings=own_settings,
            on_progress=on_progress,
        )  # fmt: skip

    def multi(
        self,
        tasks: Sequence[tuple[str, str]],
        *,
        profile: str = "",
        quick: bool = False,
        base: str = "",
        headless: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> list[Agent]:
        """Start several agents, each on the branch and with the prompt of one task."""
        from fleet_tui.lifecycle.request import AgentRequest

        names.check_count(len(tasks))
        launches = self._launches
        return launches.start(
            [AgentRequest(name, prompt, profile) for name, prompt in tasks], launches.batch(""), quick=quick,
            base=base, headless=headless, own_settings=own_settings, on_progress=on_progress,
        )  # fmt: skip

    def fork(
        self,
        agent: Agent,
        new_name: str,
        *,
        prompt: str = "",
        checkpoint: int | None = None,
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Agent:
        """Start an agent on a new branch from the last commit of another, with a copy of its conversation.

        With a checkpoint, from that one: its files are in the first commit of the new branch.
        """
        from fleet_tui.lifecycle import revive
        from fleet_tui.lifecycle.request import AgentRequest
        from fleet_tui.programs import profiles
        from fleet_tui.programs.command import check_fork

        source = self.current(agent)
        if source.project != str(self.repository.root):
            raise Refused(f"{source.name} belongs to {source.project}", hint="go there")
        check_fork(profiles.load(source.profile))
        conversation = revive.conversation_to_copy(self.store, source, new_name)
        base = source.branch
        if checkpoint is not None:
            from fleet_tui.review import checkpoints

            base = checkpoints.find(self.store, source, checkpoint).commit
        launches = self._launches
        return launches.start(
            [AgentRequest(new_name, prompt, source.profile, conversation)], launches.single(), base=base,
            own_settings=own_settings, on_progress=on_progress,
        )[0]  # fmt: skip

    def revive(
        self,
        agent: Agent,
        *,
        prompt: str = "",
        fresh: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Agent:
        """Start an ended agent's program again in its worktree, and continue its conversation if possible."""
        from fleet_tui.lifecycle import revive
        from fleet_tui.lifecycle.request import RevivalRequest
        from fleet_tui.lifecycle.start import Starter

        if prompt:
            names.check_prompt(prompt)
        agent = self.current(agent)
        # Checked before the worktree is restored from the trash.
        revive.settings(agent, own_settings=own_settings)
        if agent.status is Status.KILLED:
            self.undo([agent])
        elif not agent.has_ended:
            raise Refused(f"{agent.name} is running", hint=f"fleet attach {agent.name}")
        request = RevivalRequest(prompt, self._size, fresh=fresh, own_settings=own_settings)
        return Starter(self.store).revive(agent, request, on_progress=on_progress)

    def restart(
        self, agents: Sequence[Agent], *, own_settings: bool = False, on_progress: OnProgress | None = None
    ) -> list[Agent]:
        """Stop these agents and start each again from its first prompt; the worktrees stay as they are."""
        from fleet_tui.fleet.stop_and_kill import raise_first
        from fleet_tui.lifecycle import revive

        for agent in agents:
            # Stop nothing that cannot be started again.
            revive.settings(agent, own_settings=own_settings)
        self.stop(agents)
        failures: list[FleetError] = []
        restarted: list[Agent] = []
        for agent in agents:
            try:
                again = self.revive(agent, fresh=True, own_settings=own_settings, on_progress=on_progress)
            except FleetError as error:
                failures.append(error)
            else:
                restarted.append(again)
        raise_first(failures, "restarted", restarted)
        return restarted

    def wait_for_setup(self, agents: Sequence[Agent], on_progress: OnProgress | None = None) -> list[Agent]:
        """Wait until the setup commands of these agents have ended, successfully or not."""
        from fleet_tui.lifecycle.start import Starter

        return Starter(self.store).wait_for_setup(agents, on_progress)

    @property
    def _launches(self) -> Launches:
        from fleet_tui.fleet.launches import Launches

        return Launches(self.store, self.repository, self._start, self._size)

    # ── ending ──────────────────────────────────────────────────────────────────────────────────────────────────

    def stop(self, agents: Sequence[Agent], *, grace: float | None = None) -> list[Agent]:
        """End the programs of these agents; worktrees, branches and records stay."""
        from fleet_tui.fleet import stop_and_kill

        grace = self._grace() if grace is None else grace
        failures = stop_and_kill.stop(self, self.store, agents, cause="stop", grace=grace)
        if failures:
            raise failures[0]
        return [self.current(agent) for agent in agents]

    def stop_all(self) -> list[Agent]:
        """Stop every running agent of all projects."""
        return self.stop([agent for agent in self.agents(everywhere=True) if not agent.has_ended])

    def warnings_after_stop(self, stopped: Sequence[Agent]) -> list[str]:
        """The processes that agents may have left running because their keeper was killed."""
        from fleet_tui.fleet.stop_and_kill import left_running
        from fleet_tui.lifecycle import ending

        lost = [agent for agent in stopped if ending.was_lost(agent) and agent.machine == here()]
        return [left_running(agent, left) for agent in lost if (left := ending.suspects(agent))]

    def kill(
        self,
        agents: Sequence[Agent],
        *,
        delete_branch: bool = False,
        grace: float | None = None,
        why: TrashReason = "kill",
    ) -> list[KillResult]:
        """Stop these agents and move their worktrees to the trash; `undo` restores them."""
        from fleet_tui.fleet import stop_and_kill

        grace = self._grace() if grace is None else grace
        return stop_and_kill.kill(self, self.store, agents, delete_branch=delete_branch, grace=grace, why=why)

    def warnings_after_kill(self, killed: Sequence[KillResult], *, seconds: float = 0.2) -> list[str]:
        """The processes that a kill left running, and that the trash is over its limit if that is known in time."""
        from fleet_tui.fleet.stop_and_kill import left_running

        # A killed keeper ends no processes; those that cannot be proven to be the agent's are only named.
        warnings = [left_running(one.agent, one.left) for one in killed if one.left]
        over_limit = self.trash.over_limit([one.agent for one in killed], seconds=seconds)
        return [*warnings, over_limit] if over_limit else warnings

    def undo(
        self, agents: Sequence[Agent] = (), *, everywhere: bool = False, unland: bool = True
    ) -> list[tuple[Agent, str]]:
        """Restore killed agents, and take back what they have landed, each with a note on what was done.

        Without agents, what was done last in this project, or with `everywhere` in any: a kill or a landing.
        """
        from fleet_tui.fleet import undo

        return undo.undo(self, agents, everywhere=everywhere, unland=unland)

    def _grace(self) -> float:
        """The default if the configuration cannot be read: agents can be stopped all the same."""
        try:
            return self.config().stop_grace
        except FleetError:
            from fleet_tui.config.settings import Config

            return Config().stop_grace

    # ── status, questions and output ────────────────────────────────────────────────────────────────────────────

    def report_wrong(self, agent: Agent, right: str, kind: str = "") -> Path:
        """Save an agent's screen and signs together with the right status, as a test case."""
        from fleet_tui.prompting import why

        return why.report_wrong(self.current(agent), right, kind)

    def answer(self, agent: Agent, choice: str, *, shown: Evidence | None = None) -> Agent:
        """Answer an agent's question, by the number or the words of a choice.

        With `shown`, the question as the user saw it, any other question is refused.
        """
        from fleet_tui.prompting import answers

        answers.answer(self.current(agent), choice, shown)
        self.refresh()
        return self.store.agents.get(agent.id)

    def wait(
        self,
        agents: Sequence[Agent],
        *,
        until: Collection[Status] = (),
        first: bool = False,
        seconds: float | None = None,
        on_change: Callable[[Agent, PromptSummary], None] | None = None,
    ) -> list[Waited]:
        """Wait until agents have finished or need the user, or until they have one of the given statuses.

        Agents that have ended count as finished. With `first`, one agent is enough. Returns after `seconds` at the latest.
        """
        from fleet_tui.prompting import waiting

        ids = [agent.id for agent in agents]

        def look() -> list[tuple[Agent, PromptSummary]]:
            self.refresh()
            counts = self.prompts.counts()
            return [(agent, counts.get(agent.id, PromptSummary())) for agent in self.with_ids(ids)]

        wanted = frozenset(until) or waiting.SETTLED
        return waiting.wait(look, wanted, first=first, seconds=seconds, on_change=on_change)

    def spending(self, agents: Sequence[Agent]) -> Mapping[str, Spending]:
        """Tokens, cost and context of the agents whose programs record them."""
        from fleet_tui.activity import spending

        return spending.up_to_date(self.store, agents)

    # ── changing the record ─────────────────────────────────────────────────────────────────────────────────────

    def mark_seen(self, agents: Sequence[Agent]) -> None:
        """Mark these agents as looked at: those that are done become idle."""
        with self.store.transaction(uses_reserve=False):
            for agent in agents:
                self.store.agents.change(agent.id, time.time(), only_from=[Status.DONE], status=Status.IDLE)

    def rename(self, agent: Agent, new_name: str) -> Agent:
        """Rename an agent; its branch keeps its name."""
        names.check_branch(new_name, "an agent's name")
        with self.store.transaction():
            if self.store.agents.taken_names(agent.project, [new_name]):
                raise Refused(f"there is already an agent {new_name!r}", hint="choose another name")
            self.store.agents.change(agent.id, time.time(), name=new_name)
        return self.store.agents.get(agent.id)

    def move_to_batch(self, agents: Sequence[Agent], batch: str) -> list[Agent]:
        """Move agents to a batch, which is created if there is none of that name."""
        names.check_branch(batch, "a batch's name")
        now = time.time()
        with self.store.transaction():
            for agent in agents:
                self.store.batches.add(Batch(batch, agent.project, now), Path(agent.project).name, [])
                self.store.agents.change(agent.id, now, batch=batch)
        return [self.store.agents.get(agent.id) for agent in agents]

    # ── health ──────────────────────────────────────────────────────────────────────────────────────────────────

    def examine(self) -> list[Finding]:
        """Problems and leftovers; each finding may come with a fix."""
        from fleet_tui.lifecycle import doctor

        project = self.project()
        found = doctor.examine(self.store, Path(project) if project else None)
        return [*found, *self.pull_requests.findings()]

    @staticmethod
    def rebuild() -> list[str]:
        """Replace a damaged store by a rebuilt one, before it is opened; returns what was done."""
        from fleet_tui.lifecycle import rebuild

        return rebuild.rebuild(paths.store())

    def repair(self) -> list[str]:
        """Find what the store has lost and what was moved; returns what was done."""
        from fleet_tui.lifecycle import repair

        return repair.repair(self.store, self.repository if self.project() is not None else None)

    @staticmethod
    def installation() -> Installation:
        """The version of this copy of fleet-tui, how it was installed, and the command that updates it."""
        from fleet_tui.fleet import installation

        return installation.describe()

    @staticmethod
    def newest_version() -> str:
        """The newest version in the user's package index. Only this and pull requests use the network."""
        from fleet_tui.fleet import installation

        return installation.newest_version()
