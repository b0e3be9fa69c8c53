"""An answer on its way into a dialog: which choice is meant, and the keys that take it, each looked after; pure.

Nothing is pressed blindly. A numbered choice is taken by its number; one that has to be pointed at gets its Enter
only once the screen shows it pointed at; one that is typed gets its Enter only while the question still stands.
Whether the question has gone is what tells that it was answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fleet_tui.models import Status, Wish
from fleet_tui.signals import Choice, Signals, told
from fleet_tui.status import Observed
from fleet_tui.values import dataclass

KEY_SECONDS = 0.12
"""Between two keys: a program may take several at once for a paste."""
GONE_SECONDS = 2.0
"""How long a dialog may take to go."""
AGAIN_SECONDS = 0.8
"""A dialog that has shown no sign of a key for so long was not ready for it; it is pressed once more."""
LABEL_START = 16
"""How much of a choice's label tells which choice it is."""
STILL_SECONDS, STIRRING_SECONDS = 0.3, 1.2
"""A dialog that is pointed in is left alone until it has been still for so long, or has stirred for that long: one
that is just being drawn may jump back to its first choice."""
MOVES_AGAIN = 3
"""How often a move is made again that was not heard, or was undone by the dialog itself."""
WORDS_SECONDS = 0.4
"""Until the place for words is there, and between the words and their Enter."""

REFUSED = "the user said no"

_ARROWS = frozenset({"up", "down", "left", "right"})
_YES = frozenset({"y", "yes", "allow", "approve", "ok"})
_NO = frozenset({"n", "no", "deny", "reject"})


@dataclass(frozen=True, slots=True)
class Meant:
    """What somebody's answer comes to."""

    choice: Choice | None = None
    words: str = ""
    """To be typed after the choice was taken."""
    key: str = ""
    """That takes the choice, where its number does not."""
    problem: str = ""
    is_early: bool = False
    """It asks, but its dialog cannot be read; it may just be being drawn."""


def understand(answer: str, observed: Observed, signals: Signals) -> Meant:
    """The choice that an answer means: its number, its words, yes or no, or words of one's own where they are taken."""
    if observed.status is not Status.BLOCKED:
        return Meant(problem=f"it does not wait for an answer, it is {observed.status}")
    if not observed.choices:
        return Meant(problem="what can be answered is not known; type it in its pane", is_early=True)
    said = answer.strip()
    chosen = _named(said, observed.choices) or _yes_or_no(said.lower(), observed.choices, signals)
    chosen = chosen or _beginning(said.lower(), observed.choices)
    if chosen is not None and chosen.moves is None and len(chosen.number) > 1:
        return Meant(problem=f"no single key takes choice {chosen.number}; type it in its pane")
    if chosen is not None:
        is_no = _says(signals.deny, chosen)
        return Meant(chosen, key=signals.deny_key if is_no else "")
    free = signals.free_choice(observed.choices)
    if free is not None and not said.isdigit():
        # A control character would be a key.
        return Meant(free, told(said))
    shown = ", ".join(f"{choice.number} {choice.label}" for choice in observed.choices)
    return Meant(problem=f"{answer!r} is none of its choices: {shown}")


def is_same_question(shown: object, asked: Mapping[str, Any]) -> bool:
    """Whether what was shown to a person, if anything, is what is asked now; both as text, choices and wish.

    Programs ask for every command in the same words: where one was shown, it has to be the one that is asked for.
    """
    if not isinstance(shown, Mapping):
        return True
    texts = {str(one["text"]) for one in (shown, asked) if one.get("text")}
    # A dialog that was still being drawn had no choices yet.
    labels = {_beginnings(one["choices"]) for one in (shown, asked) if one.get("choices")}
    wish = Wish.from_plain(shown.get("wish"))
    return len(texts) < 2 and len(labels) < 2 and wish in (Wish(), Wish.from_plain(asked.get("wish")))


def _beginnings(choices: Iterable[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(number), str(label)[:LABEL_START]) for number, label in choices)


def _named(said: str, choices: Sequence[Choice]) -> Choice | None:
    return next((one for one in choices if said == one.number or said.lower() == one.label.lower()), None)


def _yes_or_no(said: str, choices: Sequence[Choice], signals: Signals) -> Choice | None:
    if said in _YES:
        return next((choice for choice in choices if _says(signals.allow, choice)), None)
    if said in _NO:
        return next((choice for choice in choices if _says(signals.deny, choice)), None)
    return None


def _says(pattern: str, choice: Choice) -> bool:
    return re.match(pattern, choice.label, re.IGNORECASE) is not None


def _beginning(said: str, choices: Sequence[Choice]) -> Choice | None:
    found = [choice for choice in choices if len(said) > 1 and choice.label.lower().startswith(said)]
    return found[0] if len(found) == 1 else None


def decision(choice: Choice, observed: Observed, signals: Signals) -> str:
    """What a hook that waits would print for this choice; empty where no hook can say it."""
    plain_yes = next((one for one in observed.choices if _says(signals.allow, one)), None)
    if choice == plain_yes:
        return signals.decision("allow", "")
    plain_no = next((one for one in observed.choices if _says(signals.deny, one)), None)
    if choice != plain_no:
        return ""
    return signals.decision("stop", REFUSED) or signals.decision("deny", REFUSED)


@dataclass(frozen=True, slots=True)
class Press:
    """What is to be typed now."""

    key: str = ""
    words: str = ""


class Answer:
    """One answer being given."""

    def __init__(self, meant: Meant, observed: Observed, now: float) -> None:
        self._choice = meant.choice
        self._words = meant.words
        self._sole_key = meant.key
        self._question = _question(observed)
        self._asked = observed.asked
        self._wish = observed.wish
        self._has_to_press = meant.choice is not None
        self._place: int | None = None
        """How far off its choice was when a key was last pressed to get there."""
        self._next_at = now
        self._gone_by = 0.0
        self._pressed_at = now
        self._is_repeated = False
        self._moves_again = MOVES_AGAIN
        self._words_typed = False
        self._is_entered = False
        self.outcome = ""
        """answered or refused; empty while it is being given."""
        self.reason = ""

    @classmethod
    def by_hook(cls, observed: Observed, now: float) -> Answer:
        """One that was given without keys: what is left is to see the question go."""
        answer = cls(Meant(), observed, now)
        answer._gone_by = now + GONE_SECONDS
        answer._is_repeated = True
        return answer

    def due(self) -> float | None:
        return None if self.outcome else self._next_at

    def step(self, now: float, observed: Observed, last_output: float) -> Press | None:
        """What to type now; sets `outcome` when it is over."""
        if self.outcome or now < self._next_at:
            return None
        if self._has_to_press:
            return self._press_next(now, observed, last_output)
        if not self._gone_by:
            self._gone_by = now + GONE_SECONDS
        if self._words:
            return self._type_words(now, observed)
        if self._is_over(observed):
            self.outcome = "answered"
        elif now >= self._pressed_at + WORDS_SECONDS and self._is_only_pointed_at(observed, last_output):
            self._is_entered, self._pressed_at = True, now
            self._gone_by, self._next_at = now + GONE_SECONDS, now + KEY_SECONDS
            return Press("enter")
        elif self._may_repeat(now, last_output):
            self._is_repeated = self._has_to_press = True
            self._place = None
        elif now >= self._gone_by:
            self.outcome, self.reason = "refused", "its question stays; answer it in its pane"
        self._next_at = now + KEY_SECONDS
        return None

    def _is_over(self, observed: Observed) -> bool:
        """Also where the same is asked once more: then it was asked again since."""
        is_same = _question(observed) == self._question and observed.asked == self._asked
        is_for_another = observed.wish not in (Wish(), self._wish) and self._wish != Wish()
        return observed.status is not Status.BLOCKED or not is_same or is_for_another

    def _press_next(self, now: float, observed: Observed, last_output: float) -> Press | None:
        if self._is_over(observed):
            self.outcome, self.reason = "refused", "the question has changed meanwhile"
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
        """The screen does not show yet what the last key did. Moving again does no harm: Enter waits for the place."""
        if now < self._pressed_at + AGAIN_SECONDS or self._place is None:
            return None
        if self._moves_again:
            self._moves_again -= 1
            self._place = None
        else:
            self.outcome, self.reason = "refused", "the choice could not be pointed at"
        return None

    def _key(self, observed: Observed) -> str:
        """The next key on the way to the choice; empty while the last one has shown no effect."""
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
            self.outcome, self.reason = "refused", "something else is asked meanwhile"
            return None
        if self._choice is not None and self._choice.typed and self._is_over(observed):
            self.outcome, self.reason = "refused", "the question has gone before its Enter"
            return None
        self._next_at = now + WORDS_SECONDS
        if not self._words_typed:
            self._words_typed = True
            return Press(words=self._words)
        self._words = ""
        return Press("enter")

    def _is_another(self, observed: Observed) -> bool:
        """Whether something else is asked than what the words are for; the look of their own question changes."""
        is_permission = observed.detail == "permission" and observed.text != self._question[0]
        return is_permission or observed.asked != self._asked

    def _is_only_pointed_at(self, observed: Observed, last_output: float) -> bool:
        """Whether its number has moved the pointer to it, and nothing more: then Enter takes it."""
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
    """Labels by their beginning: one that is pointed at may be set in another way."""
    return observed.text, tuple(choice.label[:LABEL_START] for choice in observed.choices)
