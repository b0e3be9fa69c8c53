"""Families of tables: what is written is read again, in one transaction with its journal line."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from fleet_tui.errors import NotFound, StoreDamaged
from fleet_tui.landings import Landing, LandingState
from fleet_tui.models import Evidence, Status
from fleet_tui.store.database import Store
from tests.store.sample_rows import add, agent, event


def test_an_agent_is_read_as_it_was_added(store: Store) -> None:
    full = agent(
        "full",
        status_detail="npm ci",
        evidence=Evidence("exit", "code 1", 5.0),
        exit_code=1,
        pid=7,
        branch_made=False,
    )
    add(store, full)

    assert store.agents.get("id-full") == full
    assert store.agents.intent("id-full") == {"argv": list(full.argv)}
    assert store.agents.all("/project") == [full]
    assert store.agents.all("/elsewhere") == []


def test_landings_move_with_their_project(store: Store) -> None:
    add(store, agent("a"))
    landing = Landing("l", "/project", "id-a", "main", "merge", "1", "2", "3", LandingState.LANDED, 4.0)
    with store.transaction():
        store.landings.add(landing)
        store.batches.move_project("/project", "/moved", name="moved", git_dir="/moved/.git", at=5.0)

    assert [one.id for one in store.landings.of("/moved")] == ["l"]
    assert store.check() == []


def test_an_agent_that_is_not_there_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        store.agents.get("nobody")


def test_agents_whose_status_was_written_since_a_line_of_the_journal_are_known(store: Store) -> None:
    add(store, agent("a"), agent("b"), agent("c"))
    since = store.state().journal_id
    with store.transaction():
        store.agents.change("id-a", 3.0, status=Status.DONE)
        store.agents.change("id-b", 3.0, title="another title")
    add(store, agent("d"))

    assert store.journal.agents_with_status_since(since) == {"id-a", "id-d"}
    assert store.journal.agents_with_status_since(0) == {"id-a", "id-b", "id-c", "id-d"}
    assert store.journal.agents_with_status_since(store.state().journal_id) == frozenset()


def test_a_change_is_journalled_in_the_same_transaction(store: Store) -> None:
    add(store, agent("a"))
    before = store.state().journal_id

    with pytest.raises(RuntimeError):
        _change_and_fail(store)
    assert store.agents.get("id-a").status is Status.SETUP
    assert store.journal.since(before) == []

    with store.transaction():
        store.agents.change("id-a", 3.0, status=Status.WORKING)
    (line,) = store.journal.since(before)
    assert (line["agent"], line["kind"], line["data"]) == ("id-a", "agent-changed", {"status": "working"})


def _change_and_fail(store: Store) -> None:
    with store.transaction():
        store.agents.change("id-a", 3.0, status=Status.WORKING)
        raise RuntimeError


def test_a_change_from_a_status_that_is_over_does_nothing(store: Store) -> None:
    add(store, agent("a", status=Status.STOPPED))
    before = store.state().journal_id

    with store.transaction():
        assert not store.agents.change("id-a", 3.0, only_from=[Status.WORKING], status=Status.EXITED)

    assert store.agents.get("id-a").status is Status.STOPPED
    assert store.journal.since(before) == []


def test_the_rows_of_a_fan_out_are_all_there_or_none(store: Store) -> None:
    add(store, agent("c"))

    with pytest.raises(StoreDamaged, match="UNIQUE"):
        add(store, agent("a"), agent("b"), agent("c"))

    assert [one.name for one in store.agents.all()] == ["c"]


def test_names_of_killed_and_failed_agents_are_free_again(store: Store) -> None:
    add(store, agent("alive"), agent("killed", status=Status.KILLED), agent("failed", status=Status.FAILED))

    with store.transaction():
        assert store.agents.taken_names("/project", ["alive", "killed", "failed", "new"]) == ["alive"]


def test_events_are_imported_once_however_often_they_are_read(store: Store) -> None:
    add(store, agent("a"))
    events = [event(1), event(2, "title", text="x")]
    for expected in (2, 0, 0):
        with store.transaction():
            assert len(store.agents.import_events("id-a", 1, 50, events)) == expected
    with store.transaction():
        fresh = store.agents.import_events("id-a", 1, 90, [*events, event(3)])

    assert [one["seq"] for one in fresh] == [3]
    assert store.agents.live() == [(agent("a"), 90)]


def test_events_of_another_run_are_imported_too(store: Store) -> None:
    add(store, agent("a"))
    with store.transaction():
        store.agents.import_events("id-a", 1, 50, [event(1)])
        assert len(store.agents.import_events("id-a", 2, 50, [event(1)])) == 1

    assert store.agents.live()[0][1] == 50


def test_receipts_advance_and_unknown_ones_are_ignored(store: Store) -> None:
    add(store, agent("a"))
    with store.transaction():
        store.receipts.put("r1", "id-a", "do it", "queued", "", 1.0)
        store.receipts.advance("r1", "id-a", "typed", "", 2.0)
        store.receipts.advance("of another store", "id-a", "typed", "", 2.0)

    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("select id, state from receipt").fetchall() == [("r1", "typed")]


def test_a_repeated_status_keeps_the_time_at_which_it_was_first_set(store: Store) -> None:
    one = agent("fix", status=Status.STARTING)
    add(store, one)
    with store.transaction():
        store.agents.change(one.id, 100.0, status=Status.WORKING)
        store.agents.change(one.id, 200.0, status=Status.WORKING, status_detail="still")
    assert store.agents.get(one.id).status_since == 100.0

    with store.transaction():
        store.agents.change(one.id, 300.0, status=Status.IDLE)

    assert store.agents.get(one.id).status_since == 300.0


def test_a_prompt_with_a_nul_byte_damages_no_record(store: Store) -> None:
    add(store, agent("a"))
    with store.transaction():
        store.receipts.put("p1", "id-a", "one\0two", "queued", "", 1.0)
        store.receipts.put("p2", "id-a", "three", "queued", "", 1.0)
        store.receipts.reword("p2", "id-a", "fo\0ur", 2.0)

    assert [store.receipts.get(one).text for one in ("p1", "p2")] == ["onetwo", "four"]
    assert store.check() == []
