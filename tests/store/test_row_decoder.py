"""Columns that hold JSON: what is written is read again, and what was never written is damage."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fleet_tui.models import Agent, Evidence, PermissionRequest, Status
from fleet_tui.store import row_decoder
from fleet_tui.store.agents import to_row

pytestmark = pytest.mark.pure

AGENT = Agent(
    "id", "name", "/project", "branch", "c0ffee", "/worktree", "b1", "claude", (), "", Status.BLOCKED, 1.0
)
EVIDENCE = Evidence(
    "screen",
    "Do you want to proceed?",
    5.0,
    "claude.permission",
    (("1", "Yes"), ("2", "No")),
    takes_words=True,
    request=PermissionRequest("rm -r build", "to build anew", "build"),
)


def decoded(evidence: str) -> Evidence | None:
    return row_decoder.agent(to_row(AGENT) | {"evidence": evidence}).evidence


@pytest.mark.parametrize("evidence", [None, Evidence("exit"), EVIDENCE])
def test_evidence_is_read_as_it_was_written(evidence: Evidence | None) -> None:
    assert row_decoder.agent(to_row(replace(AGENT, evidence=evidence))).evidence == evidence


def test_evidence_of_another_version_is_read_as_far_as_it_is_known() -> None:
    assert decoded('{"source": "aura", "aura": 7, "wish": null, "at": 3}') == Evidence("aura", at=3)


@pytest.mark.parametrize(
    "change",
    [{"source": 1}, {"text": None}, {"rule": []}, {"at": "5"}, {"choices": "12"}, {"choices": [["1"]]}],
    ids=str,
)
def test_evidence_with_a_value_of_another_type_is_damage(change: dict[str, object]) -> None:
    with pytest.raises(row_decoder.DamagedRow):
        decoded(json.dumps(EVIDENCE.to_plain() | {"at": 5.0} | change))


@pytest.mark.parametrize("text", ["{", "[]", "7", "{}"])
def test_text_that_is_no_evidence_is_damage(text: str) -> None:
    with pytest.raises(row_decoder.DamagedRow):
        decoded(text)
