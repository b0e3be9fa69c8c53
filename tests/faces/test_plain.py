"""The records that `--json` prints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fleet_tui.faces.plain import AgentDetails, agent_record, trash_record
from fleet_tui.models import Status
from fleet_tui.text import to_json
from fleet_tui.trashed import IgnoredFile, TrashContents, TrashItem
from tests.faces.sample_agent import BUSY, NOW, ONE, SPENT

pytestmark = pytest.mark.pure


def test_json_has_the_promised_keys_and_survives_any_text() -> None:
    odd = replace(ONE, prompt='quo"te\n\x1b[31m \udcff 日本', exit_code=None)

    record = json.loads(to_json(agent_record(AgentDetails(odd, BUSY))))

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


def test_an_ended_agent_has_no_pid_in_json() -> None:
    record = agent_record(AgentDetails(replace(ONE, status=Status.EXITED, exit_code=3)))

    assert (record["pid"], record["exit_code"], record["cpu"]) == (None, 3, 0.0)


def test_json_has_tokens_cost_and_context_and_null_for_what_is_not_known() -> None:
    known, unknown = agent_record(AgentDetails(ONE, spending=SPENT)), agent_record(AgentDetails(ONE))

    assert known["tokens"] == {"input": 20_000, "cached": 100_000, "output": 8_000}
    assert (known["cost"], known["context"]) == (0.42, 41.0)
    assert [unknown[name] for name in ("tokens", "cost", "context")] == [None, None, None]


def test_a_record_of_the_trash_has_the_contents_of_the_worktree() -> None:
    obstacle = ("it holds another repository in build/x", "undo, and move it")
    contents = TrashContents(size=9, ignored=(IgnoredFile(".env", 9),), obstacles=(obstacle,))

    record = trash_record(TrashItem(replace(ONE, status=Status.KILLED), contents, NOW, is_over=False))

    assert record["name"] == ONE.name
    assert record["ignored"] == [{"path": ".env", "size": 9}]
    assert record["obstacles"] == [{"text": obstacle[0], "hint": obstacle[1]}]
    assert record["leaves_at"] is None
