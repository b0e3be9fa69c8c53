"""What passes between a program and people, with a real screen, real hooks and the words of real clients."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fleet_tui.fast_dataclasses import replace
from fleet_tui.holder import hooks
from fleet_tui.holder.event_log import EventLog
from fleet_tui.holder.hook_decisions import DECIDE_SECONDS, RETRY_SECONDS
from fleet_tui.holder.interaction import Interaction
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.transcript.segments import Transcript
from fleet_tui.models import RunSettings, Status
from fleet_tui.programs import profiles
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.status_rules import StatusRule
from fleet_tui.terminal.emulator import Screen

ASKED = StatusRule("permission", Status.BLOCKED, "permission", where={"event": "Ask"}, text="{command}")
SHOWN = StatusRule(
    "asks", Status.BLOCKED, "permission", match=r"(?P<text>May I \w+\?) 1\. Yes", over=("hook",)
)
RULES = InteractionRules(False, hook=(ASKED,), screen=(SHOWN,), decisions={"allow": "{yes}", "deny": "{no}"})
ALLOW_ALL = {"mode": "on", "rules": [{"decision": "allow", "tool": "*"}]}


class Table:
    """The interaction of one program, and the events that it reported."""

    def __init__(
        self, folder: Path, policy: Mapping[str, Any] | None = None, rules: InteractionRules = RULES
    ) -> None:
        hooks.prepare(folder)
        self.hooks = folder / "hooks"
        self.screen = Screen(60, 12)
        self.typed: list[bytes] = []
        self.published: list[dict[str, Any]] = []
        self.said: list[dict[str, Any]] = []
        spec = RunSpec(
            "agent", 1, str(folder), str(folder), "", ("true",), str(folder), {},
            signals=rules.to_plain(), settings=RunSettings(policy=policy or {}),
        )  # fmt: skip
        self.interaction = Interaction(spec, self.screen, self._type, self._publish)

    def _type(self, data: bytes) -> bool:
        self.typed.append(data)
        return True

    def _publish(self, kind: str, **fields: Any) -> None:
        self.published.append({"kind": kind, **fields})

    def shows(self, *lines: str) -> None:
        self.screen.feed(b"\x1b[2J\x1b[H" + "\r\n".join(lines).encode())
        self.interaction.output(time.monotonic())

    def draws(self, text: str) -> None:
        """An input box with this text, the cursor behind it."""
        self.shows("earlier", "─" * 60, f"❯\xa0{text}", "─" * 60)
        self.screen.feed(f"\x1b[3;{3 + len(text)}H".encode())

    def tick(self, later: float = 1.0) -> None:
        self.interaction.tick(time.monotonic() + later, is_reading=True)

    def asks(self, pid: int, **payload: Any) -> Path:
        """As a hook that waits for a decision leaves it; returns its pipe."""
        reply_pipe = self.hooks / f"{pid}.decision"
        os.mkfifo(reply_pipe)
        (self.hooks / f"{pid}.json").write_text(json.dumps({"event": "Ask", **payload}))
        return reply_pipe

    def read_hooks(self) -> None:
        for take in self.interaction.sources().values():
            take()

    def answers(self, choice: str, **more: Any) -> None:
        self.interaction.answer({"choice": choice, **more}, lambda **fields: self.said.append(fields))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "1"
    made.mkdir()
    return made


def test_a_request_that_the_rules_decide_is_not_shown_as_a_question(folder: Path) -> None:
    table = Table(folder, ALLOW_ALL)
    reply_pipe = table.asks(77, tool_name="Write", tool_input={"file_path": "a.txt"}, command="x")
    reader = os.open(reply_pipe, os.O_RDONLY | os.O_NONBLOCK)

    table.read_hooks()
    table.tick()

    assert os.read(reader, 100) == b"{yes}\n"
    os.close(reader)
    assert all(event.get("status") != "blocked" for event in table.published)


def test_a_denial_by_the_rules_names_the_rule_as_json_and_does_not_interrupt(folder: Path) -> None:
    deny = {"mode": "on", "rules": [{"decision": "deny", "command": "rm *"}]}
    table = Table(folder, deny, replace(RULES, decisions=profiles.load("claude").rules.decisions))
    reply_pipe = table.asks(77, tool_name="Bash", tool_input={"command": "rm 'a\"b'"}, command="x")
    reader = os.open(reply_pipe, os.O_RDONLY | os.O_NONBLOCK)

    table.read_hooks()
    table.tick()

    said = json.loads(os.read(reader, 4000))["hookSpecificOutput"]["decision"]
    os.close(reader)
    assert said["behavior"] == "deny"
    assert "rule 1: deny any tool `rm *`" in said["message"]
    assert '`rm a"b` matches' in said["message"]
    assert not said.get("interrupt", False), "the turn goes on"


@pytest.mark.parametrize("path", ["~\ud800", "\ud800", "~\ud800/x"])
def test_a_request_that_no_rule_can_read_is_asked(folder: Path, path: str) -> None:
    table = Table(folder, {"mode": "on", "rules": [{"decision": "allow", "path": "src/**"}]})
    table.asks(77, tool_name="Write", tool_input={"file_path": path}, command="x")

    table.read_hooks()
    table.tick()

    assert table.published[-1]["status"] == "blocked"


def test_a_decision_for_a_killed_hook_is_not_retried_forever(folder: Path) -> None:
    table = Table(folder, ALLOW_ALL)
    table.asks(77, tool_name="Write", tool_input={"file_path": "a.txt"})
    table.read_hooks()
    now = time.monotonic()
    due = table.interaction.due(now)
    assert due == now + RETRY_SECONDS

    table.tick(DECIDE_SECONDS + 1)
    table.tick(DECIDE_SECONDS + 2)

    assert table.interaction.due(now) != due


def test_an_answer_is_for_the_question_that_was_shown(folder: Path) -> None:
    table = Table(folder)
    table.shows("May I delete?", "1. Yes", "2. No")

    table.answers("1", question={"text": "May I read?", "choices": [["1", "Yes"], ["2", "No"]]})
    table.tick()

    assert [(one["state"], one["reason"]) for one in table.said] == [
        ("refused", "it asks something else by now")
    ]
    assert table.typed == []


def test_an_answer_to_the_question_that_is_shown_is_given(folder: Path) -> None:
    table = Table(folder)
    table.shows("May I read?", "1. Yes", "2. No")

    table.answers("1", question={"text": "May I read?", "choices": [["1", "Yes"], ["2", "No"]]})
    table.tick()

    assert table.typed == [b"1"]


def test_an_event_reported_before_a_restart_is_not_reported_again(folder: Path) -> None:
    first = {"seq": 1, "at": 1.0, "kind": "status", "data": {"status": "done", "source": "title"}}
    (folder / "events.jsonl").write_text(json.dumps(first) + "\n")
    table = Table(folder)

    table.interaction.begin(restarted=True)

    assert table.interaction.status().status is Status.DONE
    assert table.published == []


def test_a_receipt_written_but_not_reported_before_a_restart_is_reported(folder: Path) -> None:
    receipts = {"p0": "answered", "p1": "accepted", "p2": "pasted", "p3": "queued"}
    events = EventLog(folder)
    for prompt in ("p0", "p3"):
        events.append("receipt", 1.0, prompt=prompt, state="queued", reason="", note="")
    records = [{"id": name, "text": "x", "state": state} for name, state in receipts.items()]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    table = Table(folder)

    table.interaction.begin(restarted=True)

    states = {event["prompt"]: event["state"] for event in table.published if event["kind"] == "receipt"}
    assert states == {"p0": "answered", "p1": "accepted"}


@pytest.mark.parametrize(("offset", "status"), [(0, Status.IDLE), (10, Status.IDLE), (30, Status.WORKING)])
def test_a_report_read_but_not_applied_before_a_restart_is_read_again(
    folder: Path, offset: int, status: Status
) -> None:
    """Including a report of which only the beginning had been read."""
    events = EventLog(folder)
    events.append("status", 1.0, status="working", source="osc7501", offset=0)
    events.append("receipt", 2.0, prompt="p0", state="typed", reason="", note="", offset=offset)
    transcript = Transcript(folder)
    transcript.write(b"\x1b]7501;state=idle\x1b\\ and so on" + b"\x1b]7501;state=do")
    transcript.close()
    table = Table(folder)

    table.interaction.begin(restarted=True)
    table.tick()

    assert table.interaction.status().status is status
    assert [event["status"] for event in table.published] == ([] if status is Status.WORKING else ["idle"])


# ── its input box ──


def boxed(folder: Path) -> Table:
    """A program that says it is done, with a box as claude draws it."""
    rules = replace(
        RULES,
        reports=True,
        box=profiles.load("claude").rules.box,
        texts=profiles.load("claude").rules.texts,
    )
    table = Table(folder, rules=rules)
    table.draws("")
    table.interaction.reported("state=done", time.monotonic())
    table.tick(0.3)
    table.tick(0.6)
    return table


def test_a_program_that_waits_without_its_box_is_in_a_menu_with_its_choices(folder: Path) -> None:
    table = boxed(folder)
    assert table.interaction.status().status is Status.DONE

    table.shows("  Select model", "  ❯ 1. Default", "    2. Opus")
    for later in (0.3, 0.6, 1.2, 1.8):
        table.tick(later)

    observed = table.interaction.status()
    assert (observed.status, observed.detail, observed.source) == (Status.BLOCKED, "menu", "screen")
    assert [(choice.number, choice.label) for choice in observed.choices] == [("1", "Default"), ("2", "Opus")]

    table.draws("")
    for later in (2.0, 2.3, 2.6):
        table.tick(later)
    assert table.interaction.status().status is Status.DONE


def test_a_redraw_without_the_box_is_not_a_menu(folder: Path) -> None:
    table = boxed(folder)

    table.shows("half of")
    table.tick(0.3)
    table.draws("")
    for later in (0.4, 0.7, 1.5):
        table.tick(later)

    assert all(event.get("status") != "blocked" for event in table.published)


def test_a_frame_that_is_being_drawn_is_not_looked_at(folder: Path) -> None:
    table = boxed(folder)

    table.screen.feed(b"\x1b[?2026h")
    table.shows("nothing yet")
    for later in (0.3, 0.9, 1.8):
        table.tick(later)

    assert all(event.get("status") != "blocked" for event in table.published)


def test_a_program_whose_box_was_never_seen_does_not_count_as_in_a_menu(folder: Path) -> None:
    rules = replace(RULES, reports=True, box=profiles.load("claude").rules.box)
    table = Table(folder, rules=rules)
    table.shows("a version that draws itself in another way")
    table.interaction.reported("state=done", time.monotonic())
    for later in (0.3, 0.9, 1.8):
        table.tick(later)

    assert table.interaction.status().status is Status.DONE


def test_a_draft_is_set_aside_by_the_programs_own_key(folder: Path) -> None:
    table = boxed(folder)
    table.draws("please do not delete")
    table.tick(0.9)

    table.interaction.prompt({"id": "p1", "text": "the database"}, lambda **fields: table.said.append(fields))
    for later in (1.2, 1.5):
        table.tick(later)
    assert table.typed == [b"\x13"]
    table.draws("")
    for later in (1.8, 2.1):
        table.tick(later)

    assert b"".join(table.typed) == b"\x13the database"
