"""Spending of agents, read from recorded conversations of the real programs."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.activity import spending
from fleet_tui.models import Agent, Batch, Spending, Status
from fleet_tui.programs.records import parse_time
from fleet_tui.store.database import Store
from tests.programs.conversations import BEFORE, lay, text, touch
from tests.real.homes import changed, contents

WORKTREE = "/trees/work"
ANSWERS = {"claude": 3, "codex": 3, "gemini": 3, "opencode": 3, "qwen": 4}
"""Answers in each recording; one of qwen's is to a request that it made by itself."""


def agent(profile: str, name: str = "a") -> Agent:
    return Agent(
        f"id-{name}", name, "/project", name, "c0ffee", WORKTREE, "b1", profile, ("run",), "", Status.IDLE, BEFORE
    )  # fmt: skip


@pytest.fixture
def store() -> Iterator[Store]:
    with closing(Store(paths.store())) as opened:
        yield opened


def added(store: Store, one: Agent) -> Agent:
    with store.transaction():
        store.batches.add(Batch("b1", "/project", 1.0), "project", [(one, {"argv": []})])
    return one


def spent(store: Store, one: Agent) -> Spending:
    return spending.up_to_date(store, [one]).get(one.id, Spending())


def counts(one: Spending) -> tuple[int, int, int]:
    return one.input_tokens, one.cached_tokens, one.output_tokens


def leave(one: Agent, run: int, **values: object) -> None:
    folder = paths.private(paths.run(one.id, run))
    (folder / "spending.json").write_text(json.dumps(values))


# ── each program ──


@pytest.mark.parametrize("program", sorted(ANSWERS))
def test_the_tokens_of_a_conversation_are_counted_once(store: Store, home: Path, program: str) -> None:
    one = added(store, agent(program))
    lay(program, home, WORKTREE)

    found = spent(store, one)

    number = ANSWERS[program]
    assert counts(found) == (312 * number, 2000 * number, 42 * number)
    assert found.model in {"claude-opus-5-5", "gpt-5-codex", "gemini-3.8-flash", "test", "test-model"}
    assert found.at > BEFORE


@pytest.mark.parametrize(
    ("program", "tokens", "limit"),
    [
        ("claude", 2312, 1_000_000),
        ("codex", 2354, 258_400),
        ("gemini", 2312, 1_048_576),
        ("opencode", 2312, None),
        ("qwen", 2312, None),
    ],
)
def test_the_context_is_that_of_the_newest_message(
    store: Store, home: Path, program: str, tokens: int, limit: int | None
) -> None:
    one = added(store, agent(program))
    lay(program, home, WORKTREE)

    found = spent(store, one)

    assert (found.context_tokens, found.context_limit) == (tokens, limit)
    assert (found.context is None) == (limit is None)


def test_claude_itself_says_what_a_finished_conversation_has_cost(store: Store, home: Path) -> None:
    one = added(store, agent("claude"))
    lay("claude", home, WORKTREE)

    assert spent(store, one).cost == pytest.approx(0.008364)


@pytest.mark.parametrize("program", ["codex", "gemini", "opencode", "qwen"])
def test_a_cost_that_no_record_states_is_unknown(store: Store, home: Path, program: str) -> None:
    one = added(store, agent(program))
    lay(program, home, WORKTREE)

    assert spent(store, one).cost is None


def test_a_helpers_tokens_count_and_its_context_does_not(store: Store, home: Path) -> None:
    one = added(store, agent("claude"))
    main = lay("claude", home, WORKTREE, variant="claude-with-helper")
    helpers = main.with_suffix("") / "subagents"
    helpers.mkdir(parents=True)
    lines = text("claude-helper.jsonl", WORKTREE).splitlines()
    line = json.loads(next(line for line in lines if '"usage"' in line))
    line["message"]["usage"]["cache_read_input_tokens"] = 90_000
    line["timestamp"] = "2026-11-17T23:00:00Z"
    (helpers / "agent-1.jsonl").write_text(json.dumps(line) + "\n")

    found = spent(store, one)

    assert counts(found) == (312 * 4, 2000 * 3 + 90_000, 42 * 4)
    assert found.context_tokens == 2312
    assert found.cost == pytest.approx(0.011152)


def test_what_a_copy_was_copied_from_was_spent_by_another(store: Store, home: Path) -> None:
    lay("claude", home, WORKTREE, variant="claude-fork")
    lines = [json.loads(line) for line in text("claude-fork.jsonl", WORKTREE).splitlines()]
    asked = next(line for line in lines if "which word" in str(line.get("message")))
    fork = added(store, replace(agent("claude"), created_at=parse_time(asked["timestamp"])))

    found = spent(store, fork)

    assert counts(found) == (312, 2000, 42)
    assert found.cost is None


def test_codex_goes_on_counting_from_what_was_copied(store: Store, home: Path) -> None:
    fork = added(store, agent("codex"))
    lay("codex", home, WORKTREE, variant="codex-fork")

    assert counts(spent(store, fork)) == (12, 0, 42)


def test_the_user_decides_where_a_program_keeps_its_records(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = added(store, agent("claude"))
    lay("claude", tmp_path / "other", WORKTREE)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "other" / ".claude"))

    assert spent(store, one).output_tokens == 126


def test_a_folder_may_have_any_characters_in_its_path(store: Store, home: Path) -> None:
    one = added(store, replace(agent("claude"), worktree="/trees/é😀x_y"))
    folder = home / ".claude" / "projects" / "-trees----x-y"
    folder.mkdir(parents=True)
    (folder / "705a3c86-45ec-401d-a925-c6a5a26a0a20.jsonl").write_text(text("claude.jsonl", one.worktree))

    assert spent(store, one).output_tokens == 126


def test_a_program_without_records_has_spent_nothing_that_is_known(store: Store) -> None:
    one = added(store, agent("shell"))

    assert spending.up_to_date(store, [one]) == {}


def test_of_long_paths_whose_names_are_cut_alike_each_has_its_own(store: Store, home: Path) -> None:
    long = "/trees/" + "x" * 200
    one = added(store, replace(agent("claude"), worktree=f"{long}/one"))
    other = added(store, replace(agent("claude", "b"), worktree=f"{long}/other"))
    cut = home / ".claude" / "projects" / f"-trees-{'x' * 193}-aq9813"
    cut.mkdir(parents=True)
    (cut / "705a3c86-45ec-401d-a925-c6a5a26a0a20.jsonl").write_text(text("claude.jsonl", one.worktree))

    assert spent(store, one).output_tokens == 126
    assert spent(store, other) == Spending()


def test_a_conversation_in_another_folder_belongs_to_another_agent(store: Store, home: Path) -> None:
    for program in ANSWERS:
        lay(program, home, "/trees/other")
        one = added(store, agent(program, program))

        assert spent(store, one) == Spending()


def test_reading_leaves_every_record_as_it_was(store: Store, home: Path) -> None:
    for program in ANSWERS:
        lay(program, home, WORKTREE)
        added(store, agent(program, program))
    before = contents(home)

    found = spending.up_to_date(store, [agent(program, program) for program in ANSWERS])

    assert len(found) == len(ANSWERS)
    ours = ".local/state/fleet-tui/"
    assert [name for name in changed(before, contents(home)) if not name.startswith(ours)] == []


def test_a_database_is_read_while_its_program_writes_to_it(store: Store, home: Path) -> None:
    one = added(store, agent("opencode"))
    file = lay("opencode", home, WORKTREE)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("begin immediate")
        db.execute("update session set title = 'in between'")

        assert spent(store, one).output_tokens == 126

        db.execute("commit")
        db.execute("delete from message where id = (select max(id) from message)")
        assert spent(store, one).output_tokens == 84


# ── the user's own data ──


def user_profile(name: str, content: str) -> None:
    file = paths.user_profiles() / f"{name}.toml"
    file.parent.mkdir(parents=True)
    file.write_text(content)


def test_a_users_prices_give_a_cost(store: Store, home: Path) -> None:
    user_profile("codex", '[spending.prices."gpt-5*"]\ninput = 10\ncached = 1\noutput = 100\n')
    one = added(store, agent("codex"))
    lay("codex", home, WORKTREE)

    assert spent(store, one).cost == pytest.approx((936 * 10 + 6000 + 126 * 100) / 1e6)


def test_prices_apply_where_the_program_has_not_recorded_the_cost(store: Store, home: Path) -> None:
    user_profile("claude", '[spending.prices."claude-*"]\ninput = 10\ncached = 1\noutput = 100\n')
    one = added(store, agent("claude"))
    file = lay("claude", home, WORKTREE)
    again = next(line for line in file.read_text().splitlines() if '"usage"' in line)
    with file.open("a") as end:
        end.write(again.replace('"id":"msg_', '"id":"msg_another') + "\n")

    assert spent(store, one).cost == pytest.approx(0.008364 + (312 * 10 + 2000 + 42 * 100) / 1e6)


def test_a_cost_that_is_out_of_date_is_not_known(store: Store, home: Path) -> None:
    one = added(store, agent("claude"))
    file = lay("claude", home, WORKTREE)
    again = next(line for line in file.read_text().splitlines() if '"usage"' in line)
    with file.open("a") as end:
        end.write(again.replace('"id":"msg_', '"id":"msg_another') + "\n")

    assert spent(store, one).cost is None


def test_the_last_limit_that_matches_counts(store: Store, home: Path) -> None:
    user_profile("claude", '[spending.limits]\n"claude-opus-*" = 23120\n')
    one = added(store, agent("claude"))
    lay("claude", home, WORKTREE)

    assert spent(store, one).context == 10.0


# ── reading on ──


@pytest.mark.parametrize("program", ["claude", "codex", "gemini", "qwen"])
def test_a_record_that_grows_is_read_on_to_the_same_sums(store: Store, home: Path, program: str) -> None:
    one = added(store, agent(program))
    file = lay(program, home, WORKTREE)
    whole = file.read_bytes()
    at_once = spent(store, one)
    stepwise = added(store, agent(program, "b"))
    for end in sorted(random.Random(4).sample(range(len(whole)), 40)):
        file.write_bytes(whole[:end])
        touch(file)
        spent(store, stepwise)
    file.write_bytes(whole)
    touch(file)

    assert spent(store, stepwise) == at_once


def test_only_what_was_appended_is_read(store: Store, home: Path) -> None:
    one = added(store, agent("claude"))
    file = lay("claude", home, WORKTREE)
    first = spent(store, one)
    content = file.read_bytes()
    # Reading this part again would change the sums.
    file.write_bytes(content.replace(b'"cache_read_input_tokens":2000', b'"cache_read_input_tokens":9999'))
    touch(file)

    assert spent(store, one) == first


def test_what_has_not_changed_is_not_even_opened(store: Store, home: Path) -> None:
    one = added(store, agent("codex"))
    file = lay("codex", home, WORKTREE)
    first = spent(store, one)
    stamp = file.stat()
    file.write_bytes(file.read_bytes().replace(b"token_count", b"token_shout"))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert spent(store, one) == first


def test_a_record_that_shrank_is_read_anew(store: Store, home: Path) -> None:
    one = added(store, agent("claude"))
    file = lay("claude", home, WORKTREE)
    spent(store, one)
    kept = [line for line in file.read_text().splitlines() if '"usage"' in line][:1]
    file.write_text("\n".join(kept) + "\n")

    assert counts(spent(store, one)) == (312, 2000, 42)


@pytest.mark.parametrize("program", sorted(ANSWERS))
def test_what_was_spent_stays_known_when_the_record_is_gone(store: Store, home: Path, program: str) -> None:
    one = added(store, agent(program))
    file = lay(program, home, WORKTREE)
    first = spent(store, one)
    file.unlink()

    assert spent(store, one) == first
    assert spent(store, one) == first


def test_a_second_conversation_adds_to_the_first(store: Store, home: Path) -> None:
    one = added(store, agent("claude"))
    file = lay("claude", home, WORKTREE)
    spent(store, one)
    other = file.with_name("11111111-1111-4111-8111-111111111111.jsonl")
    other.write_text(file.read_text().replace('"id":"msg_', '"id":"msg_other'))

    assert counts(spent(store, one)) == (312 * 6, 2000 * 6, 42 * 6)


@pytest.mark.parametrize("program", sorted(ANSWERS))
def test_no_malformed_record_fails_a_caller(store: Store, home: Path, program: str) -> None:
    chance = random.Random(7)
    file = lay(program, home, WORKTREE)
    whole = file.read_bytes()
    for number in range(60):
        one = added(store, agent(program, str(number)))
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 60)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        file.write_bytes(bytes(data))

        spending.up_to_date(store, [one])


def test_a_line_with_other_types_is_passed_over(store: Store, home: Path) -> None:
    one = added(store, agent("claude"))
    file = lay("claude", home, WORKTREE)
    strange = [
        '{"type":"assistant","message":{"usage":[1]}}',
        '{"type":"cost-state","totalCostUSD":"much"}',
        "[1]",
    ]
    odd = '{"type":"assistant","timestamp":5,"message":{"model":7,"id":[],"usage":{"input_tokens":"12"}}}'
    file.write_text("\n".join([*strange, odd, "\0\0", file.read_text()]))

    assert spent(store, one).output_tokens == 126


def test_spending_can_be_read_from_a_read_only_store(store: Store, home: Path) -> None:
    one = added(store, agent("claude"))
    lay("claude", home, WORKTREE)
    store.db.is_newer = True

    assert spent(store, one).output_tokens == 126
    assert store.spending.all() == {}


# ── runs without a terminal ──


def test_what_runs_leave_in_their_folders_adds_up(store: Store) -> None:
    one = added(store, replace(agent("shell"), run=2))
    leave(one, 1, input_tokens=10, cached_tokens=5, output_tokens=1, cost=0.5, model="m")
    leave(
        one,
        2,
        input_tokens=20,
        cached_tokens=0,
        output_tokens=2,
        cost=0.25,
        context_tokens=30,
        context_limit=60,
    )

    found = spent(store, one)

    assert (counts(found), found.cost, found.context) == ((30, 5, 3), 0.75, 50.0)


def test_a_run_without_a_cost_makes_the_sum_unknown(store: Store) -> None:
    one = added(store, replace(agent("shell"), run=2))
    leave(one, 1, input_tokens=10, cost=0.5)
    leave(one, 2, input_tokens=20, cost=None)

    assert spent(store, one).cost is None


def test_the_sums_of_a_run_fill_in_what_the_records_lack(store: Store, home: Path) -> None:
    one = added(store, agent("codex"))
    lay("codex", home, WORKTREE)
    leave(one, 1, input_tokens=936, cached_tokens=6000, output_tokens=126, cost=0.125)

    found = spent(store, one)

    assert (found.input_tokens, found.cost) == (936, 0.125)


@pytest.mark.parametrize("content", ["", "[]", "7", '{"input_tokens":"many"}', '{"model":[]}'])
def test_a_malformed_file_of_a_run_is_passed_over(store: Store, content: str) -> None:
    one = added(store, agent("shell"))
    leave(one, 1)
    (paths.run(one.id, 1) / "spending.json").write_text(content)

    assert spent(store, one) == Spending()


# ── days ──


def test_what_was_spent_on_an_earlier_day_is_known_apart(store: Store) -> None:
    one = added(store, replace(agent("shell"), run=2))
    leave(one, 1, input_tokens=10, cost=0.5)
    yesterday = (paths.run(one.id, 1) / "spending.json").stat().st_mtime - 86_400
    os.utime(paths.run(one.id, 1) / "spending.json", (yesterday, yesterday))
    assert spent(store, replace(one, run=1)).cost_before == 0.0

    leave(one, 2, input_tokens=10, cost=0.25)

    found = spent(store, one)
    assert (found.cost, found.cost_before) == (0.75, 0.5)
