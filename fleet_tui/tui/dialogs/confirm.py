"""Confirmation dialogs: yes or no, and one line of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.binding import Binding
from textual.widget import Widget

from fleet_tui.tui.dialogs.dialog import Dialog, LabeledField, chip
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog
from fleet_tui.tui.widgets.fields import Input, Label
from fleet_tui.tui.widgets.lines import Line


class Confirm(Dialog[bool]):
    """Returns True on Enter or y, False on anything else."""

    BINDINGS = [Binding("enter,y", "accept", show=False), Binding("n", "leave", show=False)]  # noqa: RUF012 - Textual's own way

    def __init__(self, heading: str, question: str, does: str) -> None:
        super().__init__()
        self.heading = heading
        self._question = question
        self._does = does

    def body(self) -> Iterable[Widget]:
        yield Label(self._question, markup=False)

    def hints(self) -> Sequence[tuple[str, str]]:
        return (("esc", "no"),)

    def primary(self) -> Line:
        return chip("y", self._does)

    def action_accept(self) -> None:
        self.dismiss(True)


class ConfirmInput(DraftDialog[str]):
    """Returns one line; with `must_be`, accepts only that word."""

    BINDINGS = [Binding("enter", "accept", show=False, priority=True)]  # noqa: RUF012 - Textual's own way

    def __init__(
        self,
        heading: str,
        says: str,
        *,
        label: str,
        value: str = "",
        must_be: str = "",
        does: str = "do it",
        is_dangerous: bool = False,
    ) -> None:
        super().__init__(classes="alarming" if is_dangerous else None)
        self.heading = heading
        self._says, self._label, self._value, self._must_be, self._does = says, label, value, must_be, does

    def body(self) -> Iterable[Widget]:
        yield Label(self._says, markup=False)
        yield LabeledField(self._label, Input(self._value, id="value"))

    def on_mount(self) -> None:
        super().on_mount()
        field = self.query_one(Input)
        field.focus()

    def hints(self) -> Sequence[tuple[str, str]]:
        return (("esc", "cancel"),) if self._must_be else (self.leave_hint(),)

    def primary(self) -> Line:
        return chip("↵", self._does)

    @on(Input.Changed)
    def _changed(self) -> None:
        self.query_one(Input).set_class(bool(self._must_be) and not self._is_right(), "wrong")

    def _is_right(self) -> bool:
        value = self.query_one(Input).value.strip()
        return value == self._must_be if self._must_be else bool(value)

    def action_accept(self) -> None:
        if self._is_right():
            self.dismiss(self.query_one(Input).value.strip())
        else:
            self.app.bell()
