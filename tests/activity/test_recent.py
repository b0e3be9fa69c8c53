"""Recent activity, from recorded conversations of real programs and from agents' reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.activity import recent
from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from fleet_tui.programs import tool_calls
from fleet_tui.programs.records import parse_time
from tests.conftest import git
from tests.holder.holders import wait_until
from tests.places import RECORDINGS

CONVERSATIONS = RECORDINGS / "conversations"
TREE = "/trees/work-1"


def recorded(folder: Path, program: str) -> Path:
    text = (CONVERSATIONS / f"{program}.jsonl").read_text().replace("{worktree}", TREE)
    path = folder / f"{program}.jsonl"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("program", "tool", "about", "at"),
    [
        ("claude", "Write", "notes.txt", "2026-11-17T18:55:17"),
        ("codex", "Ran", "printf '%s' 'done' > notes.txt", "2026-11-17T18:55:27.881Z"),
        ("gemini", "write_file", "notes.txt", "2026-11-17T18:55:38.747Z"),
        ("qwen", "write_file", "/notes.txt", "2026-11-17T18:56:57.774Z"),
    ],
)
def test_tool_calls_are_read_from_a_programs_record(
    tmp_path: Path, program: str, tool: str, about: str, at: str
) -> None:
    found = tool_calls.last_calls(program, recorded(tmp_path, program), TREE, 10)
    assert [(call.tool, call.about) for call in found] == [(tool, about)], (
        "once, however often it was written"
    )
    assert abs(found[0].at - parse_time(at if at.endswith("Z") else f"{at}Z")) < 1.0


def test_only_the_end_of_a_long_record_is_read(tmp_path: Path) -> None:
    def line(number: int) -> str:
        call = {
            "type": "tool_use",
            "id": f"c{number}",
            "name": "Bash",
            "input": {"command": f"step {number}"},
        }
        at = f"2026-11-17T18:{number // 60 % 60:02}:{number % 60:02}Z"
        return json.dumps(
            {"type": "assistant", "timestamp": at, "message": {"content": [call]}, "pad": "x" * 400}
        )

    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(map(line, range(3000))) + "\n" + '{"half of a li')
    found = tool_calls.last_calls("claude", path, TREE, 5)
    assert [call.about for call in found] == [f"step {number}" for number in range(2995, 3000)]


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"assistant","message":{"content":[{"type":"tool_use"}]}}',
        '{"type":"assistant","message":{"content":"tool_use"},"x":{"tool_use":1}}',
        '{"type":"assistant","message":["tool_use"]}',
        '{"type":"assistant","timestamp":7,"message":{"content":[{"type":"tool_use","name":null,"input":[1]}]}}',
        '"tool_use"',
        "[[[[",
    ],
)
def test_a_record_with_any_content_causes_no_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(f'{line}\n{line} "tool_use"\n')
    for program in ("claude", "codex", "gemini", "qwen", "nobody"):
        assert all(call.about == "" for call in tool_calls.last_calls(program, path, TREE, 5))
    assert tool_calls.last_calls("claude", tmp_path / "missing", TREE, 5) == []


@pytest.mark.slow
def test_an_agents_own_report_is_shown_with_its_time(fleet: Fleet) -> None:
    agent = fleet.create("teller", profile="shell", prompt="exec cat")
    wait_until(lambda: (paths.run(agent.id, 1) / "events.jsonl").exists(), "its events")
    events = [
        {"status": "working", "text": "Reading the tests", "source": "osc7501"},
        {"status": "working", "text": "Reading the tests", "source": "osc7501"},
        {"status": "working", "text": "", "source": "title"},
        {"status": "blocked", "detail": "permission", "text": "run make?", "source": "osc7501"},
        {"status": "done", "text": "all of it passes", "source": "osc7501"},
        {"status": "nonsense", "text": "no status", "source": "osc7501"},
    ]
    with (paths.run(agent.id, 1) / "events.jsonl").open("a") as file:
        for place, data in enumerate(events):
            file.write(
                json.dumps({"seq": 100 + place, "at": 1e9 + place, "kind": "status", "data": data}) + "\n"
            )
    found = [
        (activity.at, activity.verb, activity.object, activity.status)
        for activity in fleet.recent_activity(fleet.find("teller"), 10)
    ]
    assert found == [
        (1e9, "Reading", "the tests", None),
        (1e9 + 3, "permission", "run make?", Status.BLOCKED),
        (1e9 + 4, "done", "all of it passes", Status.DONE),
    ]
    assert [activity.verb for activity in fleet.recent_activity(fleet.find("teller"), 1)] == ["done"]


@pytest.mark.slow
def test_an_agent_without_records_and_reports_has_no_activity(fleet: Fleet) -> None:
    fleet.create("silent", profile="shell", prompt="exec cat")
    assert fleet.recent_activity(fleet.find("silent"), 10) == []


def test_tool_calls_replace_reports_of_work_but_not_those_of_its_result(fleet: Fleet, tmp_path: Path) -> None:
    agent = fleet.create("mixed", profile="shell", prompt="exec cat")
    wait_until(lambda: (paths.run(agent.id, 1) / "events.jsonl").exists(), "its events")
    record = {"path": str(recorded(tmp_path, "claude")), "is_main": True}
    row: dict[str, object] = dict.fromkeys(
        ("input_tokens", "cached_tokens", "output_tokens", "at", "cost_before"), 0
    )
    row |= {"cost": None, "context_tokens": None, "context_limit": None, "model": ""}
    with fleet.store.transaction():
        fleet.store.spending.put(agent.id, row | {"sources": json.dumps({"records": [record]})})
        fleet.store.agents.change(agent.id, 0.0, profile="claude")
    with (paths.run(agent.id, 1) / "events.jsonl").open("a") as file:
        for status, text in (("working", "Writing"), ("done", "written")):
            data = {"status": status, "text": text, "source": "osc7501"}
            file.write(json.dumps({"seq": 99, "at": 4e9, "kind": "status", "data": data}) + "\n")
    found = recent.latest(fleet.store, fleet.store.agents.get(agent.id), 10)
    assert [(activity.verb, activity.object) for activity in found][-1] == ("done", "written")
    assert ("Writing", "") not in [(activity.verb, activity.object) for activity in found], (
        "the calls show that"
    )
    assert found[0].verb == "Write"


def test_commits_since_the_base_are_counted(fleet: Fleet) -> None:
    agent = fleet.create("ahead", profile="shell", prompt="exec cat")
    tree = Path(agent.worktree)
    assert fleet.worktrees.diff_stats([agent])[agent.id] == (0, 0, 0)
    (tree / "new.txt").write_text("one\ntwo\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "new")
    assert fleet.worktrees.diff_stats([agent])[agent.id] == (2, 0, 1)
