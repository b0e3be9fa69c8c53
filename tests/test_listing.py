"""How agents are printed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui import listing
from fleet_tui.models import Agent, Contents, Ignored, InTrash, Prompted, Spending, Status, Trash, Usage

pytestmark = pytest.mark.pure

NOW = 1_000_000.0
ONE = Agent(
    id="abcdefghjk",
    name="fix-login",
    project="/src/shop",
    branch="fix-login",
    base="0" * 40,
    worktree="/trees/fix-login-abcdefghjk",
    batch="261116-x7k2",
    profile="claude",
    argv=("/bin/claude",),
    prompt="Fix the login",
    status=Status.WORKING,
    created_at=NOW - 750,
    pid=42,
)
BUSY = Usage(cpu=141.2, memory=210 << 20, processes=3)
SPENT = Spending(20_000, 100_000, 8_000, cost=0.42, context_tokens=82_000, context_limit=200_000)


def table(
    *agents: Agent,
    width: int = 120,
    grouped: bool = False,
    color: bool = False,
    projects: bool = False,
    spent: Mapping[str, Spending] | None = None,
    prompts: Mapping[str, Prompted] | None = None,
) -> list[str]:
    text = listing.table(
        agents,
        {ONE.id: BUSY},
        now=NOW,
        width=width,
        color=color,
        grouped=grouped,
        projects=projects,
        spent=spent,
        prompts=prompts,
    )
    return text.split("\n")


def width_of(line: str) -> int:
    return listing._width(re.sub(r"\x1b\[[0-9;]*m", "", line))


def test_a_row_says_who_what_since_when_and_how_much() -> None:
    header, row, _, totals = table(ONE)

    assert header.split() == ["NAME", "BATCH", "AGENT", "STATUS", "CPU%", "MEM", "AGE"]
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


def test_json_has_the_promised_keys_and_survives_any_text() -> None:
    odd = replace(ONE, prompt='quo"te\n\x1b[31m \udcff 日本', exit_code=None)

    [record] = json.loads(listing.as_json([odd], {odd.id: BUSY}))

    promised = (
        "id name project branch worktree batch profile status pid cpu memory created_at prompt exit_code"
    )
    assert set(promised.split()) <= set(record)
    assert record["prompt"] == odd.prompt
    assert (record["cpu"], record["memory"], record["status"], record["pid"]) == (
        141.2,
        210 << 20,
        "working",
        42,
    )


def test_an_ended_agent_has_no_pid_in_json_for_somebody_to_kill() -> None:
    [record] = json.loads(listing.as_json([replace(ONE, status=Status.EXITED, exit_code=3)], {}))

    assert (record["pid"], record["exit_code"], record["cpu"]) == (None, 3, 0.0)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    agents = [
        ONE,
        replace(ONE, id="b", name="x" * 100),
        replace(ONE, id="c", name="日本語" * 10, prompt="長い" * 80),
    ]

    for line in table(*agents, width=width, color=True):
        assert width_of(line) <= width


def test_a_narrow_terminal_keeps_name_and_status_and_drops_the_rest_first() -> None:
    header, row, *_ = table(ONE, width=40)

    assert "NAME" in header
    assert "STATUS" in header
    assert "BATCH" not in header
    assert "working" in row


def test_a_program_that_reads_the_list_gets_whole_names() -> None:
    assert "x" * 120 in table(replace(ONE, name="x" * 120), width=400)[1]


def test_columns_stay_below_each_other_with_wide_characters() -> None:
    _, first, second, *_ = table(replace(ONE, name="日本"), replace(ONE, id="b", name="four"))

    assert width_of(first[: first.index("261116")]) == width_of(second[: second.index("261116")])


def test_control_characters_of_others_never_reach_the_terminal() -> None:
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
    assert "shop" in table(ONE, projects=True)[1]
    assert "shop" not in table(ONE)[1]


def test_why_it_failed_stands_where_the_prompt_stood() -> None:
    failed = replace(ONE, status=Status.FAILED, status_detail="setup: 'make' ended with code 2")

    row = table(failed)[1]

    assert "setup: 'make' ended with code 2" in row
    assert "Fix the login" not in row


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_glyph_and_a_word(status: Status) -> None:
    assert listing.GLYPHS[status]
    assert listing.word(replace(ONE, status=status))


def test_words_say_more_where_there_is_more_to_say() -> None:
    assert listing.word(replace(ONE, status=Status.EXITED, exit_code=2)) == "exited 2"
    assert listing.word(replace(ONE, status=Status.EXITED, exit_signal=9)) == "exited, signal 9"
    assert listing.word(replace(ONE, status=Status.BLOCKED, status_detail="permission")) == "permission"


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (200_000, "2d")]
)
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert listing.age(seconds) == text


def test_colour_is_by_status_and_only_when_asked_for() -> None:
    blocked = replace(ONE, status=Status.BLOCKED)

    assert "\x1b[1;33m" in table(blocked, color=True)[1]
    assert "\x1b" not in "".join(table(blocked))


def test_a_list_longer_than_the_screen_keeps_its_totals_and_says_how_many_are_left_out() -> None:
    lines = [f"line {number}" for number in range(10)] + ["", "totals"]

    assert listing.fitted(lines, 5) == ["line 0", "line 1", "line 2", "… 7 more", "totals"]
    assert listing.fitted(lines, 12) == lines
    assert len(listing.fitted(lines, 2)) == 2


def in_trash(agent: Agent, contents: Contents | None = None, *, is_over: bool = False) -> InTrash:
    return InTrash(agent, contents or Contents(), (agent.ended_at or 0.0) + 14 * 86_400, is_over)


def test_the_trash_is_listed_with_ages_times_and_places() -> None:
    killed = replace(ONE, status=Status.KILLED, ended_at=NOW - 120, trash="/trees/.trash/x")

    other = replace(killed, name="日本", ended_at=NOW - 40_000, trash="/trees/.trash/y")

    found = Trash((in_trash(killed, Contents(size=3 << 20)), in_trash(other, is_over=True)), 3 << 20, 5 << 30)
    assert listing.trash(found, now=NOW).split("\n") == [
        "fix-login  2m ago   3M  leaves in 13d  /trees/.trash/x",
        "日本       11h ago  0B  leaves next    /trees/.trash/y",
        "2 in the trash (fleet undo brings back the last kill, fleet undo NAME one agent)",
        "What leaves is saved under refs/fleet/trash, but not what is ignored.",
    ]
    assert listing.trash(Trash((), 0, 1), now=NOW) == "0 in the trash"


def test_the_trash_tells_what_is_in_it_and_what_keeps_it_there() -> None:
    killed = replace(ONE, status=Status.KILLED, ended_at=NOW - 120, trash="/trees/.trash/x")
    contents = Contents(
        size=400 << 20,
        uncommitted=tuple(f"file-{number}" for number in range(10)),
        ignored=(Ignored(".env", 9), Ignored("build/", 5000), Ignored("node_modules/", 400 << 20)),
        obstacles=(("it holds another repository in build/x", "undo, and move it"),),
    )

    found = Trash((in_trash(killed, contents),), 6 << 30, 5 << 30)
    assert listing.trash(found, [(Path("/trees/.trash/y.ignored.tar"), NOW + 90_000)], now=NOW).split(
        "\n"
    ) == [
        "fix-login  2m ago  400M  stays  /trees/.trash/x",
        "    uncommitted: file-0, file-1, file-2, file-3, file-4, file-5, file-6, file-7 and 2 more",
        "    ignored: .env 9B, build/ 4K",
        "    ignored, deleted when it leaves: node_modules/ 400M",
        "    stays: it holds another repository in build/x (undo, and move it)",
        "ignored files of an emptied worktree, deleted in 1d: /trees/.trash/y.ignored.tar",
        "1 in the trash (fleet undo brings back the last kill, fleet undo NAME one agent)",
        "What leaves is saved under refs/fleet/trash, but not what is ignored.",
        "The trash of all projects is over its limit: 6.0G of 5.0G (fleet.trash_mb). "
        "The oldest leave with the next create; nothing leaves in its first day.",
    ]
    free = Trash((in_trash(killed, replace(contents, obstacles=())),), 0, 1)
    assert "    ignored, deleted in 13d: .env 9B, build/ 4K" in listing.trash(free, now=NOW).split("\n")
    record = json.loads(listing.trash_json(found))[0]
    assert record["ignored"][0] == {"path": ".env", "size": 9}
    assert record["obstacles"] == [{"text": contents.obstacles[0][0], "hint": contents.obstacles[0][1]}]
    assert record["leaves_at"] is None


def test_a_prompt_of_megabytes_is_not_read_to_its_end() -> None:
    assert width_of(table(replace(ONE, prompt="x" * 1_000_000), width=1_000_000)[1]) < 2100


# ── what was spent ──


def test_context_and_cost_have_columns_when_they_are_known_of_somebody() -> None:
    other = replace(ONE, id="other", name="other")

    header, row, unknown, _, totals = table(ONE, other, spent={ONE.id: SPENT})

    assert header.split()[6:] == ["CTX", "COST", "AGE"]
    assert row.split()[6:9] == ["210M", "41%", "$0.42"]
    assert "%" not in unknown
    assert "$" not in unknown
    assert totals.endswith("$0.42 · 120k in · 8k out")


def test_a_cost_that_is_not_known_has_no_column() -> None:
    header, *_, totals = table(ONE, spent={ONE.id: replace(SPENT, cost=None)})

    assert "CTX" in header
    assert "COST" not in header
    assert totals.endswith("120k in · 8k out")


def test_where_it_is_narrow_cost_and_context_leave_before_the_status() -> None:
    widths = {width: table(ONE, width=width, spent={ONE.id: SPENT})[0].split() for width in range(24, 121)}

    assert {"CTX", "COST"} <= set(widths[120])
    narrow = [names for names in widths.values() if "COST" not in names]
    assert narrow
    assert all("STATUS" in names for names in narrow)


def test_a_batch_has_the_sum_of_what_its_agents_have_spent() -> None:
    other = replace(ONE, id="other", name="other")
    spent = {ONE.id: SPENT, "other": replace(SPENT, cost=1.0)}

    assert table(ONE, other, grouped=True, spent=spent)[1] == "261116-x7k2 (2)  $1.42 · 240k in · 16k out"


def test_json_has_tokens_cost_and_context_and_null_for_what_is_not_known() -> None:
    other = replace(ONE, id="other", name="other")

    known, unknown = json.loads(listing.as_json([ONE, other], {}, {ONE.id: SPENT}))

    assert known["tokens"] == {"input": 20_000, "cached": 100_000, "output": 8_000}
    assert (known["cost"], known["context"]) == (0.42, 41.0)
    assert [unknown[name] for name in ("tokens", "cost", "context")] == [None, None, None]


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (119_600, "120k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (3_440_000, "3.4M"),
    ],
)
def test_tokens_are_short(count: int, shown: str) -> None:
    assert listing.tokens(count) == shown


@pytest.mark.parametrize(
    ("cost", "shown"), [(None, ""), (0.0, "$0.00"), (0.004, "<$0.01"), (0.005, "$0.01"), (12.0, "$12.00")]
)
def test_a_cost_is_in_cents(cost: float | None, shown: str) -> None:
    assert listing.dollars(cost) == shown


def test_a_prompt_that_waits_for_no_evident_reason_says_for_what() -> None:
    waiting = {ONE.id: Prompted(2, "queued", "", waits="its input box holds a draft")}

    idle = table(replace(ONE, status=Status.IDLE), prompts=waiting, width=160)
    working = table(replace(ONE, status=Status.WORKING), prompts=waiting, width=160)

    assert "2 queued: its input box holds a draft" in idle[1]
    assert "queued" not in working[1]
