"""The list of agents as a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import pytest

from fleet_tui.cli.table import COLUMNS, ROLE_COLORS, agent_table, fitted, width_of
from fleet_tui.faces.plain import AgentDetails
from fleet_tui.faces.wording import ColorRole
from fleet_tui.models import Agent, PromptSummary, Spending, Status
from fleet_tui.work import PullRequest
from tests.faces.sample_agent import BUSY, NOW, ONE, SPENT

pytestmark = pytest.mark.pure


def table(
    *agents: Agent,
    width: int = 120,
    grouped: bool = False,
    color: bool = False,
    spent: Mapping[str, Spending] | None = None,
    prompts: Mapping[str, PromptSummary] | None = None,
) -> list[str]:
    listed = [
        AgentDetails(
            agent,
            BUSY if agent.id == ONE.id else None,
            (spent or {}).get(agent.id),
            (prompts or {}).get(agent.id, PromptSummary()),
        )
        for agent in agents
    ]
    return agent_table(listed, now=NOW, width=width, color=color, grouped=grouped).split("\n")


def shown_width(line: str) -> int:
    return width_of(re.sub(r"\x1b\[[0-9;]*m", "", line))


def test_a_row_has_name_status_usage_age_and_prompt() -> None:
    header, row, _, totals = table(ONE)

    assert header.split() == ["NAME", "BATCH", "PROFILE", "STATUS", "CPU%", "MEM", "AGE"]
    assert row.split() == [
        "●",
        "fix-login",
        "261116-x7k2",
        "claude",
        "working",
        "141",
        "210M",
        "12m",
        "Fix",
        "the",
        "login",
    ]
    assert totals == "1 agent · 1 working · 1.4 cores, 210M"


def test_a_column_has_pull_requests_if_there_are_any() -> None:
    request = PullRequest(ONE.id, "https://host/1", 12, "open", "failed", "changes requested", 0, NOW)
    listed = [AgentDetails(ONE, pull_request=request), AgentDetails(replace(ONE, id="b", name="b"))]

    header, row, *_ = agent_table(listed, now=NOW, width=200, color=False, grouped=False).split("\n")

    assert row[header.index(" PR ") + 1 :].startswith("#12 ✗ changes requested  12m")
    assert " PR " not in table(ONE)[0]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    agents = [
        ONE,
        replace(ONE, id="b", name="x" * 100),
        replace(ONE, id="c", name="日本語" * 10, prompt="長い" * 80),
    ]

    for line in table(*agents, width=width, color=True):
        assert shown_width(line) <= width


def test_a_narrow_terminal_keeps_name_and_status() -> None:
    header, row, *_ = table(ONE, width=40)

    assert "NAME" in header
    assert "STATUS" in header
    assert "BATCH" not in header
    assert "working" in row


def test_piped_output_has_whole_names() -> None:
    assert "x" * 120 in table(replace(ONE, name="x" * 120), width=400)[1]


def test_columns_are_aligned_with_wide_characters() -> None:
    _, first, second, *_ = table(replace(ONE, name="日本"), replace(ONE, id="b", name="four"))

    assert shown_width(first[: first.index("261116")]) == shown_width(second[: second.index("261116")])


def test_control_characters_never_reach_the_terminal() -> None:
    text = "\n".join(table(replace(ONE, name="a\x1b]0;owned\x07", prompt="\x1b[2Jgone\x9b31m")))

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


def test_groups_have_a_heading_with_their_number_and_no_batch_column() -> None:
    lines = table(
        ONE, replace(ONE, id="b", name="other", batch="manual"), replace(ONE, id="c", name="b"), grouped=True
    )

    assert "BATCH" not in lines[0]
    assert lines[1] == "261116-x7k2 (2)"
    assert lines[4] == "manual (1)"


def test_the_heading_of_a_group_has_the_name_that_the_dashboard_shows_and_the_id() -> None:
    lines = table(replace(ONE, name="login-A"), replace(ONE, id="b", name="login-B"), grouped=True)

    assert lines[1] == "login [261116-x7k2] (2)"


def test_a_batch_is_called_by_its_name_and_by_its_id_where_several_have_that_name() -> None:
    def batches(*agents: tuple[str, str]) -> list[str]:
        rows = [replace(ONE, id=name, name=name, batch=batch) for name, batch in agents]
        return [line.split()[2] for line in table(*rows)[1 : len(rows) + 1]]

    first, second = "261116-x7k2", "261116-aaaa"
    assert batches(("login-A", first), ("login-B", first), ("fix", "manual-20261116")) == [
        "login",
        "login",
        "manual",
    ]
    assert batches(("login-A", first), ("login-B", second)) == [first, second]


def test_projects_are_named_only_when_there_are_several() -> None:
    other = replace(ONE, id="other", project="/src/till")

    assert "shop" in table(ONE, other)[1]
    assert "shop" not in table(ONE, replace(ONE, id="other"))[1]


def test_a_failed_agent_shows_its_reason_instead_of_its_prompt() -> None:
    failed = replace(ONE, status=Status.FAILED, status_detail="setup: 'make' ended with code 2")

    row = table(failed)[1]

    assert "setup: 'make' ended with code 2" in row
    assert "Fix the login" not in row


def test_rows_are_colored_by_status_and_only_if_wanted() -> None:
    blocked = replace(ONE, status=Status.BLOCKED)

    assert "\x1b[1;33m" in table(blocked, color=True)[1]
    assert "\x1b" not in "".join(table(blocked))


def test_a_list_longer_than_the_screen_keeps_its_totals_and_counts_hidden_rows() -> None:
    lines = [f"line {number}" for number in range(10)] + ["", "totals"]

    assert fitted(lines, 5) == ["line 0", "line 1", "line 2", "… 7 more", "totals"]
    assert fitted(lines, 12) == lines
    assert len(fitted(lines, 2)) == 2


def test_a_prompt_of_megabytes_is_not_read_to_its_end() -> None:
    assert shown_width(table(replace(ONE, prompt="x" * 1_000_000), width=1_000_000)[1]) < 2100


# ── what was spent ──


def test_context_and_cost_have_columns_if_any_agent_has_them() -> None:
    other = replace(ONE, id="other", name="other")

    header, row, unknown, _, totals = table(ONE, other, spent={ONE.id: SPENT})

    assert header.split()[6:] == ["CTX", "COST", "AGE"]
    assert row.split()[6:9] == ["210M", "41%", "$0.42"]
    assert "%" not in unknown
    assert "$" not in unknown
    assert totals.endswith("$0.42 · 120k in · 8k out")


def test_an_unknown_cost_has_no_column() -> None:
    header, *_, totals = table(ONE, spent={ONE.id: replace(SPENT, cost=None)})

    assert "CTX" in header
    assert "COST" not in header
    assert totals.endswith("120k in · 8k out")


def test_cost_and_context_leave_a_narrow_table_before_the_status() -> None:
    widths = {width: table(ONE, width=width, spent={ONE.id: SPENT})[0].split() for width in range(24, 121)}

    assert {"CTX", "COST"} <= set(widths[120])
    narrow = [names for names in widths.values() if "COST" not in names]
    assert narrow
    assert all("STATUS" in names for names in narrow)


def test_a_batch_has_the_sum_of_what_its_agents_have_spent() -> None:
    other = replace(ONE, id="other", name="other")
    spent = {ONE.id: SPENT, "other": replace(SPENT, cost=1.0)}

    assert table(ONE, other, grouped=True, spent=spent)[1] == "261116-x7k2 (2)  $1.42 · 240k in · 16k out"


def test_a_waiting_prompt_shows_its_reason_unless_the_status_does() -> None:
    waiting = {ONE.id: PromptSummary(2, "queued", "", waits="its input box holds a draft")}

    idle = table(replace(ONE, status=Status.IDLE), prompts=waiting, width=160)
    working = table(replace(ONE, status=Status.WORKING), prompts=waiting, width=160)

    assert "2 queued: its input box holds a draft" in idle[1]
    assert "queued" not in working[1]


def test_every_color_role_has_a_color() -> None:
    assert set(ROLE_COLORS) == set(get_args(ColorRole))


def test_no_two_columns_have_the_same_rank() -> None:
    ranks = [column.rank for column in COLUMNS if column.rank]

    assert len(set(ranks)) == len(ranks)
