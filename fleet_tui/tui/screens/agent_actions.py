"""What can be done to agents from the dashboard: each verb is asked of the worker, its outcome said in one toast.

Knows dialogs and the worker; what is selected, and how things are shown, is the dashboard's.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from fleet_tui import choosing
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent, Asked, Receipt, ReceiptState, Status
from fleet_tui.tui.exchange import Surroundings
from fleet_tui.tui.feeds import WorkerCrashed, WorkerLink
from fleet_tui.tui.screens.answer import OPEN, WHY, AnswerDialog
from fleet_tui.tui.screens.ask import Confirm, Entry
from fleet_tui.tui.screens.crash import CrashDialog
from fleet_tui.tui.screens.editing import editor, lend
from fleet_tui.tui.screens.fan_out import FanOut, FanOutDialog
from fleet_tui.tui.screens.form import Form
from fleet_tui.tui.screens.help import HelpDialog
from fleet_tui.tui.screens.logs import LogScreen
from fleet_tui.tui.screens.new_agents import Multi, MultiDialog, NewAgent, NewAgentDialog
from fleet_tui.tui.screens.progress import ProgressDialog
from fleet_tui.tui.screens.prompt import PromptDialog
from fleet_tui.tui.screens.queue import QueueDialog, Waiting
from fleet_tui.tui.screens.trust import OWN, TRUST, TrustDialog
from fleet_tui.tui.screens.why import WhyDialog, WrongDialog
from fleet_tui.tui.widgets.lines import clean
from fleet_tui.tui.widgets.prompt_area import history
from fleet_tui.values import replace

if TYPE_CHECKING:
    from fleet_tui.speaking import Why
    from fleet_tui.tui.screens.dashboard import Dashboard

_FLEET = (sys.executable, "-c", "from fleet_tui.cli import main; main()")
ARMED_SECONDS = 3.0
"""How long the second press of stop or kill counts."""


class AgentActions:
    """The verbs, bound to one dashboard and one worker."""

    def __init__(self, desk: Dashboard, worker: WorkerLink) -> None:
        self._desk = desk
        self._worker = worker
        self._armed: tuple[str, tuple[str, ...], float] | None = None
        self._seen: set[str] = set()
        self._written: list[str] = []
        """Prompts of this session, also of what could not be started: nothing has to be typed twice."""

    # ── asking the worker ───────────────────────────────────────────────────────────────────────────────────────

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._desk.run_worker(self._guarded(work), group="verbs", exit_on_error=False)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Every failure is shown: what a person can act on as a toast, the rest as a dialog."""
        try:
            await work
        except FleetError as error:
            self._desk.notify(error.hint or " ", title=error.message, severity="error", timeout=8)
        except WorkerCrashed as error:
            self._desk.app.push_screen(CrashDialog(str(error), error.trace))

    def _ask(self, said: str, verb: str, *arguments: Any, **options: Any) -> None:
        async def work() -> None:
            await self._worker.call(verb, *arguments, **options)
            if said:
                self._desk.notify(said)

        self._start(work())

    def watch(self, agent_id: str) -> None:
        self._worker.watch(agent_id)

    def seen(self, agent: Agent) -> None:
        """Somebody has looked at a finished agent: it is not news any more."""
        moment = f"{agent.id}@{agent.evidence.at if agent.evidence else 0}"
        if moment not in self._seen:
            self._seen.add(moment)
            self._ask("", "see", [agent.id])

    # ── starting agents ─────────────────────────────────────────────────────────────────────────────────────────

    def _can_start(self) -> bool:
        place = self._desk.place
        if place is not None and place.problem:
            advice = place.advice or "open fleet-tui inside a git repository"
            self._desk.notify(advice, title=place.problem, severity="error")
            return False
        return True

    def _open(self, form: Form, on_wanted: Callable[[Form, Any], None]) -> None:
        form.on_wanted = lambda wanted: on_wanted(form, wanted)
        place = self._desk.place
        if place is None or place.asked is None:
            self._show_form(form)
            return

        def decided(own_settings: bool) -> None:
            form.own_settings = own_settings
            self._show_form(form)

        self._ask_for_trust(place.asked, decided)

    def _show_form(self, form: Form) -> None:
        self._desk.app.push_screen(form)
        self._start(self._look_around(form))

    # ── trust ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _ask_for_trust(self, asked: Asked, go_on: Callable[[bool], None]) -> None:
        """Show what the project's files ask for, and go on with them or with the user's own settings."""

        def chosen(what: str | None) -> None:
            if what == TRUST:
                self._start(self._trust(asked, go_on))
            elif what == OWN:
                go_on(True)

        self._desk.app.push_screen(TrustDialog(asked), chosen)

    async def _trust(self, asked: Asked, go_on: Callable[[bool], None]) -> None:
        await self._worker.call("trust", asked)
        place = self._desk.place
        if place is not None and place.project == asked.project:
            self._desk.place = replace(place, asked=None)
        go_on(False)

    def _with_trust(self, agents: Sequence[Agent], go_on: Callable[[bool], None]) -> None:
        """Ask about each project of these agents that is not trusted, before any of them is started again."""
        projects = {agent.project: agent.id for agent in agents}

        async def work(own_settings: bool) -> None:
            while projects:
                _, agent = projects.popitem()
                asked: Asked | None = await self._worker.call("asked", agent)
                if asked:
                    self._ask_for_trust(asked, lambda own: self._start(work(own or own_settings)))
                    return
            go_on(own_settings)

        self._start(work(False))

    def do_new(self) -> None:
        if self._can_start():
            desk = self._desk
            form = NewAgentDialog(desk.place, self._prompts(), self._worker.call, desk.now)
            self._open(form, self._create)

    def _create(self, form: Form, wanted: NewAgent) -> None:
        options = {"prompt": wanted.prompt, "profile": wanted.profile, "base": wanted.base}
        self._launch(form, wanted.name, 1, "create", wanted.name, **options)

    def do_fan_out(self) -> None:
        if self._can_start():
            desk = self._desk
            before = desk.state.agents
            form = FanOutDialog(desk.place, self._prompts(), self._worker.call, desk.now, before=before)
            self._open(form, self._fan_out)

    async def _look_around(self, form: Form) -> None:
        """Files and settings may have been changed, and memory taken, since the dashboard was opened."""
        now: Surroundings = await self._worker.call("surroundings")
        before = self._desk.place
        versions = {tool.name: tool.version for tool in before.tools} if before is not None else {}
        tools = tuple(replace(tool, version=versions.get(tool.name, "")) for tool in now.tools)
        self._desk.place = place = replace(now, tools=tools)
        form.take_place(place)

    def _fan_out(self, form: Form, wanted: FanOut) -> None:
        options = {"prompt": wanted.prompt, "mix": wanted.mix, "base": wanted.base}
        self._launch(form, wanted.prefix, wanted.count, "fanout", wanted.count, wanted.prefix, **options)

    def do_multi(self) -> None:
        if self._can_start():
            self._open(MultiDialog(self._desk.place, self._worker.call, self._desk.now), self._multi)

    def _multi(self, form: Form, wanted: Multi) -> None:
        options = {"profile": wanted.profile, "base": wanted.base}
        self._launch(form, "multi", len(wanted.tasks), "multi", wanted.tasks, **options)

    def _launch(
        self, form: Form | None, what: str, count: int, verb: str, *arguments: Any, **options: Any
    ) -> None:
        """Have agents made; the form is left when they are, and is there again when they cannot be."""
        place = self._desk.place
        if form is not None and not form.own_settings and place is not None and place.asked is not None:
            # It was trusted, or asked for nothing, when the form was opened.
            def decided(own_settings: bool) -> None:
                form.own_settings = own_settings
                self._launch(form, what, count, verb, *arguments, **options)

            self._ask_for_trust(place.asked, decided)
            return
        if form is not None and form.own_settings:
            options["own_settings"] = True
        self._written.append(str(options.get("prompt", "")))
        dialog = ProgressDialog(what, count, verb)

        def closed(stop: bool | None) -> None:
            if stop:
                self._stop_rest(dialog)
            if form is not None and dialog.has_failed:
                form.come_back()
            elif form is not None:
                form.dismiss(None)

        if form is not None:
            form.stand_back()
        self._desk.app.push_screen(dialog, closed)

        async def work() -> None:
            try:
                made: list[Agent] = await self._worker.call(verb, *arguments, on_step=dialog.take, **options)
            except (FleetError, WorkerCrashed):
                dialog.fail()
                raise
            dialog.finish(made)
            if made:
                self._select_when_there(made[0].id)

        self._start(work())

    def _select_when_there(self, agent_id: str, tries: int = 10) -> None:
        """Select an agent that was just made or brought back, as soon as the news of it has come."""
        if self._desk.by_id(agent_id) in self._desk.listed:
            self._desk.select(agent_id)
        elif tries:
            self._desk.set_timer(0.1, lambda: self._select_when_there(agent_id, tries - 1))

    def _stop_rest(self, dialog: ProgressDialog) -> None:
        ids = [agent.id for agent in dialog.agents]
        if ids:
            self._ask(f"stopping {len(ids)} agents", "stop", ids)

    def _prompts(self) -> list[str]:
        agents = sorted(self._desk.state.agents, key=lambda agent: agent.created_at)
        return history([*(agent.prompt for agent in agents), *self._written])

    # ── speaking ────────────────────────────────────────────────────────────────────────────────────────────────

    def do_prompt(self, text: str = "") -> None:
        targets = [agent for agent in self._desk.targets if not agent.has_ended]
        if not targets:
            self._nobody("to send a prompt to")
            return

        def send(prompt: tuple[str, bool, bool] | None) -> None:
            if prompt is not None:
                self._start(self._send(targets, *prompt))

        def ask_rules(dialog: PromptDialog) -> None:
            self._start(self._tell_rules(dialog, sorted({agent.profile for agent in targets})))

        self._desk.app.push_screen(PromptDialog(targets, self._prompts(), text, ask_rules), send)

    async def _tell_rules(self, dialog: PromptDialog, profiles: Sequence[str]) -> None:
        dialog.know(await self._worker.call("text_rules", profiles))

    async def _send(self, targets: Sequence[Agent], text: str, now: bool, command: bool = False) -> None:
        self._written.append(text)
        more: dict[str, Any] = {"command": True} if command else {}
        receipts: list[Receipt] = await self._worker.call(
            "prompt", [agent.id for agent in targets], text, now=now, **more
        )
        refused = [receipt for receipt in receipts if receipt.state == ReceiptState.REFUSED]
        got = [agent for agent, receipt in zip(targets, receipts, strict=True) if receipt not in refused]
        reasons = {receipt.reason for receipt in receipts if receipt.state == ReceiptState.QUEUED}
        notes = "; ".join(sorted({receipt.note for receipt in receipts if receipt.note}))
        if got:
            who = _names(got)
            why = f" ({reasons.pop()})" if len(reasons) == 1 and reasons != {""} else ""
            words = f"queued: {who} gets it when idle{why}" if reasons or why else f"sent to {who}"
            self._desk.notify(f"{words}; {notes}" if notes else words)
        if refused:
            who = _names([agent for agent in targets if agent not in got])
            self._desk.notify(refused[0].reason, title=f"not taken: {who}", severity="error", timeout=8)

    def do_answer(self) -> None:
        """Answer the one that waits: the selected one, or else the one that waits longest."""
        desk = self._desk
        waiting = sorted(
            (agent for agent in desk.state.agents if agent.status is Status.BLOCKED),
            key=lambda agent: agent.status_since,
        )
        if not waiting:
            desk.notify("nobody waits for an answer")
            return
        agent = desk.agent if desk.agent in waiting else waiting[0]
        desk.select(agent.id)
        if agent.evidence is None or not agent.evidence.choices:
            # What can be answered is not known: only its own screen shows it.
            desk.typing_mode.do_type()
            return
        desk.call_after_refresh(self._ask_for_answer, agent)

    def _ask_for_answer(self, agent: Agent) -> None:
        dialog = AnswerDialog(agent, self._desk.now, self._desk.beside_selected)
        self._desk.app.push_screen(dialog, lambda said: self._answered(agent, said))

    def _answered(self, agent: Agent, said: tuple[str, str] | None) -> None:
        what, choice = said or ("", "")
        if what == OPEN:
            self._desk.typing_mode.do_type()
        elif what == WHY:
            self.do_why()
        elif what:
            self._ask(f"answered {clean(agent.name)}", "answer", agent.id, choice, shown=agent.evidence)

    def close_answered(self) -> None:
        """A question that was answered elsewhere need not be asked any more."""
        dialog = self._desk.app.screen
        if isinstance(dialog, AnswerDialog):
            agent = self._desk.by_id(dialog.agent.id)
            if agent is None or agent.status is not Status.BLOCKED:
                dialog.dismiss(None)
            elif dialog.is_outdated(agent):
                dialog.dismiss(None)
                self._desk.notify("look at it again", title=f"{clean(agent.name)} asks something else by now")

    def do_queue(self) -> None:
        agent = self._desk.agent
        if agent is None:
            self._nobody("with prompts")
            return

        async def work() -> None:
            given, waiting = await self._worker.call("prompts", agent.id)
            shown = [Waiting(entry["prompt"], entry["text"], entry.get("reason", "")) for entry in waiting]
            dialog = QueueDialog(agent, given, shown)
            self._desk.app.push_screen(dialog, lambda said: self._change_queue(agent, said))

        self._start(work())

    def _change_queue(self, agent: Agent, said: tuple[str, Waiting] | None) -> None:
        if said is None:
            return
        what, waiting = said
        if what == "cancel":
            self._ask("taken back", "cancel", agent.id, waiting.id)
            return

        def reword(prompt: tuple[str, bool, bool] | None) -> None:
            if prompt is not None:
                self._ask("changed", "reword", agent.id, waiting.id, prompt[0])

        self._desk.app.push_screen(PromptDialog([agent], self._prompts(), waiting.text), reword)

    # ── ending, and bringing back ───────────────────────────────────────────────────────────────────────────────

    def do_stop(self) -> None:
        living = [agent for agent in self._desk.targets if not agent.has_ended]
        if not living:
            self._nobody("to stop: it has ended already" if self._desk.targets else "to stop")
        elif self._is_second_tap("stop", living, f"stop {_count(living)}; the work stays"):
            self._end(f"stopped {_names(living)}", "stop", living)
            self._unmark()

    def ask_to_stop(self) -> None:
        """While typing there is no second tap, because keys go to the agent: ask instead."""
        agent = self._desk.agent
        if agent is not None and not agent.has_ended:
            question = Confirm("Stop", f"Stop {agent.name}? Its worktree and branch stay.", "stop it")
            self._desk.app.push_screen(
                question, lambda yes: self._end(f"stopped {agent.name}", "stop", [agent]) if yes else None
            )

    def do_kill(self) -> None:
        targets = self._desk.targets
        if not targets:
            self._nobody("to kill")
        elif self._is_second_tap("kill", targets, f"{_several(targets)}to trash; {_branches(targets)} kept"):
            undo = self._desk.keymap.shown("undo")
            self._end(
                f"killed {_names(targets)}; {_branches(targets)} kept, {undo} undoes it", "kill", targets
            )
            self._unmark()

    def _end(self, said: str, verb: str, targets: Sequence[Agent]) -> None:
        """Stop or kill, and say what the user is warned of afterwards."""

        async def work() -> None:
            warnings = await self._worker.call(verb, [agent.id for agent in targets])
            self._desk.notify(said)
            for warning in warnings:
                self._desk.notify(warning, severity="warning", timeout=8)

        self._start(work())

    def _is_second_tap(self, action: str, targets: Sequence[Agent], says: str) -> bool:
        ids = tuple(agent.id for agent in targets)
        now = time.monotonic()
        armed, self._armed = self._armed, None
        if armed is not None and armed[:2] == (action, ids) and now <= armed[2]:
            self._desk.say(())
            return True
        self._armed = (action, ids, now + ARMED_SECONDS)
        self._desk.say(
            (
                ("! ", "bold warning"),
                (f"{self._desk.keymap.shown(action)} again", "bold accent"),
                (f": {says}", ""),
            )
        )
        self._desk.set_timer(ARMED_SECONDS, self._expire)
        return False

    def _expire(self) -> None:
        if self._armed is not None and time.monotonic() >= self._armed[2]:
            self._desk.disarm()

    def disarm(self) -> None:
        self._armed = None

    def do_undo(self) -> None:
        async def work() -> None:
            restored = await self._worker.call("undo")
            agents = [agent for agent, _ in restored]
            notes = [note for _, note in restored if note]
            one = len(agents) == 1
            again = f"{self._desk.keymap.shown('revive')} starts {'it' if one else 'one'} again"
            self._desk.notify(
                "; ".join(notes) or again, title=f"{_names(agents)} {'is' if one else 'are'} back"
            )
            self._select_when_there(agents[0].id)

        self._start(work())

    def do_revive(self) -> None:
        ended = [agent for agent in self._desk.targets if agent.has_ended]
        if not ended:
            self._nobody("to revive: it is running" if self._desk.targets else "to revive")
            return
        ids = [agent.id for agent in ended]

        def revive(own_settings: bool) -> None:
            self._ask(f"revived {_names(ended)}", "revive", ids, **_own(own_settings))

        self._with_trust(ended, revive)
        self._unmark()

    def do_fork(self) -> None:
        """Another agent that goes on from here, with a copy of the conversation."""
        agent = self._desk.agent
        if agent is None:
            self._nobody("to fork")
            return

        def fork(name: str | None) -> None:
            if name:
                self._with_trust(
                    [agent], lambda own: self._launch(None, name, 1, "fork", agent.id, name, **_own(own))
                )

        says = f"A new agent from the last commit of {clean(agent.name)}, with a copy of its conversation. What is not committed stays there."
        self._desk.app.push_screen(
            Entry("Fork", says, label="name", value=f"{agent.name}-fork", does="start it"), fork
        )

    def do_restart(self) -> None:
        targets = self._desk.targets
        if not targets:
            self._nobody("to restart")
            return
        question = Confirm(
            "Restart",
            f"Start {_names(targets)} again from the first prompt? The worktree stays as it is.",
            "restart",
        )
        ids = [agent.id for agent in targets]

        def restart(own_settings: bool) -> None:
            self._ask(f"restarted {_names(targets)}", "restart", ids, **_own(own_settings))

        self._desk.app.push_screen(question, lambda yes: self._with_trust(targets, restart) if yes else None)

    def do_stop_fleet(self) -> None:
        living = sum(not agent.has_ended for agent in self._desk.state.agents)
        if not living:
            self._nobody("to stop")
            return
        says = f"This stops all {living} running agents, of every project. Worktrees, branches and records stay. Type stop to do it."
        question = Entry(
            "Stop the fleet", says, label="stop?", must_be="stop", does="stop them all", is_grave=True
        )
        self._desk.app.push_screen(
            question, lambda typed: self._ask("the fleet is stopped", "stop_fleet") if typed else None
        )

    # ── names ───────────────────────────────────────────────────────────────────────────────────────────────────

    def do_rename(self) -> None:
        agent = self._desk.agent
        if agent is None:
            self._nobody("to rename")
            return

        def rename(name: str | None) -> None:
            if name and name != agent.name:
                self._ask(f"{agent.name} is {name} now", "rename", agent.id, name)

        self._desk.app.push_screen(
            Entry("Rename", "The branch keeps its name.", label="name", value=agent.name, does="rename"),
            rename,
        )

    def do_move(self) -> None:
        targets = self._desk.targets
        if not targets:
            self._nobody("to move")
            return

        batches = self._batches(targets[0].project)

        def move(name: str | None) -> None:
            if name:
                batch = batches.get(name, name)
                self._ask(f"moved {_names(targets)} to {name}", "move", [one.id for one in targets], batch)
                self._unmark()

        says = f"A batch of another name is made. There are: {', '.join(batches)}"
        of_first = targets[0].batch
        here = next((name for name, batch in batches.items() if batch == of_first), of_first)
        self._desk.app.push_screen(Entry("Move to batch", says, label="batch", value=here, does="move"), move)

    def _batches(self, project: str) -> dict[str, str]:
        """The batches of a project by the names that the list shows; by their ids where two are called the same."""
        named = choosing.batch_names(self._desk.state.agents)
        return {name: batch for (place, batch), name in named.items() if place == project}

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────

    def do_why(self) -> None:
        agent = self._desk.agent
        if agent is None:
            return

        async def work() -> None:
            why: Why = await self._worker.call("why", agent.id)
            self._desk.app.push_screen(
                WhyDialog(agent, why, self._desk.now), lambda said: self._call_wrong(agent) if said else None
            )

        self._start(work())

    def _call_wrong(self, agent: Agent) -> None:
        async def work(right: str, kind: str) -> None:
            file: str = await self._worker.call("report_wrong", agent.id, right, kind)
            self._desk.notify(clean(file), title="saved, for a test", timeout=8)

        self._desk.app.push_screen(
            WrongDialog(agent), lambda said: self._start(work(*said)) if said is not None else None
        )

    def do_logs(self) -> None:
        agent = self._desk.agent
        if agent is not None:
            self._desk.app.push_screen(LogScreen(agent, self._read_log))

    async def _read_log(self, agent_id: str, count: int) -> list[str]:
        lines: list[str] = await self._worker.call("logs", agent_id, count)
        return lines

    def do_help(self) -> None:
        self._desk.app.push_screen(HelpDialog(self._desk.keymap))

    def do_palette(self) -> None:
        self._desk.app.action_command_palette()

    def do_theme(self) -> None:
        self._desk.app.search_themes()

    # ── outside ─────────────────────────────────────────────────────────────────────────────────────────────────

    def do_attach(self) -> None:
        agent = self._desk.agent
        if agent is not None:
            self._outside(lambda: [*_FLEET, "attach", agent.id], None)

    def do_shell(self) -> None:
        agent = self._desk.agent
        if agent is not None:
            self._outside(lambda: [os.environ.get("SHELL") or "/bin/sh"], agent.worktree)

    def do_editor(self) -> None:
        agent = self._desk.agent
        if agent is None:
            return
        self._outside(lambda: [*editor(), agent.worktree], agent.worktree)

    def _outside(self, command: Callable[[], list[str]], folder: str | None) -> None:
        """Give the terminal to a program until it ends."""
        desk = self._desk
        if folder is not None and not os.path.isdir(folder):  # noqa: PTH112 - a look, not a path to keep
            desk.notify("undo or revive brings it back", title="its worktree is not there", severity="error")
            return
        if desk.typing:
            desk.typing_mode.stop()
        try:
            lend(desk.app, command(), folder, advice="set EDITOR or SHELL to a program that is installed")
        except FleetError as error:
            desk.notify(error.hint, title=error.message, severity="error", timeout=8)
        desk.app.refresh(layout=True)

    def do_copy_path(self) -> None:
        self._copy("path", lambda agent: agent.worktree)

    def do_copy_branch(self) -> None:
        self._copy("branch", lambda agent: agent.branch)

    def _copy(self, what: str, of: Callable[[Agent], str]) -> None:
        if self._desk.agent is not None:
            text = of(self._desk.agent)
            self._desk.app.copy_to_clipboard(text)
            self._desk.notify(clean(text), title=f"copied the {what}", timeout=3)

    def do_init(self) -> None:
        async def work() -> None:
            made: list[str] = await self._worker.call("init")
            self._desk.notify("\n".join(made), title="written")
            self._desk.place = await self._worker.call("surroundings")

        self._start(work())

    def do_begin(self) -> None:
        """Make a repository here, or its first commit, when that is all that is missing."""
        if self._desk.place is None or not self._desk.place.can_begin:
            return

        async def work() -> None:
            await self._worker.call("begin")
            self._desk.place = await self._worker.call("surroundings")
            self._desk.notify("there is a repository with a first, empty commit now")

        self._start(work())

    def do_demo(self) -> None:
        """Show the tour in a dashboard of its own, and come back."""
        self._outside(lambda: [*_FLEET, "ui", "demo"], None)

    def do_quit(self) -> None:
        self._desk.app.exit()

    def _nobody(self, what: str) -> None:
        self._desk.notify(f"there is nobody {what}", severity="warning")

    def _unmark(self) -> None:
        self._desk.marked = frozenset()
        self._desk.show()


def _own(own_settings: bool) -> dict[str, bool]:
    return {"own_settings": True} if own_settings else {}


def _several(agents: Sequence[Agent]) -> str:
    return "" if len(agents) == 1 else f"{len(agents)} "


def _branches(agents: Sequence[Agent]) -> str:
    return "branch" if len(agents) == 1 else "branches"


def _count(agents: Sequence[Agent]) -> str:
    return "it" if len(agents) == 1 else f"all {len(agents)}"


def _names(agents: Sequence[Agent]) -> str:
    return clean(agents[0].name) if len(agents) == 1 else f"{len(agents)} agents"
