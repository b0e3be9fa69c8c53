"""Prompts and the input box: drafts, menus, a second Enter, and the outcome of each turn."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from fleet_tui.fast_dataclasses import replace
from fleet_tui.holder.prompts import reasons as module
from fleet_tui.holder.prompts.box_access import AGAIN_SECONDS, STUCK_SECONDS
from fleet_tui.holder.prompts.delivery import SHOW_SECONDS
from fleet_tui.holder.prompts.drafts import ASIDE_SECONDS, RESTORE_PRESSES
from fleet_tui.holder.prompts.outcome import BEGIN_SECONDS
from fleet_tui.holder.prompts.prompt import ProgramState
from fleet_tui.holder.prompts.queue import PromptQueue
from fleet_tui.holder.prompts.reasons import (
    BOX_GONE,
    BOX_UNSEEN,
    DRAFT_LOST,
    HANDS_ON,
    HAS_DRAFT,
    IN_MENU,
    LEFT_THERE,
    MIXED,
    NO_TURN,
    NOT_ASIDE,
    NOT_SHOWN,
    NOT_TAKEN,
    OTHER_MODE,
    PROGRAM_ENDED,
    STOPPED,
    UNREAD,
)
from fleet_tui.models import Status
from fleet_tui.programs.input_box import Box, BoxRule, BoxState

RULE = BoxRule(
    "lines", ("> ",), 2, top="─", bottom="─", pasted=r"\[Pasted [^\]]*\]",
    clear="ctrl+c", set_aside="ctrl+c", restore="up",
)  # fmt: skip
EMPTY, NONE, MODE = Box(BoxState.EMPTY), Box(BoxState.NONE), Box(BoxState.MODE, "! ")
UNSETTLED = Box(BoxState.UNSETTLED)


def holding(text: str) -> Box:
    return Box(BoxState.DRAFT, text, 1)


class Stage:
    """Prompts and a program whose box a test controls; the clock advances with each pass."""

    def __init__(self, folder: Path, rule: BoxRule = RULE) -> None:
        self.prompts = PromptQueue(folder, box=rule)
        self.program = ProgramState(Status.IDLE, box=EMPTY, last_key=-99.0, last_output=999.0)
        self.now = 10.0
        self.done: list[str] = []
        """What was done to the program: pasted texts, `enter`, and keys."""

    def add(self, text: str = "hello", **more: Any) -> Stage:
        self.prompts.add("p1", text, is_now=more.pop("is_now", False), **more)
        return self

    def pass_(self, seconds: float = 0.3, **seen: Any) -> list[str]:
        """Show the program in this state for some time; returns the keys that were pressed meanwhile."""
        self.program = replace(self.program, **seen)
        before = len(self.done)
        until = self.now + seconds
        while self.now < until:
            self.now += 0.1
            for step in self.prompts.step(self.now, self.program):
                self.done += [step.paste] if step.paste else []
                self.done += ["enter"] if step.submit else []
                self.done += [step.key] if step.key else []
        return self.done[before:]

    @property
    def receipt(self) -> tuple[str, str]:
        told = self.prompts.receipt("p1")
        return told["state"], told["reason"]

    def submitted(self) -> Stage:
        assert self.pass_(box=EMPTY) == ["hello"]
        assert self.pass_(0.6, box=holding("hello")) == ["enter"]
        return self

    def accepted(self) -> Stage:
        self.submitted().pass_(box=EMPTY, status=Status.WORKING, busy=1)
        assert self.receipt == ("accepted", "")
        return self


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# ── what it waits for ──


@pytest.mark.parametrize(
    ("box", "reason"), [(NONE, BOX_GONE), (MODE, OTHER_MODE), (holding("[Pasted text #1]"), HAS_DRAFT)]
)
@pytest.mark.parametrize("is_now", [False, True])
def test_nothing_is_typed_into_a_box_that_is_not_empty(
    stage: Stage, box: Box, reason: str, is_now: bool
) -> None:
    stage.add(is_now=is_now)

    assert stage.pass_(30.0, box=box) == []
    assert stage.receipt == ("queued", reason)
    assert stage.pass_(box=EMPTY) == ["hello"]


def test_nothing_is_typed_before_two_reads_of_the_box_agree(stage: Stage) -> None:
    assert stage.add().pass_(9.0, box=UNSETTLED) == []
    assert stage.pass_(box=EMPTY) == ["hello"]


def test_a_menu_is_waited_out_and_named(stage: Stage) -> None:
    assert stage.add().pass_(9.0, status=Status.BLOCKED, detail="menu", box=NONE) == []
    assert stage.receipt == ("queued", IN_MENU)


def test_a_box_that_was_never_recognized_is_typed_into_only_if_that_is_asked_for(
    stage: Stage, tmp_path: Path
) -> None:
    assert stage.add().pass_(9.0, box=NONE, has_box=False) == []
    assert stage.receipt == ("queued", BOX_UNSEEN)
    insisting = Stage(tmp_path / "other").add(is_now=True)

    assert insisting.pass_(1.0, box=NONE, has_box=False, status=Status.UNKNOWN) == ["hello", "enter"]


def test_a_draft_that_was_just_written_is_left_alone(stage: Stage) -> None:
    stage.add(is_now=True)

    assert stage.pass_(2.0, box=holding("please do not"), last_key=stage.now) == []
    assert stage.receipt == ("queued", HANDS_ON)


# ── drafts ──


def test_a_draft_is_set_aside_and_restored(stage: Stage) -> None:
    stage.add()

    assert stage.pass_(box=holding("please do not")) == ["ctrl+c"]
    assert stage.pass_(1.0, box=holding("please do not")) == []
    stage.accepted()
    assert stage.pass_(5.0) == []
    while stage.done[-1] != "up":
        stage.pass_(0.1, status=Status.DONE, box=EMPTY)
    assert stage.pass_(0.7, box=holding("hello")) == ["up"]

    assert stage.pass_(5.0, box=holding("please do not")) == []
    assert stage.receipt == ("answered", "")
    assert stage.prompts.receipt("p1")["note"] == ""


def test_a_draft_that_cannot_be_set_aside_keeps_the_prompt_waiting(stage: Stage) -> None:
    stage.add()

    assert stage.pass_(ASIDE_SECONDS + 9.0, box=holding("please do not")) == ["ctrl+c"]
    assert stage.receipt == ("queued", NOT_ASIDE)
    assert stage.pass_(box=EMPTY) == ["hello"]


def test_a_draft_is_not_set_aside_where_that_would_lose_another(stage: Stage) -> None:
    assert stage.add().pass_(9.0, box=holding("a draft"), may_set_aside=False) == []
    assert stage.receipt == ("queued", HAS_DRAFT)


def test_a_lost_draft_is_noted_in_the_receipt_and_the_box_is_cleared(stage: Stage) -> None:
    stage.add().pass_(box=holding("please do not"))
    stage.accepted()

    while stage.done[-1] != "up":
        stage.pass_(0.1, status=Status.DONE, box=EMPTY)
    keys = stage.pass_(30.0, box=holding("hello"))

    assert keys[-1] == "ctrl+c"
    assert keys.count("up") <= RESTORE_PRESSES
    assert DRAFT_LOST in stage.prompts.receipt("p1")["note"]
    assert "please do not" in stage.prompts.receipt("p1")["note"]


def test_a_box_is_never_emptied_twice_in_a_row(stage: Stage) -> None:
    """Several programs quit at the second one."""
    stage.add().pass_(box=holding("please do not"))
    stage.accepted()
    stage.prompts.add("p2", "two", is_now=False)
    while stage.done[-1] != "up":
        stage.pass_(0.1, status=Status.DONE, box=EMPTY)
    while stage.done[-1] != "ctrl+c":
        stage.pass_(0.1, box=holding("hello"))

    assert stage.pass_(AGAIN_SECONDS + 5.0) == []
    assert stage.pass_(1.0, box=EMPTY) == ["two"]


def test_a_slow_program_is_not_pressed_again_before_it_shows_what_the_last_key_did(stage: Stage) -> None:
    stage.add().pass_(box=holding("please do not"))
    stage.accepted()
    while stage.done[-1] != "up":
        stage.pass_(0.1, status=Status.DONE, box=EMPTY)

    assert stage.pass_(4.0) == []
    assert stage.pass_(1.0, box=holding("hello")) == ["up"]
    assert stage.pass_(4.0) == []


def test_a_key_that_only_moves_the_cursor_at_first_is_pressed_again(stage: Stage) -> None:
    stage.add().pass_(box=holding("please do not"))
    stage.accepted()
    while stage.done[-1] != "up":
        stage.pass_(0.1, status=Status.DONE, box=EMPTY)

    assert stage.pass_(1.0, box=replace(holding("hello"), cursor=(5, 0))) == ["up"]
    assert stage.pass_(1.0, box=replace(holding("hello"), cursor=(0, 0))) == ["up"]


def test_no_key_is_pressed_over_what_the_user_wrote_since(stage: Stage) -> None:
    stage.add().pass_(box=holding("please do not"))
    stage.accepted()

    assert stage.pass_(30.0, status=Status.DONE, box=holding("something new"), last_key=stage.now) == []


def test_the_next_screen_server_restores_the_draft(stage: Stage, tmp_path: Path) -> None:
    stage.add().pass_(box=holding("please do not"))
    stage.accepted()

    stage.prompts = PromptQueue(tmp_path, box=RULE)

    assert stage.pass_(1.0, status=Status.DONE, box=EMPTY)[:1] == ["up"]


def test_a_program_that_restores_drafts_by_itself_is_left_alone(tmp_path: Path) -> None:
    stage = Stage(tmp_path, replace(RULE, set_aside="ctrl+s", restore="ctrl+s", restores_itself=True)).add()
    assert stage.pass_(box=holding("a draft")) == ["ctrl+s"]
    stage.pass_(box=EMPTY)
    stage.pass_(0.6, box=holding("hello"))

    assert stage.pass_(9.0, box=holding("a draft"), status=Status.WORKING, busy=1) == []
    assert not stage.prompts.needs_box(Status.WORKING), "it is back"
    stage.pass_(1.0, status=Status.DONE)
    assert stage.receipt == ("answered", "")


# ── Enter ──


def test_enter_waits_until_the_box_shows_the_text(stage: Stage) -> None:
    stage.add()

    assert stage.pass_(5.0) == ["hello"]
    assert stage.pass_(0.6, box=holding("hello")) == ["enter"]


def test_a_text_that_the_program_has_not_read_waits_for_it(stage: Stage) -> None:
    """A program that stands still draws nothing: its box would show the text later, and keep it."""
    stage.add()

    assert stage.pass_(SHOW_SECONDS + 2.0, last_output=5.0) == ["hello"]
    assert stage.receipt == ("queued", UNREAD)
    assert stage.pass_(0.6, box=holding("hello"), last_output=999.0) == ["enter"]


def test_a_text_that_the_box_never_shows_is_not_submitted(stage: Stage) -> None:
    assert stage.add().pass_(SHOW_SECONDS + 2.0) == ["hello"]
    assert stage.receipt == ("refused", NOT_SHOWN)


def test_a_text_that_was_mixed_with_another_is_not_submitted(stage: Stage) -> None:
    stage.add().pass_()

    assert stage.pass_(SHOW_SECONDS + 2.0, box=holding("please do not hello")) == []
    assert stage.receipt == ("refused", MIXED)


def test_a_second_enter_follows_only_while_the_box_shows_exactly_the_text(stage: Stage) -> None:
    stage.add().submitted()

    assert stage.pass_(3.0) == ["enter"]


@pytest.mark.parametrize("box", [EMPTY, holding("search")])
def test_no_second_enter_goes_anywhere_else(stage: Stage, box: Box) -> None:
    stage.add().submitted()

    assert stage.pass_(BEGIN_SECONDS + 9.0, box=box) == []
    assert stage.receipt == ("unknown", NO_TURN)


def test_no_second_enter_goes_into_what_covers_the_box(stage: Stage) -> None:
    stage.add().submitted()

    assert stage.pass_(BEGIN_SECONDS + 9.0, box=NONE) == []
    assert stage.receipt == ("typed", "")


def test_a_text_that_was_not_accepted_is_removed_from_the_box(stage: Stage) -> None:
    stage.add().submitted()

    assert stage.pass_(9.0, box=holding("hello"))[:2] == ["enter", "ctrl+c"]
    stage.pass_(box=EMPTY)
    assert stage.receipt in {("refused", NOT_TAKEN), ("refused", LEFT_THERE)}


def test_a_receipt_says_that_the_text_was_removed(stage: Stage) -> None:
    stage.add().submitted()
    while "ctrl+c" not in stage.done:
        stage.pass_(0.1)

    stage.pass_(box=EMPTY)

    assert stage.receipt == ("refused", NOT_TAKEN)


def test_a_program_that_draws_nothing_is_not_sent_the_key_that_might_end_it(stage: Stage) -> None:
    stage.add().submitted()

    assert stage.pass_(STUCK_SECONDS + 9.0, last_output=0.0) == ["enter"]
    assert stage.receipt == ("refused", LEFT_THERE)
    assert stage.prompts.taken("hello")
    assert stage.receipt == ("accepted", "")


def test_a_draft_that_is_set_aside_late_comes_back_all_the_same(stage: Stage) -> None:
    stage.add()
    assert stage.pass_(ASIDE_SECONDS + 3.0, box=holding("please do not")) == ["ctrl+c"]

    stage.accepted()
    while stage.done[-1] != "up":
        stage.pass_(0.1, status=Status.DONE, box=EMPTY)


# ── how its turn ended ──


@pytest.mark.parametrize(
    ("seen", "receipt"),
    [
        ({"status": Status.DONE}, ("answered", "")),
        ({"status": Status.ERROR, "text": "API Error: 400"}, ("failed", "API Error: 400")),
        ({"status": Status.BLOCKED, "detail": "login", "text": "Invalid key"}, ("failed", "Invalid key")),
        ({"status": Status.LIMITED}, ("accepted", "")),
        ({"status": Status.BLOCKED, "detail": "permission"}, ("accepted", "")),
        ({"status": Status.BLOCKED, "detail": "menu", "box": NONE}, ("answered", "")),
        ({"status": Status.IDLE, "was_interrupted": True}, ("interrupted", "")),
        ({"status": Status.IDLE, "box": holding("hello")}, ("interrupted", "")),
        ({"status": Status.WORKING, "ended": PROGRAM_ENDED}, ("unknown", PROGRAM_ENDED)),
        ({"status": Status.WORKING, "ended": STOPPED}, ("unknown", STOPPED)),
    ],
)
def test_a_receipt_says_how_the_turn_ended(
    stage: Stage, seen: dict[str, Any], receipt: tuple[str, str]
) -> None:
    stage.add().accepted()

    stage.pass_(1.0, **seen)

    assert stage.receipt == receipt


def test_an_error_that_is_still_on_the_screen_is_not_this_turns(stage: Stage) -> None:
    stage.program = replace(stage.program, status=Status.ERROR, text="401")
    stage.add().accepted()

    stage.pass_(0.5, status=Status.ERROR, text="401")
    assert stage.receipt == ("accepted", "")
    stage.pass_(0.5, status=Status.DONE, text="")
    assert stage.receipt == ("answered", "")


def test_the_same_error_twice_is_two_failures(stage: Stage) -> None:
    stage.program = replace(stage.program, status=Status.ERROR, text="401")
    stage.add().accepted()

    stage.pass_(4.0, status=Status.ERROR, text="401")

    assert stage.receipt == ("failed", "401")


def test_a_command_that_begins_no_turn_is_answered_once_the_box_has_taken_it(stage: Stage) -> None:
    stage.add("/compact", is_command=True)
    assert stage.pass_() == ["/compact"]
    assert stage.pass_(0.6, box=holding("/compact")) == ["enter"]

    assert stage.pass_(5.0, box=EMPTY) == []
    assert stage.receipt == ("answered", "")


def test_a_prompt_sent_into_work_is_accepted_when_its_box_lets_go_of_it(stage: Stage) -> None:
    stage.add(is_now=True).pass_(status=Status.WORKING, busy=1)
    assert stage.pass_(0.6, box=holding("hello")) == ["enter"]

    stage.pass_(box=EMPTY)
    assert stage.receipt == ("accepted", "")
    stage.pass_(status=Status.DONE)
    assert stage.receipt == ("answered", "")


def test_the_box_is_not_read_for_every_line_of_a_turn(stage: Stage) -> None:
    stage.add().accepted()
    stage.prompts.add("p2", "two", is_now=False)

    assert not stage.prompts.needs_box(Status.WORKING)
    assert stage.prompts.needs_box(Status.DONE)


def test_nothing_is_due_while_a_draft_waits_for_the_end_of_a_turn(stage: Stage) -> None:
    stage.add().pass_(box=holding("please do not"))
    stage.accepted()

    stage.pass_(1.0)

    assert stage.prompts.due() is None


def test_every_prompt_that_waits_says_for_what(stage: Stage) -> None:
    stage.add()
    stage.prompts.add("p2", "two", is_now=False)

    for status in set(Status) - {Status.IDLE, Status.DONE, Status.ERROR}:
        stage.pass_(0.2, status=status)
        assert all(entry["reason"] for entry in stage.prompts.waiting()), status
    stage.pass_(status=Status.IDLE)
    assert all(entry["reason"] for entry in stage.prompts.waiting())


# ── all of it, at random ──


class Imitation:
    """A program with a box, a history and a typing user; its submissions are what a model would receive."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.box, self.history, self.place = "", list[str](), 0
        self.asked: list[str] = []
        self.busy, self.status, self.until, self.last_key = 0, Status.IDLE, 0.0, -99.0
        self.is_menu = False
        self.has_quit = False

    def key(self, name: str, now: float) -> None:
        if self.is_menu:
            return
        if name == "enter" and self.box and self.chance.random() < 0.8:
            self.asked.append(self.box)
            self.history.append(self.box)
            self.box, self.place = "", 0
            self.busy, self.status, self.until = self.busy + 1, Status.WORKING, now + 2.0
        elif name == "ctrl+c":
            self.has_quit |= not self.box
            self.history.append(self.box)
            self.box, self.place = "", 0
        elif name == "up" and self.place < len(self.history):
            self.place += 1
            self.box = self.history[-self.place]

    def happens(self, now: float) -> None:
        if now >= self.until and self.status is Status.WORKING:
            self.status = Status.DONE
        if self.chance.random() < 0.02:
            self.is_menu = not self.is_menu
        if self.chance.random() < 0.01 and not self.is_menu:
            self.box += self.chance.choice(["draft", " more"])
            self.last_key = now

    def seen(self) -> ProgramState:
        box = NONE if self.is_menu else holding(self.box) if self.box else EMPTY
        menu = self.is_menu and self.status is not Status.WORKING
        status = Status.BLOCKED if menu else self.status
        return ProgramState(
            status,
            "menu" if menu else "",
            busy=self.busy,
            box=box,
            last_key=self.last_key,
            last_output=999.0,
        )


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_a_prompt_arrives_once_and_alone_or_is_refused(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    imitation, prompts = Imitation(chance), PromptQueue(tmp_path, box=RULE)
    texts = {f"p{n}": f"prompt number {n}" for n in range(4)}
    left, now = list(texts), 10.0
    while now < 400.0:
        now += 0.1
        if left and chance.random() < 0.02:
            name = left.pop()
            prompts.add(name, texts[name], is_now=chance.random() < 0.3)
        imitation.happens(now)
        if now > 300.0:
            imitation.is_menu = False
        # No user types in the very moment in which something is typed: no program could tell that apart.
        for step in prompts.step(now, imitation.seen()):
            if step.paste and not imitation.is_menu:
                imitation.box += step.paste
            for key in [step.key] if step.key else ["enter"] if step.submit else []:
                imitation.key(key, now)

    assert not imitation.has_quit
    assert set(imitation.asked) <= set(texts.values()), imitation.asked
    for name in texts.keys() - set(left):
        became = imitation.asked.count(texts[name]), prompts.receipt(name)["state"]
        assert became in {(1, "answered"), (0, "refused"), (0, "queued"), (0, "typing")}


def test_every_reason_has_a_text() -> None:
    reasons = [value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)]

    assert all(reason.strip() for reason in reasons)
