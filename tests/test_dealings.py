"""What passes between a program and people, with a real screen, real hooks and the words of real clients."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fleet_tui import hooks, profiles
from fleet_tui.dealings import DECIDE_SECONDS, RETRY_SECONDS, Dealings
from fleet_tui.holder import Events, RunSpec
from fleet_tui.models import Status
from fleet_tui.screen import Screen
from fleet_tui.signals import Rule, Signals
from fleet_tui.transcript import Transcript
from fleet_tui.values import replace

ASKED = Rule("permission", Status.BLOCKED, "permission", where={"event": "Ask"}, text="{command}")
SHOWN = Rule("asks", Status.BLOCKED, "permission", match=r"(?P<text>May I \w+\?) 1\. Yes", over=("hook",))
SIGNALS = Signals(False, hook=(ASKED,), screen=(SHOWN,), decisions={"allow": "{yes}", "deny": "{no}"})
ALLOW_ALL = {"mode": "on", "rules": [{"decision": "allow", "tool": "*"}]}


class Table:
    """One program's dealings, and what they have come to."""

    def __init__(
        self, folder: Path, policy: Mapping[str, Any] | None = None, signals: Signals = SIGNALS
    ) -> None:
        hooks.prepare(folder)
        self.hooks = folder / "hooks"
        self.screen = Screen(60, 12)
        self.typed: list[bytes] = []
        self.told: list[dict[str, Any]] = []
        self.said: list[dict[str, Any]] = []
        spec = RunSpec(
            "agent", 1, str(folder), str(folder), "", ("true",), str(folder), {},
            signals=signals.to_plain(), policy=dict(policy or {}),
        )  # fmt: skip
        self.dealings = Dealings(spec, self.screen, self._type, self._tell)

    def _type(self, data: bytes) -> bool:
        self.typed.append(data)
        return True

    def _tell(self, kind: str, **fields: Any) -> None:
        self.told.append({"kind": kind, **fields})

    def shows(self, *lines: str) -> None:
        self.screen.feed(b"\x1b[2J\x1b[H" + "\r\n".join(lines).encode())
        self.dealings.output(time.monotonic())

    def draws(self, text: str) -> None:
        """An input box with this text, the cursor behind it."""
        self.shows("earlier", "─" * 60, f"❯\xa0{text}", "─" * 60)
        self.screen.feed(f"\x1b[3;{3 + len(text)}H".encode())

    def tick(self, later: float = 1.0) -> None:
        self.dealings.tick(time.monotonic() + later, is_reading=True)

    def asks(self, pid: int, **payload: Any) -> Path:
        """As a hook that waits for a decision leaves it; returns its pipe."""
        verdict = self.hooks / f"{pid}.verdict"
        os.mkfifo(verdict)
        (self.hooks / f"{pid}.json").write_text(json.dumps({"event": "Ask", **payload}))
        return verdict

    def hears(self) -> None:
        for take in self.dealings.sources().values():
            take()

    def answers(self, choice: str, **more: Any) -> None:
        self.dealings.answer({"choice": choice, **more}, lambda **fields: self.said.append(fields))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "1"
    made.mkdir()
    return made


def test_a_request_that_the_rules_decide_is_not_shown_as_a_question(folder: Path) -> None:
    table = Table(folder, ALLOW_ALL)
    verdict = table.asks(77, tool_name="Write", tool_input={"file_path": "a.txt"}, command="x")
    reader = os.open(verdict, os.O_RDONLY | os.O_NONBLOCK)

    table.hears()
    table.tick()

    assert os.read(reader, 100) == b"{yes}\n"
    os.close(reader)
    assert all(event.get("status") != "blocked" for event in table.told)


def test_a_denial_by_the_rules_tells_the_rule_as_json_and_does_not_interrupt(folder: Path) -> None:
    deny = {"mode": "on", "rules": [{"decision": "deny", "command": "rm *"}]}
    table = Table(folder, deny, replace(SIGNALS, decisions=profiles.load("claude").signals.decisions))
    verdict = table.asks(77, tool_name="Bash", tool_input={"command": "rm 'a\"b'"}, command="x")
    reader = os.open(verdict, os.O_RDONLY | os.O_NONBLOCK)

    table.hears()
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

    table.hears()
    table.tick()

    assert table.told[-1]["status"] == "blocked"


def test_a_decision_for_a_hook_that_was_killed_is_not_tried_for_ever(folder: Path) -> None:
    table = Table(folder, ALLOW_ALL)
    table.asks(77, tool_name="Write", tool_input={"file_path": "a.txt"})
    table.hears()
    now = time.monotonic()
    due = table.dealings.due(now)
    assert due == now + RETRY_SECONDS

    table.tick(DECIDE_SECONDS + 1)
    table.tick(DECIDE_SECONDS + 2)

    assert table.dealings.due(now) != due


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


def test_what_was_told_before_a_restart_is_not_told_again(folder: Path) -> None:
    first = {"seq": 1, "at": 1.0, "kind": "status", "data": {"status": "done", "source": "title"}}
    (folder / "events.jsonl").write_text(json.dumps(first) + "\n")
    table = Table(folder)

    table.dealings.begin(restarted=True)

    assert table.dealings.status().status is Status.DONE
    assert table.told == []


def test_a_receipt_that_was_written_and_not_told_before_a_restart_is_told(folder: Path) -> None:
    receipts = {"p0": "answered", "p1": "accepted", "p2": "pasted", "p3": "queued"}
    events = Events(folder)
    for prompt in ("p0", "p3"):
        events.append("receipt", 1.0, prompt=prompt, state="queued", reason="", note="")
    records = [{"id": name, "text": "x", "state": state} for name, state in receipts.items()]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    table = Table(folder)

    table.dealings.begin(restarted=True)

    told = {event["prompt"]: event["state"] for event in table.told if event["kind"] == "receipt"}
    assert told == {"p0": "answered", "p1": "accepted"}


@pytest.mark.parametrize(("offset", "status"), [(0, Status.IDLE), (10, Status.IDLE), (30, Status.WORKING)])
def test_a_report_that_was_read_and_not_told_before_a_restart_is_heard(
    folder: Path, offset: int, status: Status
) -> None:
    """Also one of which only the beginning had been read."""
    events = Events(folder)
    events.append("status", 1.0, status="working", source="osc7501", offset=0)
    events.append("receipt", 2.0, prompt="p0", state="typed", reason="", note="", offset=offset)
    transcript = Transcript(folder)
    transcript.write(b"\x1b]7501;state=idle\x1b\\ and so on" + b"\x1b]7501;state=do")
    transcript.close()
    table = Table(folder)

    table.dealings.begin(restarted=True)
    table.tick()

    assert table.dealings.status().status is status
    assert [event["status"] for event in table.told] == ([] if status is Status.WORKING else ["idle"])


# ── its input box ──


def boxed(folder: Path) -> Table:
    """A program that says it is done, with a box as claude draws it."""
    signals = replace(
        SIGNALS,
        reports=True,
        box=profiles.load("claude").signals.box,
        texts=profiles.load("claude").signals.texts,
    )
    table = Table(folder, signals=signals)
    table.draws("")
    table.dealings.reported("state=done", time.monotonic())
    table.tick(0.3)
    table.tick(0.6)
    return table


def test_a_program_that_waits_without_its_box_is_in_a_menu_with_its_choices(folder: Path) -> None:
    table = boxed(folder)
    assert table.dealings.status().status is Status.DONE

    table.shows("  Select model", "  ❯ 1. Default", "    2. Opus")
    for later in (0.3, 0.6, 1.2, 1.8):
        table.tick(later)

    told = table.dealings.status()
    assert (told.status, told.detail, told.source) == (Status.BLOCKED, "menu", "screen")
    assert [(choice.number, choice.label) for choice in told.choices] == [("1", "Default"), ("2", "Opus")]

    table.draws("")
    for later in (2.0, 2.3, 2.6):
        table.tick(later)
    assert table.dealings.status().status is Status.DONE


def test_a_redraw_without_the_box_is_no_menu(folder: Path) -> None:
    table = boxed(folder)

    table.shows("half of")
    table.tick(0.3)
    table.draws("")
    for later in (0.4, 0.7, 1.5):
        table.tick(later)

    assert all(event.get("status") != "blocked" for event in table.told)


def test_a_frame_that_is_being_drawn_is_not_looked_at(folder: Path) -> None:
    table = boxed(folder)

    table.screen.feed(b"\x1b[?2026h")
    table.shows("nothing yet")
    for later in (0.3, 0.9, 1.8):
        table.tick(later)

    assert all(event.get("status") != "blocked" for event in table.told)


def test_a_program_whose_box_was_never_seen_is_not_taken_to_be_in_a_menu(folder: Path) -> None:
    signals = replace(SIGNALS, reports=True, box=profiles.load("claude").signals.box)
    table = Table(folder, signals=signals)
    table.shows("a version that draws itself in another way")
    table.dealings.reported("state=done", time.monotonic())
    for later in (0.3, 0.9, 1.8):
        table.tick(later)

    assert table.dealings.status().status is Status.DONE


def test_a_draft_is_set_aside_by_the_programs_own_key(folder: Path) -> None:
    table = boxed(folder)
    table.draws("please do not delete")
    table.tick(0.9)

    table.dealings.prompt({"id": "p1", "text": "the database"}, lambda **fields: table.said.append(fields))
    for later in (1.2, 1.5):
        table.tick(later)
    assert table.typed == [b"\x13"]
    table.draws("")
    for later in (1.8, 2.1):
        table.tick(later)

    assert b"".join(table.typed) == b"\x13the database"
