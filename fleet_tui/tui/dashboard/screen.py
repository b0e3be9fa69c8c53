"""The main screen: composes the widgets, wires the model, the actions and the keys to each other, and draws.

Draws the model (`fleet_view`) into widgets, and turns messages of widgets into calls of the action groups. What keys do
is in the groups; how things look is in the widgets. One class, as Textual delivers all messages and keys to the screen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingsMap
from textual.containers import Container, Vertical
from textual.screen import Screen

from fleet_tui.faces.form_drafts import FormDrafts
from fleet_tui.models import FleetState, Status
from fleet_tui.tui.actions import BY_ID, in_context
from fleet_tui.tui.dashboard.action_groups import ActionGroups
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView, Part
from fleet_tui.tui.dashboard.footer_keys import BEGIN_KEY, INIT_KEY, TOUR_KEY, FooterKeys
from fleet_tui.tui.keys import Keymap, event_key, latin, normal
from fleet_tui.tui.panes.grid import PaneGrid, PaneLook
from fleet_tui.tui.panes.live_panes import LivePanes
from fleet_tui.tui.panes.pane import Pane
from fleet_tui.tui.widgets.away import Away, AwayRows
from fleet_tui.tui.widgets.detail import Detail
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.fleet_list import FleetList
from fleet_tui.tui.widgets.footer import Footer
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.header import Header
from fleet_tui.tui.widgets.lines import Line, LineView, clean, key
from fleet_tui.tui.widgets.row_lines import MOVING_SECONDS, Look
from fleet_tui.tui.widgets.splitter import SideFrame
from fleet_tui.tui.widgets.toasts import ToastRoom
from fleet_tui.tui.widgets.welcome import TooSmall, Welcome
from fleet_tui.tui.widgets.which_key import WhichKey
from fleet_tui.tui.worker_client import WorkerClient

TICK_SECONDS = 0.25
SEEN_SECONDS = 1.0
HINT_AFTER = 3
"""Unbound letters in the list, after which a toast says how to type to an agent."""


class Dashboard(ErrorBoundary, Screen[None]):
    """Every agent at a glance."""

    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(
        self,
        live_panes: LivePanes,
        worker: WorkerClient,
        keymap: Keymap,
        state: FleetState,
        *,
        clock: Callable[[], float] = time.time,
        panes: int = 0,
        has_motion: bool = True,
        drafts: FormDrafts | None = None,
        is_demo: bool = False,
    ) -> None:
        super().__init__()
        self.keymap = keymap
        self.view = FleetView(state)
        self.view.on_change = self._changed
        self._live_panes = live_panes
        self._clock = clock
        self._has_motion = has_motion
        self._bells: frozenset[str] = frozenset()
        self._is_covered = False
        self._tick = 0
        self._selected_at = 0.0
        self._strange_letters = 0
        self._note = FooterKeys(keymap).demo() if is_demo else ""
        """What the header shows in the demo until the first key is pressed."""
        self._hint: Line = ()
        self._bindings = _bindings(keymap)
        display = Display(self, keymap, clock, redraw=self.show, hint=self.show_hint)
        self.groups = groups = ActionGroups(
            self,
            self.view,
            display,
            worker,
            panes=panes,
            run=self.action_run,
            forget_hint=self.forget_hint,
            clear_filter=self._clear_filter,
            drafts=drafts or FormDrafts(),
        )
        self._handlers = groups.handlers()
        self._welcome_handlers: dict[str, Callable[[], None]] = {
            TOUR_KEY: groups.fleet.demo,
            INIT_KEY: groups.fleet.init,
            BEGIN_KEY: groups.fleet.make_repository,
        }

    # ── drawing ───────────────────────────────────────────────────────────────────────────────────────────

    def compose(self) -> ComposeResult:
        yield Header(id="header")
        yield TooSmall(id="small")
        yield Welcome(id="welcome")
        with Container(id="body"):
            with Vertical(id="side"):
                with SideFrame(id="list"):
                    yield FleetList(id="agents")
                    yield Input(placeholder="words, s:status, b:batch, a:profile", id="filter")
                with SideFrame(id="detail"):
                    yield Detail(id="about")
            yield PaneGrid(self._live_panes, id="panes")
        yield Away(id="away")
        yield WhichKey(id="which")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self.groups.layout.arrange()
        self.view.keep_selection()
        self.set_interval(TICK_SECONDS, self._tock)
        self.call_after_refresh(self.show)

    def show(self) -> None:
        """Draw the model into every widget."""
        if not self.is_mounted:
            return
        now = self._clock()
        view = self.view
        self.set_class(view.is_empty, "empty")
        self.query_one(Header).show(view.state, view.live, now, note=self._note)
        if view.is_empty:
            self.query_one(Welcome).show(view.project, FooterKeys(self.keymap).welcome())
            self._show_footer()
            return
        self._show_footer()
        moving = self._moving(now)
        self._show_list(now, moving)
        self._show_detail(now)
        self._show_panes(now, moving)

    def _show_list(self, now: float, moving: frozenset[str]) -> None:
        look = Look(
            self.view.selected,
            self.view.marked,
            self.view.live,
            now,
            self._tick if moving else None,
            self.view.state.prompts,
            is_stacked=self.has_class("stacked"),
            answer_key=self.keymap.shown("answer"),
        )
        self.query_one(FleetList).show(self.view.rows, look, empty=self._nothing_passes())
        self._show_list_edges()

    @on(FleetList.Moved)
    def _show_list_edges(self) -> None:
        frame = self.query_one("#list", Frame)
        what, marks = self.view.shown.filter, len(self.view.marked)
        order: Line = ((f"by {self.view.shown.order}", "muted"),)
        if not what.is_empty:
            said = " ".join(filter(None, ("need you" if what.needing_only else "", clean(what.text))))
            order = ((f"/ {said}", "accent"),)
        marked: Line = ((f"  {marks} marked", "bold accent"),) if marks else ()
        frame.title((("Fleet", "bold foreground"), *marked), order)
        above, below = self.query_one(FleetList).hidden
        more = "  ".join([*([f"▴ {above} above"] if above else []), *([f"▾ {below} below"] if below else [])])
        frame.foot(self._hint, ((more, "muted"),) if more and not self._hint else ())

    def _nothing_passes(self) -> list[Line]:
        total = sum(agent.status is not Status.KILLED for agent in self.view.state.agents)
        return [
            (),
            (("  no agent matches the filter", ""),),
            ((f"  it hides {total} agents; ", "muted"), *key("esc", "shows them again")),
        ]

    def _show_detail(self, now: float) -> None:
        agent = self.view.agent
        self.query_one(Detail).show(agent, self.view.live, now, self.view.state.agents)
        frame = self.query_one("#detail", Frame)
        collides = agent is not None and agent.id in self.view.live.conflict_marks
        frame.foot((), FooterKeys(self.keymap).conflict() if collides else ())
        if agent is None:
            frame.title(())
        else:
            profile = clean(agent.profile.rsplit("/", 1)[-1])
            frame.title(((clean(agent.name), "bold foreground"),), ((profile, "muted"),))

    def _show_panes(self, now: float, moving: frozenset[str]) -> None:
        keymap, view = self.keymap, self.view
        look = PaneLook(
            view.selected,
            view.typing,
            frozenset(view.pinned),
            self._bells,
            now,
            self._tick if moving else None,
            moving,
            self._is_covered,
            (keymap.shown("leave"), keymap.shown("leader"), keymap.shown("answer"), keymap.shown("zoom")),
            view.live,
        )
        self.query_one(PaneGrid).show(self.groups.layout.agents_in_panes(), look)
        self.groups.typing.hold()

    def _show_footer(self) -> None:
        view, footer = self.view, self.query_one(Footer)
        keys = FooterKeys(self.keymap)
        agent = view.by_id(view.typing)
        if view.is_empty:
            keys.show_welcome(footer, view.project)
        elif self.groups.scrollback.is_copying:
            keys.show_copying(footer, is_selecting=self.groups.scrollback.is_selecting)
        elif agent is not None:
            keys.show_typing(footer, agent)
        elif self.focused is not None and self.focused.id == "filter":
            keys.show_filter(footer)
        else:
            keys.show_list(footer)

    def on_screen_suspend(self) -> None:
        self._is_covered = True
        self.show()

    def on_screen_resume(self) -> None:
        self._is_covered = False
        self.show()
        self.groups.typing.show_agent_gone()

    # ── changes of the model ────────────────────────────────────────────────────────────────────────────────────

    def _changed(self, part: Part) -> None:
        if part == "state":
            self._state_changed()
        elif part == "selected":
            self._selection_changed()
        elif part == "typing":
            for widget in self.query("#side LineView").results(LineView):
                widget.quieten(bool(self.view.typing))
            self.show()
        elif part == "rows":
            if self.is_mounted and self.groups.layout.is_stacked:
                self.groups.layout.arrange()
            self._end_empty_zoom()
            self.show()
        else:
            self._end_empty_zoom()
            self.show()

    def _end_empty_zoom(self) -> None:
        """Show the list instead of nothing when its agent is hidden: the list says why."""
        if self.view.is_zoomed and self.view.agent is None:
            self.groups.layout.show_list()

    def _state_changed(self) -> None:
        """Before the rows are drawn: what the new state closes."""
        typing = self.view.by_id(self.view.typing)
        if self.view.typing and (typing is None or typing.status is Status.KILLED):
            self.groups.typing.agent_is_gone()
        if self.is_mounted:
            self.groups.prompts.close_outdated_answer()

    def _selection_changed(self) -> None:
        self._selected_at = self._clock()
        self._bells -= {self.view.selected}
        self.forget_hint()
        self.show()
        self.groups.requests.watch(self.view.selected)

    def _tock(self) -> None:
        """Redraw once a second, and four times while something moves."""
        self._tick += 1
        now = self._clock()
        self._live_panes.reconcile_soon()
        if self._tick % 4 == 0 or self._moving(now):
            self.show()
        agent = self.view.agent
        has_looked = self.app.app_focus and now - self._selected_at >= SEEN_SECONDS
        if agent is not None and agent.status is Status.DONE and has_looked and not self.groups.away.is_open:
            self.groups.agent.mark_seen(agent)

    def _moving(self, now: float) -> frozenset[str]:
        """The agents that are working and have just printed something; none while the terminal has no focus."""
        if not self._has_motion or not self.app.app_focus:
            return frozenset()
        recent = {one for one, at in self.view.live.active.items() if now - at < MOVING_SECONDS}
        agents = self.view.state.agents
        return frozenset(one.id for one in agents if one.status is Status.WORKING and one.id in recent)

    # ── what actions need of the widgets ────────────────────────────────────────────────────────────────────────

    def show_hint(self, hint: Line) -> None:
        """Show one line at the bottom of the list, until something else happens; as a toast while the list is hidden."""
        self._hint = hint
        if self.is_mounted:
            self._show_list_edges()
        if hint and self.has_class("no-side"):
            self.notify("".join(text for text, _ in hint).removeprefix("! "), severity="warning", timeout=3)

    def forget_hint(self) -> None:
        """The next press of stop or kill is a first one again."""
        self.groups.end.second_press.forget()
        self.show_hint(())

    def toast_room(self) -> ToastRoom:
        return self.groups.layout.toast_room()

    def _end_filter(self) -> None:
        """Leave the line; the filter stays, unless it is empty."""
        self.set_focus(None)
        self.set_class(bool(self.query_one("#filter", Input).value.strip()), "filtering")
        self.show()

    def _clear_filter(self) -> None:
        self.query_one("#filter", Input).value = ""
        self.remove_class("filtering")
        self.view.clear_filter()

    # ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────

    def action_run(self, action: str, chord: str = "") -> None:
        """Run an action of the table."""
        self._strange_letters = 0
        self._note = "demo" if self._note else ""
        if self.view.is_empty and chord in self._welcome_handlers:
            self._welcome_handlers[chord]()
            return
        handler = self._handlers[action]
        if BY_ID[action].has_number:
            handler(int(chord))
        else:
            handler()

    def on_key(self, event: events.Key) -> None:
        """Keys that no binding took: other alphabets, and letters meant for an agent."""
        # Textual hands a key to handlers first, and looks for its binding afterwards.
        if event.key in self._bindings.key_to_bindings:
            return
        if self.view.typing or (self.focused is not None and event.key != "escape"):
            return
        same_key = latin(event.character)
        found = self.keymap.who(same_key, "list") if same_key else None
        if event.key == "escape":
            self._escape()
        elif found is not None:
            self.action_run(found.id, same_key)
        elif self.view.is_empty and event.key in self._welcome_handlers:
            self._welcome_handlers[event.key]()
        elif event.key in ("ctrl+c", "ctrl+q"):
            self.notify(
                f"{self.keymap.shown('quit')} quits; agents keep running", title="Nothing was stopped"
            )
        elif event.is_printable:
            self._count_strange_letter()

    def _count_strange_letter(self) -> None:
        self._strange_letters += 1
        agent = self.view.agent
        if self._strange_letters >= HINT_AFTER and agent is not None:
            self._strange_letters = 0
            self.notify(f"press {self.keymap.shown('type')} to type to {clean(agent.name)}")

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text never becomes shortcuts: it is offered as a prompt."""
        view = self.view
        if not view.typing and self.focused is None and event.text.strip() and view.agent is not None:
            event.stop()
            self.groups.prompts.prompt(event.text)

    def _escape(self) -> None:
        """Undo the last thing that narrows the view."""
        view = self.view
        self.forget_hint()
        if self.groups.scrollback.return_to_present():
            return
        if self.focused is not None:
            self._end_filter()
        if not view.shown.filter.is_empty:
            self._clear_filter()
        elif view.marked:
            view.unmark()
        elif view.is_zoomed:
            self.groups.layout.toggle_zoom()
        self.show()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """A click into the filter ends typing."""
        if self.view.typing and event.widget.id == "filter":
            self.groups.typing.stop()
            self.set_focus(event.widget)

    @on(Input.Changed, "#filter")
    def _filter(self, event: Input.Changed) -> None:
        self.view.filter(event.value)

    @on(Input.Submitted, "#filter")
    def _filter_submitted(self) -> None:
        self._end_filter()

    # ── messages of widgets ────────────────────────────────────────────────────────────────────

    def on_resize(self) -> None:
        self.groups.layout.arrange()
        self.call_after_refresh(self.show)

    @on(SideFrame.Dragged)
    def _dragged(self, event: SideFrame.Dragged) -> None:
        self.groups.layout.set_list_width(event.width)

    @on(FleetList.Selected)
    def _clicked_agent(self, event: FleetList.Selected) -> None:
        self.groups.typing.stop_if_typing()
        self.view.select(event.agent)
        if event.is_double:
            self.groups.typing.type()

    @on(FleetList.Folded)
    def _clicked_batch(self, event: FleetList.Folded) -> None:
        self.view.toggle_fold(event.key)

    @on(Header.Clicked)
    def _clicked_count(self, event: Header.Clicked) -> None:
        self.groups.typing.stop_if_typing()
        if event.counted is None:
            self._clear_filter()
        elif event.counted == "conflict":
            self.groups.list.select_next_colliding()
        elif event.counted is Status.BLOCKED:
            self.action_run("next-needing")
        else:
            self.groups.list.select_next_counted(event.counted)

    @on(AwayRows.Chosen)
    def _clicked_summary(self, event: AwayRows.Chosen) -> None:
        self.groups.away.choose(event.agent)

    @on(Pane.LeaveAsked)
    def _leave(self) -> None:
        self.groups.typing.stop()

    @on(Pane.LeaderPressed)
    def _lead(self) -> None:
        self.groups.typing.lead()

    @on(Pane.Led)
    def _led(self, event: Pane.Led) -> None:
        self.groups.typing.follow_leader(event)

    @on(Pane.Clicked)
    def _clicked_pane(self, event: Pane.Clicked) -> None:
        agent = event.pane.agent
        if agent is None:
            return
        if self.view.typing != agent.id:
            self.groups.typing.stop_if_typing()
        self.view.select(agent.id)
        if event.chain >= 2 and not agent.has_ended:
            self.groups.typing.type_to(agent.id)

    @on(Pane.BellRang)
    def _rang(self, event: Pane.BellRang) -> None:
        agent = event.pane.agent
        if agent is not None and agent.id not in (self.view.selected, self.view.typing):
            self._bells |= {agent.id}
            self.show()

    @on(Pane.Notified)
    def _notified(self, event: Pane.Notified) -> None:
        name = event.pane.agent.name if event.pane.agent is not None else ""
        self.notify(clean(event.text), title=clean(event.title or name))

    @on(Pane.Copied)
    def _copied(self, event: Pane.Copied) -> None:
        self.notify(f"copied {len(event.text)} characters", timeout=2)

    @on(Pane.CopyModeChanged)
    @on(Pane.ScreenResized)
    def _pane_changed(self) -> None:
        self.show()


def _bindings(keymap: Keymap) -> BindingsMap:
    """Every chord of the list, bound to the action it stands for."""
    return BindingsMap(
        Binding(event_key(chord), f"run({action.id!r}, {normal(chord)!r})", action.says, show=False)
        for action in in_context("list")
        for chord in keymap.of(action.id)
    )
