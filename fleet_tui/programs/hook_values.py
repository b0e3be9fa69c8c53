"""Find values in hook events that are no status: the id of the conversation, and the prompts that were taken.

Where each program's hooks have them is data in its profile: `HookValue`, from `[hooks]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fleet_tui.fast_dataclasses import dataclass, known
from fleet_tui.programs.json_values import at_path
from fleet_tui.programs.status_rules import meets


@dataclass(frozen=True, slots=True)
class HookValue:
    """Where one kind of hook event has a value."""

    where: Mapping[str, str]
    """Which events: a pattern for the whole value at each dotted path."""
    path: str
    """The dotted path of the value."""

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> HookValue:
        return cls(**known(cls, values))


def hook_value(places: Iterable[HookValue], payload: Mapping[str, Any]) -> str | None:
    """The text at the first of these places that is in the event; None if none is."""
    found = (at_path(payload, place.path) for place in places if meets(payload, place.where))
    return next((value for value in found if isinstance(value, str)), None)
