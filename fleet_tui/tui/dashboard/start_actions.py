"""Start agents: the forms, trust, the progress of a launch, forks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.models import Agent
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.draft_keeper import DraftKeeper
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.trust_gate import TrustGate
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests
from fleet_tui.tui.dialogs.confirm import ConfirmInput
from fleet_tui.tui.dialogs.fan_out import FanOutDialog
from fleet_tui.tui.dialogs.fan_out_preview import FanOut
from fleet_tui.tui.dialogs.form import Form
from fleet_tui.tui.dialogs.new_agents import Multi, MultiDialog, NewAgent, NewAgentDialog
from fleet_tui.tui.dialogs.progress import ProgressDialog
from fleet_tui.tui.widgets.lines import clean
from fleet_tui.tui.widgets.prompt_area import history
from fleet_tui.tui.worker_client import WorkerCrashed

SELECT_SECONDS, SELECT_TRIES = 0.1, 10
"""How long, and how often, a new agent is looked for in the list."""


class PromptHistory:
    """The prompts that a form offers again: those of all agents, and those of this session that started nothing."""

    def __init__(self, view: FleetView) -> None:
        self._view = view
        self._written: list[str] = []

    def add(self, prompt: str) -> None:
        self._written.append(prompt)

    def prompts(self) -> list[str]:
        agents = sorted(self._view.state.agents, key=lambda agent: agent.created_at)
        return history([*(agent.prompt for agent in agents), *self._written])


class StartActions:
    """New agents."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        requests: WorkerRequests,
        trust: TrustGate,
        prompts: PromptHistory,
        drafts: DraftKeeper,
    ) -> None:
        self._view = view
        self._display = display
        self._requests = requests
        self._trust = trust
        self._prompts = prompts
        self._drafts = drafts

    def new(self) -> None:
        if self._can_start():
            form = NewAgentDialog(
                self._view.project, self._prompts.prompts(), self._requests.call, self._display.now
            )
            self._open("new", form, self._create)

    def fan_out(self) -> None:
        if self._can_start():
            form = FanOutDialog(
                self._view.project,
                self._prompts.prompts(),
                self._requests.call,
                self._display.now,
                before=self._view.state.agents,
            )
            self._open("fan-out", form, self._fan_out)

    def multi(self) -> None:
        if self._can_start():
            form = MultiDialog(self._view.project, self._requests.call, self._display.now)
            self._open("multi", form, self._multi)

    def fork(self) -> None:
        """Start another agent from here, with a copy of the conversation."""
        agent = self._view.agent
        if agent is None:
            self._display.warn("no agent selected")
        else:
            says = (
                f"A new agent from the last commit of {clean(agent.name)}, with a copy of its conversation. "
                "Uncommitted changes are not copied."
            )
            self._ask_to_fork(agent, says)

    def fork_checkpoint(self, agent: Agent, number: int) -> None:
        """Start another agent from a checkpoint; 0 is where the agent started."""
        says = (
            f"A new agent from checkpoint {number} of {clean(agent.name)}, with a copy of its conversation. "
            "What was uncommitted then is in its first commit."
        )
        self._ask_to_fork(agent, says, checkpoint=number)

    def _ask_to_fork(self, agent: Agent, says: str, **options: int) -> None:
        def fork(name: str) -> None:
            self._trust.ask_for(
                [agent],
                lambda own: self._launch(
                    None, name, 1, "fork", agent.id, name, **own_settings(own), **options
                ),
            )

        question = ConfirmInput("Fork", says, label="name", value=f"{agent.name}-fork", does="start it")
        self._drafts.open(f"fork {agent.id}", question, fork)

    # ── forms ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _can_start(self) -> bool:
        project = self._view.project
        if project is not None and project.problem:
            advice = project.advice or "open fleet-tui inside a git repository"
            self._display.notify(advice, title=project.problem, severity="error")
            return False
        return True

    def _open(self, name: str, form: Form, on_wanted: Callable[[Form, Any], None]) -> None:
        form.on_wanted = lambda wanted: on_wanted(form, wanted)
        project = self._view.project
        kept_as = self._kept_as(name)
        self._drafts.offer(kept_as, form)
        form.on_started = lambda: self._drafts.forget(self._kept_as(name))
        if project is None or project.asked is None:
            self._show_form(name, form, kept_as)
            return

        def decided(own_settings: bool) -> None:
            form.own_settings = own_settings
            self._show_form(name, form, kept_as)

        self._trust.ask(project.asked, decided)

    def _kept_as(self, name: str) -> str:
        """The name of a form's draft: each project has its own."""
        project = self._view.project
        return f"{name} {project.project if project is not None else ''}".strip()

    def _show_form(self, name: str, form: Form, kept_as: str) -> None:
        self._display.open(form)
        self._requests.start(self._update_project(name, form, kept_as))

    async def _update_project(self, name: str, form: Form, was_kept_as: str) -> None:
        """Files, settings and free memory may have changed since the dashboard was opened."""
        now: ProjectInfo = await self._requests.call("project_info")
        before = self._view.project
        versions = (
            {program.name: program.version for program in before.programs} if before is not None else {}
        )
        programs = tuple(replace(program, version=versions.get(program.name, "")) for program in now.programs)
        project = replace(now, programs=programs)
        self._view.take_project(project)
        form.take_project(project)
        kept_as = self._kept_as(name)
        if kept_as != was_kept_as:
            # The form was opened before the project was known, and may have been left since.
            self._drafts.move(was_kept_as, kept_as)
            if form.is_attached:
                self._drafts.offer(kept_as, form)

    def _create(self, form: Form, wanted: NewAgent) -> None:
        options = {"prompt": wanted.prompt, "profile": wanted.profile, "base": wanted.base}
        self._launch(form, wanted.name, 1, "create", wanted.name, **options)

    def _fan_out(self, form: Form, wanted: FanOut) -> None:
        options = {"prompt": wanted.prompt, "mix": wanted.mix, "base": wanted.base}
        self._launch(form, wanted.prefix, wanted.count, "fanout", wanted.count, wanted.prefix, **options)

    def _multi(self, form: Form, wanted: Multi) -> None:
        options = {"profile": wanted.profile, "base": wanted.base}
        self._launch(form, "multi", len(wanted.tasks), "multi", wanted.tasks, **options)

    # ── launching ───────────────────────────────────────────────────────────────────────────────────────────────

    def _launch(
        self, form: Form | None, what: str, count: int, verb: str, *arguments: Any, **options: Any
    ) -> None:
        """Launch agents and show the progress. The form closes on success and comes back on failure."""
        project = self._view.project
        if form is not None and not form.own_settings and project is not None and project.asked is not None:
            # When the form was opened the project was trusted, or asked for nothing.
            def decided(own_settings: bool) -> None:
                form.own_settings = own_settings
                self._launch(form, what, count, verb, *arguments, **options)

            self._trust.ask(project.asked, decided)
            return
        if form is not None and form.own_settings:
            options["own_settings"] = True
        self._prompts.add(str(options.get("prompt", "")))
        self._follow(ProgressDialog(what, count, verb), form, verb, *arguments, **options)

    def _follow(
        self, dialog: ProgressDialog, form: Form | None, verb: str, *arguments: Any, **options: Any
    ) -> None:

        def closed(stop: bool | None) -> None:
            if stop:
                self._stop_rest(dialog)
            if form is not None and dialog.has_failed:
                form.come_back()
            elif form is not None:
                form.on_started()
                form.dismiss(None)

        written = form.values() if form is not None else {}
        if form is not None:
            form.stand_back()
        self._display.open(dialog, closed)

        async def work() -> None:
            try:
                found = await self._requests.call(verb, *arguments, on_step=dialog.take, **options)
            except (FleetError, WorkerCrashed):
                if form is not None:
                    # The form closes if the progress dialog was closed.
                    form.on_leave(written)
                dialog.fail()
                raise
            made: list[Agent] = [found] if isinstance(found, Agent) else found
            dialog.finish(made)
            if made:
                self.select_when_listed(made[0].id)

        self._requests.start(work())

    def select_when_listed(self, agent_id: str, tries: int = SELECT_TRIES) -> None:
        """Select an agent that was just started or restored, once the list has it."""
        if self._view.by_id(agent_id) in self._view.listed:
            self._view.select(agent_id)
        elif tries:
            self._display.later(SELECT_SECONDS, lambda: self.select_when_listed(agent_id, tries - 1))

    def _stop_rest(self, dialog: ProgressDialog) -> None:
        ids = [agent.id for agent in dialog.agents]
        if ids:
            self._requests.ask(f"stopping {len(ids)} agents", "stop", ids)


def own_settings(are_used: bool) -> dict[str, bool]:
    """The option that starts an agent without what its project asks for."""
    return {"own_settings": True} if are_used else {}
