"""Prompts on their way into a program, step by step; moments are numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet_tui.holder.prompts.delivery import REDRAW_SECONDS, SETTLE_BYTES, UNREAD_SECONDS
from fleet_tui.holder.prompts.outcome import GIVEN_SECONDS
from fleet_tui.holder.prompts.prompt import HANDS_OFF_SECONDS, ProgramState, PromptStep
from fleet_tui.holder.prompts.queue import CONFIRM_SECONDS, SETTLE_SECONDS, PromptQueue
from fleet_tui.holder.prompts.reasons import (
    HALF_TYPED,
    HANDS_ON,
    HELD,
    IS_LIMITED,
    IS_STARTING,
    IS_WORKING,
    PROGRAM_ENDED,
    SAYS_NOTHING,
    STOPPED,
    UNCONFIRMED,
    UNKNOWABLE,
    UNREAD,
)
from fleet_tui.models import Status

LATER = 1.0 + SETTLE_SECONDS + 0.1
WAITS_FOR = {
    Status.STARTING: IS_STARTING,
    Status.WORKING: IS_WORKING,
    Status.LIMITED: IS_LIMITED,
    Status.UNKNOWN: SAYS_NOTHING,
}


def on_disk(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "prompts.jsonl").read_text().splitlines()
    return [(entry["id"], entry["state"]) for entry in map(json.loads, lines)]


def news_aside(steps: list[PromptStep]) -> list[PromptStep]:
    """Without the receipts of prompts that are not typed yet."""
    stands_there = (HELD, UNREAD)
    return [
        one
        for one in steps
        if one.receipt is None or one.receipt["state"] != "queued" or one.receipt["reason"] in stands_there
    ]


def step(
    prompts: PromptQueue, now: float, status: Status = Status.IDLE, *, busy: int = 0
) -> list[PromptStep]:
    return news_aside(prompts.step(now, ProgramState(status, busy=busy)))


def state(prompts: PromptQueue, prompt: str = "p1") -> tuple[str, str]:
    receipt = prompts.receipt(prompt)
    return receipt["state"], receipt["reason"]


def one(folder: Path, text: str = "hello", *, is_now: bool = False) -> PromptQueue:
    prompts = PromptQueue(folder)
    prompts.add("p1", text, is_now=is_now)
    return prompts


def typed(folder: Path) -> PromptQueue:
    """One prompt, just submitted."""
    prompts = one(folder)
    step(prompts, 1.0)
    step(prompts, LATER)
    assert state(prompts) == ("typed", "")
    return prompts


def test_a_prompt_is_pasted_and_submitted_by_an_enter_of_its_own(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    assert state(prompts) == ("queued", "")

    assert step(prompts, 1.0) == [PromptStep(paste="hello")]
    assert step(prompts, 1.0 + SETTLE_SECONDS / 2) == []
    assert prompts.due() == pytest.approx(1.0 + SETTLE_SECONDS, abs=0.001)
    submit, receipt = step(prompts, LATER)

    assert submit.submit
    assert receipt.receipt is not None
    assert receipt.receipt["state"] == "typed"
    assert on_disk(tmp_path) == [("p1", state) for state in ("queued", "typing", "pasted", "typed")]


@pytest.mark.parametrize("status", [Status.SETUP, Status.BLOCKED])
@pytest.mark.parametrize("is_now", [False, True])
def test_nothing_is_typed_into_setup_or_into_a_question(tmp_path: Path, status: Status, is_now: bool) -> None:
    prompts = one(tmp_path, is_now=is_now)

    assert step(prompts, 1.0, status) == []
    assert step(prompts, 999.0, status) == []
    assert step(prompts, 1000.0, Status.IDLE) == [PromptStep(paste="hello")]


@pytest.mark.parametrize("status", [Status.STARTING, Status.WORKING, Status.LIMITED, Status.UNKNOWN])
def test_a_prompt_waits_until_the_program_does(tmp_path: Path, status: Status) -> None:
    prompts = one(tmp_path)

    assert step(prompts, 1.0, status) == []
    assert state(prompts) == ("queued", WAITS_FOR[status])
    assert step(prompts, 99.0, Status.DONE) == [PromptStep(paste="hello")]


@pytest.mark.parametrize("status", [Status.WORKING, Status.LIMITED, Status.UNKNOWN])
def test_a_prompt_for_now_does_not_wait(tmp_path: Path, status: Status) -> None:
    assert step(one(tmp_path, is_now=True), 1.0, status) == [PromptStep(paste="hello")]


def test_a_prompt_for_now_goes_before_those_that_wait(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    prompts.add("p2", "two", is_now=False)
    step(prompts, 1.0, Status.WORKING)
    prompts.add("p3", "three", is_now=True)
    assert [waiting["prompt"] for waiting in prompts.waiting()] == ["p3", "p1", "p2"]

    assert step(prompts, 2.0, Status.WORKING) == [PromptStep(paste="three")]
    step(prompts, LATER + 1.0, Status.WORKING)
    assert state(prompts, "p3") == ("typed", "")
    assert [waiting["prompt"] for waiting in prompts.waiting()] == ["p1", "p2"]


def test_a_prompt_for_now_does_not_mix_with_one_that_is_being_typed(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    step(prompts, 1.0)
    prompts.add("p2", "two", is_now=True)

    assert step(prompts, 1.0 + SETTLE_SECONDS / 2) == []
    assert [one.submit for one in step(prompts, LATER)] == [True, False]
    assert step(prompts, LATER + 0.1, Status.WORKING, busy=1)[-1] == PromptStep(paste="two")


def test_a_program_that_would_speak_is_not_typed_to_before_it_has(tmp_path: Path) -> None:
    assert step(one(tmp_path, is_now=True), 1.0, Status.STARTING) == []


def test_what_a_person_is_typing_is_not_mixed_with_a_prompt(tmp_path: Path) -> None:
    prompts = one(tmp_path)

    assert news_aside(prompts.step(1.0, ProgramState(Status.IDLE, last_key=0.5))) == []
    assert state(prompts) == ("queued", HANDS_ON)
    assert prompts.due() == 0.5 + HANDS_OFF_SECONDS
    assert prompts.step(0.5 + HANDS_OFF_SECONDS, ProgramState(Status.IDLE, last_key=0.5)) == [
        PromptStep(paste="hello")
    ]


def test_a_long_prompt_gets_longer_before_its_enter(tmp_path: Path) -> None:
    prompts = one(tmp_path, "x" * SETTLE_BYTES)
    step(prompts, 1.0)

    assert step(prompts, 1.9) == []
    assert step(prompts, 2.1 + SETTLE_SECONDS)[0].submit


def test_the_enter_waits_until_the_whole_paste_was_read(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    step(prompts, 1.0)

    assert prompts.step(5.0, ProgramState(Status.IDLE, is_reading=False)) == []
    assert prompts.step(5.05, ProgramState(Status.IDLE)) == []
    assert prompts.step(5.0 + SETTLE_SECONDS, ProgramState(Status.IDLE))[0].submit


def test_a_waiting_prompt_reports_once_that_the_program_does_not_read(tmp_path: Path) -> None:
    prompts, deaf = one(tmp_path), ProgramState(Status.IDLE, is_reading=False)
    step(prompts, 1.0)

    assert prompts.step(1.1, deaf) == []
    [told] = prompts.step(1.1 + UNREAD_SECONDS, deaf)
    assert told.receipt is not None
    assert (told.receipt["state"], told.receipt["reason"]) == ("queued", UNREAD)
    assert prompts.step(9.0, deaf) == []
    assert prompts.step(9.1, ProgramState(Status.IDLE)) == []
    assert prompts.step(9.1 + SETTLE_SECONDS, ProgramState(Status.IDLE))[0].submit


def test_a_prompt_is_accepted_when_the_program_begins_and_answered_when_it_is_calm(tmp_path: Path) -> None:
    prompts = typed(tmp_path)

    step(prompts, 2.0, Status.WORKING, busy=1)
    assert state(prompts) == ("accepted", "")
    step(prompts, 3.0, Status.BLOCKED, busy=1)
    assert state(prompts) == ("accepted", "")
    step(prompts, 4.0, Status.DONE, busy=1)

    assert state(prompts) == ("answered", "")
    assert step(prompts, 5.0) == []


def test_a_turn_too_quick_to_be_seen_working_is_accepted_and_answered(tmp_path: Path) -> None:
    prompts = typed(tmp_path)

    steps = step(prompts, 2.0, Status.DONE, busy=1)

    assert [one.receipt["state"] for one in steps if one.receipt] == ["accepted", "answered"]


def test_enter_is_pressed_once_more_and_only_once(tmp_path: Path) -> None:
    prompts = typed(tmp_path)
    first = LATER + CONFIRM_SECONDS + 0.01

    assert step(prompts, first - 0.1) == []
    assert step(prompts, first) == [PromptStep(submit=True)]
    assert step(prompts, first + CONFIRM_SECONDS - 0.1) == []
    step(prompts, first + CONFIRM_SECONDS)

    assert state(prompts) == ("refused", UNCONFIRMED)


def test_enter_is_not_pressed_again_into_a_question(tmp_path: Path) -> None:
    prompts = typed(tmp_path)

    steps = step(prompts, 99.0, Status.BLOCKED)

    assert not any(one.submit for one in steps)


def test_whether_a_program_that_shows_nothing_took_a_prompt_is_unknown(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    silent = ProgramState(Status.IDLE, speaks=False)
    prompts.step(1.0, silent)
    prompts.step(LATER, silent)

    prompts.step(99.0, silent)

    assert state(prompts) == ("typed", UNKNOWABLE)


def test_the_next_prompt_waits_until_the_one_before_was_taken(tmp_path: Path) -> None:
    prompts = typed(tmp_path)
    prompts.add("p2", "two", is_now=False)

    assert step(prompts, 1.5) == []
    step(prompts, 2.0, Status.WORKING, busy=1)
    steps = step(prompts, 3.0, Status.DONE, busy=1)

    assert PromptStep(paste="two") in steps


def test_a_prompt_sent_into_work_counts_as_taken_only_by_the_programs_own_report(tmp_path: Path) -> None:
    prompts = one(tmp_path, is_now=True)
    step(prompts, 1.0, Status.WORKING, busy=1)
    step(prompts, LATER, Status.WORKING, busy=1)
    step(prompts, 3.0, Status.WORKING, busy=2)
    assert state(prompts) == ("typed", "")

    assert prompts.taken("hello")
    assert state(prompts) == ("accepted", "")


def test_a_prompt_sent_into_work_without_a_report_about_it_stays_typed(tmp_path: Path) -> None:
    prompts = one(tmp_path, is_now=True)
    step(prompts, 1.0, Status.WORKING, busy=1)
    step(prompts, LATER, Status.WORKING, busy=1)

    step(prompts, 3.0, Status.DONE, busy=1)

    assert state(prompts) == ("typed", UNKNOWABLE)


def test_a_prompt_that_was_given_up_and_is_taken_later_is_followed_all_the_same(tmp_path: Path) -> None:
    prompts = typed(tmp_path)
    step(prompts, LATER + CONFIRM_SECONDS)
    step(prompts, LATER + 2 * CONFIRM_SECONDS + 0.1)
    assert state(prompts) == ("refused", UNCONFIRMED)

    assert prompts.taken("hello")
    assert state(prompts) == ("accepted", "")
    step(prompts, 20.0, Status.WORKING, busy=1)
    step(prompts, 21.0, busy=1)

    assert state(prompts) == ("answered", "")
    assert prompts.taken("hello") == []


def test_another_accepted_prompt_does_not_change_the_receipt(tmp_path: Path) -> None:
    prompts = typed(tmp_path)

    assert prompts.taken("something a person typed") == []
    assert state(prompts) == ("typed", "")


def test_a_prompt_sent_twice_under_one_id_is_typed_once(tmp_path: Path) -> None:
    prompts = typed(tmp_path)

    assert prompts.add("p1", "hello", is_now=False)["state"] == "typed"
    assert step(prompts, 1.5) == []


def test_control_characters_are_left_out_and_the_receipt_says_so(tmp_path: Path) -> None:
    prompts = one(tmp_path, "one\x1b[201~\x03\x1btwo\x07\x08 three\r\nfour\tfive\rsix\x9b")

    assert step(prompts, 1.0) == [PromptStep(paste="one[201~two three\nfour\tfive\nsix")]
    assert prompts.receipt("p1")["note"] == "control characters left out: 6"


# ── the first prompt ──


def test_a_prompt_on_the_command_line_is_typed_already(tmp_path: Path) -> None:
    prompts = PromptQueue(tmp_path, "go", first_id="p1", is_given=True)

    assert state(prompts) == ("typed", "")
    assert step(prompts, 1.0, Status.STARTING) == []
    step(prompts, 2.0, Status.WORKING, busy=1)
    step(prompts, 3.0, Status.DONE, busy=1)
    assert state(prompts) == ("answered", "")


def test_a_prompt_on_the_command_line_without_a_turn_lets_the_next_one_go_without_an_enter(
    tmp_path: Path,
) -> None:
    prompts = PromptQueue(tmp_path, "go", first_id="p1", is_given=True)
    prompts.add("p2", "next", is_now=False)

    assert step(prompts, 1.0) == []
    assert step(prompts, 1.0 + GIVEN_SECONDS / 2) == []
    steps = step(prompts, 1.0 + GIVEN_SECONDS)

    assert state(prompts) == ("typed", UNKNOWABLE)
    assert not any(one.submit for one in steps)
    assert PromptStep(paste="next") in steps


# ── the queue ──


def test_prompts_that_wait_can_be_listed_reworded_and_taken_back(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    prompts.add("p2", "two", is_now=False)

    assert prompts.change("p1", "HELLO")
    assert prompts.cancel("p2") is not None

    assert [(entry["prompt"], entry["text"]) for entry in prompts.waiting()] == [("p1", "HELLO")]
    assert state(prompts, "p2") == ("refused", "cancelled")
    assert step(prompts, 1.0) == [PromptStep(paste="HELLO")]


def test_a_command_that_waits_is_listed_as_one_and_can_stay_one_when_it_is_reworded(tmp_path: Path) -> None:
    prompts = PromptQueue(tmp_path)
    prompts.add("p1", "/compact", is_now=False, is_command=True)

    assert prompts.change("p1", "/clear", is_command=True)

    assert [(one["text"], one["command"]) for one in PromptQueue(tmp_path).waiting()] == [("/clear", True)]


def test_a_prompt_that_is_being_typed_can_neither_be_reworded_nor_taken_back(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    step(prompts, 1.0)

    assert not prompts.change("p1", "no, this")
    assert prompts.cancel("p1") is None
    assert prompts.cancel("nobody") is None


@pytest.mark.parametrize("text", ["", " \n", "\x01\x02"])
def test_a_prompt_is_never_reworded_into_an_enter_alone(tmp_path: Path, text: str) -> None:
    prompts = one(tmp_path)

    assert not prompts.change("p1", text)
    assert step(prompts, 1.0) == [PromptStep(paste="hello")]


@pytest.mark.parametrize("how", [PROGRAM_ENDED, STOPPED])
def test_what_was_taken_is_neither_answered_nor_refused_by_the_end_of_its_program(
    tmp_path: Path, how: str
) -> None:
    prompts = typed(tmp_path)
    step(prompts, 2.0, Status.WORKING, busy=1)
    assert state(prompts) == ("accepted", "")

    prompts.step(3.0, ProgramState(Status.WORKING, busy=1, ended=how))

    assert state(prompts) == ("unknown", how)


def test_a_turn_reported_over_right_before_the_program_ends_is_answered(tmp_path: Path) -> None:
    prompts = typed(tmp_path)
    step(prompts, 2.0, Status.WORKING, busy=1)

    prompts.step(3.0, ProgramState(Status.DONE, busy=1, ended=PROGRAM_ENDED, calm_at=9.0))

    assert state(prompts) == ("answered", "")


def test_all_waiting_prompts_are_refused_when_the_program_has_ended(tmp_path: Path) -> None:
    prompts = PromptQueue(tmp_path)
    for number in range(3):
        prompts.add(f"p{number}", "text", is_now=False)

    steps = prompts.step(1.0, ProgramState(Status.IDLE, ended=PROGRAM_ENDED))

    assert [entry.receipt["state"] for entry in steps if entry.receipt] == ["refused"] * 3
    assert prompts.step(2.0, ProgramState(Status.IDLE, ended=PROGRAM_ENDED)) == []


# ── after the screen server was replaced ──


def test_a_queued_prompt_is_still_queued_after_the_screen_server_was_replaced(tmp_path: Path) -> None:
    one(tmp_path, "later")

    assert step(PromptQueue(tmp_path), 3.0) == [PromptStep(paste="later")]


def test_a_reworded_prompt_stays_reworded_after_the_screen_server_was_replaced(tmp_path: Path) -> None:
    one(tmp_path).change("p1", "other words")

    assert step(PromptQueue(tmp_path), 3.0) == [PromptStep(paste="other words")]


def test_a_submitted_prompt_is_followed_on_and_not_submitted_again(tmp_path: Path) -> None:
    typed(tmp_path)

    second = PromptQueue(tmp_path)
    second.add("p2", "two", is_now=False)
    assert step(second, 10.0) == []
    steps = step(second, 10.0 + GIVEN_SECONDS)

    assert state(second) == ("typed", UNKNOWABLE)
    assert [one.paste for one in steps if one.paste] == ["two"]
    assert not any(one.submit for one in steps)


def test_a_prompt_that_was_being_typed_when_the_server_died_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    step(one(tmp_path), 1.0)

    (refusal,) = step(PromptQueue(tmp_path), 2.0)

    assert refusal.receipt is not None
    assert refusal.receipt["state"] == "refused"
    assert "replaced" in refusal.receipt["reason"]


def test_nothing_is_typed_while_half_a_prompt_may_be_in_the_box(tmp_path: Path) -> None:
    step(one(tmp_path), 1.0)
    second = PromptQueue(tmp_path)
    second.add("p2", "two", is_now=False)

    step(second, 2.0)
    assert step(second, 99.0) == []
    assert state(second, "p2") == ("queued", HALF_TYPED)

    assert step(second, 100.0, busy=1) == [PromptStep(paste="two")]


def test_a_prompt_that_was_typed_whole_is_submitted_by_the_next_screen_server(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    step(prompts, 1.0)
    step(prompts, 1.01)

    second = PromptQueue(tmp_path)
    assert step(second, 5.0) == []
    assert step(second, 9.0, Status.BLOCKED)[0].receipt is not None
    steps = step(second, 10.0)

    assert [one.submit for one in steps] == [True, False]
    assert state(second) == ("typed", "")


def test_the_next_screen_server_sees_the_program_draw_itself_before_it_presses_enter(tmp_path: Path) -> None:
    """Its screen is empty at first: a dialog that stands there is not known yet."""
    prompts = one(tmp_path)
    step(prompts, 1.0)
    step(prompts, 1.01)

    second = PromptQueue(tmp_path)

    assert step(second, 9.0) == []
    assert second.due() == pytest.approx(9.0 + REDRAW_SECONDS)
    assert step(second, 9.0 + REDRAW_SECONDS / 2) == []
    assert step(second, 9.0 + REDRAW_SECONDS)[0].submit


def test_an_accepted_prompt_is_answered_when_the_program_came_to_rest_meanwhile(tmp_path: Path) -> None:
    step(typed(tmp_path), 2.0, Status.WORKING, busy=1)

    second = PromptQueue(tmp_path)
    step(second, 3.0, Status.DONE)

    assert state(second) == ("answered", "")


def test_no_enter_goes_into_a_dialog_that_came_up_after_the_text(tmp_path: Path) -> None:
    prompts = one(tmp_path)
    step(prompts, 1.0)

    (held,) = step(prompts, LATER, Status.BLOCKED)
    assert held.receipt is not None
    assert (held.receipt["state"], held.receipt["reason"]) == ("queued", HELD)
    assert step(prompts, 50.0, Status.BLOCKED) == []
    assert step(prompts, 51.0, Status.WORKING) == []

    assert step(prompts, 52.0, Status.IDLE)[0].submit


@pytest.mark.parametrize("text", ["", " \n", "\x1b\x03"])
def test_a_prompt_without_text_is_refused_rather_than_being_a_bare_enter(tmp_path: Path, text: str) -> None:
    prompts = one(tmp_path, text)

    assert state(prompts)[0] == "refused"
    assert step(prompts, 1.0) == []


def test_truncated_lines_are_skipped(tmp_path: Path) -> None:
    good = {"id": "p1", "text": "good", "state": "queued"}
    (tmp_path / "prompts.jsonl").write_text(
        '{"id": "p0", "te\n[]\n7\n' + "[" * 100_000 + "\n" + json.dumps(good) + "\n{"
    )

    assert step(PromptQueue(tmp_path), 1.0) == [PromptStep(paste="good")]


def test_a_folder_that_cannot_be_written_loses_the_record_and_not_the_prompt(tmp_path: Path) -> None:
    assert step(one(tmp_path / "gone"), 1.0) == [PromptStep(paste="hello")]
