"""By which signs a program's status is known: rules as data, and how each kind of sign is matched.

A profile's `[status]` table becomes `Signals`, travels to the screen server as plain data, and is applied there by
`status`. Titles and screens are matched by regular expressions, hooks and events by the values they carry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fleet_tui import patience
from fleet_tui.input_box import BoxRule
from fleet_tui.models import Status, Wish
from fleet_tui.prompt_text import TextRule
from fleet_tui.text import blanked, one_line
from fleet_tui.values import asdict, dataclass, field, known

MAX_TEXT = 300
MAX_COMMAND = 4000
SCREEN_LINES = 16
"""How many lines from the bottom a rule looks at, unless it says otherwise; blank ones do not count."""
SCREEN_CHARS = 6000
"""And how much of them, so that no pattern is kept busy by what a program prints."""
KINDS = ("permission", "question", "trust", "login", "menu")
"""What a blocked agent waits for."""

MENU_FOOT = 6
"""How many lines may stand below the choices of a menu."""

NOWHERE = 10_000
"""A column that no line reaches."""

_FRAME = re.compile(r"[\u2500-\u257f\u2580-\u259f]")
_TOP_EDGE = re.compile(r"\s*[╭┌▔]")
_CHOICE = re.compile(r"^\W*(\d{1,2})[.)]\s+(\S.*)$")
_NUMBER = re.compile(r"^\d{1,2}[.)] ")
_POINTED_NUMBER = re.compile(r"^\s*[❯›▶●>] *\d{1,2}[.)] ")
_PATH = re.compile(r"\{([^{}]*)\}")
_POINTED = re.compile(r"^\s*[❯›▶●] +(?P<label>\S)")
_LETTERED = re.compile(r"\((\w)\)([^()/\[\]]*)")
_LETTERS = re.compile(rf"{_LETTERED.pattern}(?:/{_LETTERED.pattern})+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One sign, and what it means."""

    name: str
    status: Status
    kind: str = ""
    """For blocked: what it waits for."""
    match: str = ""
    """For titles and screens: a regular expression, in any letter case; its groups `text` and `reset` are told, and
    those of a wish."""
    where: Mapping[str, str] = field(default_factory=dict)
    """For hooks and events: a pattern for the whole value at each dotted path."""
    text: str = ""
    """For hooks and events: what is told, with dotted paths in braces; of several, separated by ` | `, the first that
    says something. For titles and screens: what is told where the pattern has no group `text`."""
    reset: str = ""
    """For hooks and events that tell of a limit: a pattern for when it ends, searched in what is told."""
    wish: Mapping[str, str] = field(default_factory=dict)
    """For hooks and events: command, reason and touches of what is asked, each written as `text` is."""
    keeps: tuple[str, ...] = ()
    """Statuses told by the same source that this one does not take the place of: an error outlasts its turn."""
    interrupts: bool = False
    """For events: the turn was broken off."""
    from_helpers: bool = False
    """Whether an event counts that comes from a conversation which the agent's own has started."""
    lines: int = SCREEN_LINES
    over: tuple[str, ...] = ()
    """Better sources that this sign corrects, as `title`, `osc7501:working` or `osc7501:blocked:login`."""
    has_pointer: bool = False
    """Its choices are not numbered: the one that Enter takes is pointed at."""
    buttons: tuple[str, ...] = ()
    """Its choices stand beside each other, in this order: the one that Enter takes is painted unlike the others."""
    has_letters: bool = False
    """Its choices stand in the question as `(Y)es/(N)o`: a letter is typed, and Enter."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to answer a question."""

    number: str
    label: str
    moves: int | None = None
    """How many places it stands behind what Enter takes now; None where its number is its key."""
    is_beside: bool = False
    """The choices stand beside each other rather than below."""
    is_pointed: bool = False
    """It has a number, and is pointed at."""
    typed: str = ""
    """What is typed before an Enter to take it, where that is how its program is answered."""


Painted = Callable[[int], Sequence[tuple[str, object]]]
"""A row of the screen as runs of text, each with what it looks like."""


@dataclass(frozen=True, slots=True)
class Signals:
    """All rules of one profile."""

    quiet_is_idle: bool = True
    """Silence is the only sign that the program waits."""
    title: tuple[Rule, ...] = ()
    screen: tuple[Rule, ...] = ()
    hook: tuple[Rule, ...] = ()
    event: tuple[Rule, ...] = ()
    ready: str = ""
    """A pattern for the screen once the program takes input. Until it was seen, a calm title is not believed: some
    programs set it long before they read what is typed."""
    reports: bool = False
    """The program reports by itself in its terminal (OSC 7501)."""
    report: tuple[Rule, ...] = ()
    """What the words of a reported error mean, or with status blocked those of a reported question."""
    allow: str = "(yes|allow|approve|proceed|trust|accept|continue)"
    """The label of the choice that says yes, as a pattern for its beginning, in any letter case."""
    deny: str = "(no|deny|reject|quit|cancel|don't)"
    deny_key: str = ""
    """The key that says no, where the choice that does only leads to a place for words."""
    free: str = ""
    """The label of a choice that takes words."""
    settle: float = 0.2
    """Seconds between a pasted prompt and its Enter; more for a long one."""
    confirm: float = 2.0
    """Seconds in which it has to show that it took a prompt, before Enter is pressed once more."""
    decisions: Mapping[str, str] = field(default_factory=dict)
    """What a hook that decides prints: to `allow`; to `deny`, which the model hears of and goes on; and to `stop`, which
    ends the turn as No in its dialog does."""
    box: BoxRule | None = None
    """How its input box looks; None where that is not known."""
    texts: tuple[TextRule, ...] = ()
    """What it makes of some texts."""
    idle_interrupts: bool = False
    """It reports `done` after a turn, and `idle` after one that was interrupted."""
    interrupted: str = ""
    """A pattern for the bottom of its screen after a turn that was interrupted."""

    @property
    def speaks(self) -> bool:
        """Whether anything but silence tells that the program waits."""
        calm = (Status.IDLE, Status.DONE)
        rules = (*self.title, *self.screen, *self.event)
        return self.reports or any(rule.status in calm for rule in rules)

    def decision(self, name: str, reason: str) -> str:
        """What a hook prints for a decision; `{reason}` in it becomes the reason, as a part of a JSON string."""
        return self.decisions.get(name, "").replace("{reason}", json.dumps(reason)[1:-1])

    def free_choice(self, choices: Iterable[Choice]) -> Choice | None:
        """The one that takes words."""
        if not self.free:
            return None
        return next((choice for choice in choices if re.search(self.free, choice.label, re.IGNORECASE)), None)

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Signals:
        """Also of what another version has written: unknown fields are passed over."""
        found = known(cls, values)
        for name in ("title", "screen", "hook", "event", "report"):
            found[name] = tuple(_rule(rule) for rule in found.get(name, ()))
        found["box"] = BoxRule.from_plain(found["box"]) if found.get("box") else None
        found["texts"] = tuple(TextRule.from_plain(rule) for rule in found.get("texts", ()))
        return cls(**found)


def _rule(values: Mapping[str, Any]) -> Rule:
    found = known(Rule, values)
    found["status"] = Status(found["status"])
    for name in ("over", "keeps", "buttons"):
        found[name] = tuple(found.get(name, ()))
    return Rule(**found)


@dataclass(frozen=True, slots=True)
class Sign:
    """A rule that matches, and what was found by it."""

    rule: Rule
    text: str = ""
    reset: str = ""
    wish: Wish = Wish()


# ── titles and screens ──────────────────────────────────────────────────────────────────────────────────────────


class Patterns:
    """The rules of one source, compiled once."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        # Programs change the case of their words from one version to the next.
        self._rules = [(rule, re.compile(rule.match, re.IGNORECASE)) for rule in rules]
        self.given_up: list[Rule] = []
        """Rules that took too long once and are not asked again."""

    def __bool__(self) -> bool:
        return bool(self._rules)

    def in_title(self, title: str) -> Sign | None:
        return self._first(lambda _rule: title)

    def on_screen(self, lines: Sequence[str]) -> Sign | None:
        """The first rule that matches the bottom of the screen, wherever its lines are broken."""
        written = [line for line in lines if line.strip()]
        texts: dict[int, str] = {}

        def looked_at(rule: Rule) -> str:
            if rule.lines not in texts:
                texts[rule.lines] = flat(written[-rule.lines :])[-SCREEN_CHARS:]
            return texts[rule.lines]

        return self._first(looked_at)

    def _first(self, text_for: Callable[[Rule], str]) -> Sign | None:
        for rule, pattern in list(self._rules):
            try:
                with patience.limited():
                    found = pattern.search(text_for(rule))
            except patience.Impatient:
                self.given_up.append(rule)
                self._rules.remove((rule, pattern))
                continue
            if found:
                return _sign(rule, found)
        return None


def _sign(rule: Rule, found: re.Match[str]) -> Sign:
    groups = {name: said or "" for name, said in found.groupdict().items()}
    return Sign(
        rule,
        told(groups.get("text", "") or rule.text),
        told(groups.get("reset", "")),
        _bounded(groups),
    )


def flat(lines: Iterable[str]) -> str:
    """Lines as one text without frames: a sentence reads the same at every width."""
    return " ".join(" ".join(_FRAME.sub(" ", line) for line in lines).split())


def told(text: str) -> str:
    """A text as it may be shown in a row: one line of bounded length without control characters."""
    return one_line(text[: MAX_TEXT * 4])[:MAX_TEXT]


def exact(command: str) -> str:
    """A command as it is, lines and all, without what would move a terminal's cursor; a very long one ends in `…`."""
    # As blanks, for it is looked for on a screen, which shows nothing of them.
    shown = "\n".join(map(blanked, command[:MAX_COMMAND].split("\n")))
    return shown.strip() + ("…" if len(command) > MAX_COMMAND else "")


# ── choices ─────────────────────────────────────────────────────────────────────────────────────────────────────


def numbered_choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The last list of numbered choices on a screen; labels that were wrapped are put together."""
    return _last_list(lines)[0]


def menu_choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The numbered choices of a menu: the list at the bottom of the screen and of its frame, with a pointer in it.

    A list further up was said in the conversation: its numbers are no keys of the menu.
    """
    top = max((place for place, line in enumerate(lines) if _TOP_EDGE.match(line)), default=0)
    choices, below = _last_list(lines[top:])
    return choices if below <= MENU_FOOT and any(choice.is_pointed for choice in choices) else ()


def _last_list(lines: Sequence[str]) -> tuple[tuple[Choice, ...], int]:
    """The last numbered list, and how many lines of other text stand below it."""
    found: list[str] = []
    pointed = below = 0
    column = NOWHERE
    for line in lines:
        text = _FRAME.sub(" ", line).rstrip()
        match = _CHOICE.match(text)
        if match and int(match[1]) in (1, len(found) + 1):
            found = [*found[: int(match[1]) - 1], match[2]]
            column = match.start(1)
            pointed = 0 if len(found) == 1 else pointed
            pointed = len(found) if _POINTED_NUMBER.match(text) else pointed
            below = 0
        elif match is None and text and len(text) - len(text.lstrip()) >= column:
            found[-1] += " " + text.strip()
        else:
            # What stands further left is no part of the label, such as a spinner below the list.
            column = NOWHERE
            below += bool(text)
    choices = tuple(
        Choice(str(number), told(label), is_pointed=number == pointed)
        for number, label in enumerate(found, start=1)
    )
    return choices, below


def pointed_choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The choices around the one that is pointed at: the lines that begin in the same column."""
    for place in range(len(lines) - 1, -1, -1):
        pointed = _POINTED.match(lines[place])
        if pointed:
            column = pointed.start("label")
            first, last = place, place
            while first and _begins_at(lines[first - 1], column):
                first -= 1
            while last + 1 < len(lines) and _begins_at(lines[last + 1], column):
                last += 1
            return tuple(
                Choice(str(number), told(_NUMBER.sub("", lines[row][column:])), row - place)
                for number, row in enumerate(range(first, last + 1), start=1)
            )
    return ()


def buttons(lines: Sequence[str], labels: Sequence[str], painted: Painted) -> tuple[Choice, ...]:
    """Choices beside each other, in the lowest row that has them all; none unless exactly one of them stands out."""
    pattern = re.compile(r"\s+".join(f"({re.escape(label)})" for label in labels))
    for place in range(len(lines) - 1, -1, -1):
        if pattern.search(lines[place]):
            return _standing_out(painted(place), pattern, labels)
    return ()


def _standing_out(
    runs: Sequence[tuple[str, object]], pattern: re.Pattern[str], labels: Sequence[str]
) -> tuple[Choice, ...]:
    looks = [look for text, look in runs for _ in text]
    found = pattern.search("".join(text for text, _ in runs))
    if found is None:
        return ()
    ground = max(set(looks), key=looks.count)
    own = [set(looks[found.start(n) : found.end(n)]) for n in range(1, len(labels) + 1)]
    odd = [n for n, look in enumerate(own) if look != {ground}]
    if len(odd) != 1:
        return ()
    return tuple(Choice(str(n + 1), label, n - odd[0], is_beside=True) for n, label in enumerate(labels))


def lettered_choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The choices of the last question that has them as `(Y)es/(N)o`, wherever its lines are broken."""
    *_, last = ["", *(found[0] for found in _LETTERS.finditer(flat(lines)))]
    return tuple(
        Choice(str(number), told(letter + rest), typed=letter.lower())
        for number, (letter, rest) in enumerate(_LETTERED.findall(last), start=1)
    )


def _begins_at(line: str, column: int) -> bool:
    return bool(line[column : column + 1].strip()) and not line[:column].strip()


# ── hooks and events ────────────────────────────────────────────────────────────────────────────────────────────


def in_values(rules: Iterable[Rule], values: Mapping[str, Any]) -> Sign | None:
    """The first rule whose conditions these values meet."""
    for rule in rules:
        if rule.where and all(_meets(values, path, wanted) for path, wanted in rule.where.items()):
            text = told(_first_text(values, rule.text))
            reset = re.search(rule.reset, text, re.IGNORECASE) if rule.reset else None
            return Sign(rule, text, reset[0].strip() if reset else "", _wish(rule, values))
    return None


def _wish(rule: Rule, values: Mapping[str, Any]) -> Wish:
    return _bounded({name: _first_text(values, text) for name, text in rule.wish.items()})


def _bounded(said: Mapping[str, str]) -> Wish:
    """How much of a command is shown is for `exact` alone to say: it marks what it leaves out."""
    return Wish(
        command=exact(said.get("command", "")),
        reason=told(said.get("reason", "")),
        touches=told(said.get("touches", "")),
    )


def _meets(values: Mapping[str, Any], path: str, wanted: str) -> bool:
    value = at_path(values, path)
    return isinstance(value, str | int | float) and re.fullmatch(wanted, str(value)) is not None


def _first_text(values: Mapping[str, Any], texts: str) -> str:
    filled = (_PATH.sub(lambda found: _shown(at_path(values, found[1])), text) for text in texts.split(" | "))
    return next((text for text in filled if text.strip()), "")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value if isinstance(one, str | int | float))
    return str(value) if isinstance(value, str | int | float) else ""


def at_path(values: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; numbers go into lists. None where there is nothing."""
    found: Any = values
    for part in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found
