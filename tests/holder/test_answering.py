"""What an answer means, and the keys that give it; moments are numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet_tui.holder.answering import (
    AGAIN_SECONDS,
    GONE_SECONDS,
    KEY_SECONDS,
    Answer,
    Press,
    decision,
    is_same_question,
    resolve_answer,
)
from fleet_tui.holder.observed import Observed
from fleet_tui.models import PermissionRequest, Status
from fleet_tui.programs.dialogs import Choice, lettered_choices, numbered_choices, pointed_choices
from fleet_tui.programs.interaction_rules import InteractionRules

pytestmark = pytest.mark.pure

RULES = InteractionRules(free="Type something", decisions={"allow": "{yes}", "deny": "{no}"})
PERMISSION = Observed(
    Status.BLOCKED,
    "permission",
    "osc7501",
    "approve rm",
    choices=(Choice("1", "Yes"), Choice("2", "Yes, and don't ask again"), Choice("3", "No")),
)
QUESTION = Observed(
    Status.BLOCKED,
    "question",
    "osc7501",
    "Which?",
    choices=(Choice("1", "Red"), Choice("2", "Blue"), Choice("3", "Type something.")),
)
CALM = Observed(Status.WORKING, source="osc7501")


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("1", "1"),
        ("3", "3"),
        (" 2 ", "2"),
        ("yes", "1"),
        ("y", "1"),
        ("allow", "1"),
        ("no", "3"),
        ("deny", "3"),
        ("No", "3"),
        ("YES", "1"),
        ("Yes, and don't ask again", "2"),
        ("yes, and", "2"),
    ],
)
def test_a_choice_is_meant_by_its_number_its_words_or_yes_and_no(said: str, number: str) -> None:
    meant = resolve_answer(said, PERMISSION, RULES)

    assert meant.choice is not None
    assert meant.choice.number == number


@pytest.mark.parametrize("said", ["4", "0", "", "maybe", "rm -rf", "11"])
def test_what_is_none_of_the_choices_is_refused_and_the_choices_are_named(said: str) -> None:
    meant = resolve_answer(said, PERMISSION, RULES)

    assert meant.choice is None
    assert "1 Yes" in meant.problem


def test_words_go_where_the_program_takes_words() -> None:
    meant = resolve_answer("a dark green", QUESTION, RULES)

    assert (meant.choice, meant.words) == (QUESTION.choices[2], "a dark green")


def test_a_number_that_is_not_a_choice_is_not_read_as_free_text() -> None:
    assert resolve_answer("7", QUESTION, RULES).problem


def test_nothing_is_answered_that_was_not_asked() -> None:
    assert "working" in resolve_answer("1", CALM, RULES).problem
    assert "pane" in resolve_answer("1", Observed(Status.BLOCKED, "permission"), RULES).problem


def test_only_the_plain_yes_and_no_can_be_said_by_a_hook() -> None:
    said = [decision(choice, PERMISSION, RULES) for choice in PERMISSION.choices]

    assert said == ["{yes}", "", "{no}"]


def test_the_no_of_a_person_ends_the_turn_where_a_hook_can_say_so() -> None:
    rules = replace(RULES, decisions={"allow": "{yes}", "deny": "{no}", "stop": "{stop}"})

    assert decision(PERMISSION.choices[-1], PERMISSION, rules) == "{stop}"


def test_a_numbered_choice_is_taken_by_its_number() -> None:
    answer = Answer(resolve_answer("3", PERMISSION, RULES), PERMISSION, 1.0)

    assert answer.step(1.0, PERMISSION, 0.0) == Press("3")
    assert answer.step(1.0 + KEY_SECONDS, CALM, 1.05) is None
    assert answer.outcome == "answered"


def test_another_question_right_after_it_is_an_answer_too() -> None:
    answer = Answer(resolve_answer("1", PERMISSION, RULES), PERMISSION, 1.0)
    answer.step(1.0, PERMISSION, 0.0)

    answer.step(2.0, QUESTION, 1.5)

    assert answer.outcome == "answered"


def test_a_dialog_that_was_not_ready_gets_the_key_once_more_and_only_once() -> None:
    answer = Answer(resolve_answer("1", PERMISSION, RULES), PERMISSION, 0.0)
    presses = []
    for tenth in range(60):
        press = answer.step(tenth / 10, PERMISSION, -1.0)
        presses += [tenth / 10] if press is not None else []

    assert len(presses) == 2
    assert presses[1] - presses[0] >= AGAIN_SECONDS
    assert answer.outcome == "refused"


def test_a_dialog_that_has_stirred_is_not_pressed_again() -> None:
    answer = Answer(resolve_answer("1", PERMISSION, RULES), PERMISSION, 0.0)
    assert answer.step(0.0, PERMISSION, -1.0) is not None

    presses = [answer.step(tenth / 10, PERMISSION, 0.5) for tenth in range(1, 60)]

    assert presses == [None] * 59
    assert (answer.outcome, "still open" in answer.reason) == ("refused", True)


def test_no_key_is_pressed_once_the_question_has_changed() -> None:
    answer = Answer(resolve_answer("1", PERMISSION, RULES), PERMISSION, 0.0)

    assert answer.step(0.0, QUESTION, -1.0) is None
    assert "changed" in answer.reason


def test_the_same_words_about_another_command_are_another_question() -> None:
    """Its number would allow a command that the user has not seen."""
    first, second = (
        replace(PERMISSION, request=PermissionRequest(command)) for command in ("rm -rf build", "ls")
    )

    def is_same(shown: Observed, asked: Observed) -> bool:
        return is_same_question(shown.to_plain(), asked.to_plain())

    assert is_same(first, first)
    assert not is_same(first, second)
    assert not is_same(first, PERMISSION), "what it asks for by now is not known"
    assert is_same(PERMISSION, first), "nothing was shown that could be wrong"
    assert is_same_question(None, first.to_plain())
    answer = Answer(resolve_answer("1", first, RULES), first, 0.0)
    assert answer.step(0.0, second, -1.0) is None
    assert "changed" in answer.reason


def test_words_are_not_typed_into_a_permission_that_is_asked_instead() -> None:
    """Their Enter would take its first choice."""
    answer = Answer(resolve_answer("green", QUESTION, RULES), QUESTION, 0.0)
    assert answer.step(0.0, QUESTION, -1.0) == Press("3")

    assert [answer.step(tenth / 10, PERMISSION, 0.1) for tenth in range(1, 30)] == [None] * 29
    assert answer.outcome == "refused"


def test_words_are_typed_after_their_choice_and_submitted_apart() -> None:
    answer = Answer(resolve_answer("green", QUESTION, RULES), QUESTION, 0.0)
    typed = []
    for tenth in range(30):
        press = answer.step(tenth / 10, QUESTION if tenth < 15 else CALM, tenth / 10)
        typed += [press] if press is not None else []

    assert typed == [Press("3"), Press(words="green"), Press("enter")]
    assert answer.outcome == "answered"


LETTERS = Observed(
    Status.BLOCKED,
    "question",
    "screen",
    "Add it?",
    choices=(Choice("1", "Yes", typed="y"), Choice("2", "No", typed="n")),
)


def test_a_letter_is_typed_and_submitted_apart() -> None:
    answer = Answer(resolve_answer("no", LETTERS, RULES), LETTERS, 0.0)
    typed = []
    for tenth in range(30):
        press = answer.step(tenth / 10, LETTERS if tenth < 15 else CALM, tenth / 10)
        typed += [press] if press is not None else []

    assert typed == [Press(words="n"), Press("enter")]
    assert answer.outcome == "answered"


def test_a_letter_whose_question_has_gone_gets_no_enter() -> None:
    answer = Answer(resolve_answer("1", LETTERS, RULES), LETTERS, 0.0)
    assert answer.step(0.0, LETTERS, -1.0) == Press(words="y")

    assert [answer.step(tenth / 10, CALM, 0.1) for tenth in range(1, 30)] == [None] * 29
    assert (answer.outcome, "disappeared" in answer.reason) == ("refused", True)


def test_no_may_have_a_key_of_its_own() -> None:
    rules = replace(RULES, deny_key="escape")
    answer = Answer(resolve_answer("no", PERMISSION, rules), PERMISSION, 1.0)

    assert answer.step(1.0, PERMISSION, 0.0) == Press("escape")
    assert resolve_answer("1", PERMISSION, rules).key == ""


def pointing_number(place: int) -> Observed:
    labels = ("Yes", "Yes, and always", "No, and say why")
    choices = tuple(Choice(str(n + 1), label, is_pointed=n == place) for n, label in enumerate(labels))
    return Observed(Status.BLOCKED, "permission", "screen", "Run?", choices=choices)


def test_a_number_that_only_moves_the_pointer_is_followed_by_an_enter() -> None:
    answer = Answer(resolve_answer("3", pointing_number(0), RULES), pointing_number(0), 0.0)

    assert answer.step(0.0, pointing_number(0), -1.0) == Press("3")
    assert answer.step(0.2, pointing_number(0), -1.0) is None
    assert answer.step(0.35, pointing_number(2), 0.3) is None
    assert answer.step(0.5, pointing_number(2), 0.3) == Press("enter")
    assert answer.step(0.65, pointing_number(2), 0.5) is None
    answer.step(0.8, CALM, 0.7)
    assert answer.outcome == "answered"


def test_a_number_whose_choice_was_pointed_at_before_gets_no_enter() -> None:
    answer = Answer(resolve_answer("1", pointing_number(0), RULES), pointing_number(0), 0.0)
    presses = [answer.step(tenth / 10, pointing_number(0), tenth / 10) for tenth in range(60)]

    assert [press for press in presses if press] == [Press("1")]


def pointing_at(place: int) -> Observed:
    labels = ("No, exit", "Yes, I trust it", "Ask later")
    choices = tuple(Choice(str(n + 1), label, n - place) for n, label in enumerate(labels))
    return Observed(Status.BLOCKED, "trust", "screen", "Trust?", choices=choices)


def test_enter_is_pressed_only_once_the_choice_is_pointed_at() -> None:
    answer = Answer(resolve_answer("3", pointing_at(0), RULES), pointing_at(0), 10.0)

    assert answer.step(10.0, pointing_at(0), 9.0) == Press("down")
    assert answer.step(10.5, pointing_at(1), 10.1) == Press("down")
    assert answer.step(11.0, pointing_at(1), 10.1) is None
    assert answer.step(11.5, pointing_at(2), 11.1) == Press("enter")
    answer.step(12.0, CALM, 11.7)
    assert answer.outcome == "answered"


def test_a_dialog_that_is_just_being_drawn_is_left_alone() -> None:
    answer = Answer(resolve_answer("3", pointing_at(0), RULES), pointing_at(0), 10.0)

    assert answer.step(10.0, pointing_at(0), 9.9) is None
    assert answer.step(10.2, pointing_at(0), 10.1) is None
    assert answer.step(10.5, pointing_at(0), 10.1) == Press("down")


def test_a_dialog_that_never_rests_is_pointed_in_all_the_same() -> None:
    answer = Answer(resolve_answer("3", pointing_at(0), RULES), pointing_at(0), 10.0)

    presses = [answer.step(10 + tenth / 10, pointing_at(0), 10 + tenth / 10) for tenth in range(20)]

    assert presses[0] is None
    assert Press("down") in presses


def test_a_move_that_the_dialog_undid_is_made_again() -> None:
    answer = Answer(resolve_answer("2", pointing_at(0), RULES), pointing_at(0), 10.0)
    assert answer.step(10.0, pointing_at(0), 9.0) == Press("down")
    # The pointer jumped there and back between two looks at the screen.
    presses = [answer.step(10.1 + tenth / 10, pointing_at(0), 10.05) for tenth in range(15)]

    assert [press for press in presses if press] == [Press("down")]
    assert answer.step(12.0, pointing_at(1), 11.0) == Press("enter")


def test_a_pointer_that_does_not_move_ends_in_a_refusal_and_never_in_an_enter() -> None:
    answer = Answer(resolve_answer("yes", pointing_at(0), RULES), pointing_at(0), 10.0)
    presses = [answer.step(10 + tenth / 10, pointing_at(0), 9.0) for tenth in range(80)]

    assert {press for press in presses if press} == {Press("down")}
    assert (answer.outcome, "selected" in answer.reason) == ("refused", True)


def test_what_a_hook_has_decided_is_only_watched() -> None:
    answer = Answer.by_hook(PERMISSION, 0.0)

    assert answer.step(0.1, PERMISSION, 0.0) is None
    assert answer.due() is not None
    answer.step(0.5, CALM, 0.4)
    assert answer.outcome == "answered"


def test_a_hook_decision_without_an_effect_is_a_refusal() -> None:
    answer = Answer.by_hook(PERMISSION, 0.0)

    for tenth in range(1, int(GONE_SECONDS * 10) + 3):
        assert answer.step(tenth / 10, PERMISSION, 0.0) is None

    assert answer.outcome == "refused"


# ── reading choices off a screen ──


def test_the_last_list_of_numbers_counts() -> None:
    lines = [
        "Tips:",
        "1. Be kind",
        "2. Be brief",
        "│ Allow? │",
        "│ ● 1. Allow once   │",
        "│   2. No (esc)     │",
    ]

    assert [choice.label for choice in numbered_choices(lines)] == ["Allow once", "No (esc)"]


def test_labels_that_were_wrapped_are_put_together() -> None:
    lines = [" ❯ 1. Yes", "   2. Yes, and always", "      allow it", "   3. No", " Esc to cancel"]

    assert [choice.label for choice in numbered_choices(lines)] == ["Yes", "Yes, and always allow it", "No"]


def test_text_below_a_list_is_not_part_of_its_last_label() -> None:
    lines = [" › 1. Yes", "   2. No (esc)", "", "  ⠏ Waiting for confirmation", "      and more"]

    assert [choice.label for choice in numbered_choices(lines)] == ["Yes", "No (esc)"]


def test_numbers_out_of_order_are_no_list() -> None:
    assert numbered_choices(["2. two", "3. three"]) == ()
    assert [one.label for one in numbered_choices(["1. one", "3. three"])] == ["one"]


def test_choices_around_a_pointer_know_how_far_they_are() -> None:
    lines = ["Trust it?", "", " ❯ No, exit", "   Yes, I trust it", " Enter to confirm"]

    assert [(one.label, one.moves) for one in pointed_choices(lines)] == [
        ("No, exit", 0),
        ("Yes, I trust it", 1),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["Run shell command? (Y)es/(N)o [Yes]: y", "", "Add a.py? (Y)es/(N)o/(D)on't ask again [Yes]: "],
        ["Add a.py?", "(Y)es/(N)o/(D)on't ask", "again [Yes]: d"],
    ],
)
def test_letters_in_the_last_question_are_its_choices(lines: list[str]) -> None:
    assert [(one.number, one.label, one.typed) for one in lettered_choices(lines)] == [
        ("1", "Yes", "y"),
        ("2", "No", "n"),
        ("3", "Don't ask again", "d"),
    ]


def test_a_single_letter_in_brackets_is_not_a_choice() -> None:
    assert lettered_choices(["Option (a) is better. [ok]"]) == ()


def test_without_a_pointer_there_are_no_choices() -> None:
    assert pointed_choices(["Trust it?", "   No", "   Yes"]) == ()
