"""Prompt agents, change prompts that wait, and answer questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fleet_tui.faces.conflict_wording import conflict_prompt
from fleet_tui.fleet.prompts import AgentPrompts
from fleet_tui.models import Agent, Receipt, ReceiptState, Status
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.draft_keeper import DraftKeeper
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.start_actions import PromptHistory
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests, names_of
from fleet_tui.tui.dialogs.answer import OPEN, WHY, AnswerDialog
from fleet_tui.tui.dialogs.prompt import PromptDialog
from fleet_tui.tui.dialogs.queue import QueueDialog, QueuedPrompt
from fleet_tui.tui.widgets.lines import clean

PROMPT = "prompt"
"""The field of the dialog with the text."""


class PromptActions:
    """Prompts, receipts and answers."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        requests: WorkerRequests,
        prompts: PromptHistory,
        drafts: DraftKeeper,
        *,
        type_to: Callable[[Agent], None],
        explain: Callable[[Agent], None],
        beside_selected: Callable[[], tuple[int, int]],
    ) -> None:
        self._view = view
        self._display = display
        self._requests = requests
        self._prompts = prompts
        self._drafts = drafts
        self._type_to = type_to
        self._explain = explain
        self._beside_selected = beside_selected

    # ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────

    def prompt(self, text: str = "") -> None:
        targets = [agent for agent in self._view.targets if not agent.has_ended]
        if not targets:
            self._display.warn("no running agent selected")
            return

        form = f"prompt {' '.join(sorted(agent.id for agent in targets))}"

        def send(prompt: tuple[str, bool, bool]) -> None:
            # It stays a draft until it is sent.
            self._drafts.keep(form, {PROMPT: prompt[0]})
            self._requests.start(self._send(form, targets, *prompt))

        def ask_rules(dialog: PromptDialog) -> None:
            self._requests.start(self._load_rules(dialog, sorted({agent.profile for agent in targets})))

        if text and (before := self._drafts.text(form, PROMPT)):
            self._drafts.keep(form, {PROMPT: f"{before}\n{text}"})
        about = "" if text else self._about_conflict(targets)
        dialog = PromptDialog(
            targets, self._prompts.prompts(), text or about, ask_rules, is_new=True, is_suggested=bool(about)
        )
        self._drafts.open(form, dialog, send)

    def _about_conflict(self, targets: Sequence[Agent]) -> str:
        """What to tell an agent whose work does not merge; empty for others, and for several."""
        live = self._view.live
        if len(targets) != 1 or targets[0].id not in live.conflict_marks:
            return ""
        return conflict_prompt(targets[0], live, self._view.state.agents)

    async def _load_rules(self, dialog: PromptDialog, profiles: Sequence[str]) -> None:
        dialog.know(await self._requests.call("profiles.text_rules", profiles))

    async def _send(
        self, form: str, targets: Sequence[Agent], text: str, now: bool, command: bool = False
    ) -> None:
        self._prompts.add(text)
        more: dict[str, Any] = {"command": True} if command else {}
        receipts: list[Receipt] = await self._requests.call(
            "prompts.deliver", [agent.id for agent in targets], text, now=now, **more
        )
        self._drafts.forget(form)
        refused = [receipt for receipt in receipts if receipt.state == ReceiptState.REFUSED]
        taken = [agent for agent, receipt in zip(targets, receipts, strict=True) if receipt not in refused]
        reasons = {receipt.reason for receipt in receipts if receipt.state == ReceiptState.QUEUED}
        notes = "; ".join(sorted({receipt.note for receipt in receipts if receipt.note}))
        if taken:
            who = names_of(taken)
            why = f" ({reasons.pop()})" if len(reasons) == 1 and reasons != {""} else ""
            words = f"queued for {who} until idle{why}" if reasons or why else f"sent to {who}"
            self._display.notify(f"{words}; {notes}" if notes else words)
        if refused:
            who = names_of([agent for agent in targets if agent not in taken])
            self._display.fail(refused[0].reason, title=f"refused by {who}")

    def queue(self) -> None:
        agent = self._view.agent
        if agent is None:
            self._display.warn("no agent selected")
            return

        async def work() -> None:
            queue: AgentPrompts = await self._requests.call("prompts.queue", agent.id)
            shown = [
                QueuedPrompt(entry["prompt"], entry["text"], entry.get("reason", ""))
                for entry in queue.waiting
            ]
            dialog = QueueDialog(agent, list(queue.given), shown)
            self._display.open(dialog, lambda chosen: self._change_queue(agent, chosen))

        self._requests.start(work())

    def _change_queue(self, agent: Agent, chosen: tuple[str, QueuedPrompt] | None) -> None:
        if chosen is None:
            return
        what, waiting = chosen
        if what == "cancel":
            self._requests.ask("prompt canceled", "prompts.cancel", agent.id, waiting.id)
            return

        def reword(prompt: tuple[str, bool, bool]) -> None:
            self._requests.ask("prompt changed", "prompts.reword", agent.id, waiting.id, prompt[0])

        dialog = PromptDialog([agent], self._prompts.prompts(), waiting.text)
        self._drafts.open(f"reword {waiting.id}", dialog, reword)

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────

    def answer(self) -> None:
        """Answer the selected agent's question, or else the one that has waited longest."""
        view = self._view
        waiting = sorted(
            (agent for agent in view.state.agents if agent.status is Status.BLOCKED),
            key=lambda agent: agent.status_since,
        )
        if not waiting:
            self._display.notify("no agent is waiting for an answer")
            return
        agent = view.agent if view.agent in waiting else waiting[0]
        view.select(agent.id)
        if agent.evidence is None or not agent.evidence.choices:
            # The choices are unknown: only the agent's own screen shows them.
            self._type_to(agent)
            return
        self._display.after_refresh(lambda: self._open_answer(agent))

    def _open_answer(self, agent: Agent) -> None:
        dialog = AnswerDialog(agent, self._display.now, self._beside_selected)
        asked = agent.evidence.text if agent.evidence is not None else ""
        self._drafts.open(f"answer {agent.id} {asked}", dialog, lambda chosen: self._answered(agent, chosen))

    def _answered(self, agent: Agent, chosen: tuple[str, str]) -> None:
        what, choice = chosen
        if what == OPEN:
            self._type_to(agent)
        elif what == WHY:
            self._explain(agent)
        elif what:
            self._requests.ask(
                f"answered {clean(agent.name)}", "answer", agent.id, choice, shown=agent.evidence
            )

    def close_outdated_answer(self) -> None:
        """Close the answer dialog when its question was answered elsewhere, or is another one now."""
        dialog = self._display.app.screen
        if not isinstance(dialog, AnswerDialog):
            return
        agent = self._view.by_id(dialog.agent.id)
        if agent is None or agent.status is not Status.BLOCKED:
            dialog.dismiss(None)
        elif dialog.is_outdated(agent):
            dialog.dismiss(None)
            self._display.notify(
                "open the question again", title=f"{clean(agent.name)} asks something else now"
            )
