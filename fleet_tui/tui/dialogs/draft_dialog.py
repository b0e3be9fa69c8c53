"""A dialog with text fields that keeps their contents when the user leaves it, and restores them when it opens again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.binding import Binding
from textual.widgets import TextArea

from fleet_tui.faces.form_drafts import FormDraft, Values
from fleet_tui.quantities import age
from fleet_tui.tui.dialogs.dialog import Dialog, DialogResult
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, key
from fleet_tui.tui.widgets.prompt_area import PromptArea

CLEAR_KEY = "ctrl+l"


class DraftDialog(Dialog[DialogResult]):
    """Its fields are those with an id. `on_leave` gets their values, or None if nothing was changed."""

    BINDINGS = [Binding(CLEAR_KEY, "clear_draft", show=False, priority=True)]  # noqa: RUF012 - Textual's own way

    on_leave: Callable[[Values | None], None] = staticmethod(lambda _: None)
    _draft: FormDraft | None = None
    _draft_age = 0.0
    _blank: Values = {}  # noqa: RUF012 - replaced, never changed
    """The values of the form as it opens without a draft."""
    _other: Values = {}  # noqa: RUF012 - replaced, never changed
    """What the key that clears the draft switches to: the blank form, or what it cleared."""
    _is_cleared = False
    _has_begun = False

    def begin_with(self, draft: FormDraft | None, now: float) -> None:
        """Offer this draft. One that comes after the user began to type waits for the key that brings it back."""
        self._draft = draft
        self._draft_age = max(0.0, now - draft.at) if draft is not None else 0.0
        if self._has_begun and draft is not None:
            if self._is_changed:
                self._other, self._is_cleared = draft.values, True
            else:
                self.fill(draft.values)
            self.entitle()

    def on_mount(self) -> None:
        # Textual calls the handlers of base classes too, so a handler that calls its base's runs this twice.
        if not self._has_begun:
            self._has_begun = True
            self._blank = self._other = self.values()
            if self._draft is not None:
                self.fill(self._draft.values)
        super().on_mount()

    # ── contents ────────────────────────────────────────────────────────────────────────────

    def values(self) -> Values:
        inputs = {field.id: field.value for field in self.query(Input).results(Input)}
        areas = {area.id: area.text for area in self.query(PromptArea).results(PromptArea)}
        return {name: text for name, text in {**inputs, **areas}.items() if name and text}

    def fill(self, values: Values) -> None:
        for field in self.query(Input).results(Input):
            field.value = str(values.get(field.id or "", ""))
            field.cursor_position = len(field.value)
        for area in self.query(PromptArea).results(PromptArea):
            area.load_text(str(values.get(area.id or "", "")))
            area.move_cursor(area.document.end)

    @property
    def _is_changed(self) -> bool:
        return self.is_mounted and self.values() != self._blank

    def action_leave(self) -> None:
        self.on_leave(self.values() if self._is_changed else None)
        super().action_leave()

    def keep_draft(self) -> None:
        """Keep what was typed, as the dashboard is about to end."""
        if self._is_changed:
            self.on_leave(self.values())

    def action_clear_draft(self) -> None:
        """Clear the draft, or bring back what was cleared."""
        if self._draft is not None:
            now = self.values()
            self.fill(self._other)
            self._other, self._is_cleared = now, not self._is_cleared
            self.entitle()

    # ── the frame ───────────────────────────────────────────────────────────────────────────

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed_text(self) -> None:
        self.entitle()

    def leave_hint(self) -> tuple[str, str]:
        """The last of the hints."""
        return ("esc", "keep draft" if self._is_changed else "cancel")

    def hints(self) -> Sequence[tuple[str, str]]:
        return (self.leave_hint(),)

    def entitle(self) -> None:
        super().entitle()
        if self._draft is None or not self.is_attached:
            return
        left, right = self.titles()
        gap: Line = (("   ", ""),) if right else ()
        notice = (*self._notice(), *gap, *right)
        self.query_one("#dialog", Frame).title(
            left, notice, (left, self._notice()), (left[:1], self._notice())
        )

    def _notice(self) -> Line:
        if self._is_cleared:
            return (("draft cleared  ", "muted"), *key(CLEAR_KEY, "brings it back"))
        return ((f"draft from {age(self._draft_age)} ago  ", "muted"), *key(CLEAR_KEY, "clears it"))
