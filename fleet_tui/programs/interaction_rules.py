"""Interaction rules of a profile: how to detect a program's status, answer its questions and type a prompt into it.

A profile's tables become `InteractionRules`, which travel to the screen server as plain data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fleet_tui.fast_dataclasses import asdict, dataclass, field, known
from fleet_tui.models import Status
from fleet_tui.programs.dialogs import Choice
from fleet_tui.programs.hook_values import HookValue
from fleet_tui.programs.input_box import BoxRule
from fleet_tui.programs.prompt_text import TextRule
from fleet_tui.programs.status_rules import StatusRule

_SOURCES = ("title", "screen", "hook", "event", "report")
"""Fields that hold status rules."""
_HOOK_VALUES = ("session_hooks", "prompt_hooks")
"""Fields that hold places of values in hook events."""


@dataclass(frozen=True, slots=True)
class InteractionRules:
    """All interaction rules of one profile. Field names are a format: run specs of old holders have them."""

    quiet_is_idle: bool = True
    """Silence is the only sign that the program waits."""
    title: tuple[StatusRule, ...] = ()
    screen: tuple[StatusRule, ...] = ()
    hook: tuple[StatusRule, ...] = ()
    event: tuple[StatusRule, ...] = ()
    session_hooks: tuple[HookValue, ...] = ()
    """Where its hooks have the id of a conversation that started."""
    prompt_hooks: tuple[HookValue, ...] = ()
    """Where its hooks have a prompt that it took."""
    ready: str = ""
    """A pattern for the screen once the program takes input. Until it matches, an idle title is ignored: some programs
    set it long before they read input."""
    reports: bool = False
    """The program reports its status in its terminal (OSC 7501)."""
    report: tuple[StatusRule, ...] = ()
    """What the text of a reported error means, or with status `blocked` the text of a reported question."""
    allow: str = "(yes|allow|approve|proceed|trust|accept|continue)"
    """A pattern for the start of the label of the choice that says yes, case-insensitive."""
    deny: str = "(no|deny|reject|quit|cancel|don't)"
    deny_key: str = ""
    """The key that says no, if the choice that does only opens a text field."""
    free: str = ""
    """A pattern for the label of a choice that takes free text."""
    settle: float = 0.2
    """Seconds between a pasted prompt and its Enter; a long prompt gets more."""
    confirm: float = 2.0
    """Seconds for the program to show that it took a prompt, before Enter is pressed again."""
    decisions: Mapping[str, str] = field(default_factory=dict)
    """What a deciding hook prints to `allow`; to `deny`, after which the model is given the reason and continues; and to
    `stop`, which ends the turn as No in the dialog does."""
    box: BoxRule | None = None
    """How its input box looks; None if unknown."""
    texts: tuple[TextRule, ...] = ()
    """Texts that the program treats specially."""
    idle_interrupts: bool = False
    """It reports `done` after a turn, and `idle` after an interrupted one."""
    interrupted: str = ""
    """A pattern for the bottom of its screen after an interrupted turn."""

    @property
    def speaks(self) -> bool:
        """Whether a sign other than silence shows that the program waits."""
        calm = (Status.IDLE, Status.DONE)
        rules = (*self.title, *self.screen, *self.event)
        return self.reports or any(rule.status in calm for rule in rules)

    def decision(self, name: str, reason: str) -> str:
        """What a hook prints for a decision, with `{reason}` replaced by the reason inside a JSON string."""
        return self.decisions.get(name, "").replace("{reason}", json.dumps(reason)[1:-1])

    def free_choice(self, choices: Iterable[Choice]) -> Choice | None:
        """The choice that takes free text."""
        if not self.free:
            return None
        return next((choice for choice in choices if re.search(self.free, choice.label, re.IGNORECASE)), None)

    def to_plain(self) -> dict[str, Any]:
        rules = {name: tuple(rule.to_plain() for rule in getattr(self, name)) for name in _SOURCES}
        return asdict(self) | rules

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> InteractionRules:
        """Also accepts what another version has written: unknown fields are skipped."""
        found = known(cls, values)
        for name in _SOURCES:
            found[name] = tuple(StatusRule.from_plain(rule) for rule in found.get(name, ()))
        for name in _HOOK_VALUES:
            found[name] = tuple(HookValue.from_plain(place) for place in found.get(name, ()))
        found["box"] = BoxRule.from_plain(found["box"]) if found.get("box") else None
        found["texts"] = tuple(TextRule.from_plain(rule) for rule in found.get("texts", ()))
        return cls(**found)
