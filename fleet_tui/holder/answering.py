"""Answer a dialog: find the choice that is meant, and press the keys that select it, checking the screen after each.

Pure. No key is pressed blindly: a numbered choice is selected by its number; one selected by pointing gets Enter only
once the screen shows the pointer on it; one that is typed gets Enter only while the question is still there. The
question disappearing shows that it was answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.holder.observed import Observed
from fleet_tui.models import Evidence, PermissionRequest, ReceiptState, Status
from fleet_tui.programs.dialogs import Choice
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.screen_text import shown_line

KEY_SECONDS = 0.12
"""Between two keys: a program may take several keys at once for a paste."""
GONE_SECONDS = 2.0
"""How long a dialog may take to disappear."""
AGAIN_SECONDS = 0.8
"""A dialog without a reaction for this long was not ready for the key, which is pressed once more."""
LABEL_START = 16
"""Characters of a label that identify a choice."""
STILL_SECONDS, STIRRING_SECONDS = 0.3, 1.2
"""Before pointing, wait until the dialog has been still for the first time, or the second time has passed: while it is
being drawn, it may jump back to its first choice."""
MOVES_AGAIN = 3
"""How often a move is repeated that was ignored, or undone by the dialog."""
WORDS_SECONDS = 0.4
"""Until the text field is there, and between the text and its Enter."""

REFUSED = "the user said no"

_ARROWS = frozenset({"up", "down", "left", "right"})
_YES = frozenset({"y", "yes", "allow", "approve", "ok"})
_NO = frozenset({"n", "no", "deny", "reject"})


@dataclass(frozen=True, slots=True)
class ChosenAnswer:
    """What an answer means for the dialog."""

    choice: Choice | None = None
    words: str = ""
    """Text to type after the choice is selected."""
    key: str = ""
    """The key that selects the choice, where its number does not."""
    problem: str = ""
    is_early: bool = False
    """The program asks, but its dialog cannot be read yet; it may still be being drawn."""


def resolve_answer(answer: str, observed: Observed, rules: InteractionRules) -> ChosenAnswer:
    """The choice that an answer means: by number, label, yes or no, or free text where the dialog takes it."""
    if observed.status is not Status.BLOCKED:
        return ChosenAnswer(problem=f"it is not waiting for an answer, it is {observed.status}")
    if not observed.choices:
        return ChosenAnswer(problem="its choices cannot be read; answer in its pane", is_early=True)
    said = answer.strip()
    chosen = _named(said, observed.choices) or _yes_or_no(said.lower(), observed.choices, rules)
    chosen = chosen or _beginning(said.lower(), observed.choices)
    if chosen is not None and chosen.moves is None and len(chosen.number) > 1:
        return ChosenAnswer(problem=f"no single key selects choice {chosen.number}; answer in its pane")
    if chosen is not None:
        is_no = _says(rules.deny, chosen)
        return ChosenAnswer(chosen, key=rules.deny_key if is_no else "")
    free = rules.free_choice(observed.choices)
    if free is not None and not said.isdecimal():
        # A control character would be a key.
        return ChosenAnswer(free, shown_line(said))
    shown = ", ".join(f"{choice.number} {choice.label}" for choice in observed.choices)
    return ChosenAnswer(problem=f"{answer!r} is not one of its choices: {shown}")


def is_same_question(shown: object, asked: Mapping[str, Any]) -> bool:
    """Whether the question that the user saw, if any, is the current one; both as plain evidence.

    Programs ask about every command in the same words, so a command that was shown must be the one asked about now.
    """
    if not isinstance(shown, Mapping):
        return True
    texts = {str(one["text"]) for one in (shown, asked) if one.get("text")}
    # A dialog that was being drawn had no choices yet.
    labels = {_beginnings(one["choices"]) for one in (shown, asked) if one.get("choices")}
    request = Evidence.from_plain(shown).request
    return (
        len(texts) < 2
        and len(labels) < 2
        and request in (PermissionRequest(), Evidence.from_plain(asked).request)
    )


def _beginnings(choices: Iterable[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(number), str(label)[:LABEL_START]) for number, label in choices)


def _named(said: str, choices: Sequence[Choice]) -> Choice | None:
    return next((one for one in choices if said == one.number or said.lower() == one.label.lower()), None)


def _yes_or_no(said: str, choices: Sequence[Choice], rules: InteractionRules) -> Choice | None:
    if said in _YES:
        return next((choice for choice in choices if _says(rules.allow, choice)), None)
    if said in _NO:
        return next((choice for choice in choices if _says(rules.deny, choice)), None)
    return None


def _says(pattern: str, choice: Choice) -> bool:
    return re.match(pattern, choice.label, re.IGNORECASE) is not None


def _beginning(said: str, choices: Sequence[Choice]) -> Choice | None:
    found = [choice for choice in choices if len(said) > 1 and choice.label.lower().startswith(said)]
    return found[0] if len(found) == 1 else None


def decision(choice: Choice, observed: Observed, rules: InteractionRules) -> str:
    """What a waiting hook would print for this choice; empty where a hook cannot express it."""
    plain_yes = next((one for one in observed.choices if _says(rules.allow, one)), None)
    if choice == plain_yes:
        return rules.decision("allow", "")
    plain_no = next((one for one in observed.choices if _says(rules.deny, one)), None)
    if choice != plain_no:
        return ""
    return rules.decision("stop", REFUSED) or rules.decision("deny", REFUSED)


@dataclass(frozen=True, slots=True)
class Press:
    """What to type now."""

    key: str = ""
    words: str = ""


class Answer:
    """One answer on its way into the dialog."""

    def __init__(self, meant: ChosenAnswer, observed: Observed, now: float) -> None:
        self._choice = meant.choice
        self._words = meant.words
        self._sole_key = meant.key
        self._question = _question(observed)
        self._asked = observed.asked
        self._request = observed.request
        self._has_to_press = meant.choice is not None
        self._place: int | None = None
        """Distance to its choice when an arrow key was last pressed."""
        self._next_at = now
        self._gone_by = 0.0
        self._pressed_at = now
        self._is_repeated = False
        self._moves_again = MOVES_AGAIN
        self._words_typed = False
        self._is_entered = False
        self.outcome: ReceiptState | None = None
        """ANSWERED or REFUSED; None until then."""
        self.reason = ""

    @classmethod
    def by_hook(cls, observed: Observed, now: float) -> Answer:
        """An answer that a hook has given: only wait for the question to disappear."""
        answer = cls(ChosenAnswer(), observed, now)
        answer._gone_by = now + GONE_SECONDS
        answer._is_repeated = True
        return answer

    def due(self) -> float | None:
        return None if self.outcome else self._next_at

    def step(self, now: float, observed: Observed, last_output: float) -> Press | None:
        """What to type now; sets `outcome` at the end."""
        if self.outcome or now < self._next_at:
            return None
        if self._has_to_press:
            return self._press_next(now, observed, last_output)
        if not self._gone_by:
            self._gone_by = now + GONE_SECONDS
        if self._words:
            return self._type_words(now, observed)
        if self._is_over(observed):
            self.outcome = ReceiptState.ANSWERED
        elif now >= self._pressed_at + WORDS_SECONDS and self._is_only_pointed_at(observed, last_output):
            self._is_entered, self._pressed_at = True, now
            self._gone_by, self._next_at = now + GONE_SECONDS, now + KEY_SECONDS
            return Press("enter")
        elif self._may_repeat(now, last_output):
            self._is_repeated = self._has_to_press = True
            self._place = None
        elif now >= self._gone_by:
            self.outcome, self.reason = (
                ReceiptState.REFUSED,
                "its question is still open; answer it in its pane",
            )
        self._next_at = now + KEY_SECONDS
        return None

    def _is_over(self, observed: Observed) -> bool:
        """Whether this question is over, even if the same one was asked again since."""
        is_same = _question(observed) == self._question and observed.asked == self._asked
        is_for_another = (
            observed.request not in (PermissionRequest(), self._request)
            and self._request != PermissionRequest()
        )
        return observed.status is not Status.BLOCKED or not is_same or is_for_another

    def _press_next(self, now: float, observed: Observed, last_output: float) -> Press | None:
        if self._is_over(observed):
            self.outcome, self.reason = ReceiptState.REFUSED, "the question has changed"
            return None
        if self._choice is not None and self._choice.typed:
            self._words, self._has_to_press = self._choice.typed, False
            return self._type_words(now, observed)
        is_pointing = self._choice is not None and self._choice.moves is not None
        key = "" if is_pointing and not self._is_settled(now, last_output) else self._key(observed)
        if not key:
            self._next_at = now + KEY_SECONDS
            return self._wait_for_move(now)
        self._has_to_press = key in _ARROWS
        self._pressed_at = now
        self._next_at = now + (WORDS_SECONDS if self._words and not self._has_to_press else KEY_SECONDS)
        return Press(key)

    def _is_settled(self, now: float, last_output: float) -> bool:
        return now >= last_output + STILL_SECONDS or now >= self._pressed_at + STIRRING_SECONDS

    def _wait_for_move(self, now: float) -> Press | None:
        """The screen does not show the last key's effect yet. Repeating a move is harmless, as Enter waits for the place."""
        if now < self._pressed_at + AGAIN_SECONDS or self._place is None:
            return None
        if self._moves_again:
            self._moves_again -= 1
            self._place = None
        else:
            self.outcome, self.reason = ReceiptState.REFUSED, "the choice could not be selected"
        return None

    def _key(self, observed: Observed) -> str:
        """The next key toward the choice; empty while the last one has had no effect."""
        if self._choice is None:
            return ""
        if self._sole_key:
            return self._sole_key
        if self._choice.moves is None:
            return self._choice.number
        place = next((one.moves for one in observed.choices if one.number == self._choice.number), None)
        if place is None or place == self._place:
            return ""
        self._place = place
        if place == 0:
            return "enter"
        back, forth = ("left", "right") if self._choice.is_beside else ("up", "down")
        return forth if place > 0 else back

    def _type_words(self, now: float, observed: Observed) -> Press | None:
        if observed.status is Status.BLOCKED and self._is_another(observed):
            self.outcome, self.reason = ReceiptState.REFUSED, "it asks something else by now"
            return None
        if self._choice is not None and self._choice.typed and self._is_over(observed):
            self.outcome, self.reason = (
                ReceiptState.REFUSED,
                "the question disappeared before Enter was pressed",
            )
            return None
        self._next_at = now + WORDS_SECONDS
        if not self._words_typed:
            self._words_typed = True
            return Press(words=self._words)
        self._words = ""
        return Press("enter")

    def _is_another(self, observed: Observed) -> bool:
        """Whether a different question is open. Only reliable signs count, because typing changes how the first one looks."""
        is_permission = observed.detail == "permission" and observed.text != self._question[0]
        return is_permission or observed.asked != self._asked

    def _is_only_pointed_at(self, observed: Observed, last_output: float) -> bool:
        """Whether its number has only moved the pointer to it, so that Enter selects it."""
        if (
            self._choice is None
            or self._choice.is_pointed
            or self._is_entered
            or last_output < self._pressed_at
        ):
            return False
        return any(one.number == self._choice.number and one.is_pointed for one in observed.choices)

    def _may_repeat(self, now: float, last_output: float) -> bool:
        is_still = last_output < self._pressed_at and now >= self._pressed_at + AGAIN_SECONDS
        return is_still and not (self._is_repeated or self._is_entered or self._words_typed)


def _question(observed: Observed) -> tuple[str, tuple[str, ...]]:
    """The text and the beginnings of the labels: one that is pointed at may be laid out differently."""
    return observed.text, tuple(choice.label[:LABEL_START] for choice in observed.choices)
