"""`fleet.landing`: preview what landing agents would do, land them one after the other, and take that back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui.errors import FleetError, NotFound, UsageError
from fleet_tui.fast_dataclasses import replace
from fleet_tui.landings import (
    STRATEGIES,
    Landing,
    LandingObstacle,
    LandingPlan,
    LandingProgress,
    LandingReport,
    LandingState,
    StepKind,
    StepState,
    Strategy,
)
from fleet_tui.models import Agent, Status
from fleet_tui.work import CheckRun, CheckState

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.review.checks import CheckSettings
    from fleet_tui.review.landing import Checker, OnLandingStep
    from fleet_tui.review.landing_plan import LandingChoices

OnLanding = Callable[[Agent, LandingProgress], None]
OUTPUT_LINES = 40
"""Of a check that was not green, in the report."""
LOOK_SECONDS = 1.0
"""Interval at which the last line of a running check is reported."""


class LandingVerbs:
    """Lands agents' work on a branch of their repository, and takes it back."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def preview(
        self,
        agents: Sequence[Agent],
        *,
        strategy: str = "",
        into: str = "",
        message: str = "",
        check: bool = True,
    ) -> list[LandingPlan]:
        """What landing these agents would do, each on top of the last. Changes nothing."""
        from fleet_tui.review import landing_plan

        current = self._checked(agents, message)
        plans: list[LandingPlan] = []
        for _, some in _by_project(current):
            choices = self._choices(some[0], strategy=strategy, into=into, message=message, check=check)
            plans += landing_plan.preview(self._fleet.store, some, choices)
        runs = self._fleet.checks.runs(current)
        return [replace(plan, check=runs.get(plan.agent)) for plan in plans]

    def land(
        self,
        agents: Sequence[Agent],
        *,
        strategy: str = "",
        into: str = "",
        message: str = "",
        check: bool = True,
        seen: Mapping[str, str] | None = None,
        on_progress: OnLanding | None = None,
    ) -> LandingReport:
        """Land agents' work, each checked on top of the last; stops at the first that cannot land.

        Landed agents are stopped, and their worktrees go to the trash, unless `land.tidy` is off. With the strategy pr
        nothing is merged here: branches are pushed, requests opened, and agents stay. `seen`: for agents by id, the tree
        of the preview that the user has agreed to; other files are not landed.
        """
        from fleet_tui import git
        from fleet_tui.review import landing_session

        current = self._checked(agents, message)
        projects = _by_project(current)
        if len(projects) > 1:
            raise UsageError("these agents belong to several projects", hint="land those of one at a time")
        if not current:
            return LandingReport(())
        choices = self._choices(current[0], strategy=strategy, into=into, message=message, check=check)
        git_dir = git.discover(Path(projects[0][0])).git_dir
        settings = self._check_settings(current[0], choices)
        train = _Train(self._fleet, choices, settings, seen or {}, on_progress)
        with landing_session.landing_session(git_dir):
            git.heal(git_dir)
            landing_session.settle(self._fleet.store, git_dir, projects[0][0])
            for number, agent in enumerate(current):
                if landing_session.is_asked_to_stop(git_dir):
                    train.stopped = LandingObstacle("stopped", "stopped, as you asked")
                if train.stopped is None:
                    train.land(agent)
                if train.stopped is not None:
                    return train.report(agent, current[number + 1 :])
        return train.report(None, ())

    def stop_train(self, agent: Agent) -> bool:
        """Stop landing after the agent that is being landed in this agent's project; False if nothing is."""
        from fleet_tui import git
        from fleet_tui.review import landing_session

        return landing_session.ask_to_stop(git.discover(Path(agent.project)).git_dir)

    # ── taking it back ──────────────────────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Record how landings of killed processes have ended, unless somebody is landing there now."""
        from fleet_tui import git
        from fleet_tui.review import landing_session

        begun = [one for one in self._fleet.store.landings.of() if one.state is LandingState.BEGUN]
        for project in sorted({one.project for one in begun}):
            with contextlib.suppress(FleetError):
                git_dir = git.discover(Path(project)).git_dir
                with landing_session.landing_session(git_dir):
                    git.heal(git_dir)
                    landing_session.settle(self._fleet.store, git_dir, project)

    def landings(self, *, everywhere: bool = False) -> list[Landing]:
        """What was landed in this project, or with `everywhere` in all, oldest first."""
        project = None if everywhere else self._fleet.project()
        return self._fleet.store.landings.of(project or "")

    def last(self, *, everywhere: bool = False) -> Landing | None:
        """The landing that undo takes back: the newest that stands, unless an agent was killed since."""
        standing = [one for one in self.landings(everywhere=everywhere) if one.state is LandingState.LANDED]
        if not standing:
            return None
        killed = [
            agent
            for agent in self._fleet.trash.agents(everywhere=everywhere)
            if agent.id != standing[-1].agent
        ]
        since = max((agent.ended_at or 0.0 for agent in killed), default=0.0)
        return standing[-1] if standing[-1].at >= since else None

    def has_moved_on(self, landing: Landing) -> bool:
        """Whether the branch has later commits, so that only another commit can take a landing back."""
        from fleet_tui import git

        tips = git.branches(git.discover(Path(landing.project)).git_dir, [landing.into])
        return landing.into not in tips or tips[landing.into].commit != landing.new

    def of(self, agent: Agent) -> Landing | None:
        """The newest landing of an agent that stands."""
        found = [
            one for one in self._fleet.store.landings.of(agent=agent.id) if one.state is LandingState.LANDED
        ]
        return found[-1] if found else None

    def find(self, name: str, *, everywhere: bool = False) -> Agent:
        """The agent of that name or id that was killed, or whose work was landed."""
        try:
            return self._fleet.trash.find(name, everywhere=everywhere)
        except NotFound:
            landed = {
                one.agent for one in self.landings(everywhere=everywhere) if one.state is LandingState.LANDED
            }
            found = [
                agent for agent in self._fleet.agents(everywhere=everywhere)
                if agent.id in landed and name in (agent.name, agent.id)
            ]  # fmt: skip
            if not found:
                raise
            return found[-1]

    def undo(self, landing: Landing) -> tuple[Agent, str]:
        """Take a landing back, and restore its agent if that was moved to the trash; says what was done."""
        from fleet_tui import git
        from fleet_tui.lifecycle import trash
        from fleet_tui.review import landing_session, unlanding

        store = self._fleet.store
        git_dir = git.discover(Path(landing.project)).git_dir
        with landing_session.landing_session(git_dir):
            git.heal(git_dir)
            done = unlanding.unland(store, landing)
        agent = store.agents.get(landing.agent)
        if agent.status is Status.KILLED:
            note = trash.undo(store, agent, now=time.time())
            done = f"{done}; {note}" if note else done
        return store.agents.get(agent.id), done

    # ── choices ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _checked(self, agents: Sequence[Agent], message: str) -> list[Agent]:
        ids = [agent.id for agent in agents]
        for agent in agents:
            if ids.count(agent.id) > 1:
                raise UsageError(f"{agent.name} is named twice", hint="name each agent once")
        if message and len(agents) > 1:
            raise UsageError(
                "one message cannot be that of several agents",
                hint="land them one at a time, or leave it out",
            )
        if "\0" in message:
            raise UsageError("a message cannot contain a zero byte", hint="remove it")
        return [self._fleet.current(agent) for agent in agents]

    def _choices(
        self, agent: Agent, *, strategy: str, into: str, message: str, check: bool
    ) -> LandingChoices:
        from fleet_tui.config.load import load
        from fleet_tui.review.landing_plan import LandingChoices

        config = load(Path(agent.project))
        chosen: Strategy = config.strategy
        if strategy:
            if strategy not in STRATEGIES:
                raise UsageError(
                    f"there is no strategy {strategy!r}", hint=f"choose one of: {', '.join(STRATEGIES)}"
                )
            chosen = next(one for one in STRATEGIES if one == strategy)
        command = self._fleet.checks.settings(agent).command if check and _has_check(config) else ""
        # The worktree of a pull request stays: its checks may send the agent back to work.
        tidies = config.tidies and chosen != "pr"
        return LandingChoices(chosen, into, message.strip(), command, tidies, draft=config.pr_draft)

    def _check_settings(self, agent: Agent, choices: LandingChoices) -> CheckSettings | None:
        """How the merged result is checked: the project's setup commands run first, because the scratch worktree is new."""
        from fleet_tui.config.load import load

        if not choices.check:
            return None
        settings = self._fleet.checks.settings(agent)
        config = load(Path(agent.project))
        setup = () if config.quick else config.setup_commands
        if not setup:
            return settings
        # On lines of their own: a command may end in a comment, and the check may have several lines.
        parts = [*(f"(\n{one}\n)" for one in setup), f"{{\n{settings.command}\n}}"]
        return replace(settings, command=" &&\n".join(parts))


def _has_check(config: object) -> bool:
    """Whether a check is configured, trusted or not: one that is not trusted is an error, not a missing one."""
    return bool(getattr(config, "check", "").strip()) or "land.check" in getattr(config, "untrusted", {})


def _by_project(agents: Sequence[Agent]) -> list[tuple[str, list[Agent]]]:
    projects = list(dict.fromkeys(agent.project for agent in agents))
    return [(one, [agent for agent in agents if agent.project == one]) for one in projects]


class _Train:
    """Lands agents one after the other, until one is stopped."""

    def __init__(
        self,
        fleet: Fleet,
        choices: LandingChoices,
        check: CheckSettings | None,
        seen: Mapping[str, str],
        on_progress: OnLanding | None,
    ) -> None:
        self._fleet, self._choices, self._check_settings, self._seen = fleet, choices, check, seen
        self._on_progress = on_progress
        self._landed: list[Landing] = []
        self._notes: list[str] = []
        self._report = LandingReport(())
        self.stopped: LandingObstacle | None = None

    def land(self, agent: Agent) -> None:
        from fleet_tui.review import checks
        from fleet_tui.review.landing import LandingRun, LandingStopped

        try:
            run = LandingRun(
                self._fleet.store,
                agent,
                self._choices,
                checker=self._checker(agent),
                on_step=self._on_step(agent),
                seen=self._seen.get(agent.id, ""),
            )
            try:
                landing = run.land()
            finally:
                self._notes += run.notes
        except LandingStopped as error:
            self.stopped = error.obstacle
            output = tuple(checks.output(error.check, OUTPUT_LINES)) if error.check is not None else ()
            self._report = LandingReport(
                (),
                conflicts=error.conflicts,
                give_back=error.give_back,
                check=error.check,
                output=output,
            )
        except FleetError as error:
            self.stopped = LandingObstacle("other", error.message, error.hint)
        else:
            self._landed.append(landing)
            if self._choices.tidies:
                self._tidy(agent, landing)

    def report(self, agent: Agent | None, untried: Sequence[Agent]) -> LandingReport:
        requests = self._fleet.store.pull_requests.all()
        return replace(
            self._report,
            landings=tuple(self._landed),
            requests=tuple(
                requests[one.agent] for one in self._landed if one.strategy == "pr" and one.agent in requests
            ),
            stopped=self.stopped,
            agent=agent.id if agent is not None else "",
            untried=tuple(one.id for one in untried),
            notes=tuple(self._notes),
        )

    def _tidy(self, agent: Agent, landing: Landing) -> None:
        """Stop the agent, and move its worktree to the trash; its branch goes only if all of it has landed."""
        from fleet_tui import git

        report = self._on_step(agent)
        report("tidy", "running", "")
        try:
            branches = git.branches(git.discover(Path(agent.project)).git_dir, [agent.branch])
            has_landed = agent.branch in branches and branches[agent.branch].commit == landing.head
            killed = self._fleet.kill([agent], delete_branch=has_landed, why="land")
            self._notes += self._fleet.warnings_after_kill(killed)
        except FleetError as error:
            # The work has landed all the same.
            self._notes.append(f"{agent.name} has landed, but was not tidied up: {error.message}")
            report("tidy", "failed", error.message)
        else:
            report("tidy", "done", "")

    def _on_step(self, agent: Agent) -> OnLandingStep:
        def report(step: StepKind, state: StepState, text: str) -> None:
            if self._on_progress is not None:
                self._on_progress(agent, LandingProgress(agent.id, step, state, text))

        return report

    def _checker(self, agent: Agent) -> Checker | None:
        settings = self._check_settings
        if settings is None:
            return None
        report = self._on_step(agent)

        def check(folder: Path, commit: str, tree: str) -> CheckRun:
            from fleet_tui.review import checks

            shown = _LastLine(lambda line: report("check", "running", line))
            try:
                return checks.run_in(
                    self._fleet.store, agent, settings, folder=folder, tree=tree, onto=commit,
                    on_change=shown.follow, is_cancelled=shown.look,
                )  # fmt: skip
            except BaseException:
                # Its folder is about to be removed.
                if shown.run is not None:
                    checks.cancel_runs(self._fleet.store, [shown.run], "the landing was interrupted")
                raise

        return check


class _LastLine:
    """Reports the last line that a running check has printed, now and then."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self.run: CheckRun | None = None
        self._line = ""
        self._at = 0.0

    def follow(self, run: CheckRun) -> None:
        self.run = run

    def look(self) -> bool:
        """Called all the time while it runs, to ask whether to cancel it: never."""
        now = time.monotonic()
        if self.run is not None and self.run.state is CheckState.RUNNING and now - self._at > LOOK_SECONDS:
            from fleet_tui.review import checks

            self._at = now
            lines = [line.strip() for line in checks.output(self.run, 3) if line.strip()]
            if lines and lines[-1] != self._line:
                self._line = lines[-1]
                self._report(self._line)
        return False
