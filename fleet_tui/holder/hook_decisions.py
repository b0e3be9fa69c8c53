"""Decisions for hooks that wait for one: by the user's rules, by an answer of the user, or none at all."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui.holder import hooks
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.paths import APPROVALS_FILE
from fleet_tui.permissions import decision_log
from fleet_tui.permissions.policy import Policy
from fleet_tui.permissions.rules import Malformed
from fleet_tui.permissions.tool_use import ToolUse
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.status_rules import in_values

RETRY_SECONDS = 0.02
"""A hook opens its pipe soon after it rings the bell; this is how often to try to write to it."""
DECIDE_SECONDS = 5.0
"""A hook is released after this if its question never appears, and given up if it does not read its decision."""


class HookDecisions:
    """The pipes of hooks that wait, from their question until they have read a decision."""

    def __init__(self, spec: RunSpec, rules: InteractionRules) -> None:
        self._agent, self._cwd = spec.agent, spec.cwd
        self._log = Path(spec.state_folder) / APPROVALS_FILE
        self._rules = rules
        self._policy = _policy(spec.settings.policy)
        self._undecided: dict[Path, tuple[float, bool]] = {}
        """Pipes without a decision: since when, and whether their question has been seen."""
        self._unread: dict[Path, tuple[str, float]] = {}
        """Decisions for hooks that do not read yet, and when to give up."""

    def wait(self, pipe: Path, now: float) -> None:
        """Leave the decision to the user."""
        self._undecided[pipe] = (now, False)

    def decide_by_rules(self, payload: Mapping[str, Any], pipe: Path) -> bool:
        """Whether the user's permission rules have decided this request; every decision is logged."""
        asked = in_values(self._rules.hook, payload)
        if self._policy.mode == "off" or asked is None or asked.rule.kind != "permission":
            return False
        request = ToolUse.from_payload(payload, self._cwd)
        decision = self._policy.decide(request)
        decision_log.record(self._log, self._agent, request, decision, self._policy.mode, time.time())
        reason = "; ".join(filter(None, (decision.rule, decision.why)))
        text = self._rules.decision(decision.decision, reason)
        return self._policy.mode == "on" and bool(text) and self._decide(pipe, text)

    def decide_only(self, text: str) -> bool:
        """Decide for the only hook that waits; with several it is not known which of them the dialog shows."""
        return len(self._undecided) == 1 and self._decide(next(iter(self._undecided)), text)

    def due(self, now: float) -> float | None:
        return now + RETRY_SECONDS if self._unread else None

    def tick(self, now: float, *, is_asking: bool) -> None:
        """Release hooks whose question was answered in the dialog, and retry those that did not read yet."""
        for pipe, (since, was_seen) in list(self._undecided.items()):
            if is_asking and not was_seen:
                self._undecided[pipe] = (since, True)
            elif not is_asking and (was_seen or now >= since + DECIDE_SECONDS):
                self._decide(pipe, "")
        for pipe, (text, until) in list(self._unread.items()):
            # A hook that was killed leaves its pipe behind.
            if hooks.decide(pipe, text) or not pipe.is_fifo() or now >= until:
                del self._unread[pipe]

    def _decide(self, pipe: Path, text: str) -> bool:
        """Send a hook what to print, now or once it reads; False when it has gone."""
        self._undecided.pop(pipe, None)
        if hooks.decide(pipe, text):
            # It removes its pipe once it has read, which may be before a look at the pipe.
            return True
        if not pipe.is_fifo():
            return False
        self._unread[pipe] = (text, time.monotonic() + DECIDE_SECONDS)
        return True


def _policy(plain: Mapping[str, Any]) -> Policy:
    """The user's rules; rules that cannot be read allow nothing."""
    try:
        return Policy.from_plain(plain)
    except Malformed:
        return Policy()
