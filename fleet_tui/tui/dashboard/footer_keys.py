"""The keys that the footer names in each mode."""

from __future__ import annotations

from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.models import Agent
from fleet_tui.tui.actions import in_context
from fleet_tui.tui.keys import Keymap, show
from fleet_tui.tui.widgets.footer import Footer, FooterKey

FILTER_KEYS = (
    ("↵", "keep"),
    ("esc", "clear"),
    ("s:idle", "status"),
    ("b:name", "batch"),
    ("a:claude", "profile"),
)
COPY_KEYS = (
    ("v", "select"),
    ("/", "search"),
    ("n N", "older, newer"),
    ("g G", "first, last"),
    ("esc", "leave"),
)
SELECT_KEYS = (("y", "copy"), ("/", "search"), ("n N", "older, newer"), ("esc", "clear the selection"))
TOUR_KEY, INIT_KEY, BEGIN_KEY = "t", "c", "i"
"""Keys of the first screen, where no agent needs them."""


class FooterKeys:
    """Fills the footer from the keymap."""

    def __init__(self, keymap: Keymap) -> None:
        self._keymap = keymap

    def show_list(self, footer: Footer) -> None:
        keymap = self._keymap
        ranked = sorted(
            (action for action in in_context("list") if action.footer), key=lambda one: one.footer
        )
        shown = [action for action in ranked if keymap.of(action.id) and action.id != "help"]
        entries = [(keymap.shown(action.id), action.label) for action in shown]
        footer.show_list(entries, (keymap.shown("help"), "help"))

    def show_filter(self, footer: Footer) -> None:
        footer.show_list(FILTER_KEYS, None, chip="FILTER")

    def show_copying(self, footer: Footer, *, is_selecting: bool) -> None:
        footer.show_list(SELECT_KEYS if is_selecting else COPY_KEYS, None, chip="COPY")

    def show_typing(self, footer: Footer, agent: Agent) -> None:
        note = "it has ended: keys do nothing" if agent.has_ended else "every other key goes to the agent"
        footer.show_typing(agent.name, self._typing(), note, has_ended=agent.has_ended)

    def _typing(self) -> list[FooterKey]:
        keymap = self._keymap
        leave, leader = keymap.of("leave"), keymap.shown("leader")
        other = f" (or {show(leave[1])})" if len(leave) > 1 else ""
        return [
            (show(leave[0]), f"back to the list{other}"),
            (leader, "more keys"),
            (f"{leader} {keymap.shown('leader-next')}", "next that needs you"),
            (f"{leader} {keymap.shown('leader-zoom')}", "zoom"),
        ]

    def demo(self) -> str:
        """What the demo says before the first key."""
        answer, begin, help_key = (self._keymap.shown(name) for name in ("answer", "type", "help"))
        return f"demo: press {answer} to answer, {begin} to type, {help_key} for help"

    def welcome(self) -> dict[str, str]:
        """The keys of the first screen, by what they start."""
        keys = {name: self._keymap.shown(name) for name in ("new", "fan-out")}
        return keys | {"demo": TOUR_KEY, "init": INIT_KEY, "begin": BEGIN_KEY}

    def show_welcome(self, footer: Footer, project: ProjectInfo | None) -> None:
        keys, keymap = self.welcome(), self._keymap
        can_start = project is None or not project.problem
        entries = [(keys["new"], "new agent"), (keys["fan-out"], "fan-out")] if can_start else []
        if project is not None and project.can_prepare:
            entries.append((BEGIN_KEY, "make a repository"))
        entries += [(TOUR_KEY, "demo"), (keymap.shown("palette"), "palette")]
        entries.append((keymap.shown("quit"), "quit"))
        footer.show_list(entries, (keymap.shown("help"), "help"))
