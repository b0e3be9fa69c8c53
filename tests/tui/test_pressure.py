"""What comes first when the dashboard has too little time: keys, then the pane that is typed into, then the others."""

from __future__ import annotations

import asyncio

import pytest

from fleet_tui.tui.panes import key_priority, pressure
from fleet_tui.tui.panes.key_priority import KeyPriority
from fleet_tui.tui.panes.pressure import Pressure

pytestmark = pytest.mark.pure

STEP = 0.1


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Loop:
    """An event loop as far as `Pressure` sees it: how late its timers run."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.changes: list[float] = []
        self.pressure = Pressure(lambda: self.changes.append(self.pressure.share), self.clock)

    def runs(self, late: float, seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            self.clock.now += STEP
            self.pressure.measured(late)


def test_other_panes_get_fewer_frames_step_by_step_while_the_loop_is_late() -> None:
    loop = Loop()
    loop.runs(late=0.04, seconds=2)
    assert loop.changes == [0.5, 0.25]


def test_other_panes_get_their_frames_back_once_the_loop_is_in_time() -> None:
    loop = Loop()
    loop.runs(late=0.04, seconds=2)
    loop.runs(late=0.0, seconds=3 * pressure.BETTER_SECONDS)
    assert loop.changes == [0.5, 0.25, 0.5, 1.0]


def test_a_single_hiccup_is_no_pressure() -> None:
    loop = Loop()
    loop.runs(late=0.001, seconds=2)
    loop.runs(late=2.0, seconds=STEP)
    loop.runs(late=0.001, seconds=2)
    assert loop.changes == []


def test_a_rate_that_proves_too_high_again_is_tried_less_and_less_often() -> None:
    loop = Loop()
    waits = []
    loop.runs(late=0.04, seconds=2)
    for _ in range(3):
        before = loop.clock.now
        while loop.pressure.share == 0.25:
            loop.runs(late=0.0, seconds=STEP)
        waits.append(loop.clock.now - before)
        loop.runs(late=0.04, seconds=2)
    assert waits[0] < waits[1] < waits[2]
    assert waits[2] < pressure.LONGEST_SECONDS


def test_others_wait_from_the_moment_a_key_is_read_until_its_effect_is_painted() -> None:
    async def go() -> None:
        priority = KeyPriority()
        assert not priority.wait_seconds()
        priority.pressed()
        assert priority.is_unsent
        assert priority.wait_seconds() > 0
        priority.painted()  # an earlier frame: the key is not with its agent yet
        assert priority.wait_seconds() > 0
        priority.sent()
        assert not priority.is_unsent
        others = asyncio.Event()
        priority.after(others.set)
        assert priority.wait_seconds() > 0
        priority.painted()
        assert not priority.wait_seconds()
        await asyncio.wait_for(others.wait(), key_priority.ECHO_SECONDS / 2)

    asyncio.run(go())


def test_a_key_without_effect_holds_others_only_for_a_moment() -> None:
    async def go() -> None:
        priority = KeyPriority()
        priority.pressed()
        others, typed = asyncio.Event(), asyncio.Event()
        priority.after(others.set)
        priority.after_sending(typed.set)
        await asyncio.wait_for(typed.wait(), 5)
        await asyncio.wait_for(others.wait(), 5)
        assert not priority.is_unsent

    asyncio.run(go())


def test_keys_that_never_stop_leave_others_a_part_of_the_time() -> None:
    clock = Clock()
    priority = KeyPriority(clock)
    held, free = 0, 0
    for _ in range(100):
        clock.now += 0.02
        priority.pressed()
        if priority.wait_seconds():
            held += 1
        else:
            free += 1
    assert held > free > 10
