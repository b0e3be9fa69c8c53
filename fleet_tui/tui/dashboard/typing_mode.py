"""Typing mode: all keys but two chords go to one agent. How it begins and ends, and what follows the leader."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

from fleet_tui.models import Agent
from fleet_tui.tui.actions import GROUPS, Action, in_context
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dialogs.agent_gone import GoneDialog
from fleet_tui.tui.keys import Keymap, event_key, latin, short, show
from fleet_tui.tui.panes.grid import PaneGrid
from fleet_tui.tui.panes.pane import Pane
from fleet_tui.tui.widgets.which_key import KeyGroup, WhichKey

WHICH_KEY_SECONDS = 0.4


class TypingMode:
    """The second mode of the dashboard."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        *,
        grid: Callable[[], PaneGrid],
        which_key: Callable[[], WhichKey],
        focus: Callable[[Widget | None], None],
        forget_hint: Callable[[], None],
        run: Callable[[str, str], None],
    ) -> None:
        self._view = view
        self._display = display
        self._grid = grid
        self._which_key = which_key
        self._focus = focus
        self._forget_hint = forget_hint
        self._run = run
        """Runs an action by its id and the chord that was pressed."""
        self._last = ""
        self._name = ""
        """The name of the typed-to agent, for the message when it is gone."""
        self._must_show_gone = False
        """It is gone, and the user has not been told yet."""
        self._timer: Timer | None = None

    # ── beginning and end ───────────────────────────────────────────────────────────────────────────────────────

    def type(self) -> None:
        """Type to the selected agent."""
        agent = self._view.agent
        if agent is None:
            self._display.warn("no agent selected")
        else:
            self.begin(agent)

    def begin(self, agent: Agent) -> None:
        """Type to this agent, if it is running."""
        if agent.has_ended:
            key = self._display.keymap.shown("revive")
            self._display.warn(f"{agent.name} has ended; {key} revives it")
            return
        self.type_to(agent.id)

    def type_to(self, agent_id: str) -> None:
        view = self._view
        agent = view.by_id(agent_id)
        if agent is None:
            return
        self._name = agent.name
        self._release()
        self._forget_hint()
        if view.typing and view.typing != agent_id:
            self._last = view.typing
        view.select(agent_id)
        view.type_to(agent_id)
        self.hold()

    def hold(self) -> None:
        """Make keys land where the mode says: a pane may have come to show another agent."""
        if not self._view.typing:
            return
        frame = self._grid().frame_of(self._view.typing)
        if frame is None:
            self.stop()
            return
        pane, keymap = frame.pane, self._display.keymap
        if not pane.is_typing:
            self._release()
            pane.keys.leave = frozenset(map(event_key, keymap.of("leave")))
            pane.keys.leader = frozenset(map(event_key, keymap.of("leader")))
            pane.is_typing = True
        if not pane.has_focus:
            self._focus(pane)

    def stop(self) -> None:
        """Return to the list."""
        self._release()
        self.hide_which_key()
        self._last = self._view.typing or self._last
        self._view.type_to("")
        self._focus(None)

    def stop_if_typing(self) -> None:
        if self._view.typing:
            self.stop()

    def _release(self) -> None:
        for frame in self._grid().frames:
            frame.pane.is_typing = False

    def agent_is_gone(self) -> None:
        """The agent was killed elsewhere: keys still on their way to it must not become commands."""
        self.stop()
        self._must_show_gone = True
        self.show_agent_gone()

    def show_agent_gone(self) -> None:
        """Show that the agent is gone, as soon as no other dialog has the keys."""
        if self._must_show_gone and self._display.is_on_top:
            self._must_show_gone = False
            self._display.open(GoneDialog(self._name, self._display.keymap.of("leave")))

    # ── the leader ──────────────────────────────────────────────────────────────────────────────────────────────

    def lead(self) -> None:
        """The leader was pressed: show what may follow, unless it follows at once."""
        self._timer = self._display.later(WHICH_KEY_SECONDS, self._show_which_key)

    def _show_which_key(self) -> None:
        agent = self._view.by_id(self._view.typing)
        if agent is not None:
            keymap = self._display.keymap
            self._which_key().show(keymap.shown("leader"), leader_groups(keymap), agent.name)

    def hide_which_key(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._which_key().display = False

    def follow_leader(self, event: Pane.Led) -> None:
        """Run the action of the key after the leader; an unknown key is named, and typing goes on."""
        self.hide_which_key()
        if event.key == "escape":
            return
        chord = event.character or event.key
        found = self._led_to(event.key, event.character)
        if found is None:
            leader = self._display.keymap.shown("leader")
            self._display.warn(f"{leader} {chord} does nothing; still typing")
            return
        self._run(found.id, chord)

    def _led_to(self, key: str, character: str | None) -> Action | None:
        keymap = self._display.keymap
        for action in in_context("leader"):
            if key in map(event_key, keymap.of(action.id)):
                return action
        return keymap.who(latin(character), "leader") if latin(character) else None

    def go_on(self) -> None:
        """Keep typing, to the agent that is selected now."""
        agent = self._view.by_id(self._view.selected)
        if agent is not None and not agent.has_ended:
            self.type_to(agent.id)
        else:
            self.stop()

    def type_to_last(self) -> None:
        if self._view.by_id(self._last) is not None:
            self._view.select(self._last)
            self.go_on()

    def copy_mode(self) -> None:
        frame = self._grid().frame_of(self._view.typing)
        if frame is not None:
            frame.pane.scrolling.start_copying()


def leader_groups(keymap: Keymap) -> list[KeyGroup]:
    """What may follow the leader, in columns; keys that belong together share a row."""
    leader, leave = keymap.shown("leader"), keymap.shown("leave")
    rows: dict[str, tuple[str, list[str], str]] = {
        "leader": ("Keys", [leader], f"send {leader} itself"),
        "leave": ("Keys", [leave], "back to the list"),
    }
    for action in in_context("leader"):
        chords = list(map(show, short(keymap.of(action.id))))
        if action.beside in rows:
            rows[action.beside][1].extend(chords)
        elif chords:
            rows[action.id] = (action.group, chords, action.says)
    rows["escape"] = ("Keys", ["esc"], "close this")
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
    for group, shown, says in rows.values():
        groups[group].append((" ".join(shown), says))
    return [(name, keys) for name, keys in groups.items() if keys]
