"""Opens dialogs with the draft of their form, and keeps what was typed into those that are left."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fleet_tui.faces.form_drafts import FormDrafts, Values
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog

KeptResult = TypeVar("KeptResult")


class DraftKeeper:
    def __init__(self, display: Display, drafts: FormDrafts) -> None:
        self._display = display
        self._drafts = drafts

    def offer(self, form: str, dialog: DraftDialog[KeptResult]) -> None:
        """Fill the dialog with the draft of a form, and keep its contents as the draft when the user leaves it."""

        def left(values: Values | None) -> None:
            if values is None:
                self._drafts.forget(form)
            else:
                self.keep(form, values)

        dialog.begin_with(self._drafts.get(form), self._display.now)
        dialog.on_leave = left

    def open(
        self, form: str, dialog: DraftDialog[KeptResult], on_result: Callable[[KeptResult], None]
    ) -> None:
        """Open a dialog with its draft. A result ends the draft."""

        def closed(result: KeptResult | None) -> None:
            if result is not None:
                self.forget(form)
                on_result(result)

        self.offer(form, dialog)
        self._display.open(dialog, closed)

    def text(self, form: str, field: str) -> str:
        """The text of one field of a draft."""
        draft = self._drafts.get(form)
        return str(draft.values.get(field, "")) if draft is not None else ""

    def keep(self, form: str, values: Values) -> None:
        self._drafts.keep(form, values, self._display.now)

    def move(self, form: str, to: str) -> None:
        """Keep a draft under another name, from now on."""
        draft = self._drafts.get(form)
        if draft is not None and form != to:
            self.keep(to, draft.values)
            self.forget(form)

    def forget(self, form: str) -> None:
        self._drafts.forget(form)
