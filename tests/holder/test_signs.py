"""Statuses from a program's signs: in order, late, missing, contradictory and malformed."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.holder.status import StatusJudge
from fleet_tui.holder.transcript import segments
from fleet_tui.models import Status
from fleet_tui.programs.hook_values import HookValue
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.status_rules import KINDS, StatusRule
from tests.holder.holders import wait_until
from tests.holder.ordered_program import SECONDS, Imitation, at_once, imitate, repeat

TIMES = 20
ROUNDS = 4
"""Questions to one program: an answered question must not affect the next."""

SPEAKING = InteractionRules(
    quiet_is_idle=False,
    reports=True,
    title=(
        StatusRule("ready", Status.IDLE, match="^ready"),
        StatusRule("busy", Status.WORKING, match="^busy"),
    ),
    screen=(
        StatusRule(
            "asks",
            Status.BLOCKED,
            "permission",
            match=r"(?P<text>May I [^?]+\?).*1\. Yes",
            over=("title", "hook"),
        ),
        StatusRule("prompt", Status.IDLE, match="at your service$", lines=1),
    ),
    hook=(
        StatusRule("taken", Status.WORKING, where={"hook_event_name": "UserPromptSubmit"}),
        StatusRule(
            "asked",
            Status.BLOCKED,
            "permission",
            where={"hook_event_name": "PermissionRequest"},
            text="command",
        ),
        StatusRule("over", Status.IDLE, where={"hook_event_name": "Stop"}),
    ),
    session_hooks=(HookValue({"hook_event_name": "SessionStart"}, "session_id"),),
    prompt_hooks=(HookValue({"hook_event_name": "UserPromptSubmit"}, "prompt"),),
    free="Something else",
)
DIALOG = ["May I touch it?", " ❯ 1. Yes", "   2. No", "   3. Something else"]
READY = ["at your service"]


def message(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def ask(program: Imitation, *on_key: dict[str, Any]) -> None:
    """Let it ask, and go on when a key comes."""
    after = on_key or ({"screen": ["thanks"]}, {"report": "state=working"})
    program.order(
        {"on_key": [*after]},
        {"screen": DIALOG},
        {"report": f"state=blocked:kind=permission:msg={message('touch it')}"},
    )
    program.wait_for("blocked")


# ── reports ──────────────────────────────────────────────────────────────────────────────────────────────────────

STATES = ("idle", "working", "blocked", "done", "error", "limited", "clear")


@given(
    st.text(max_size=200) | st.binary(max_size=5000).map(lambda data: data.decode("utf-8", "surrogateescape"))
)
def test_whatever_a_report_holds_it_is_a_status_only_if_it_names_one(payload: str) -> None:
    judge = StatusJudge(SPEAKING)

    judge.reported(payload, 1.0)
    judge.settle(1.0)

    found = judge.status()
    if found.source == "osc7501":
        assert re.search(rf"(^|:)state=({'|'.join(STATES)})(:|$)", payload)
    else:
        assert found.status in (Status.STARTING, Status.WORKING)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["state", "kind", "msg", "id", "app", "progress", "title", "other"]),
            st.sampled_from([*STATES, *KINDS, "auth", "a/b", "%%%", ""]) | st.text(max_size=40),
        ),
        max_size=6,
    )
)
def test_a_report_of_any_fields_gives_a_known_status_and_a_known_kind(fields: list[tuple[str, str]]) -> None:
    judge = StatusJudge(SPEAKING)

    judge.reported(":".join(f"{name}={value}" for name, value in fields), 1.0)
    judge.settle(1.0)

    found = judge.status()
    assert found.status in set(Status)
    if found.status is Status.BLOCKED:
        assert found.detail in ("", *KINDS)
    assert found.text.isprintable()


@given(payloads=st.lists(st.binary(max_size=600), min_size=1, max_size=30))
def test_reports_of_any_bytes_crash_no_server(payloads: list[bytes], fuzzed: Imitation) -> None:
    server = fuzzed.holder.server_pid()
    noise = b"".join(b"\x1b]7501;" + payload + b"\x1b\\" for payload in payloads)

    fuzzed.order(
        {"raw": noise.decode("utf-8", "surrogateescape")}, {"raw": "\x1b\\\x18"}, {"report": "state=working"}
    )

    fuzzed.wait_for("working", source="osc7501")
    assert fuzzed.holder.server_pid() == server
    fuzzed.order({"report": "state=clear"})


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with imitate(tmp_path_factory.mktemp("fuzzed"), SPEAKING) as program:
        program.holder.living_server()
        yield program


def test_a_report_that_a_killed_server_read_but_did_not_apply_is_read_again(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"report": "state=idle"}, {"report": "state=working"})
        program.wait_for("working", source="osc7501")
        # As far as one comes that is killed between its transcript and its judgment.
        os.kill(program.holder.living_server(), signal.SIGSTOP)
        with segments.list_segments(program.holder.folder)[-1].path.open("ab") as printed:
            printed.write(b"\x1b]7501;state=done\x07")

        program.kill_server()

        program.wait_for("done", source="osc7501")


# ── hooks ────────────────────────────────────────────────────────────────────────────────────────────────────────


BROKEN_HOOKS = (
    "",
    "{",
    "[]",
    '{"hook_event_name": 7}',
    '{"hook_event_name": ["Stop"]}',
    '{"hook_event_name": {"Stop": 1}}',
    '{"hook_event_name": "SessionStart", "session_id": "\\ud800\\udfff\\ud800"}',
    '{"hook_event_name": "UserPromptSubmit", "prompt": "\\ud800"}',
    '{"hook_event_name": "PermissionRequest", "command": "\\ud800 \\u001b[2J"}',
    '{"hook_event_name": "' + "x" * 100_000 + '"}',
    "\udcff\udcfe",
    "9" * 5000,
)


def test_broken_hooks_harm_nothing(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program, program.holder.session(rate=0) as listener:
        server = program.holder.server_pid()

        program.order(*({"hook": event} for event in BROKEN_HOOKS), {"hook": {"hook_event_name": "Stop"}})
        program.wait_for("done", source="hook")
        program.order({"hook": {"hook_event_name": "UserPromptSubmit", "prompt": "x"}})
        program.wait_for("working", source="hook")

        assert program.holder.server_pid() == server
        assert listener.ask("ping", seconds=SECONDS)


@pytest.mark.slow
def test_events_of_thousands_of_hooks_at_once_are_all_read(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"hooks": 3000, "event": {"hook_event_name": "UserPromptSubmit"}})

        folder = program.holder.folder / "hooks"
        wait_until(lambda: not list(folder.glob("*.json")), "all hooks being taken", seconds=SECONDS)
        program.wait_for("working", source="hook")


@pytest.mark.slow
def test_events_of_hooks_are_all_read_while_the_screen_server_is_replaced(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        for _ in range(5):
            program.order({"hooks": 700, "event": {"hook_event_name": "UserPromptSubmit"}}, wait=False)
            program.kill_server()
        program.order({"hook": {"hook_event_name": "Stop"}})

        folder = program.holder.folder / "hooks"
        wait_until(lambda: not list(folder.glob("*.json")), "all hooks being taken", seconds=SECONDS)
        program.wait_for("done", "idle", source="hook")


def test_a_hook_that_comes_after_the_end_changes_nothing(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"report": "state=idle"})
        program.wait_for("idle")
        program.order({"exit": 3}, wait=False)
        found = program.holder.exit(seconds=SECONDS)
        before = program.statuses()

        late = program.holder.folder / "hooks" / "1.json"
        late.write_text(json.dumps({"hook_event_name": "UserPromptSubmit"}))

        assert found.code == 3
        assert program.statuses() == before


@pytest.mark.slow
def test_a_question_whose_hook_was_killed_is_not_asked_again_after_a_replacement(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        program.order(
            {"title": "busy"}, {"hook": {"hook_event_name": "PermissionRequest"}, "arguments": ["decide"]}
        )
        program.wait_for("blocked", source="hook")
        (question,) = wait_for_files(program, "*.open")
        dead = question.with_name("4194305.open")
        question.with_suffix(".decision").rename(dead.with_suffix(".decision"))
        question.rename(dead)
        program.order({"title": "ready"})
        program.wait_for("done")

        before = len(program.statuses())

        program.kill_server()

        program.order({"title": "busy"})
        program.wait_for("working", source="title")
        assert "blocked" not in program.statuses()[before:]
        assert not dead.exists()


@pytest.mark.slow
def test_an_answer_given_to_a_hook_is_not_typed_as_well(tmp_path: Path) -> None:
    repeat(TIMES // ROUNDS, tmp_path, answer_by_hooks)


def answer_by_hooks(folder: Path, _: int) -> None:
    deciding = replace(SPEAKING, decisions={"allow": "{yes}"})
    with imitate(folder, deciding) as program:

        def go_on() -> None:
            """Act as a program does after its hook's decision: close the dialog and continue the turn."""
            hooks = program.holder.folder / "hooks"
            wait_until(lambda: not list(hooks.glob("*.open")), "the hook being told", seconds=SECONDS)
            program.order({"screen": ["on it"]}, {"hook": {"hook_event_name": "UserPromptSubmit"}})

        for _ in range(ROUNDS):
            program.order(
                {"screen": DIALOG},
                {"hook": {"hook_event_name": "PermissionRequest"}, "arguments": ["decide"]},
            )
            program.wait_for("blocked", text="May I touch it?")
            wait_for_files(program, "*.open")

            answer, _ = at_once(lambda: program.ask("respond", choice="yes"), go_on)
            assert answer["state"] == "answered"
            program.wait_for("working", source="hook")

        assert {event["by"] for event in program.events("answer")} == {"hook"}
        assert program.typed() == b""


@pytest.mark.slow
def test_a_turn_reported_only_by_its_hook_does_not_count_as_answered(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"report": "state=idle"})
        program.wait_for("idle")
        begins = {"hook": {"hook_event_name": "UserPromptSubmit", "prompt": "go"}}
        program.order({"on_enter": [begins]})

        program.ask("prompt", id="first", text="go")
        program.ask("prompt", id="second", text="and then")
        wait_until(lambda: "accepted" in program.receipts("first"), "the prompt being taken", seconds=SECONDS)
        program.order({"report": "state=working"})
        program.wait_for("working", source="osc7501")
        assert program.receipts("first")[-1] == "accepted"
        assert set(program.receipts("second")) == {"queued"}, "told again when it waits for something else"

        program.order({"report": "state=idle"})
        wait_until(lambda: program.receipts("first")[-1] == "answered", "the answer", seconds=SECONDS)


def test_a_turn_reported_only_by_its_hook_is_over_after_a_while() -> None:
    judge = StatusJudge(SPEAKING)
    judge.reported("state=idle", 0.0)
    judge.settle(0.0)

    judge.hooked({"hook_event_name": "UserPromptSubmit"}, 1.0)
    assert 1.0 < judge.calm_at < 10.0
    judge.reported("state=working", 1.1)
    judge.reported("state=idle", 1.2)
    assert judge.calm_at == 0.0


@pytest.mark.slow
def test_a_question_is_later_than_what_was_printed_before_it_also_if_both_are_read_at_once(
    tmp_path: Path,
) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"title": "ready"})
        program.wait_for("idle", "done")
        server = program.holder.living_server()
        os.kill(server, signal.SIGSTOP)
        program.order({"title": "busy"}, {"hook": {"hook_event_name": "PermissionRequest"}})

        os.kill(server, signal.SIGCONT)

        program.wait_for("blocked", source="hook")


def wait_for_files(program: Imitation, pattern: str) -> list[Path]:
    folder = program.holder.folder / "hooks"
    wait_until(lambda: bool(list(folder.glob(pattern))), pattern, seconds=SECONDS)
    return list(folder.glob(pattern))


# ── signs that contradict each other ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_title_that_flaps_is_one_status(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"title": "busy"})
        program.wait_for("working", source="title")
        before = len(program.statuses())

        program.order(*({"title": "ready" if number % 2 else "busy"} for number in range(300)))

        program.wait_for("done", source="title")
        assert program.statuses()[before:] == ["done"]


@pytest.mark.parametrize("profile", ["claude", "codex"])
def test_a_printed_dialog_does_not_count_where_the_program_reports_its_status(
    tmp_path: Path, profile: str
) -> None:
    lines = ["Do you want to proceed?", " ❯ 1. Yes", "   2. No", "", "Esc to cancel", "",
             "Would you like to run the following command?", "  $ rm x", "› 1. Yes, proceed", "  2. No"]  # fmt: skip
    with imitate(tmp_path, profile) as program:
        program.order({"screen": lines}, {"report": "state=working"})
        program.wait_for("working", source="osc7501")
        program.order({"report": "state=done"})
        program.wait_for("done", source="osc7501")

        refused = program.ask("respond", choice="1")

        assert refused["state"] == "refused"
        assert "blocked" not in program.statuses()
        assert program.typed() == b""


def test_a_list_in_what_it_printed_is_not_what_can_be_answered(tmp_path: Path) -> None:
    """The dialog is reported before it is drawn."""
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"screen": ["My plan:", "1. Remove all", "2. Go home"]}, {"report": "state=blocked"})
        program.wait_for("blocked")

        refused = program.ask("respond", choice="1")

        assert refused["state"] == "refused"
        assert program.typed() == b""


def test_a_prompt_with_the_words_of_a_dialog_is_just_a_prompt(tmp_path: Path) -> None:
    text = "May I ask?\n1. Yes\n2. No"
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"report": "state=idle"}, {"on_key": [{"screen": text.splitlines()}]})
        program.wait_for("idle")

        program.ask("prompt", id="p1", text=text)

        wait_until(
            lambda: program.typed().endswith(b"\x1b[201~\r"), "the prompt being submitted", seconds=SECONDS
        )
        assert text.encode() in program.typed()
        assert "blocked" not in program.statuses()


@pytest.mark.slow
def test_a_clock_that_jumps_changes_no_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(
        "import itertools, time\n"
        "steps, real = itertools.count(), time.time\n"
        "time.time = lambda: real() - (next(steps) % 7) * 86400\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(clock), prepend=":")
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"title": "busy"})
        program.wait_for("working", source="title")
        program.order({"title": "ready"})
        program.wait_for("done", source="title")
        program.order({"report": "state=blocked"})
        program.wait_for("blocked", source="osc7501")
        program.order({"report": "state=idle"})
        program.wait_for("idle", source="osc7501")

        assert program.statuses()[-4:] == ["working", "done", "blocked", "idle"]


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("choice", "keys"), [("2", b"2"), ("yes", b"1"), ("No", b"2")])
def test_a_choice_is_taken_by_its_number_alone(tmp_path: Path, choice: str, keys: bytes) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        ask(program)

        assert program.ask("respond", choice=choice)["state"] == "answered"
        assert program.typed() == keys


@pytest.mark.slow
def test_free_text_is_typed_after_its_choice(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        ask(program, {"on_key": [{"on_key": [{"report": "state=working"}]}]})

        assert program.ask("respond", choice="rather not")["state"] == "answered"
        assert program.typed() == b"3\x1b[200~rather not\x1b[201~\r"


@pytest.mark.slow
def test_of_two_answers_at_once_one_is_given(tmp_path: Path) -> None:
    repeat(TIMES, tmp_path, answer_at_once)


def answer_at_once(folder: Path, _: int) -> None:
    with imitate(folder, SPEAKING) as program:
        ask(program)

        said = at_once(*(lambda: program.ask("respond", choice="1") for _ in range(3)))

        assert sorted(one["state"] for one in said) == ["answered", "refused", "refused"]
        assert program.typed() == b"1"


def test_an_answer_to_nothing_types_nothing(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        program.order({"screen": DIALOG}, {"report": "state=idle"})
        program.wait_for("idle")

        assert program.ask("respond", choice="1")["state"] == "refused"
        assert program.typed() == b""


def test_the_same_question_twice_in_a_row_is_two_questions(tmp_path: Path) -> None:
    """The second dialog is drawn at once, so the screen between them is never read."""
    again = f"state=blocked:kind=permission:msg={message('touch it')}"
    with imitate(tmp_path, SPEAKING) as program:
        ask(program, {"report": "state=working"}, {"report": again}, {"screen": DIALOG})

        assert program.ask("respond", choice="1")["state"] == "answered"
        assert program.reported_status()["status"] == "blocked"
        program.order({"on_key": [{"report": "state=done"}]})
        assert program.ask("respond", choice="2")["state"] == "answered"

        program.wait_for("done")
        assert program.typed() == b"12"


@pytest.mark.slow
def test_a_letter_answers_a_question_that_is_asked_with_letters(tmp_path: Path) -> None:
    question = "Add notes.txt to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: "
    with imitate(tmp_path, "aider") as program:
        program.order(
            {"on_key": [{"raw": "d"}]},
            {"on_enter": [{"screen": ["ok", "> "]}]},
            {"screen": [question]},
        )
        told = program.wait_for("blocked", detail="question", text="Add notes.txt to the chat?")
        assert told["choices"] == [["1", "Yes"], ["2", "No"], ["3", "Don't ask again"]]

        assert program.ask("respond", choice="3")["state"] == "answered"
        assert program.typed() == b"\x1b[200~d\x1b[201~\r"


def test_a_dialog_that_goes_before_the_key_gets_none(tmp_path: Path) -> None:
    with imitate(tmp_path, SPEAKING) as program:
        ask(program)
        program.order({"screen": ["gone"]}, {"report": "state=working"})
        program.wait_for("working")

        assert program.ask("respond", choice="1")["state"] == "refused"
        assert program.typed() == b""


# ── prompts ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_dialog_that_comes_up_while_a_prompt_is_typed_gets_no_enter(tmp_path: Path) -> None:
    repeat(TIMES, tmp_path, ask_while_a_prompt_is_typed)


def ask_while_a_prompt_is_typed(folder: Path, _: int) -> None:
    """Only the screen shows it; the program still reports that it is idle."""
    seen = replace(SPEAKING.screen[0], over=("osc7501:idle",))
    with imitate(folder, replace(SPEAKING, screen=(seen,))) as program:
        program.order({"report": "state=idle"})
        program.wait_for("idle")
        program.order({"on_key": [{"screen": DIALOG}]})

        program.ask("prompt", id="p1", text="hello")
        program.wait_for("blocked")
        program.order({"on_key": [{"screen": READY}]})
        assert b"\r" not in program.typed()
        assert program.ask("respond", choice="2")["state"] == "answered"

        wait_until(lambda: program.typed().endswith(b"\r"), "the prompt being submitted", seconds=SECONDS)
        assert program.typed() == b"\x1b[200~hello\x1b[201~2\r"


def taken(program: Imitation) -> list[str]:
    """The prompts that the program has received."""
    text = program.typed().decode().replace("\x1b[200~", "").replace("\x1b[201~", "")
    return [part for part in text.split("\r") if part]


@pytest.mark.slow
def test_prompts_arrive_whole_once_and_in_order_though_screen_servers_are_killed(tmp_path: Path) -> None:
    repeat(TIMES, tmp_path, kill_the_server_while_prompts_are_typed)


def kill_the_server_while_prompts_are_typed(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    wanted = [f"prompt {number}" for number in range(3)]
    with imitate(folder, SPEAKING) as program:
        program.order(
            {"on_enter": [{"report": "state=working"}, {"report": "state=idle"}]}, {"report": "state=idle"}
        )
        program.wait_for("idle")
        for number, text in enumerate(wanted):
            program.ask("prompt", id=f"p{number}", text=text)
        enough = chance.choice([0, 0, 0, 22, 25])
        wait_until(lambda: len(program.typed()) > enough, "the first being typed", seconds=SECONDS)
        program.kill_server()

        wait_until(
            lambda: all(is_final(program, number) for number in range(3)), "all receipts", seconds=SECONDS
        )
        refused = [
            text for number, text in enumerate(wanted) if program.receipts(f"p{number}")[-1] == "refused"
        ]
        assert all(
            "replaced" in event["reason"]
            for event in program.events("receipt")
            if event["state"] == "refused"
        )
        assert len(refused) < 2
        # By the time this is done, it has read what was typed before.
        program.order({"raw": ""})
        submitted = wanted[: wanted.index(refused[0])] if refused else wanted
        # One that is refused may stand there, or its server was killed after it had noted that it would type it.
        assert taken(program) in (submitted, [*submitted, *refused])


def is_final(program: Imitation, number: int) -> bool:
    """The outcome of a prompt that was just submitted may stay unknown."""
    receipts = program.events("receipt")
    if any(event["state"] == "refused" for event in receipts):
        return True
    last = [event for event in receipts if event["prompt"] == f"p{number}"][-1]
    return last["state"] in ("answered", "refused") or (last["state"] == "typed" and bool(last["reason"]))
