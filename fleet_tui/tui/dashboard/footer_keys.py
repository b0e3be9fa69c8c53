"""The keys that the footer names in each mode."""

from __future__ import annotations

from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.models import Agent
from fleet_tui.tui.actions import in_context
from fleet_tui.tui.keys import Keymap, show
from fleet_tui.tui.widgets.footer import Footer, FooterKey
from fleet_tui.tui.widgets.lines import Line, keys

FILTER_KEYS = (
    FooterKey("↵", "keep", ("enter",)),
    FooterKey("esc", "clear", ("escape",)),
    FooterKey("s:idle", "status", ("s", ":")),
    FooterKey("b:name", "batch", ("b", ":")),
    FooterKey("a:claude", "profile", ("a", ":")),
)
_SEARCH = FooterKey("/", "search", ("/",))
_OLDER = FooterKey("n N", "older, newer", ("n",))
COPY_KEYS = (
    FooterKey("v", "select", ("v",)),
    _SEARCH,
    _OLDER,
    FooterKey("g G", "first, last", ("g",)),
    FooterKey("esc", "leave", ("escape",)),
)
SELECT_KEYS = (
    FooterKey("y", "copy", ("y",)),
    _SEARCH,
    _OLDER,
    FooterKey("esc", "clear the selection", ("escape",)),
)
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
        footer.show_list([self._key(action.id, action.label) for action in shown], self._key("help", "help"))

    def conflict(self) -> Line:
        """What can be done about a conflict of the selected agent."""
        diff, prompt = (self._keymap.shown(name) for name in ("diff-of-two", "prompt"))
        return keys((diff, "diff of the two"), (prompt, "tell it"))

    def show_filter(self, footer: Footer) -> None:
        footer.show_list(FILTER_KEYS, None, chip="FILTER")

    def show_copying(self, footer: Footer, *, is_selecting: bool) -> None:
        footer.show_list(SELECT_KEYS if is_selecting else COPY_KEYS, None, chip="COPY")

    def show_typing(self, footer: Footer, agent: Agent) -> None:
        note = "it has ended: keys do nothing" if agent.has_ended else "every other key goes to the agent"
        footer.show_typing(agent.name, self._typing(), note, has_ended=agent.has_ended)

    def _typing(self) -> list[FooterKey]:
        leave = self._keymap.of("leave")
        other = f" (or {show(leave[1])})" if len(leave) > 1 else ""
        return [
            self._key("leave", f"back to the list{other}"),
            self._key("leader", "more keys"),
            self._led("leader-next", "next that needs you"),
            self._led("leader-zoom", "zoom"),
        ]

    def demo(self) -> str:
        """What the demo shows until the first key is pressed."""
        answer, begin, help_key = (self._keymap.shown(name) for name in ("answer", "type", "help"))
        return f"demo: press {answer} to answer, {begin} to type, {help_key} for help"

    def _key(self, action: str, label: str) -> FooterKey:
        return FooterKey(self._keymap.shown(action), label, self._keymap.of(action)[:1])

    def _led(self, action: str, label: str) -> FooterKey:
        """The leader, and the key that follows it."""
        leader, key = self._key("leader", label), self._key(action, label)
        return FooterKey(f"{leader.shown} {key.shown}", label, leader.chords + key.chords)

    def welcome(self) -> dict[str, str]:
        """The keys of the first screen, by what they start."""
        keys = {name: self._keymap.shown(name) for name in ("new", "fan-out")}
        return keys | {"demo": TOUR_KEY, "init": INIT_KEY, "begin": BEGIN_KEY}

    def show_welcome(self, footer: Footer, project: ProjectInfo | None) -> None:
        can_start = project is None or not project.problem
        entries = [self._key("new", "new agent"), self._key("fan-out", "fan-out")] if can_start else []
        if project is not None and project.can_prepare:
            entries.append(FooterKey(BEGIN_KEY, "make a repository", (BEGIN_KEY,)))
        entries.append(FooterKey(TOUR_KEY, "demo", (TOUR_KEY,)))
        entries += [self._key("palette", "palette"), self._key("quit", "quit")]
        footer.show_list(entries, self._key("help", "help"))
