"""What agents have spent, as the dashboard finds it out and shows it."""

from __future__ import annotations

import json
import queue
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.faces.observer.spending_watch import SPENDING_SECONDS, SpendingWatch
from fleet_tui.faces.totals import spent_today
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Spending, Status
from fleet_tui.tui.widgets.detail import gauge, spent
from fleet_tui.tui.widgets.lines import Line
from tests.tui import fleet_states
from tests.tui.running_dashboard import drive, opened

KNOWN = Spending(
    20_000, 100_000, 8_000, cost=0.42, context_tokens=82_000, context_limit=200_000, at=fleet_states.NOW
)


def text(line: Line) -> str:
    return "".join(part for part, _ in line)


# ── the detail ──


@pytest.mark.parametrize(
    ("spending", "shown"),
    [
        (KNOWN, "$0.42 120k in, 8k out"),
        (replace(KNOWN, cost=None), "120k in, 8k out"),
        (Spending(), "–"),
    ],
)
def test_what_was_spent_is_a_line_with_a_dash_for_what_is_not_known(spending: Spending, shown: str) -> None:
    assert text(spent(spending)) == shown


def test_the_context_fills_its_row_in_proportion() -> None:
    label, full, rest, value = gauge("ctx", KNOWN, 20)

    assert (len(full[0]), len(rest[0])) == (8, 12)
    assert value[0].strip() == "41%"
    assert label[0] == " ctx  "


@pytest.mark.parametrize("tokens", [0, 1, 500_000])
def test_the_context_row_has_the_same_width_however_full_it_is(tokens: int) -> None:
    filled = gauge("ctx", replace(KNOWN, context_tokens=tokens), 20)
    unknown = gauge("ctx", Spending(), 20)

    assert len(text(filled)) == len(text(unknown))
    assert text(unknown).split() == ["ctx", "–"]


# ── the header ──


def test_only_what_was_spent_today_counts_as_today() -> None:
    earlier = replace(KNOWN, at=fleet_states.NOW - 2 * 86_400)
    since_yesterday = replace(KNOWN, cost=1.0, cost_before=0.75)

    assert spent_today([KNOWN, earlier, since_yesterday], fleet_states.NOW) == pytest.approx(0.67)
    assert spent_today([earlier, replace(KNOWN, cost=None)], fleet_states.NOW) is None


# ── finding out ──


def test_only_agents_that_printed_something_or_ended_are_looked_at_again(tmp_path: Path) -> None:
    one, two = fleet_states.SMALL.agents[0], fleet_states.SMALL.agents[2]
    watch = SpendingWatch(lambda: Fleet(tmp_path))

    def asked(now: float, active: dict[str, float], last: Agent = two) -> list[str]:
        watch.ask([one, last], active, now)
        try:
            return [agent.id for agent in watch._wanted.get_nowait()]
        except queue.Empty:
            return []

    assert asked(0.0, {}) == [one.id, two.id]
    assert asked(SPENDING_SECONDS, {}) == []
    assert asked(SPENDING_SECONDS + 1, {two.id: 5.0}) == []
    assert asked(2 * SPENDING_SECONDS, {two.id: 5.0}) == [two.id]
    assert asked(3 * SPENDING_SECONDS, {two.id: 5.0}) == []
    ended = replace(two, status=Status.EXITED)
    assert asked(4 * SPENDING_SECONDS, {two.id: 5.0}, ended) == [two.id]


@pytest.mark.slow
def test_what_an_agent_has_spent_is_on_the_dashboard(fleet: Fleet, repository: Path) -> None:
    agent = fleet.create("fix", profile="shell", prompt="while read line; do echo got $line; done")
    values = {"input_tokens": 5000, "cached_tokens": 7000, "output_tokens": 800, "cost": 1.25}
    (paths.run(agent.id, 1) / "spending.json").write_text(json.dumps(values))

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: agent.id in driven.dashboard.view.live.spending, "it is known")
            assert driven.dashboard.view.live.spending[agent.id].cost == 1.25

    drive(go())
