"""The question on a screen: its choices, and whether it is about a certain request."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.holder.request_match import is_shown
from fleet_tui.models import PermissionRequest, Status
from fleet_tui.programs.dialogs import (
    Choice,
    Painted,
    buttons,
    lettered_choices,
    menu_choices,
    numbered_choices,
    pointed_choices,
)
from fleet_tui.programs.status_rules import StatusRule


class ScreenQuestion:
    """The screen at the last look, and the choices that it shows."""

    def __init__(self, *, has_rules: bool) -> None:
        self._has_rules = has_rules
        self._lines: Sequence[str] = ()
        self.choices: tuple[Choice, ...] = ()

    @property
    def is_read(self) -> bool:
        return bool(self._lines)

    def read(self, rule: StatusRule | None, lines: Sequence[str], painted: Painted | None) -> None:
        """Read the choices from a screen that a rule has matched, or none has."""
        self._lines = lines
        self.choices = self._read(rule, painted)

    def shows(self, request: PermissionRequest) -> bool:
        """Whether the dialog is certainly about this request."""
        return is_shown(request, self._lines)

    def _read(self, rule: StatusRule | None, painted: Painted | None) -> tuple[Choice, ...]:
        lines = self._lines
        if rule is None or rule.status is not Status.BLOCKED:
            # The program may ask in a way that no rule knows; a list in the conversation is no dialog.
            return menu_choices(lines) if self._has_rules else numbered_choices(lines)
        if rule.buttons:
            return buttons(lines, rule.buttons, painted) if painted is not None else ()
        if rule.kind == "menu":
            return menu_choices(lines)
        if rule.has_letters:
            return lettered_choices(lines)
        return (pointed_choices(lines) if rule.has_pointer else ()) or numbered_choices(lines)
