"""Press keys in a dashboard of this process, and wait until all messages that follow are handled.

Textual's pilot considers an app idle when the processor rests for some hundredths of a second, several times per key.
`Keyboard` checks the message queues instead: the app is idle when every message pump waits for its next message and
nothing is left to paint. A test itself waits for timers and other processes.

With `painting_waits`, the app paints once when it is idle instead of several times on the way there.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import unicodedata
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen

TURNS = 2
"""Quiet turns of the event loop after which the app is idle: callbacks due by the clock run in the next turn."""
BUSY_TURNS = 500
"""Turns after which a pump waits for another process, which needs the processor more than this loop."""
SECONDS = 30.0

_paint = Screen._compositor_refresh
_unpainted: weakref.WeakSet[Screen[Any]] = weakref.WeakSet()


class Keyboard(Pilot[None]):
    """A pilot that returns as soon as the app is idle."""

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.app.post_message(key_event(key))
            await self.pause()

    async def pause(self, delay: float | None = None) -> None:
        if delay is not None:
            await asyncio.sleep(delay)
        await self.app.animator.wait_until_complete()
        await _settle(self.app)

    async def wait_for_scheduled_animations(self) -> None:
        await self.pause()


def key_event(key: str) -> events.Key:
    if len(key) == 1 and not key.isalnum():
        key = _character_to_key(key)
    try:
        character = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(key, key)))
    except KeyError:
        return events.Key(key, key if len(key) == 1 else None)
    return events.Key(key, character)


@contextlib.contextmanager
def painting_waits() -> Iterator[None]:
    """Postpone painting until `Keyboard` finds the app idle."""

    def later(self: Screen[Any]) -> None:
        if self.app.is_headless and self is self.app.screen:
            _unpainted.add(self)
            self._dirty_widgets.clear()
        else:
            _paint(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Screen, "_compositor_refresh", later)
        yield


async def _settle(app: App[Any]) -> None:
    loop: Any = asyncio.get_running_loop()
    deadline = time.monotonic() + SECONDS
    quiet = turns = 0
    while quiet < TURNS and app.is_running and app._exception is None:
        await asyncio.sleep(0 if turns < BUSY_TURNS else 0.002)
        turns += 1
        quiet = quiet + 1 if not loop._ready and _is_quiet(app) else 0
        assert time.monotonic() < deadline, f"still busy: {[one for one in _pumps(app) if not _waits(one)]}"


def _is_quiet(app: App[Any]) -> bool:
    """Whether every pump waits for a message; paints what is left to paint, and then the app was not quiet."""
    if not all(map(_waits, _pumps(app))):
        return False
    if not app.screen_stack:
        return True
    screen = app.screen
    if (
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    ):
        screen._on_timer_update()
        return False
    if screen in _unpainted:
        _unpainted.discard(screen)
        _paint(screen)
        return False
    return True


def _pumps(app: App[Any]) -> list[MessagePump]:
    return [app, *(one for one in app._registry if one.is_running)]


def _waits(pump: MessagePump) -> bool:
    """Whether the pump has asked its queue for a message and there is none."""
    ready: Any = pump._message_queue.ready_event
    return bool(ready._waiters) and not ready.is_set()
