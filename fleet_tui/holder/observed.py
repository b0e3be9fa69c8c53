"""Observations: a status with its evidence as one source gives it, and the ranks of the sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import REPORT, Evidence, PermissionRequest, Status
from fleet_tui.programs.dialogs import Choice
from fleet_tui.programs.status_rules import RuleMatch

HOOK, EVENT, TITLE, SCREEN = "hook", "event", "title", "screen"
RANKED = (REPORT, EVENT, TITLE, SCREEN)
"""Sources that describe the current state, best first; a hook reports what has just happened."""
CALM = frozenset({Status.IDLE, Status.DONE, Status.UNKNOWN})
BUSY = frozenset({Status.WORKING, Status.BLOCKED, Status.LIMITED})


@dataclass(frozen=True, slots=True)
class Observed:
    """A status as one source reports it."""

    status: Status
    detail: str = ""
    source: str = ""
    text: str = ""
    rule: str = ""
    choices: tuple[Choice, ...] = ()
    takes_words: bool = False
    """Whether one of the choices takes free text."""
    request: PermissionRequest = PermissionRequest()
    asked: int = 0
    """How many questions the program has asked so far: the same one twice counts as two."""
    is_over: bool = False
    """An error or a limit has ended the turn, so the next prompt can be typed."""

    def to_plain(self) -> dict[str, Any]:
        """As plain data for events and messages."""
        evidence = Evidence(
            self.source,
            self.text,
            rule=self.rule,
            choices=tuple((choice.number, choice.label) for choice in self.choices),
            takes_words=self.takes_words,
            request=self.request,
        )
        beside = {"status": str(self.status), "detail": self.detail, "is_over": self.is_over}
        return beside | evidence.to_plain()

    @classmethod
    def from_plain(cls, status: Status, values: Mapping[str, Any]) -> Observed:
        """What an earlier server reported; the choices are read from the screen again."""
        evidence = Evidence.from_plain(values)
        return cls(
            status,
            str(values.get("detail", "")),
            evidence.source,
            evidence.text,
            evidence.rule,
            request=evidence.request,
            is_over=values.get("is_over") is True,
        )

    @classmethod
    def from_match(cls, source: str, match: RuleMatch) -> Observed:
        """What a matching rule of the profile says."""
        rule = match.rule
        detail = match.reset if rule.status is Status.LIMITED else rule.kind
        return cls(rule.status, detail, source, match.text, rule.name, request=match.request)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one source says, and since when."""

    observed: Observed
    since: float
    over: tuple[str, ...] = ()
    """What it corrects: sources, with a status and a detail."""
    again: float = 0.0
    """When it said so last."""

    def corrects(self, other: Observed) -> bool:
        said = (other.source, str(other.status), other.detail)
        return any(":".join(said[:count]) in self.over for count in (1, 2, 3))
