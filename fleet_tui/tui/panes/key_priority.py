"""Key priority: while a key is on its way to its agent and back to the screen, painting anything else waits.

A key passes through several turns of the event loop until it is seen, and whatever else those turns do is added to its
time. Knows no widgets and no sockets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

ECHO_SECONDS = 0.1
"""How long other panes wait for the effect of a key that shows none."""
UNSENT_SECONDS = 0.05
"""How long everything waits for a key that does not go to an agent."""
HELD_SECONDS = 0.25
"""How long they wait at most, however fast keys follow each other."""
FREE_SECONDS = 0.05
"""How long keys hold nothing after that."""

Waiting = dict[Callable[[], None], asyncio.TimerHandle]


class KeyPriority:
    """Tells whether a key is on its way. `pressed` may be called by the thread that reads keys."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pressed = self._sent = self._echoed = -ECHO_SECONDS
        self._held_since = 0.0
        self._is_held = False
        self._free_until = 0.0
        self._unsent: Waiting = {}
        self._held: Waiting = {}

    def pressed(self) -> None:
        """The host has sent a key."""
        self._pressed = self._clock()

    def sent(self) -> None:
        """The key has gone to an agent."""
        self._sent = self._clock()
        _run_soon(self._unsent)

    @property
    def is_unsent(self) -> bool:
        """A key was read and has not reached its agent: everything else waits for that."""
        return self._sent < self._pressed and self._clock() < self._pressed + UNSENT_SECONDS

    def after_sending(self, callback: Callable[[], None]) -> None:
        """Call once the key has gone to its agent or has had its time."""
        _wait(self._unsent, callback, self._pressed + UNSENT_SECONDS - self._clock())

    def painted(self) -> None:
        """The pane that is typed into was painted: if that followed its key, others may go on."""
        if self._sent >= self._pressed > self._echoed:
            self._echoed = self._clock()
            _run_soon(self._held)

    def wait_seconds(self) -> float:
        """How long work for other panes has to wait; 0 if it need not."""
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
        """Call once the key is painted or has had its time."""
        _wait(self._held, callback, self.wait_seconds())


def _wait(waiting: Waiting, callback: Callable[[], None], seconds: float) -> None:
    def run() -> None:
        waiting.pop(callback, None)
        callback()

    if callback not in waiting:
        waiting[callback] = asyncio.get_running_loop().call_later(seconds, run)


def _run_soon(waiting: Waiting) -> None:
    for callback, timer in waiting.items():
        timer.cancel()
        asyncio.get_running_loop().call_soon(callback)
    waiting.clear()
