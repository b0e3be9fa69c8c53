"""An app on our driver: dispatches keys one by one, and drops frames that the host does not read."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from rich.console import RenderableType
from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.filter import Monochrome, NoColor
from textual.screen import Screen
from textual.theme import Theme

from fleet_tui.tui import color_depth
from fleet_tui.tui.color_depth import ColorDepth, Nearest256
from fleet_tui.tui.driver import FleetDriver, host_of
from fleet_tui.tui.host_keys import text_key

HANDLING_SECONDS = 0.5
"""How long one key may delay the next."""
HIDE_CURSOR = "\x1b[?25l"
ReturnType = TypeVar("ReturnType")


def takes_at_once(widget: object, event: events.Key | events.Paste) -> bool:
    """Whether the event cannot change which widget the next one belongs to."""
    asked: Callable[[events.Key | events.Paste], bool] | None = getattr(widget, "takes_at_once", None)
    return asked is not None and asked(event)


class HostedApp(App[ReturnType]):
    """An app on our driver.

    Dispatches a key when the one before it has been handled, so that it goes where it was pressed: what follows Enter
    goes to the agent that Enter was for. Text that was typed at once stays whole for a widget that takes text. A host
    that does not read costs only frames.
    """

    takes_whole_text = True
    """The driver may send several typed characters as one event."""

    def __init__(self, depth: ColorDepth = "truecolor", **options: Any) -> None:
        # An explicit class would beat the driver of textual-serve.
        if not os.environ.get("TEXTUAL_DRIVER"):
            options.setdefault("driver_class", FleetDriver)
        super().__init__(**options)
        self.color_depth = depth
        """How many colors the host shows."""
        self.console._color_system = color_depth.SYSTEMS[depth]
        self._filters = [one for one in self._filters if not isinstance(one, Monochrome)]
        if depth == "256":
            self._filters.append(Nearest256())
        elif depth == "none":
            self._filters.append(NoColor())
        self._typed: deque[events.Key | events.Paste] = deque()
        self._turn = 0
        self._handling_timer: asyncio.TimerHandle | None = None
        """Runs while an event is being handled."""
        self._is_stale = False

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Without the themes whose tints would all round to a few colors."""
        found = super().available_themes
        if getattr(self, "color_depth", "truecolor") in ("16", "none"):
            return {name: theme for name, theme in found.items() if theme.ansi}
        return found

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._typed.append(event)
            await self._dispatch()
            return
        await super().on_event(event)

    async def _dispatch(self) -> None:
        while self._typed and self._handling_timer is None:
            event = self._one_key(self._typed.popleft())
            target = self.focused or self.screen
            is_taken = takes_at_once(target, event)
            await super().on_event(event)
            if not is_taken:
                self._wait_for(target)

    def _one_key(self, event: events.Key | events.Paste) -> events.Key | events.Paste:
        """Return the event, or only its first character where no widget takes the text whole."""
        text = event.character or "" if isinstance(event, events.Key) else ""
        focused = self.focused
        if len(text) < 2 or (focused is not None and focused.check_consume_key("", text)):
            return event
        first, rest = text_key(text[:1]), text_key(text[1:])
        # They were pressed when the text arrived.
        first.time = rest.time = event.time
        self._typed.appendleft(rest)
        return first

    def _wait_for(self, target: DOMNode) -> None:
        """Hold later keys until every handler of this event has run: along its bubbling path, then the app."""
        self._turn += 1
        self._handling_timer = asyncio.get_running_loop().call_later(
            HANDLING_SECONDS, self._go_on, self._turn
        )
        # Queue the app twice: deferred work of its handler, such as a change of focus, runs after the first pass.
        self._pass_on([*target.ancestors_with_self, self], self._turn)

    def _pass_on(self, nodes: list[DOMNode], turn: int) -> None:
        while nodes:
            if nodes.pop(0).call_later(self._pass_on, nodes, turn):
                return
        self._go_on(turn)

    def _go_on(self, turn: int) -> None:
        if turn == self._turn and self._handling_timer is not None:
            self._handling_timer.cancel()
            self._handling_timer = None
            if self._typed:
                self.call_next(self._dispatch)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        host = host_of(self)
        if host is None or renderable is None:
            super()._display(screen, renderable)
            return
        if host.is_stalled:
            self._is_stale = True
            host.when_drained(self._repaint)
            return
        with host.one_write():
            if host.cursor:
                host.write(HIDE_CURSOR)
            super()._display(screen, renderable)
            host.write(host.cursor)

    def _repaint(self) -> None:
        if self._is_stale:
            self._is_stale = False
            self.refresh()
