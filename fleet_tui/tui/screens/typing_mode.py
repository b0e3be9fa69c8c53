"""TYPING: keys go to one agent, all but two chords. Who it is, how it begins and ends, and what follows the leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer

from fleet_tui.tui.actions import GROUPS, Action, in_context
from fleet_tui.tui.keys import Keymap, event_key, latin, short, show
from fleet_tui.tui.screens.gone import GoneDialog
from fleet_tui.tui.widgets.pane import Pane
from fleet_tui.tui.widgets.pane_grid import PaneGrid
from fleet_tui.tui.widgets.which_key import Group, WhichKey

if TYPE_CHECKING:
    from fleet_tui.tui.screens.dashboard import Dashboard

WHICH_KEY_SECONDS = 0.4


class TypingMode:
    """The second mode, bound to one dashboard."""

    def __init__(self, desk: Dashboard) -> None:
        self._desk = desk
        self._last = ""
        self._name = ""
        """Of whom keys go to; kept to be said when it is gone."""
        self._is_bereaved = False
        """It is gone, and the person has not been told yet."""
        self._timer: Timer | None = None

    # ── beginning and end ───────────────────────────────────────────────────────────────────────────────────────

    def do_type(self) -> None:
        """Give the keys to the selected agent."""
        agent = self._desk.agent
        if agent is None:
            return
        if agent.has_ended:
            key = self._desk.keymap.shown("revive")
            self._desk.notify(f"{agent.name} has ended; {key} revives it", severity="warning")
            return
        self.type_to(agent.id)

    def type_to(self, agent_id: str) -> None:
        desk = self._desk
        agent = desk.by_id(agent_id)
        if agent is None:
            return
        self._name = agent.name
        self._release()
        desk.disarm()
        if desk.typing and desk.typing != agent_id:
            self._last = desk.typing
        desk.selected = agent_id
        desk.typing = agent_id
        self.hold()

    def hold(self) -> None:
        """See that keys land at whom they are said to go to: a pane may have come to show another agent."""
        desk = self._desk
        if not desk.typing:
            return
        frame = desk.query_one(PaneGrid).frame_of(desk.typing)
        if frame is None:
            self.stop()
            return
        pane = frame.pane
        if not pane.is_typing:
            self._release()
            pane.leave_keys = frozenset(map(event_key, desk.keymap.of("leave")))
            pane.leader_keys = frozenset(map(event_key, desk.keymap.of("leader")))
            pane.is_typing = True
        if desk.focused is not pane:
            desk.set_focus(pane, scroll_visible=False)

    def stop(self) -> None:
        """Back to the list, from wherever keys went."""
        desk = self._desk
        self._release()
        self.hide_which_key()
        self._last, desk.typing = desk.typing or self._last, ""
        desk.set_focus(None)

    def _release(self) -> None:
        for frame in self._desk.query_one(PaneGrid).frames:
            frame.pane.is_typing = False

    def bereave(self) -> None:
        """The agent is gone, killed elsewhere: keys that are under way to it must not become commands."""
        self.stop()
        self._is_bereaved = True
        self.tell_gone()

    def tell_gone(self) -> None:
        """As soon as nothing else has the keys."""
        desk = self._desk
        if self._is_bereaved and desk.app.screen is desk:
            self._is_bereaved = False
            desk.app.push_screen(GoneDialog(self._name, desk.keymap.of("leave")))

    # ── the leader ──────────────────────────────────────────────────────────────────────────────────────────────

    def lead(self) -> None:
        """The leader was pressed: show what may follow, unless it follows at once."""
        self._timer = self._desk.set_timer(WHICH_KEY_SECONDS, self._show_which_key)

    def _show_which_key(self) -> None:
        agent = self._desk.by_id(self._desk.typing)
        if agent is not None:
            keymap = self._desk.keymap
            self._desk.query_one(WhichKey).show(keymap.shown("leader"), leader_groups(keymap), agent.name)

    def hide_which_key(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._desk.query_one(WhichKey).display = False

    def follow_leader(self, event: Pane.Led) -> None:
        """Do what the key after the leader says; one that says nothing is named, and typing goes on."""
        self.hide_which_key()
        if event.key == "escape":
            return
        chord = event.character or event.key
        found = self._led_to(event.key, event.character)
        if found is None:
            leader = self._desk.keymap.shown("leader")
            self._desk.notify(f"{leader} {chord} does nothing; still typing", severity="warning")
            return
        self._desk.action_run(found.id, chord)

    def _led_to(self, key: str, character: str | None) -> Action | None:
        keymap = self._desk.keymap
        for action in in_context("leader"):
            if key in map(event_key, keymap.of(action.id)):
                return action
        return keymap.who(latin(character), "leader") if latin(character) else None

    def _go_on(self) -> None:
        agent = self._desk.agent
        if agent is not None and not agent.has_ended:
            self.type_to(agent.id)
        else:
            self.stop()

    def do_leader_next(self) -> None:
        if self._desk.list_actions.do_next_needing():
            self._go_on()

    def do_leader_previous(self) -> None:
        if self._desk.list_actions.do_previous_needing():
            self._go_on()

    def do_leader_jump(self, number: int) -> None:
        self._desk.list_actions.do_jump(number)
        self._go_on()

    def do_leader_down(self) -> None:
        self._desk.list_actions.do_next()
        self._go_on()

    def do_leader_up(self) -> None:
        self._desk.list_actions.do_previous()
        self._go_on()

    def do_leader_list(self) -> None:
        self.stop()

    def do_leader_last(self) -> None:
        if self._desk.by_id(self._last) is not None:
            self._desk.select(self._last)
            self._go_on()

    def do_leader_zoom(self) -> None:
        self._desk.layout_actions.do_zoom()

    def do_leader_side(self) -> None:
        self._desk.layout_actions.do_side()

    def do_leader_copy(self) -> None:
        frame = self._desk.query_one(PaneGrid).frame_of(self._desk.typing)
        if frame is not None:
            frame.pane.start_copying()

    def do_leader_why(self) -> None:
        self._desk.agent_actions.do_why()

    def do_leader_shell(self) -> None:
        self._desk.agent_actions.do_shell()

    def do_leader_palette(self) -> None:
        self._desk.agent_actions.do_palette()

    def do_leader_stop(self) -> None:
        self._desk.agent_actions.ask_to_stop()

    def do_leader_help(self) -> None:
        self._desk.agent_actions.do_help()


def leader_groups(keymap: Keymap) -> list[Group]:
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
