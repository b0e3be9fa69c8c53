"""The base of all dialogs: title and keys in the border, the primary action as a chip at the bottom right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.geometry import Region, Size
from textual.screen import ModalScreen
from textual.widget import Widget

from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.fields import Label, Static
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import CHIP_HERE, Line
from fleet_tui.tui.widgets.toasts import ToastRoom

NARROW, LOW, TINY = 100, 30, 16
"""In a terminal smaller than this, dialogs leave out what is not essential."""

TOAST_ROWS = 3

DialogResult = TypeVar("DialogResult")


class Dialog(ErrorBoundary, ModalScreen[DialogResult]):
    """Escape closes it without a result."""

    BINDINGS = [Binding("escape", "leave", show=False)]  # noqa: RUF012 - Textual's own way

    AUTO_FOCUS = ""

    heading = ""
    explains = ""

    def compose(self) -> ComposeResult:
        with Frame(id="dialog", classes="sheet"):
            yield from self.body()

    def body(self) -> Iterable[Widget]:
        raise NotImplementedError

    def on_mount(self) -> None:
        # The first Resize comes after the first frame.
        self._fit(self.app.size)
        self.entitle()

    def entitle(self) -> None:
        if not self.is_attached:
            return
        frame = self.query_one("#dialog", Frame)
        frame.title(*self.titles())
        frame.foot_keys(self.hints(), self.primary())

    def titles(self) -> tuple[Line, Line]:
        explains: Line = ((f"  {self.explains}", "muted"),) if self.explains else ()
        return ((self.heading, "bold foreground"), *explains), ()

    def hints(self) -> Sequence[tuple[str, str]]:
        """Keys by importance; the last one closes the dialog, and is dropped last."""
        return (("esc", "close"),)

    def primary(self) -> Line:
        """The primary action, as a chip."""
        return ()

    def on_resize(self) -> None:
        self._fit(self.size)

    def _fit(self, size: Size) -> None:
        self.set_class(size.width < NARROW, "-narrow")
        self.set_class(size.height < LOW, "-low")
        self.set_class(size.height < TINY, "-tiny")

    def toast_room(self) -> ToastRoom:
        """Below or above the dialog, never over it."""
        width, height = self.size
        dialog = self.query_one("#dialog").region
        below = min(TOAST_ROWS, height - dialog.bottom)
        if below or not dialog.y:
            return ToastRoom(Region(0, height - below, width, below), is_low=True)
        return ToastRoom(Region(0, 0, width, min(TOAST_ROWS, dialog.y)))

    def action_leave(self) -> None:
        self.dismiss(None)


def chip(chord: str, does: str) -> Line:
    """The primary action."""
    return ((f" {chord} ", CHIP_HERE), (f"  {does}", "bold foreground"))


def fact(label: str, said: str) -> Widget:
    """A row of a label and a text; all lines of the text begin in one column."""
    return Horizontal(Static(label, classes="label"), Static(said, markup=False), classes="fact")


class LabeledField(Horizontal):
    """A field with its label, which is highlighted while the field has the focus."""

    def __init__(self, label: str, *children: Widget, note: str = "") -> None:
        super().__init__(
            Label(label, classes="label"),
            *children,
            *([Label(note, classes="note")] if note else []),
            classes="field",
        )
