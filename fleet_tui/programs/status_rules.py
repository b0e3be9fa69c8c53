"""Status rules of a profile: which signs of a program mean which status, and how each kind of sign is matched.

Titles and screens are matched by regular expressions, hooks and events by the values in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fleet_tui.fast_dataclasses import asdict, dataclass, field, known
from fleet_tui.models import PermissionRequest, Status
from fleet_tui.programs.json_values import at_path
from fleet_tui.programs.screen_text import shown_command, shown_line, unframed
from fleet_tui.system import bounded_regex

SCREEN_LINES = 16
"""Lines from the bottom that a rule looks at by default; blank lines do not count."""
SCREEN_CHARS = 6000
"""Characters of those lines: bounds the time of a pattern whatever a program prints."""
KINDS = ("permission", "question", "trust", "login", "menu")
"""What a blocked agent can wait for."""

_PATH = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class StatusRule:
    """One sign of a program, and the status that it means."""

    name: str
    status: Status
    kind: str = ""
    """For blocked: what it waits for."""
    match: str = ""
    """For titles and screens: a regular expression, case-insensitive. Its groups `text` and `reset` are shown, and those
    of a permission request: `command`, `reason` and `touches`."""
    where: Mapping[str, str] = field(default_factory=dict)
    """For hooks and events: a pattern for the whole value at each dotted path."""
    text: str = ""
    """For hooks and events: the text to show, with dotted paths in braces; of several separated by ` | `, the first that
    is not blank. For titles and screens: the text to show if the pattern has no group `text`."""
    reset: str = ""
    """For hooks and events about a limit: a pattern for when the limit ends, searched in the shown text."""
    request: Mapping[str, str] = field(default_factory=dict)
    """For hooks and events: `command`, `reason` and `touches` of the permission request, each written like `text`.
    Run specs call it `wish`."""
    keeps: tuple[str, ...] = ()
    """Statuses from the same source that this one does not replace: an error outlasts its turn."""
    interrupts: bool = False
    """For events: the turn was interrupted."""
    from_helpers: bool = False
    """Whether an event of a sub-agent's conversation counts."""
    lines: int = SCREEN_LINES
    over: tuple[str, ...] = ()
    """Better sources that this sign overrides: `title`, `osc7501:working` or `osc7501:blocked:login`."""
    has_pointer: bool = False
    """The dialog's choices have no numbers: a pointer marks the one that Enter takes."""
    buttons: tuple[str, ...] = ()
    """The dialog's choices are side by side, in this order: the one that Enter takes looks different."""
    has_letters: bool = False
    """The dialog's choices are in the question, as `(Y)es/(N)o`: type a letter, then Enter."""

    def to_plain(self) -> dict[str, Any]:
        """As plain data for run specs, where the request is called `wish`."""
        found = asdict(self)
        found["wish"] = found.pop("request")
        return found

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> StatusRule:
        """Also what another version has written: unknown fields are skipped."""
        found = known(cls, {**values, "request": values.get("wish", {})})
        found["status"] = Status(found["status"])
        for name in ("over", "keeps", "buttons"):
            found[name] = tuple(found.get(name, ()))
        return cls(**found)


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule that matches, with the text that it found."""

    rule: StatusRule
    text: str = ""
    reset: str = ""
    request: PermissionRequest = PermissionRequest()


# ── titles and screens ──


class Patterns:
    """The rules of one source, compiled once."""

    def __init__(self, rules: Iterable[StatusRule]) -> None:
        # Programs change letter case from one version to the next.
        self._rules = [(rule, re.compile(rule.match, re.IGNORECASE)) for rule in rules]
        self.given_up: list[StatusRule] = []
        """Rules that have timed out; they are not tried again."""

    def __bool__(self) -> bool:
        return bool(self._rules)

    def in_title(self, title: str) -> RuleMatch | None:
        return self._first(lambda _rule: title)

    def on_screen(self, lines: Sequence[str]) -> RuleMatch | None:
        """The first rule that matches the bottom of the screen, however its lines wrap."""
        written = [line for line in lines if line.strip()]
        texts: dict[int, str] = {}

        def looked_at(rule: StatusRule) -> str:
            if rule.lines not in texts:
                texts[rule.lines] = unframed(written[-rule.lines :])[-SCREEN_CHARS:]
            return texts[rule.lines]

        return self._first(looked_at)

    def _first(self, text_for: Callable[[StatusRule], str]) -> RuleMatch | None:
        for rule, pattern in list(self._rules):
            try:
                with bounded_regex.limited():
                    found = pattern.search(text_for(rule))
            except bounded_regex.RegexTimedOut:
                self.given_up.append(rule)
                self._rules.remove((rule, pattern))
                continue
            if found:
                return _sign(rule, found)
        return None


def _sign(rule: StatusRule, found: re.Match[str]) -> RuleMatch:
    groups = {name: said or "" for name, said in found.groupdict().items()}
    return RuleMatch(
        rule,
        shown_line(groups.get("text", "") or rule.text),
        shown_line(groups.get("reset", "")),
        _bounded(groups),
    )


# ── hooks and events ──


def in_values(rules: Iterable[StatusRule], values: Mapping[str, Any]) -> RuleMatch | None:
    """The first rule whose conditions these values meet."""
    for rule in rules:
        if meets(values, rule.where):
            text = shown_line(_first_text(values, rule.text))
            reset = re.search(rule.reset, text, re.IGNORECASE) if rule.reset else None
            return RuleMatch(rule, text, reset[0].strip() if reset else "", _permission_request(rule, values))
    return None


def _permission_request(rule: StatusRule, values: Mapping[str, Any]) -> PermissionRequest:
    return _bounded({name: _first_text(values, text) for name, text in rule.request.items()})


def _bounded(said: Mapping[str, str]) -> PermissionRequest:
    """Only `shown_command` shortens a command, as it marks the cut."""
    return PermissionRequest(
        command=shown_command(said.get("command", "")),
        reason=shown_line(said.get("reason", "")),
        touches=shown_line(said.get("touches", "")),
    )


def meets(values: Mapping[str, Any], where: Mapping[str, str]) -> bool:
    """Whether each path has a value that its pattern matches as a whole; False without any pattern."""
    return bool(where) and all(_matches(values, path, wanted) for path, wanted in where.items())


def _matches(values: Mapping[str, Any], path: str, wanted: str) -> bool:
    value = at_path(values, path)
    return isinstance(value, str | int | float) and re.fullmatch(wanted, str(value)) is not None


def _first_text(values: Mapping[str, Any], texts: str) -> str:
    filled = (_PATH.sub(lambda found: _shown(at_path(values, found[1])), text) for text in texts.split(" | "))
    return next((text for text in filled if text.strip()), "")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value if isinstance(one, str | int | float))
    return str(value) if isinstance(value, str | int | float) else ""
