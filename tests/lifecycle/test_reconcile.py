"""Reconciling the store with locks and files: rows are marked, never deleted, and nothing is guessed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fleet_tui import paths
from fleet_tui.faces.wording import lost_output
from fleet_tui.holder.event_log import EventLog
from fleet_tui.holder.lock import take_lock
from fleet_tui.holder.run_folder import Exit, ExitRecord, Holder, write_record
from fleet_tui.lifecycle.intent import Intent
from fleet_tui.lifecycle.rebuild import restore
from fleet_tui.lifecycle.reconcile import reconcile
from fleet_tui.models import Agent, Batch, Status
from fleet_tui.prompting.why import why
from fleet_tui.store.database import Store
from fleet_tui.system.identity import boot_id, here


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with closing(Store(paths.store())) as opened:
        yield opened


def add(store: Store, name: str = "a", **values: Any) -> Agent:
    """An agent that the store believes to be working, and its folder."""
    worktree = Path(paths.state()).parent / "worktrees" / name
    worktree.mkdir(parents=True)
    (worktree / "work.txt").write_text("precious")
    row: dict[str, Any] = {
        "id": f"id-{name}", "name": name, "project": str(worktree.parent), "branch": name, "base": "c0ffee",
        "worktree": str(worktree), "batch": "b1", "profile": "generic", "argv": ("run",), "prompt": "",
        "status": Status.WORKING, "created_at": 1.0, "machine": here(), "boot_id": boot_id(), "pid": 77,
        "keeper_pid": 78,
    }  # fmt: skip
    agent = Agent(**row | values)
    intent = Intent(
        agent.project, agent.project, name, "c0ffee", agent.worktree, True, True, "generic", ("run",)
    )
    paths.private(paths.run(agent.id, agent.run))
    paths.lock(agent.id).touch()
    with store.transaction():
        store.batches.add(Batch("b1", agent.project, 1.0), "project", [(agent, intent.to_plain())])
    return agent


def folder(agent: Agent) -> Path:
    return paths.run(agent.id, agent.run)


@contextmanager
def held(agent: Agent) -> Iterator[None]:
    lock = take_lock(paths.lock(agent.id), seconds=5.0)
    assert lock is not None
    try:
        yield
    finally:
        os.close(lock)


def record_holder(agent: Agent) -> None:
    record = Holder(agent.id, agent.run, 4001, 5, 4002, "/s", boot_id(), 9.0)
    write_record(folder(agent) / "holder.json", record)


def judged(store: Store, agent: Agent) -> Agent:
    reconcile(store)
    return store.agents.get(agent.id)


def test_an_agent_whose_lock_is_held_is_alive_whatever_its_row_says(store: Store) -> None:
    agent = add(store, boot_id="before the reboot")
    ExitRecord(folder(agent)).write(Exit("exited", 5.0, code=0))

    with held(agent):
        assert judged(store, agent).status is Status.WORKING
    assert judged(store, agent).status is Status.EXITED


@pytest.mark.parametrize(
    ("end", "status", "detail"),
    [
        (Exit("exited", 5.0, code=3), Status.EXITED, "code 3"),
        (Exit("exited", 5.0, signal=9), Status.EXITED, "signal 9"),
        (Exit("stop", 5.0, signal=15), Status.STOPPED, "signal 15"),
        (Exit("kill", 5.0, signal=15), Status.STOPPED, "signal 15"),
        (Exit("shutdown", 5.0, signal=15), Status.INTERRUPTED, "signal 15"),
        (Exit("failed", 5.0, code=2, reason="setup: 'make' ended with code 2"), Status.FAILED, "setup: 'make' ended with code 2"),
        (Exit("a cause of a later version", 5.0, code=0), Status.LOST, "code 0"),
    ],
)  # fmt: skip
def test_the_record_of_the_end_decides(store: Store, end: Exit, status: Status, detail: str) -> None:
    agent = add(store)
    record_holder(agent)
    ExitRecord(folder(agent)).write(end)

    found = judged(store, agent)

    assert (found.status, found.status_detail) == (status, detail)
    assert (found.exit_code, found.exit_signal, found.ended_at) == (end.code, end.signal, 5.0)


def test_a_holder_that_is_gone_without_a_record_is_lost_and_everything_is_kept(store: Store) -> None:
    agent = add(store)
    record_holder(agent)
    (folder(agent) / "lines.log").write_text("the log\n")

    found = judged(store, agent)

    assert found.status is Status.LOST
    assert (Path(agent.worktree) / "work.txt").read_text() == "precious"
    assert (folder(agent) / "lines.log").exists()


def test_after_another_boot_it_was_interrupted(store: Store) -> None:
    agent = add(store, boot_id="another boot")
    record_holder(agent)

    assert judged(store, agent).status is Status.INTERRUPTED


def test_a_launcher_that_died_before_the_holder_is_a_failed_creation(store: Store) -> None:
    agent = add(store, status=Status.SETUP, pid=None, keeper_pid=None)

    found = judged(store, agent)

    assert (found.status, found.status_detail) == (Status.FAILED, "its creation was interrupted")
    assert found.evidence is not None


def test_lost_output_is_reported_during_the_run_and_afterwards(store: Store) -> None:
    agent = add(store)
    record_holder(agent)
    with held(agent):
        EventLog(folder(agent)).append("output-lost", 2.0, bytes=3 << 20)
        assert judged(store, agent).lost_output == 3 << 20

    write_record(folder(agent) / "exit.json", Exit("exited", 3.0, code=0, lost_output=5 << 20))
    ended = judged(store, agent)

    assert ended.lost_output == 5 << 20
    assert lost_output(ended) == "! 5M of output not kept: no space"
    assert why(ended).lost_output == 5 << 20


@pytest.mark.parametrize("end", [None, "stop", "exited"])
def test_receipts_are_closed_when_no_holder_is_left_to_deliver_the_prompts(
    store: Store, end: str | None
) -> None:
    """What was submitted may have been taken, and how its turn ended was not seen."""
    agent = add(store)
    states = {"a": "queued", "b": "typed", "c": "accepted", "d": "answered"}
    with store.transaction():
        for receipt_id, state in states.items():
            store.receipts.put(receipt_id, agent.id, "do it", state, "", 1.0)

    if end is not None:
        write_record(folder(agent) / "exit.json", Exit(end, 2.0, code=0))
    assert judged(store, agent).has_ended

    found = {receipt.id: (receipt.state, receipt.reason) for receipt in store.receipts.of(agent.id)}
    ended = "the program has ended"
    assert found == {
        "a": ("refused", ended),
        "b": ("unknown", ended),
        "c": ("unknown", ended),
        "d": ("answered", ""),
    }


def test_an_agent_whose_files_were_removed_is_lost_and_its_worktree_stays(store: Store) -> None:
    agent = add(store)
    for file in (folder(agent), paths.lock(agent.id)):
        file.rmdir() if file.is_dir() else file.unlink()

    assert judged(store, agent).status is Status.LOST
    assert (Path(agent.worktree) / "work.txt").exists()


def test_a_start_that_a_killed_launcher_did_not_record_is_imported_from_its_holder(store: Store) -> None:
    agent = add(store, status=Status.SETUP, pid=None, keeper_pid=None)
    record_holder(agent)

    with held(agent):
        found = judged(store, agent)

    assert (found.pid, found.keeper_pid, found.started_at) == (4002, 4001, 9.0)
    assert not found.has_ended


def test_an_agent_of_another_machine_is_left_alone(store: Store) -> None:
    agent = add(store, machine="elsewhere")

    assert judged(store, agent).status is Status.WORKING


def test_reconciling_twice_changes_nothing_more(store: Store) -> None:
    agent = add(store)
    record_holder(agent)
    reconcile(store)
    before = store.state()

    reconcile(store)

    assert store.state() == before


def test_a_holders_events_are_imported_once_and_in_order(store: Store) -> None:
    agent = add(store, status=Status.STARTING)
    events = EventLog(folder(agent))
    with held(agent):
        events.append("status", 2.0, status="working", detail="", source="output", text="")
        events.append("title", 3.0, text="the title")
        events.append("status", 4.0, status="blocked", detail="permission", source="osc7501", text="rm?")
        for _ in range(3):
            found = judged(store, agent)

    assert (found.status, found.status_detail, found.title) == (Status.BLOCKED, "permission", "the title")
    assert found.evidence is not None
    assert (found.evidence.source, found.evidence.text, found.evidence.at) == ("osc7501", "rm?", 4.0)
    assert [line["kind"] for line in store.journal.since(0)].count("title") == 1


def test_a_holders_last_events_are_imported_before_its_end(store: Store) -> None:
    agent = add(store)
    record_holder(agent)
    with store.transaction():
        store.receipts.put("r1", agent.id, "do it", "queued", "", 1.0)
    EventLog(folder(agent)).append(
        "receipt", 2.0, prompt="r1", state="refused", reason="the program has ended"
    )
    ExitRecord(folder(agent)).write(Exit("exited", 5.0, code=0))

    assert judged(store, agent).status is Status.EXITED
    assert "refused" in json.dumps(store.journal.since(0))


def test_earlier_events_do_not_undo_an_end(store: Store) -> None:
    agent = add(store)
    ExitRecord(folder(agent)).write(Exit("exited", 5.0, code=0))
    reconcile(store)
    EventLog(folder(agent)).append("status", 4.0, status="working", detail="", source="output", text="")

    assert judged(store, agent).status is Status.EXITED


@pytest.mark.parametrize(
    "line", [b"garbage\n", b'{"seq": 1, "kind": "status"}\n', b'{"seq": 1, "at": 1, "ki']
)
def test_malformed_lines_are_skipped(store: Store, line: bytes) -> None:
    agent = add(store)
    (folder(agent) / "events.jsonl").write_bytes(line)
    EventLog(folder(agent)).append("status", 2.0, status="idle", detail="", source="silence", text="")

    with held(agent):
        assert judged(store, agent).status is Status.IDLE


@pytest.mark.parametrize(
    "data",
    [
        {"status": "levitating"},
        {},
        {"status": 7},
        {"status": "idle", "detail": None, "text": 5},
        {"status": "blocked", "wish": None},
        {"status": "blocked", "wish": ["ls"]},
    ],
)
def test_an_unknown_status_of_a_later_version_is_skipped(store: Store, data: dict[str, Any]) -> None:
    agent = add(store)
    EventLog(folder(agent)).append("status", 2.0, **data)
    EventLog(folder(agent)).append("something new", 2.5, depth=3)
    EventLog(folder(agent)).append("title", 3.0, text="goes on")

    with held(agent):
        assert judged(store, agent).title == "goes on"


def test_a_newer_store_is_left_as_it_is(store: Store) -> None:
    agent = add(store)
    store.db.is_newer = True

    assert judged(store, agent).status is Status.WORKING


def test_a_lost_store_is_restored_from_the_agents_own_files(store: Store) -> None:
    alive, ended = add(store, "alive"), add(store, "ended")
    for agent in (alive, ended):
        record_holder(agent)
    ExitRecord(folder(ended)).write(Exit("exited", 5.0, code=4))
    store.close()
    for file in paths.state().glob("fleet.db*"):
        file.unlink()

    with closing(Store(paths.store())) as fresh, held(alive):
        reconcile(fresh)
        found = {agent.name: agent for agent in fresh.agents.all()}

        assert found["ended"].exit_code == 4
        assert not found["alive"].has_ended
        assert found["alive"].pid == 4002
        assert fresh.agents.intent("id-alive")["branch"] == "alive"
        assert restore(fresh) == []


def test_a_store_that_was_emptied_never_shows_an_empty_fleet(store: Store) -> None:
    add(store)
    store.close()
    for file in paths.state().glob("fleet.db*"):
        file.unlink()
    paths.store().touch()

    with closing(Store(paths.store())) as emptied:
        reconcile(emptied)
        assert [agent.name for agent in emptied.agents.all()] == ["a"]


def test_files_that_are_no_agents_are_skipped_by_a_restoration(store: Store) -> None:
    for name, content in (("x", "{"), ("y", "[]"), ("z", '{"agent": {"id": 5}, "intent": {}}')):
        file = paths.private(paths.agent(name)) / "agent.json"
        file.write_text(content)

    assert restore(store) == []


def test_concurrent_reconciling_agrees(store: Store) -> None:
    agents = [add(store, f"agent-{number}") for number in range(5)]
    for agent in agents:
        record_holder(agent)
        for number in range(20):
            EventLog(folder(agent)).append("title", float(number), text=f"title {number}")
    code = (
        "from fleet_tui import paths\nfrom fleet_tui.store.database import Store\nfrom fleet_tui.lifecycle.reconcile import reconcile\n"
        "reconcile(Store(paths.store()))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4

    assert {agent.status for agent in store.agents.all()} == {Status.LOST}
    lines = store.journal.since(0, 10_000)
    assert [line["kind"] for line in lines].count("title") == 100
    ends = [line for line in lines if line["data"].get("status") == "lost"]
    assert len(ends) == 5
    assert all(line["at"] <= time.time() for line in ends)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        f'{{"seq": 1, "at": 1{"0" * 400}, "kind": "title", "data": {{"text": "x"}}}}',
        '{"seq": 99999999999999999999, "at": 1.0, "kind": "title", "data": {"text": "x"}}',
        '{"seq": 1, "at": NaN, "kind": "title", "data": {"text": "x"}}',
        '{"seq": 1, "at": -1e300, "kind": "title", "data": {"text": "x"}}',
        '{"seq": 1, "at": 1.0, "kind": "\\ud800", "data": {}}',
        '{"seq": 1, "at": 1.0, "kind": "title", "data": {"text": "a\\u0000b \\udcff"}}',
        '{"seq": 1, "at": 1.0, "kind": "session", "data": {"id": "a\\u0000b"}}',
        '{"seq": 1, "at": 1.0, "kind": "status", "data": {"status": []}}',
        '{"seq": 1, "at": 1.0, "kind": "status", "data": {"status": "idle", "choices": 5}}',
        '{"seq": 1, "at": 1.0, "kind": "status", "data": {"status": "idle", "detail": "\\u0000"}}',
        '{"seq": 1, "at": 1.0, "kind": "output-lost", "data": {"bytes": "many"}}',
        '{"seq": 1, "at": 1.0, "kind": "output-lost", "data": {"bytes": 99999999999999999999}}',
        '{"seq": 1, "at": 1.0, "kind": "receipt", "data": {"prompt": "p1", "state": "nonsense"}}',
    ],
    ids=range(14),
)
def test_a_forged_event_breaks_no_command_and_damages_no_record(store: Store, line: str) -> None:
    agent = add(store)
    with store.transaction():
        store.receipts.put("p1", agent.id, "do it", "queued", "", 1.0)
    good = json.dumps({"seq": 2, "at": 2.0, "kind": "title", "data": {"text": "still heard"}})
    (folder(agent) / "events.jsonl").write_text(f"{line}\n{good}\n")

    with held(agent):
        assert judged(store, agent).title == "still heard"

    assert store.check() == []
    assert store.receipts.get("p1").state == "queued"


@pytest.mark.parametrize("name", ["agent.json", "1/prompts.jsonl"])
def test_a_file_of_an_agent_that_is_nested_too_deeply_keeps_no_other_from_being_restored(
    store: Store, name: str
) -> None:
    agents = [add(store, "a"), add(store, "b")]
    store.close()
    paths.store().unlink()
    (paths.agent(agents[0].id) / name).write_text("[" * 100_000 + "\n")

    with closing(Store(paths.store())) as anew:
        assert "b" in [agent.name for agent in restore(anew)]


def test_an_agent_does_not_report_what_became_of_the_prompts_of_another(store: Store) -> None:
    mine, other = add(store, "a"), add(store, "b")
    with store.transaction():
        for agent in (mine, other):
            store.receipts.put(f"to-{agent.name}", agent.id, "do it", "queued", "", 1.0)
    for prompt in ("to-a", "to-b"):
        EventLog(folder(mine)).append("receipt", 2.0, prompt=prompt, state="answered", reason="")
    lock = take_lock(paths.lock(mine.id)), take_lock(paths.lock(other.id))

    reconcile(store)

    assert [store.receipts.get(prompt).state for prompt in ("to-a", "to-b")] == ["answered", "queued"]
    for descriptor in lock:
        os.close(descriptor or 0)
