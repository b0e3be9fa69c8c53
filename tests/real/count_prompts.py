"""Counts how prompts fare in the real programs: 25 for each, with drafts, menus, interruptions and errors.

It takes minutes, so it is not part of the suite:

    pytest -m agents -s tests/real/count_prompts.py

It prints a table, and fails if a prompt arrived twice, joined to other text, or with a wrong receipt.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from fleet_tui.errors import Refused
from fleet_tui.models import Receipt
from tests.holder.holders import wait_until
from tests.real.agents import Real
from tests.real.test_input_boxes import MENUS, PROGRAMS, Person

SECONDS = 150.0
TABLE: list[str] = []

pytestmark = [pytest.mark.agents, pytest.mark.parametrize("program", PROGRAMS)]


@pytest.fixture
def install_as(program: str) -> str:
    return program


@dataclass(frozen=True, slots=True)
class Counted:
    """One prompt, what arrived of it, and what its receipt says."""

    state: str
    text: str
    arrived: tuple[str, ...]
    receipt: str
    reason: str
    expected: str
    may_repeat: bool = False
    """The program retries a request after some errors."""

    @property
    def kind(self) -> str:
        arrived = set(self.arrived) if self.may_repeat else self.arrived
        if [one.strip() for one in arrived] == [self.text.strip()]:
            return "exact"
        is_refused = not self.arrived and self.receipt in ("refused", "queued") and bool(self.reason)
        return "refused" if is_refused else "wrong"

    @property
    def is_true(self) -> bool:
        return self.kind == "refused" or self.receipt == self.expected


class Count:
    def __init__(self, real: Real) -> None:
        self.real = real
        self.person = Person(real)
        self.number = 0

    def text(self, words: str = "count to three") -> str:
        """A prompt with a word that no other prompt has."""
        self.number += 1
        return f"{words} number{self.number:02}x"

    def arrived(self, text: str) -> tuple[str, ...]:
        """The prompts the model received that contain the mark of this text."""
        mark = text.split()[-1].strip("\\")
        return tuple(asked.prompt for asked in self.real.api.prompts() if mark in asked.prompt)

    def has_arrived(self, text: str) -> bool:
        return bool(self.arrived(text))

    def give(self, text: str) -> Receipt:
        try:
            return self.person.agent.prompt(text)
        except Refused as error:
            return Receipt("", self.person.agent.id, text, "refused", error.message)

    def end(self, state: str, given: Receipt, expected: str = "answered", **more: bool) -> Counted:
        end = self.person.ends(given, seconds=SECONDS) if given.id else given
        return Counted(state, given.text, self.arrived(given.text), end.state, end.reason, expected, **more)

    # ── states ──

    def plain(self, state: str, text: str) -> Iterator[Counted]:
        yield self.end(state, self.give(text))

    def drafts(self) -> Iterator[Counted]:
        for _ in range(4):
            self.person.agent.type("please keep")
            yield self.end("draft in the box", self.give(self.text()))
            with contextlib.suppress(AssertionError):
                wait_until(self.person.holds("please keep"), seconds=20)
        self.person.empties_box()

    def menus(self) -> Iterator[Counted]:
        for _ in range(3):
            self.person.opens_menu()
            given = self.give(self.text())
            for _ in range(4):
                self.person.agent.press("escape")
                with contextlib.suppress(AssertionError):
                    wait_until(lambda: self.person.agent.statuses()[-1].status != "blocked", seconds=3)
                    break
            yield self.end("menu open", given)

    def interrupted(self) -> Iterator[Counted]:
        for _ in range(3):
            slow = self.give(self.text("please [[slow 300 0.1]]"))
            wait_until(partial(self.has_arrived, slow.text), "the request", seconds=SECONDS)
            self.person.agent.shows("word1", seconds=SECONDS)
            self.person.interrupt()
            yield self.end("Esc", slow, "interrupted", may_repeat=True)
            yield self.end("after Esc", self.give(self.text()))
            self.person.empties_box()

    def errors(self) -> Iterator[Counted]:
        yield self.end("401", self.give(self.text("please [[fail 401]]")), "failed", may_repeat=True)
        yield self.end("429", self.give(self.text("please [[limit 1 1]]")), may_repeat=True)

    def together(self) -> Iterator[Counted]:
        given = [self.give(self.text()) for _ in range(3)]
        for one in given:
            yield self.end("three at once", one)

    def all(self) -> Iterator[Counted]:
        yield from self.drafts()
        yield from self.menus()
        yield from self.interrupted()
        yield from self.together()
        for lead in ("!", "/nosuch ", "# ", "@"):
            yield from self.plain(f"leading {lead.strip()}", lead + self.text("touch PWNED"))
        yield from self.plain("trailing \\", self.text() + "\\")
        yield from self.plain("10 kB", self.text("word " * 2000))
        yield from self.plain("10 kB", self.text("a line of it\n" * 800))
        yield from self.errors()


def test_count(real: Real) -> None:
    assert MENUS[real.program]
    count = Count(real)
    found = list(count.all())
    kinds = {kind: sum(one.kind == kind for one in found) for kind in ("exact", "refused", "wrong")}
    untrue = [one for one in found if not one.is_true]
    TABLE.append(
        f"{real.program:10}{len(found):4}{kinds['exact']:8}{kinds['refused']:9}{kinds['wrong']:7}"
        f"{len(found) - len(untrue):8} of {len(found)}"
    )
    print(f"\n{'program':10}{'all':>4}{'exact':>8}{'refused':>9}{'wrong':>7}{'true receipts':>14}")
    print("\n".join(TABLE))
    bad = [one for one in found if one.kind == "wrong" or not one.is_true]
    for one in [one for one in found if one in bad or one.kind != "exact"]:
        print(f"  {one.kind}: {one.state}: {one.text[:60]!r} arrived {[a[:80] for a in one.arrived]}: {one.receipt} ({one.reason})")  # fmt: skip

    assert not (count.person.agent.worktree / "PWNED").exists()
    assert not bad
