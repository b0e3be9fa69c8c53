"""A dialog that lists the values of a field: typing filters, Enter takes the selected item or the typed text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from textual import events, on
from textual.message import Message
from textual.widget import Widget

from fleet_tui.tui.dialogs.dialog import Dialog, LabeledField
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.lines import Line, LineView

ROWS = 14

Item = TypeVar("Item")


class PickerRows(LineView, Generic[Item]):
    """The items that match the filter; one of them is selected."""

    class Clicked(Message):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Moved(Message):
        """Another part of the list is in view."""

    def __init__(self, items: Sequence[Item], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._items = items
        self.found = list(items)
        self._place = 0
        self._top = 0
        self._wanted = ""

    def name_of(self, item: Item) -> str:
        """The text for the field."""
        raise NotImplementedError

    def words_of(self, item: Item) -> str:
        """The text that the filter searches."""
        raise NotImplementedError

    def row(self, item: Item, width: int, is_chosen: bool) -> Line:
        raise NotImplementedError

    def nothing(self, wanted: str) -> str:
        """Shown when nothing matches."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        return len(self._items)

    @property
    def hidden(self) -> tuple[int, int]:
        """The number of items above and below the visible ones."""
        return self._top, max(0, len(self.found) - self._top - max(1, self.size.height))

    @property
    def chosen(self) -> Item | None:
        return self.found[self._place] if self.found else None

    def search(self, text: str) -> None:
        words = text.lower().split()
        self._wanted = text.strip()
        self.found = [
            item for item in self._items if all(word in self.words_of(item).lower() for word in words)
        ]
        self._place = self._top = 0
        self.redraw()

    def move(self, step: int) -> None:
        self._place = max(0, min(len(self.found) - 1, self._place + step))
        self._reveal()

    def _reveal(self) -> None:
        height = max(1, self.size.height)
        self._top = max(self._place - height + 1, min(self._top, self._place))
        self.redraw()
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        super().on_resize()
        self._reveal()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if not self.found:
            return [((f" {self.nothing(self._wanted)}", "muted"),)]
        shown = self.found[self._top : self._top + height]
        return [self.row(item, width, item is self.chosen) for item in shown]

    def on_click(self, event: events.Click) -> None:
        place = self._top + event.y
        if place < len(self.found):
            self.post_message(self.Clicked(self.name_of(self.found[place])))

    def on_mouse_scroll_down(self) -> None:
        self.move(1)

    def on_mouse_scroll_up(self) -> None:
        self.move(-1)


class Picker(Dialog[str], Generic[Item]):
    """Returns the name of an item, or the typed text."""

    placeholder = "type to filter"

    def __init__(self, rows: PickerRows[Item]) -> None:
        super().__init__(classes="picker")
        self._rows = rows

    def body(self) -> Iterable[Widget]:
        yield Input(placeholder=self.placeholder, id="search")
        yield self._rows

    def on_mount(self) -> None:
        super().on_mount()
        self._rows.styles.height = max(1, min(ROWS, self._rows.total))
        self.query_one(Input).focus()

    def titles(self) -> tuple[Line, Line]:
        found, total = len(self._rows.found), self._rows.total
        said = f"{total}" if found == total else f"{found} of {total}"
        above, below = self._rows.hidden
        edges = [*([f"▴ {above}"] if above else []), *([f"▾ {below} more"] if below else [])]
        return super().titles()[0], (("  ".join([*edges, said]), "muted"),)

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("↑↓", "choose"), ("↵", "select"), ("esc", "back to the form")

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self._rows.search(event.value)
        self.entitle()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        found = self._rows.chosen
        name = self._rows.name_of(found) if found is not None else event.value.strip()
        if name:
            self.dismiss(name)

    def on_key(self, event: events.Key) -> None:
        moves = {"down": 1, "up": -1, "pagedown": ROWS - 1, "pageup": 1 - ROWS}
        if event.key in moves:
            event.stop()
            event.prevent_default()
            self._rows.move(moves[event.key])

    @on(PickerRows.Moved)
    def _moved(self) -> None:
        self.entitle()

    @on(PickerRows.Clicked)
    def _clicked(self, event: PickerRows.Clicked) -> None:
        self.dismiss(event.name)


class PickerField(LabeledField):
    """A field to type into, or to fill from a picker that the down key opens."""

    def __init__(self, label: str, field: Input) -> None:
        super().__init__(label, field, note="↓ pick")

    @property
    def value(self) -> str:
        return self.query_one(Input).value.strip()

    def pick(self) -> None:
        """Open the picker, and pass its result to `fill`."""
        raise NotImplementedError

    def fill(self, name: str | None) -> None:
        """Take what the picker returned; None leaves the field as it is."""
        if name is not None:
            field = self.query_one(Input)
            field.value = name
            field.focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "down":
            event.stop()
            self.pick()
