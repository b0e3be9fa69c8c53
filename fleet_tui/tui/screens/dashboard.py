"""The main screen: list, detail and panes over one state of the fleet, and the two modes that keys can be in.

Holds what is known, selected, marked and typed into, and brings the widgets up to it. What keys do is in
list_actions, layout_actions, typing_mode and agent_actions; what things look like is the widgets' own business.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingsMap
from textual.containers import Container, Vertical
from textual.reactive import reactive
from textual.screen import Screen

from fleet_tui.models import Agent, FleetState, Status
from fleet_tui.tui.actions import in_context
from fleet_tui.tui.exchange import Sights, Surroundings
from fleet_tui.tui.feeds import WorkerLink
from fleet_tui.tui.keys import Keymap, event_key, latin, normal, show
from fleet_tui.tui.screens.agent_actions import AgentActions
from fleet_tui.tui.screens.away_actions import AwayActions
from fleet_tui.tui.screens.layout_actions import LayoutActions
from fleet_tui.tui.screens.list_actions import ListActions
from fleet_tui.tui.screens.looking_back import LookingBack
from fleet_tui.tui.screens.typing_mode import TypingMode
from fleet_tui.tui.sessions import Sessions
from fleet_tui.tui.widgets.away import Away, AwayRows
from fleet_tui.tui.widgets.detail import Detail
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.fleet_list import FleetList
from fleet_tui.tui.widgets.footer import Entry, Footer
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.header import Header
from fleet_tui.tui.widgets.lines import Line, Lines, clean, key
from fleet_tui.tui.widgets.pane import Pane
from fleet_tui.tui.widgets.pane_grid import PaneGrid, PaneLook
from fleet_tui.tui.widgets.rows import MOVING_SECONDS, Look, ProjectRow, Row, Shown, agents_of, rows
from fleet_tui.tui.widgets.splitter import SideFrame
from fleet_tui.tui.widgets.sturdy import Sturdy
from fleet_tui.tui.widgets.welcome import TooSmall, Welcome
from fleet_tui.tui.widgets.which_key import WhichKey
from fleet_tui.values import replace

TICK_SECONDS = 0.25
SEEN_SECONDS = 1.0
HINT_AFTER = 3
"""Letters that mean nothing in the list before it is said how to type to an agent."""
FILTER_KEYS = (("↵", "keep"), ("esc", "clear"), ("s:", "status"), ("b:", "batch"), ("a:", "agent"))
COPY_KEYS = (
    ("v", "select"),
    ("/", "search"),
    ("n N", "older, newer"),
    ("g G", "first, last"),
    ("esc", "leave"),
)
SELECT_KEYS = (("y", "copy"), ("/", "search"), ("n N", "older, newer"), ("esc", "drop the selection"))
TOUR_KEY, INIT_KEY, BEGIN_KEY = "t", "c", "i"
"""Keys of the first screen, where there is no agent that they could mean something for."""


class Dashboard(Sturdy, Screen[None]):
    """Every agent at a glance."""

    AUTO_FOCUS: ClassVar[str | None] = ""

    state: reactive[FleetState] = reactive(FleetState((), ()), repaint=False, init=False)
    sights: reactive[Sights] = reactive(Sights(), repaint=False, init=False)
    selected: reactive[str] = reactive("", repaint=False, init=False)
    typing: reactive[str] = reactive("", repaint=False, init=False)
    """The agent that keys go to; empty while they go to the list."""
    place: reactive[Surroundings | None] = reactive(None, repaint=False, init=False)

    def __init__(
        self,
        sessions: Sessions,
        worker: WorkerLink,
        keymap: Keymap,
        state: FleetState,
        *,
        clock: Callable[[], float] = time.time,
        panes: int = 0,
        has_motion: bool = True,
    ) -> None:
        super().__init__()
        self.set_reactive(Dashboard.state, state)
        self.keymap = keymap
        self.shown = Shown()
        self.marked: frozenset[str] = frozenset()
        self.muted: set[tuple[str, str]] = set()
        """Batches, by project and name, that nobody wants notices of."""
        self.agent_actions = AgentActions(self, worker)
        self.away_actions = AwayActions(self)
        self.list_actions = ListActions(self)
        self.layout_actions = LayoutActions(self, panes)
        self.typing_mode = TypingMode(self)
        self.looking_back = LookingBack(self)
        self._sessions = sessions
        self._clock = clock
        self._has_motion = has_motion
        self._rows: tuple[Row, ...] = rows(state, self.shown)
        self._bells: frozenset[str] = frozenset()
        self._is_covered = False
        self._tick = 0
        self._selected_at = 0.0
        self._strange_letters = 0
        self._notice: Line = ()
        self._bindings = _bindings(keymap)

    # ── what is on it ───────────────────────────────────────────────────────────────────────────────────────────

    def compose(self) -> ComposeResult:
        yield Header(id="header")
        yield TooSmall(id="small")
        yield Welcome(id="welcome")
        with Container(id="body"):
            with Vertical(id="side"):
                with SideFrame(id="list"):
                    yield FleetList(id="agents")
                    yield Input(placeholder="words  s:status  b:batch  a:agent", id="filter")
                with SideFrame(id="detail"):
                    yield Detail(id="about")
            yield PaneGrid(self._sessions, id="panes")
        yield Away(id="away")
        yield WhichKey(id="which")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self.layout_actions.arrange()
        self.list_actions.select_something()
        self.set_interval(TICK_SECONDS, self._tock)
        self.call_after_refresh(self.show)

    def show(self) -> None:
        """Bring every widget up to what is known now."""
        if not self.is_mounted:
            return
        now = self._clock()
        is_empty = all(agent.status is Status.KILLED for agent in self.state.agents)
        self.set_class(is_empty, "empty")
        self.query_one(Header).show(self.state, self.sights, now)
        if is_empty:
            self.query_one(Welcome).show(self.place, self._welcome_keys())
            self._show_welcome_footer()
            return
        self._show_footer()
        moving = self._moving(now)
        self._show_list(now, moving)
        self._show_detail(now)
        self._show_panes(now, moving)

    def _show_list(self, now: float, moving: frozenset[str]) -> None:
        look = Look(
            self.selected,
            self.marked,
            self.sights,
            now,
            self._tick if moving else None,
            self.state.prompts,
            is_stacked=self.has_class("stacked"),
            answer_key=self.keymap.shown("answer"),
        )
        self.query_one(FleetList).show(self._rows, look, empty=self._nothing_passes())
        self._show_list_edges()

    @on(FleetList.Moved)
    def _show_list_edges(self) -> None:
        frame = self.query_one("#list", Frame)
        what = self.shown.filter
        order: Line = ((f"by {self.shown.order}", "muted"),)
        if not what.is_empty:
            said = " ".join(filter(None, ("needing you" if what.needing_only else "", clean(what.text))))
            order = ((f"/ {said}", "accent"),)
        marked: Line = ((f"  {len(self.marked)} marked", "bold accent"),) if self.marked else ()
        frame.title((("Fleet", "bold foreground"), *marked), order)
        above, below = self.query_one(FleetList).hidden
        more = "  ".join([*([f"▴ {above} above"] if above else []), *([f"▾ {below} below"] if below else [])])
        frame.foot(self._notice, ((more, "muted"),) if more and not self._notice else ())

    def _nothing_passes(self) -> list[Line]:
        total = sum(agent.status is not Status.KILLED for agent in self.state.agents)
        return [
            (),
            (("  nothing passes the filter", ""),),
            ((f"  it hides {total} agents; ", "muted"), *key("esc", "shows them again")),
        ]

    def _show_detail(self, now: float) -> None:
        agent = self.agent
        self.query_one(Detail).show(agent, self.sights, now)
        if agent is not None:
            profile = clean(agent.profile.rsplit("/", 1)[-1])
            self.query_one("#detail", Frame).title(
                ((clean(agent.name), "bold foreground"),), ((profile, "muted"),)
            )

    def _show_panes(self, now: float, moving: frozenset[str]) -> None:
        keymap = self.keymap
        look = PaneLook(
            self.selected,
            self.typing,
            frozenset(self.layout_actions.pinned),
            self._bells,
            now,
            self._tick if moving else None,
            moving,
            self._is_covered,
            (keymap.shown("leave"), keymap.shown("leader"), keymap.shown("answer"), keymap.shown("zoom")),
        )
        self.query_one(PaneGrid).show(self.in_panes, look)
        self.typing_mode.hold()

    def _show_footer(self) -> None:
        keymap, footer = self.keymap, self.query_one(Footer)
        agent = self.by_id(self.typing)
        if self.looking_back.is_copying:
            keys = SELECT_KEYS if self.looking_back.is_selecting else COPY_KEYS
            footer.show_list(keys, None, chip="COPY")
            return
        if agent is not None:
            said = "it has ended: keys do nothing" if agent.has_ended else "every other key goes to the agent"
            footer.show_typing(agent.name, self._typing_keys(), said, has_ended=agent.has_ended)
            return
        if self.focused is not None and self.focused.id == "filter":
            footer.show_list(FILTER_KEYS, None, chip="FILTER")
            return
        ranked = sorted(
            (action for action in in_context("list") if action.footer), key=lambda one: one.footer
        )
        shown = [action for action in ranked if keymap.of(action.id) and action.id != "help"]
        entries = [(keymap.shown(action.id), action.label) for action in shown]
        footer.show_list(entries, (keymap.shown("help"), "help"))

    def _typing_keys(self) -> list[Entry]:
        keymap = self.keymap
        leave, leader = keymap.of("leave"), keymap.shown("leader")
        other = f" (or {show(leave[1])})" if len(leave) > 1 else ""
        return [
            (show(leave[0]), f"back to the list{other}"),
            (leader, "more keys"),
            (f"{leader} {keymap.shown('leader-next')}", "next that needs you"),
            (f"{leader} {keymap.shown('leader-zoom')}", "zoom"),
        ]

    def _welcome_keys(self) -> dict[str, str]:
        keys = {name: self.keymap.shown(name) for name in ("new", "fan-out")}
        return keys | {"demo": TOUR_KEY, "init": INIT_KEY, "begin": BEGIN_KEY}

    def _show_welcome_footer(self) -> None:
        keys, keymap = self._welcome_keys(), self.keymap
        can_start = self.place is None or not self.place.problem
        entries = [(keys["new"], "new agent"), (keys["fan-out"], "fan-out")] if can_start else []
        if self.place is not None and self.place.can_begin:
            entries.append((BEGIN_KEY, "make a repository"))
        entries += [(TOUR_KEY, "tour with scripted agents"), (keymap.shown("palette"), "palette")]
        entries.append((keymap.shown("quit"), "leave"))
        self.query_one(Footer).show_list(entries, (keymap.shown("help"), "help"))

    def on_screen_suspend(self) -> None:
        self._is_covered = True
        self.show()

    def on_screen_resume(self) -> None:
        self._is_covered = False
        self.show()
        self.typing_mode.tell_gone()

    # ── news ────────────────────────────────────────────────────────────────────────────────────────────────────

    def watch_state(self) -> None:
        there = {agent.id for agent in self.state.agents if agent.status is not Status.KILLED}
        self.marked &= there
        self.layout_actions.pinned = tuple(one for one in self.layout_actions.pinned if one in there)
        if self.typing and self.typing not in there:
            self.typing_mode.bereave()
        self.agent_actions.close_answered()
        self.show_rows(self.shown)

    def watch_sights(self) -> None:
        self.show()

    def watch_place(self) -> None:
        here = self.place.project if self.place is not None else ""
        self.show_rows(replace(self.shown, here=here))

    def watch_selected(self) -> None:
        self._selected_at = self._clock()
        self._bells -= {self.selected}
        self.disarm()
        self.show()
        self.agent_actions.watch(self.selected)

    def watch_typing(self) -> None:
        for widget in self.query("#side Lines").results(Lines):
            widget.quieten(bool(self.typing))
        self.show()

    def show_rows(self, shown: Shown) -> None:
        """List the rows that this asks for; the cursor stays with its agent."""
        self.shown = shown
        self._rows = rows(self.state, shown)
        if self.is_mounted:
            self.list_actions.select_something()
            if self.has_class("stacked"):
                self.layout_actions.arrange()
            self.show()

    def _tock(self) -> None:
        """Ages once a second, moving glyphs four times."""
        self._tick += 1
        now = self._clock()
        if self._tick % 4 == 0 or self._moving(now):
            self.show()
        agent = self.agent
        has_looked = self.app.app_focus and now - self._selected_at >= SEEN_SECONDS
        if agent is not None and agent.status is Status.DONE and has_looked and not self.away_actions.is_open:
            self.agent_actions.seen(agent)

    def _moving(self, now: float) -> frozenset[str]:
        """Who is working and has just printed something; nobody while the terminal has no focus."""
        if not self._has_motion or not self.app.app_focus:
            return frozenset()
        recent = {one for one, at in self.sights.active.items() if now - at < MOVING_SECONDS}
        return frozenset(
            one.id for one in self.state.agents if one.status is Status.WORKING and one.id in recent
        )

    # ── who is meant ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def now(self) -> float:
        return self._clock()

    @property
    def agent(self) -> Agent | None:
        """The selected agent."""
        return self.by_id(self.selected)

    @property
    def targets(self) -> list[Agent]:
        """The marked agents, or the selected one."""
        if self.marked:
            return [agent for agent in self.state.agents if agent.id in self.marked]
        return [self.agent] if self.agent else []

    @property
    def listed(self) -> list[Agent]:
        """The agents in the order of the list."""
        return agents_of(self._rows)

    @property
    def in_panes(self) -> list[Agent]:
        return self.layout_actions.in_panes()

    @property
    def line_count(self) -> int:
        """How many lines the list takes at its tightest."""
        return sum(not isinstance(row, ProjectRow) for row in self._rows)

    def by_id(self, agent_id: str) -> Agent | None:
        return (
            next((agent for agent in self.state.agents if agent.id == agent_id), None) if agent_id else None
        )

    def select(self, agent_id: str) -> None:
        """Select it, unfolding its batch if it is in a folded one."""
        agent = self.by_id(agent_id)
        if agent is not None:
            self.list_actions.unfold_for(agent)
            self.selected = agent_id

    def beside_selected(self) -> tuple[int, int]:
        """The place right of the list, at the height of the selected row."""
        agents = self.query_one(FleetList)
        return agents.region.right + 1, agents.y_of_selected()

    # ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────

    def action_run(self, action: str, chord: str = "") -> None:
        """Do what an action of the table says, on whom it is about."""
        self._strange_letters = 0
        if self.has_class("empty") and chord in (TOUR_KEY, INIT_KEY, BEGIN_KEY):
            actions = self.agent_actions
            {TOUR_KEY: actions.do_demo, INIT_KEY: actions.do_init, BEGIN_KEY: actions.do_begin}[chord]()
            return
        name = f"do_{action.replace('-', '_')}"
        places = (
            self.list_actions, self.layout_actions, self.typing_mode, self.looking_back, self.agent_actions,
        )  # fmt: skip
        method = next(found for place in places if (found := getattr(place, name, None)) is not None)
        method(int(chord)) if action in ("jump", "leader-jump") else method()

    def on_key(self, event: events.Key) -> None:
        """Keys that no binding took: other alphabets, and letters meant for an agent."""
        # Textual hands a key to handlers first, and looks for its binding afterwards.
        if event.key in self._bindings.key_to_bindings:
            return
        if self.typing or (self.focused is not None and event.key != "escape"):
            return
        same_key = latin(event.character)
        found = self.keymap.who(same_key, "list") if same_key else None
        if event.key == "escape":
            self._escape()
        elif found is not None:
            self.action_run(found.id, same_key)
        elif self.has_class("empty") and event.key in (TOUR_KEY, INIT_KEY, BEGIN_KEY):
            self.action_run("help", event.key)
        elif event.key in ("ctrl+c", "ctrl+q"):
            self.notify(f"{self.keymap.shown('quit')} leaves; agents go on", title="Nothing was stopped")
        elif event.is_printable:
            self._count_strange_letter()

    def _count_strange_letter(self) -> None:
        self._strange_letters += 1
        if self._strange_letters >= HINT_AFTER and self.agent is not None:
            self._strange_letters = 0
            self.notify(f"press {self.keymap.shown('type')} to type to {clean(self.agent.name)}")

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text never becomes shortcuts: it is offered as a prompt."""
        if not self.typing and self.focused is None and event.text.strip() and self.agent is not None:
            event.stop()
            self.agent_actions.do_prompt(event.text)

    def _escape(self) -> None:
        """Take back the last thing that narrows the view."""
        self.disarm()
        if self.looking_back.to_the_present():
            return
        if self.focused is not None:
            self.list_actions.end_filter()
        if not self.shown.filter.is_empty:
            self.list_actions.clear_filter()
        elif self.marked:
            self.marked = frozenset()
        elif self.layout_actions.is_zoomed:
            self.layout_actions.do_zoom()
        self.show()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """A click into the filter is a way out of typing."""
        if self.typing and event.widget.id == "filter":
            self.typing_mode.stop()
            self.set_focus(event.widget)

    @on(Input.Changed, "#filter")
    def _filter(self, event: Input.Changed) -> None:
        self.list_actions.filter(event.value)

    @on(Input.Submitted, "#filter")
    def _end_filter(self) -> None:
        self.list_actions.end_filter()

    # ── what was clicked, and what panes say ────────────────────────────────────────────────────────────────────

    def on_resize(self) -> None:
        self.layout_actions.arrange()
        self.call_after_refresh(self.show)

    @on(SideFrame.Dragged)
    def _dragged(self, event: SideFrame.Dragged) -> None:
        self.layout_actions.set_side(event.width)

    @on(FleetList.Selected)
    def _clicked_agent(self, event: FleetList.Selected) -> None:
        if self.typing:
            self.typing_mode.stop()
        self.select(event.agent)
        if event.is_double:
            self.typing_mode.do_type()

    @on(FleetList.Folded)
    def _clicked_batch(self, event: FleetList.Folded) -> None:
        self.list_actions.fold(event.key)

    @on(AwayRows.Chosen)
    def _clicked_summary(self, event: AwayRows.Chosen) -> None:
        self.away_actions.hide()
        self.select(event.agent)

    @on(Pane.LeaveAsked)
    def _leave(self) -> None:
        self.typing_mode.stop()

    @on(Pane.LeaderPressed)
    def _lead(self) -> None:
        self.typing_mode.lead()

    @on(Pane.Led)
    def _led(self, event: Pane.Led) -> None:
        self.typing_mode.follow_leader(event)

    @on(Pane.Clicked)
    def _clicked_pane(self, event: Pane.Clicked) -> None:
        agent = event.pane.agent
        if agent is None:
            return
        if self.typing and self.typing != agent.id:
            self.typing_mode.stop()
        self.select(agent.id)
        if event.chain >= 2 and not agent.has_ended:
            self.typing_mode.type_to(agent.id)

    @on(Pane.BellRang)
    def _rang(self, event: Pane.BellRang) -> None:
        agent = event.pane.agent
        if agent is not None and agent.id not in (self.selected, self.typing):
            self._bells |= {agent.id}
            self.show()

    @on(Pane.Notified)
    def _told(self, event: Pane.Notified) -> None:
        name = event.pane.agent.name if event.pane.agent is not None else ""
        self.notify(clean(event.text), title=clean(event.title or name))

    @on(Pane.Copied)
    def _copied(self, event: Pane.Copied) -> None:
        self.notify(f"copied {len(event.text)} characters", timeout=2)

    @on(Pane.CopyModeChanged)
    @on(Pane.ScreenResized)
    def _pane_changed(self) -> None:
        self.show()

    # ── saying something near the list ──────────────────────────────────────────────────────────────────────────

    def say(self, notice: Line) -> None:
        """One line in the list's lower edge, until something else happens."""
        self._notice = notice
        self._show_list_edges()

    def disarm(self) -> None:
        """Forget the first tap of two."""
        self.agent_actions.disarm()
        self._notice = ()
        if self.is_mounted:
            self._show_list_edges()


def _bindings(keymap: Keymap) -> BindingsMap:
    """Every chord of the list, bound to the action it stands for."""
    return BindingsMap(
        Binding(event_key(chord), f"run({action.id!r}, {normal(chord)!r})", action.says, show=False)
        for action in in_context("list")
        for chord in keymap.of(action.id)
    )
