"""The sheet of all keys; typing filters it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.widget import Widget

from fleet_tui.faces.wording import STATUS_LOOKS
from fleet_tui.models import Status
from fleet_tui.tui.actions import ACTIONS
from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.keys import Keymap, short, show
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, LineView, fit
from fleet_tui.tui.widgets.row_lines import CONFLICT
from fleet_tui.tui.widgets.statuses import ROLES
from fleet_tui.tui.widgets.which_key import KeyGroup, key_columns

ROOMY = 70
"""Columns from which there is room for explanations."""
EDGES = 4
"""Lines of the dialog that are not keys: border, search line, and margins."""
LEGEND = (
    (Status.SETUP, "setup, starting"), (Status.WORKING, "working"), (Status.BLOCKED, "blocked: needs you"),
    (Status.DONE, "done, not seen"), (Status.IDLE, "idle"), (Status.LIMITED, "limited, resets"),
    (Status.ERROR, "error, failed"), (Status.LOST, "lost: revive"), (Status.EXITED, "exited, stopped"), (Status.UNKNOWN, "unknown"),
)  # fmt: skip


class HelpDialog(Dialog[None]):
    heading = "Keys"

    def __init__(self, keymap: Keymap) -> None:
        super().__init__()
        self._keymap = keymap

    def body(self) -> Iterable[Widget]:
        yield Input(placeholder="type to filter", id="search")
        yield AllKeys(self._keymap, id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Input).focus()

    def on_resize(self) -> None:
        """As high as all keys need; searching does not change it."""
        super().on_resize()
        self.entitle()
        frame = self.query_one("#dialog", Frame)
        self.call_after_refresh(self._fit_height, frame)

    def _fit_height(self, frame: Frame) -> None:
        frame.styles.height = min(self.query_one(AllKeys).full_height + EDGES, self.size.height - 2)

    def titles(self) -> tuple[Line, Line]:
        explains = "  in the list and after the leader key" if self.size.width >= ROOMY else ""
        return (("Keys", "bold foreground"), (explains, "muted")), ()

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("↑↓", "scroll"), ("esc", "close")

    def primary(self) -> Line:
        return (("change them in the config, under [keys]", "muted"),) if self.size.width >= ROOMY else ()

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self.query_one(AllKeys).search(event.value)

    def key_down(self) -> None:
        self.query_one(AllKeys).scroll_lines(1)

    def key_up(self) -> None:
        self.query_one(AllKeys).scroll_lines(-1)

    def key_pagedown(self) -> None:
        self.query_one(AllKeys).scroll_lines(10)

    def key_pageup(self) -> None:
        self.query_one(AllKeys).scroll_lines(-10)


class AllKeys(LineView):
    def __init__(self, keymap: Keymap, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._keymap = keymap
        self._wanted = ""
        self._top = 0

    def search(self, text: str) -> None:
        self._wanted, self._top = text.strip().lower(), 0
        self.redraw(everything=True)

    def scroll_lines(self, step: int) -> None:
        self._top = max(0, self._top + step)
        self.redraw(everything=True)

    def on_mouse_scroll_down(self) -> None:
        self.scroll_lines(3)

    def on_mouse_scroll_up(self) -> None:
        self.scroll_lines(-3)

    @property
    def full_height(self) -> int:
        """The number of lines of all keys at the present width."""
        return len(self._everything(self.size.width))

    def _everything(self, width: int) -> list[Line]:
        found: list[Line] = [(), *key_columns(self._groups(), width, 5)]
        if not self._wanted:
            found += [(), *self._legend(width), (), self._exits()]
        return found

    def lines(self, width: int, height: int) -> list[Line]:
        found = self._everything(width)
        self._top = max(0, min(self._top, len(found) - height))
        return found[self._top : self._top + height]

    def _groups(self) -> list[KeyGroup]:
        groups: dict[str, list[tuple[str, str]]] = {}
        leader = self._keymap.shown("leader")
        for action in ACTIONS:
            chords = " ".join(map(show, short(self._keymap.of(action.id))))
            is_wanted = self._wanted in f"{action.id} {action.says} {action.label} {chords}".lower()
            if chords and is_wanted:
                group = {
                    "list": action.group,
                    "typing": "While typing",
                    "leader": f"{leader} {action.group}",
                }[action.context]
                groups.setdefault(group, []).append((chords, action.says))
        return list(groups.items())

    def _legend(self, width: int) -> list[Line]:
        cell = max(20, width // 5)
        columns = max(1, width // cell)
        cells = [
            fit(((STATUS_LOOKS[status].glyph, ROLES[status]), (f" {says}", "")), cell)
            for status, says in LEGEND
        ]
        cells.append(fit(((CONFLICT, "error"), (" does not merge", "")), cell))
        rows = [
            tuple(part for one in cells[i : i + columns] for part in one)
            for i in range(0, len(cells), columns)
        ]
        return [(("Status", "bold"),), (("─" * width, "rule"),), *rows]

    def _exits(self) -> Line:
        leave = " or ".join(map(show, self._keymap.of("leave")))
        leader = self._keymap.shown("leader")
        return (
            ("While typing, all keys go to the agent except ", "muted"), (leave, "bold accent"), (" and ", "muted"),
            (leader, "bold accent"), (".", "muted"),
        )  # fmt: skip
