"""`fleet.prompts`: send prompts to agents, follow their receipts, and change the queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.models import Agent, PromptSummary, Receipt

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet


@dataclass(frozen=True, slots=True)
class AgentPrompts:
    """The prompts of one agent."""

    given: tuple[Receipt, ...]
    """Those that are not queued any more, oldest first."""
    waiting: tuple[Mapping[str, Any], ...]
    """Those in the queue, in order, as the holder sends them: prompt (its id), text, reason, command."""


class PromptVerbs:
    """Delivers prompts through the agents' holders; the store keeps the receipts."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def deliver(
        self, agents: Sequence[Agent], text: str, *, now: bool = False, command: bool = False
    ) -> list[Receipt]:
        """Send a prompt to agents. To one, `send` it, which raises an error if it is refused; `broadcast` it to several."""
        if len(agents) == 1:
            return [self.send(agents[0], text, now=now, command=command)]
        return self.broadcast(agents, text, now=now, command=command)

    def send(self, agent: Agent, text: str, *, now: bool = False, command: bool = False) -> Receipt:
        """Type a prompt into an agent once it is idle, or immediately with `now`; returns the receipt.

        With `command`, the program runs a text such as `/compact` itself instead of sending it to the model.
        """
        from fleet_tui.prompting import prompts

        return prompts.prompt(self._fleet.store, self._fleet.current(agent), text, now=now, command=command)

    def broadcast(
        self, agents: Sequence[Agent], text: str, *, now: bool = False, command: bool = False
    ) -> list[Receipt]:
        """Send the same prompt to several agents; an agent that cannot take it has a refused receipt."""
        from fleet_tui.prompting import prompts

        return prompts.broadcast(self._fleet.store, agents, text, now=now, command=command)

    def receipt(self, receipt_id: str) -> Receipt:
        """The delivery state of a prompt, as last recorded."""
        return self._fleet.store.receipts.get(receipt_id)

    def receipts(self, agent: Agent) -> list[Receipt]:
        """The prompts of an agent with their delivery states, oldest first."""
        return self._fleet.store.receipts.of(agent.id)

    def counts(self) -> Mapping[str, PromptSummary]:
        """Queued prompts and the last delivery state of each living agent."""
        return self._fleet.store.receipts.summaries()

    def wait(
        self,
        receipt: Receipt,
        *,
        seconds: float | None = None,
        on_change: Callable[[Receipt], None] | None = None,
    ) -> Receipt:
        """Wait until the turn of a prompt has ended, at most that long; returns the receipt as it is then."""
        from fleet_tui.prompting import prompts

        deadline = None if seconds is None else time.monotonic() + seconds
        while not receipt.is_over and (deadline is None or time.monotonic() < deadline):
            time.sleep(prompts.POLL_SECONDS)
            self._fleet.refresh()
            before, receipt = receipt, replace(self.receipt(receipt.id), note=receipt.note)
            if on_change is not None and (before.state, before.reason) != (receipt.state, receipt.reason):
                on_change(receipt)
        return receipt

    def queue(self, agent: Agent) -> AgentPrompts:
        """The prompts that an agent was given and those that wait for it."""
        from fleet_tui.prompting import prompts

        waiting = prompts.queue(agent)
        ids = {entry["prompt"] for entry in waiting}
        given = [receipt for receipt in self.receipts(agent) if receipt.id not in ids]
        return AgentPrompts(tuple(given), tuple(waiting))

    def reword(self, agent: Agent, which: str, text: str) -> None:
        """Change the text of a queued prompt, named by its position or id."""
        from fleet_tui.prompting import prompts

        prompts.reword(self._fleet.store, agent, which, text)
        self._fleet.refresh()

    def cancel(self, agent: Agent, which: str) -> None:
        """Remove a queued prompt, named by its position or id."""
        from fleet_tui.prompting import prompts

        prompts.cancel(agent, which)
        self._fleet.refresh()
