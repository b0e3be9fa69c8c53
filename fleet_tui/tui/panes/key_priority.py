"""Key priority: while a key is on its way to its agent and back to the screen, painting anything else waits.

A key takes several turns of the event loop before its effect is on the screen. Anything else done in those turns delays
it. Knows no widgets and no sockets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

ECHO_SECONDS = 0.1
"""How long other panes wait for a key that changes nothing on the screen."""
UNSENT_SECONDS = 0.05
"""How long everything waits for a key that does not go to an agent."""
HELD_SECONDS = 0.25
"""The longest time other panes wait, however fast keys follow each other."""
FREE_SECONDS = 0.05
"""After that time, keys delay nothing for this long."""

DelayedCalls = dict[Callable[[], None], asyncio.TimerHandle]
"""Callbacks that wait, each with the timer that calls it at the latest."""


class KeyPriority:
    """Tracks whether a key is on its way. The thread that reads keys may call `pressed`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pressed = self._sent = self._echoed = -ECHO_SECONDS
        self._held_since = 0.0
        self._is_held = False
        self._free_until = 0.0
        self._unsent: DelayedCalls = {}
        self._held: DelayedCalls = {}

    def pressed(self) -> None:
        """The host has sent a key."""
        self._pressed = self._clock()

    def sent(self) -> None:
        """The key has gone to an agent."""
        self._sent = self._clock()
        _run_soon(self._unsent)

    @property
    def is_unsent(self) -> bool:
        """A key was read and has not reached its agent yet; everything else waits."""
        return self._sent < self._pressed and self._clock() < self._pressed + UNSENT_SECONDS

    def after_sending(self, callback: Callable[[], None]) -> None:
        """Call back once the key was sent to its agent, or the wait for that timed out."""
        _wait(self._unsent, callback, self._pressed + UNSENT_SECONDS - self._clock())

    def painted(self) -> None:
        """The focused pane was painted. If that was the effect of its key, other panes may paint again."""
        if self._sent >= self._pressed > self._echoed:
            self._echoed = self._clock()
            _run_soon(self._held)

    def wait_seconds(self) -> float:
        """How long work for other panes still has to wait; 0 if not at all."""
        now = self._clock()
        left = self._pressed + ECHO_SECONDS - now
        if left <= 0 or self._echoed >= self._pressed or now < self._free_until:
            self._is_held = False
            return 0.0
        if not self._is_held:
            self._is_held, self._held_since = True, now
        left = min(left, self._held_since + HELD_SECONDS - now)
        if left <= 0:
            self._is_held, self._free_until = False, now + FREE_SECONDS
            return 0.0
        return left

    def after(self, callback: Callable[[], None]) -> None:
        """Call back once the effect of the key was painted, or the wait for it timed out."""
        _wait(self._held, callback, self.wait_seconds())


def _wait(waiting: DelayedCalls, callback: Callable[[], None], seconds: float) -> None:
    def run() -> None:
        waiting.pop(callback, None)
        callback()

    if callback not in waiting:
        waiting[callback] = asyncio.get_running_loop().call_later(seconds, run)


def _run_soon(waiting: DelayedCalls) -> None:
    for callback, timer in waiting.items():
        timer.cancel()
        asyncio.get_running_loop().call_soon(callback)
    waiting.clear()
