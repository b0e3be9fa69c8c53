"""Comments on lines of an agent's work: where they are, how they are sent, and when they are handled."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui.errors import FleetError, NotFound, Refused, UsageError
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Receipt, ReceiptState
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.cli.commands import prints
from tests.git.repositories import commit
from tests.holder.holders import wait_until
from tests.prompting.asking_agents import asking

__all__ = ["fleet", "module_pool", "pool"]

CODE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


@pytest.fixture
def agent(pool: AgentPool) -> Agent:
    found = pool.take()
    write(found, CODE)
    return found


def write(agent: Agent, text: str, name: str = "f.py") -> None:
    (Path(agent.worktree) / name).write_text(text)


def is_over(fleet: Fleet, receipt: Receipt) -> bool:
    fleet.refresh()
    return fleet.prompts.receipt(receipt.id).is_over


def test_a_comment_quotes_its_lines_and_follows_them(fleet: Fleet, agent: Agent) -> None:
    made = fleet.review.comment(agent, "f.py", "new", 5, 6, "use three")
    assert (made.quoted, made.first, made.last) == (("def two():", "    return 2"), 5, 6)

    write(agent, "import os\n\n" + CODE)
    [found] = fleet.review.comments(agent)
    assert (found.first, found.last, found.is_changed) == (7, 8, False)

    write(agent, CODE.replace("return 2", "return 3"))
    [found] = fleet.review.comments(agent)
    assert (found.first, found.is_changed, found.handled_at) == (5, True, None)


def test_of_equal_lines_the_one_in_the_same_surroundings_is_meant(fleet: Fleet, agent: Agent) -> None:
    write(agent, "a {\n}\nb {\n}\nc {\n}\n")
    fleet.review.comment(agent, "f.py", "new", 4, 4, "close it elsewhere")

    write(agent, "new {\n}\na {\n}\nb {\n}\nc {\n}\n")
    assert [one.first for one in fleet.review.comments(agent)] == [6]

    write(agent, "a {\n}\nx {\n}\nc }\n")
    assert [one.is_changed for one in fleet.review.comments(agent)] == [True]


def test_the_other_side_is_the_file_before_the_change(fleet: Fleet, agent: Agent) -> None:
    commit(Path(agent.worktree), {"both.txt": "x\n"})
    with pytest.raises(NotFound, match="no text file"):
        fleet.review.comment(agent, "both.txt", "old", 1, 1, "why")
    made = fleet.review.comment(agent, "both.txt", "old", 1, 1, "why", against=agent.branch)
    assert made.quoted == ("x",)
    assert "both.txt:1 (as it was before your change)\n> x\nwhy" in fleet.review.round_text(agent)


def test_a_comment_is_about_lines_that_are_there(fleet: Fleet, agent: Agent) -> None:
    (Path(agent.worktree) / "bytes").write_bytes(b"\0\1")
    for path, first, last, said in (
        ("f.py", 6, 7, "no line 7"),
        ("f.py", 3, 2, "no range"),
        ("f.py", 0, 0, "no range"),
        ("bytes", 1, 1, "no text file"),
        ("none", 1, 1, "no text file"),
        ("../f.py", 1, 1, "no text file"),
    ):
        with pytest.raises(FleetError, match=said):
            fleet.review.comment(agent, path, "new", first, last, "x")
    with pytest.raises(UsageError, match="empty"):
        fleet.review.comment(agent, "f.py", "new", 1, 1, " \n")
    assert fleet.review.comments(agent) == []


def test_comments_are_sent_as_one_prompt_with_a_receipt_and_are_handled_when_lines_change(
    fleet: Fleet, agent: Agent
) -> None:
    fleet.review.comment(agent, "f.py", "new", 5, 6, "return three")
    first = fleet.review.comment(agent, "f.py", "new", 1, 1, "rename it")

    receipt = fleet.review.send_comments(agent)

    prints(fleet, agent, "return three")
    assert receipt.text.startswith("Review of your changes, round 1, 2 comments.")
    assert receipt.text.endswith(
        "f.py:1\n> def one():\nrename it\n\nf.py:5-6\n> def two():\n>     return 2\nreturn three"
    )
    sent = fleet.review.comments(agent)
    assert {(one.round, one.receipt, one.is_sent, one.handled_at) for one in sent} == {
        (1, receipt.id, True, None)
    }
    assert all(one.receipt_state for one in sent)
    with pytest.raises(Refused, match="is sent"):
        fleet.review.reword_comment(agent, first.id, "x")
    with pytest.raises(Refused, match="is sent"):
        fleet.review.delete_comment(agent, first.id)
    with pytest.raises(NotFound, match="no comment to send"):
        fleet.review.send_comments(agent)

    write(agent, "# new\n" + CODE.replace("return 2", "return 3"))
    handled = {one.text: one for one in fleet.review.refresh_comments(agent)}
    assert handled["return three"].handled_at is not None
    assert (handled["rename it"].handled_at, handled["rename it"].first) == (None, 2)
    stored = {one.comment.text: one.comment for one in fleet.store.reviews.comments(agent.id)}
    assert stored["return three"].handled_at == handled["return three"].handled_at
    assert stored["rename it"].first == 2

    fleet.review.comment(agent, "f.py", "new", 2, 2, "again")
    assert fleet.review.round_text(agent).startswith("Review of your changes, round 2, 1 comment.")


def test_comments_for_an_agent_that_has_ended_stay_unsent(fleet: Fleet, agent: Agent) -> None:
    fleet.stop([agent])
    fleet.review.comment(agent, "f.py", "new", 1, 1, "rename it")

    with pytest.raises(Refused, match="has ended"):
        fleet.review.send_comments(agent)

    assert [one.is_sent for one in fleet.review.comments(agent)] == [False]
    assert fleet.prompts.receipts(agent)[-1].text == agent.prompt


@pytest.mark.slow
def test_a_round_whose_prompt_is_cancelled_can_be_sent_again(fleet: Fleet, pool: AgentPool) -> None:
    agent = asking(pool)
    write(agent, CODE)
    fleet.review.comment(agent, "f.py", "new", 1, 1, "rename it")

    receipt = fleet.review.send_comments(agent)
    assert (receipt.state, [one.is_sent for one in fleet.review.comments(agent)]) == ("queued", [True])
    fleet.prompts.cancel(agent, receipt.id)
    wait_until(lambda: is_over(fleet, receipt), "the end of a receipt")
    [again] = fleet.review.comments(agent)
    assert (again.is_sent, again.receipt_state) == (False, "refused")
    assert fleet.review.send_comments(agent).state == ReceiptState.QUEUED
    [again] = fleet.review.comments(agent)
    assert (again.round, again.is_sent) == (1, True)


def test_a_round_that_was_sent_and_not_recorded_is_not_sent_twice(fleet: Fleet, agent: Agent) -> None:
    fleet.review.comment(agent, "f.py", "new", 1, 1, "rename it")
    first = fleet.prompts.send(agent, fleet.review.round_text(agent))

    assert fleet.review.send_comments(agent).id == first.id
    assert [one.text for one in fleet.prompts.receipts(agent)].count(first.text) == 1
    assert [one.receipt for one in fleet.review.comments(agent)] == [first.id]


def test_unsent_comments_can_be_reworded_and_deleted(fleet: Fleet, agent: Agent) -> None:
    one = fleet.review.comment(agent, "f.py", "new", 1, 1, "first")
    other = fleet.review.comment(agent, "f.py", "new", 2, 2, "second")
    fleet.review.reword_comment(agent, one.id, "better")
    fleet.review.delete_comment(agent, other.id)

    assert [found.text for found in fleet.review.comments(agent)] == ["better"]
    with pytest.raises(NotFound, match="no comment"):
        fleet.review.delete_comment(agent, other.id)


def test_a_mark_keeps_what_was_reviewed_under_any_name(fleet: Fleet, agent: Agent) -> None:
    last = fleet.store.journal.last_id()
    for path in ("f.py", "odd \udce9\n.txt"):
        write(agent, "x\n", path)
        fleet.review.mark_reviewed(agent, path, "c0ffee")
    fleet.review.mark_reviewed(agent, "f.py", "")

    assert fleet.review.reviewed(agent) == {"f.py": "", "odd \udce9\n.txt": "c0ffee"}
    fleet.review.unmark_reviewed(agent, "odd \udce9\n.txt")
    assert fleet.review.reviewed(agent) == {"f.py": ""}
    assert [line["kind"] for line in fleet.store.journal.since(last)] == ["file-reviewed"] * 3 + [
        "file-unreviewed"
    ]
    made = fleet.review.comment(agent, "odd \udce9\n.txt", "new", 1, 1, "name it well")
    assert fleet.review.comments(agent) == [made]


def test_a_round_that_is_too_long_for_a_prompt_says_so_and_stays(fleet: Fleet, agent: Agent) -> None:
    for _ in range(14):
        fleet.review.comment(agent, "f.py", "new", 1, 1, "x" * 20_000)

    with pytest.raises(UsageError, match="comments are over 262144 bytes"):
        fleet.review.send_comments(agent)

    assert not any(one.is_sent for one in fleet.review.comments(agent))
