"""A fleet for tests: records what agents have done before it lists them, as every face does."""

from __future__ import annotations

import functools

from fleet_tui.fleet import Fleet
from fleet_tui.fleet.prompts import PromptVerbs
from fleet_tui.lifecycle.doctor import Finding
from fleet_tui.models import Agent, Receipt


class WatchedFleet(Fleet):
    """Calls `refresh` before each read that tests poll."""

    def agents(self, *, everywhere: bool = False) -> list[Agent]:
        self.refresh()
        return super().agents(everywhere=everywhere)

    def examine(self) -> list[Finding]:
        self.refresh()
        return super().examine()

    @functools.cached_property
    def prompts(self) -> PromptVerbs:
        return _WatchedPrompts(self)


class _WatchedPrompts(PromptVerbs):
    def receipt(self, receipt_id: str) -> Receipt:
        self._fleet.refresh()
        return super().receipt(receipt_id)

    def receipts(self, agent: Agent) -> list[Receipt]:
        self._fleet.refresh()
        return super().receipts(agent)
