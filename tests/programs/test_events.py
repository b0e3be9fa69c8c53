"""What headless programs report, as recorded from the real ones: the words, the states and the numbers in it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.programs.event_readers import EVENT_READERS
from fleet_tui.programs.events import (
    DeniedCall,
    EventContext,
    EventItem,
    OutputText,
    SessionId,
    StateChange,
    StepUsage,
    TokenUsage,
    TurnEnd,
    usage_after,
)
from tests.places import RECORDINGS

pytestmark = pytest.mark.pure

FOLDER = RECORDINGS / "streams"


def read(name: str) -> list[EventItem]:
    """The items of a recording, whose name begins with its program's."""
    reader, context = EVENT_READERS[name.partition("-")[0]].read, EventContext("/project/work")
    lines = (FOLDER / f"{name}.jsonl").read_text().splitlines()
    return [item for line in lines for item in reader(json.loads(line), context)]


def items_of(*events: dict[str, object], stream: str = "claude") -> list[EventItem]:
    context = EventContext("/project/work")
    return [item for event in events for item in EVENT_READERS[stream].read(event, context)]


def words(items: list[EventItem]) -> list[str]:
    """What is printed, each line with the first letter of its style."""
    lines, line = [], ""
    for said in (item for item in items if isinstance(item, OutputText)):
        line += said.text
        if not said.is_open or said.text.endswith("."):
            lines.append(f"{said.style[0]} {line}")
            line = ""
    return lines


def states(items: list[EventItem]) -> list[tuple[str, str]]:
    """Each change once."""
    found: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, StateChange) and (item.state, item.text) not in found[-1:]:
            found.append((item.state, item.text))
    return found


def usage(items: list[EventItem]) -> TokenUsage:
    known = TokenUsage()
    for item in items:
        if isinstance(item, TokenUsage | StepUsage):
            known = usage_after(known, item)
    return known


WARNING = "d Model metadata for `gpt-5-codex` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."
EDITED = "p The prompt was 31 6d3eb379b67e988b2915cddce41d681156feedbbe6806569999e6b494d2c8b7e."
FALSE = "p The prompt was 20 2345f5242b8e5e80c90305961ef3e294262307d349ab3c58798d4c711711daa7."
LIMITED = "p The prompt was 20 b412b0393c6d96e87505cc2dd180a81e20e75b5610d93f9160171e3d18964bc2."


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        ("claude-edit", ["d claude-opus-5-5 · acceptEdits", "p I begin.", "c write notes.txt", EDITED]),
        (
            "claude-bad",
            ["d claude-opus-5-5 · bypassPermissions", "p I begin.", "c $ false", "e   Exit code 1", FALSE],
        ),
        (
            "claude-limit",
            [
                "d claude-opus-5-5 · acceptEdits",
                "d rate limit · retry 1 of 3 in 1 s",
                "d rate limit · retry 2 of 3 in 1 s",
                LIMITED,
            ],
        ),
        (
            "claude-fail",
            ["d claude-opus-5-5 · acceptEdits", "e API Error: 400 This request is refused on purpose."],
        ),
        ("codex-edit", [WARNING, "p I begin.", "c $ printf '%s' 'done' > notes.txt", EDITED]),
        ("codex-bad", [WARNING, "p I begin.", "c $ false", "e   exit code 1", FALSE]),
        ("codex-limit", [WARNING, "d rate limit · retry 1 of 3", "d rate limit · retry 2 of 3", LIMITED]),
        ("codex-fail", [WARNING]),
        ("gemini-edit", ["p I begin.", "c write notes.txt", EDITED]),
        ("gemini-bad", ["p I begin.", "c $ false", "e   Command exited with code: 1", FALSE]),
        ("gemini-fail", []),
        (
            "opencode-edit",
            [
                "p I begin.",
                "c write notes.txt",
                "p The prompt was 33 41f0ccd30033714b7ff1e7543ea8a1cc204f3b630a4b855183a50d1a23033e1b.",
            ],
        ),
        (
            "opencode-run",
            [
                "p I begin.",
                "c $ touch one.txt",
                "e   The user rejected permission to use this specific tool call.",
            ],
        ),
        ("opencode-fail", []),
        ("qwen-edit", ["d test · auto-edit", "p I begin.", "c write notes.txt", EDITED]),
        ("qwen-fail", ["d test · auto-edit", "e [API Error: 400 This request is refused on purpose.]"]),
    ],
)
def test_a_programs_actions_are_described_in_words(recording: str, expected: list[str]) -> None:
    assert words(read(recording)) == expected


@pytest.mark.parametrize("program", ["claude", "codex", "gemini", "opencode", "qwen"])
def test_a_turn_that_ended_well_has_a_result_without_error(program: str) -> None:
    items = read(f"{program}-edit")

    assert [item.is_error for item in items if isinstance(item, TurnEnd)] == [False]
    assert states(items) == [("working", "")]


@pytest.mark.parametrize("program", ["claude", "codex", "gemini", "opencode", "qwen"])
def test_an_error_of_the_api_is_the_result_with_its_text(program: str) -> None:
    [result] = [item for item in read(f"{program}-fail") if isinstance(item, TurnEnd)]

    assert (result.is_error, result.is_limited) == (True, False)
    assert "This request is refused on purpose." in result.text
    assert "{" not in result.text


@pytest.mark.parametrize("recording", ["claude-429", "codex-429"])
def test_a_rate_limit_that_stays_is_the_result(recording: str) -> None:
    items = read(recording)

    [result] = [item for item in items if isinstance(item, TurnEnd)]
    assert (result.is_error, result.is_limited) == (True, True)
    assert "429" in result.text
    assert "limited" in dict(states(items))


@pytest.mark.parametrize(
    ("recording", "retries"),
    [
        ("claude-limit", ["rate limit · retry 1 of 3 in 1 s", "rate limit · retry 2 of 3 in 1 s"]),
        ("codex-limit", ["rate limit · retry 1 of 3", "rate limit · retry 2 of 3"]),
    ],
)
def test_retries_are_limits_until_the_program_goes_on(recording: str, retries: list[str]) -> None:
    expected = [("working", ""), *(("limited", text) for text in retries), ("working", "")]

    assert states(read(recording)) == expected


def test_gemini_reports_its_retries_on_standard_error() -> None:
    line = 'Attempt 2 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429}}'

    assert list(EVENT_READERS["gemini"].read_error(line)) == [StateChange("limited", "rate limit · retry 2")]
    assert list(EVENT_READERS["claude"].read_error(line)) == []


@pytest.mark.parametrize(
    ("recording", "denied"),
    [
        ("claude-deny", ["write denied.txt"]),
        ("codex-deny", ["$ printf '%s' 'done' > notes.txt"]),
        ("opencode-run", ["$ touch one.txt"]),
        ("claude-run", []),
        ("codex-bad", []),
    ],
)
def test_a_denied_action_is_reported(recording: str, denied: list[str]) -> None:
    assert [item.what for item in read(recording) if isinstance(item, DeniedCall)] == denied


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        ("claude-edit", TokenUsage(24, 0, 84, 0.0017759999999999998, 12, 1_000_000, "claude-opus-5-5")),
        ("claude-fail", TokenUsage(0, 0, 0, 0.0)),
        ("codex-edit", TokenUsage(24, 0, 84)),
        ("gemini-edit", TokenUsage(36, 0, 126, model="gemini-3.8-flash")),
        ("opencode-edit", TokenUsage(24, 0, 84, context_tokens=54)),
        ("qwen-edit", TokenUsage(24, 0, 84, context_tokens=12, model="test")),
    ],
)
def test_what_was_spent_is_counted(recording: str, expected: TokenUsage) -> None:
    assert usage(read(recording)) == expected


def test_what_came_from_a_cache_is_counted_apart() -> None:
    report = {"input_tokens": 20170, "cached_input_tokens": 10085, "output_tokens": 47}

    assert usage(items_of({"type": "turn.completed", "usage": report}, stream="codex")) == TokenUsage(
        10085, 10085, 47
    )


@pytest.mark.parametrize(
    ("recording", "session"),
    [
        ("claude-edit", "a87fff20-64c8-4dfc-9246-bec7eb150037"),
        ("codex-edit", "01a1eadc-363a-7b71-aeae-eadfcc9a8105"),
        ("codex-resume", "01a1eadc-363a-7b71-aeae-eadfcc9a8105"),
        ("gemini-edit", "ac9711ce-78a4-4621-8e9b-89389df85255"),
        ("opencode-edit", "ses_e15229658ffet4yTCgjfpAhRUP"),
        ("qwen-edit", "fcfbe5a4-e7a7-46ba-b18f-5c87ef0325c6"),
    ],
)
def test_the_conversations_id_is_known(recording: str, session: str) -> None:
    assert {item.id for item in read(recording) if isinstance(item, SessionId)} == {session}


# ── in words ──


def claude_says(*blocks: dict[str, object], **more: object) -> dict[str, object]:
    return {"type": "assistant", "message": {"content": list(blocks)}, **more}


def test_a_thought_is_one_short_line() -> None:
    items = items_of(claude_says({"type": "thinking", "thinking": "First\nthis, " + "then that " * 40}))

    [line] = words(items)
    assert line.startswith("d … First this, then that")
    assert len(line) < 110


def test_a_commands_output_is_shown_in_part() -> None:
    output = "\n".join(f"line {number}" for number in range(50))
    items = items_of(
        claude_says({"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": "make\nmake test"}}),
        {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "x", "content": output}]},
        },
    )

    command, shown = words(items)
    assert command == "c $ make\n  make test"
    assert shown.splitlines() == ["d   line 0", *(f"  line {n}" for n in range(1, 10)), "  … 40 more lines"]


def test_actions_of_subagents_are_reported_as_such() -> None:
    items = items_of(claude_says({"type": "text", "text": "I help."}, parent_tool_use_id="toolu_1"))

    assert words(items) == ["d   I help."]


def test_changed_files_are_named_from_the_worktree() -> None:
    changes = [
        {"path": "/project/work/new.py", "kind": "add"},
        {"path": "old.py", "kind": "delete"},
        {"path": "a.py", "kind": "update"},
    ]
    item = {"type": "file_change", "changes": changes, "status": "completed"}

    assert words(items_of({"type": "item.completed", "item": item}, stream="codex")) == [
        "c write new.py", "c remove old.py", "c edit a.py",
    ]  # fmt: skip


def test_a_used_up_quota_says_when_it_resets() -> None:
    then = time.mktime((2026, 11, 17, 15, 40, 0, 0, 0, -1))
    info = {"status": "rejected", "resetsAt": int(then), "rateLimitType": "five_hour"}

    assert states(items_of({"type": "rate_limit_event", "rate_limit_info": info})) == [
        ("limited", "resets 15:40")
    ]


# ── any input ──

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
RECORDED = [
    (file.name.partition("-")[0], json.loads(line))
    for file in sorted(FOLDER.glob("*.jsonl"))
    if "events" not in file.name
    for line in file.read_text().splitlines()
]


def spoilt(value: object, data: st.DataObject) -> object:
    """The same with something in it that does not belong there."""
    if isinstance(value, dict) and value:
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: spoilt(value[key], data)}
    if isinstance(value, list) and value:
        return [spoilt(value[0], data), *value[1:]]
    return data.draw(VALUES)


@given(st.sampled_from(RECORDED), st.data())
def test_no_event_breaks_a_reader(recorded: tuple[str, object], data: st.DataObject) -> None:
    stream, event = recorded
    broken = spoilt(event, data)
    items = list(EVENT_READERS[stream].read(broken, EventContext())) if isinstance(broken, dict) else []

    assert all(isinstance(item.text, str) for item in items if isinstance(item, OutputText | StateChange))
    usage(items)


@pytest.mark.parametrize("stream", sorted(EVENT_READERS))
@pytest.mark.parametrize("event", [{}, {"type": None}, {"type": "something.new", "part": 7}])
def test_an_unknown_event_is_skipped(stream: str, event: dict[str, object]) -> None:
    assert items_of(event, stream=stream) == []
