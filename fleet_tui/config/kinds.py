"""Kinds of setting values: how each is read from TOML and from a command line, and how an error describes it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fleet_tui.models import NOTICE_KINDS, PERMISSION_MODES

if TYPE_CHECKING:
    from fleet_tui.permissions.rules import PermissionRule

APPROVE_MODES = ("off", "shadow", "on")
NOTIFY_EVENTS = tuple(sorted(NOTICE_KINDS))
LANDING_STRATEGIES = ("merge", "squash", "rebase", "pr")
COLOR_MODES = ("auto", "always", "never")
TERMINAL_NOTICES = ("auto", "osc9", "osc777", "bell", "off")


THEMES = (
    "fleet-dark", "fleet-light", "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light", "catppuccin-frappe",
    "catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula", "flexoki", "gruvbox", "monokai", "nord",
    "rose-pine", "rose-pine-dawn", "rose-pine-moon", "solarized-dark", "solarized-light", "textual-dark",
    "textual-light", "tokyo-night",
)  # fmt: skip
"""Ours, then Textual's: the command line must not load the dashboard to know them."""


class InvalidValue(Exception):
    """A value is not of its key's kind. The text, if any, continues the key's name: ".command must be …"."""


class ValueKind(NamedTuple):
    """A kind of value."""

    expected: str
    """Completes "must be …" in an error."""
    from_toml: Callable[[Any], object]
    """Convert a TOML value to the one that `Config` holds; raises `InvalidValue`."""
    from_text: Callable[[str], object]
    """Convert text to a TOML value; raises `InvalidValue`."""
    words: tuple[str, ...] = ()
    """Values for shell completion."""


def _choice(values: tuple[str, ...]) -> ValueKind:
    """One of a few words."""

    def from_toml(value: object) -> str:
        if value not in values:
            raise InvalidValue
        return str(value)

    *others, last = map(_quoted, values)
    return ValueKind(f"{', '.join(others)} or {last}", from_toml, str, values)


def _quoted(word: str) -> str:
    return f'"{word}"'


def _string(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise InvalidValue
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidValue
    return tuple(_string(item) for item in value)


def _path(value: object) -> Path | None:
    text = _string(value)
    try:
        return Path(text).expanduser() if text else None
    except RuntimeError as error:  # the name after ~ is not a user's
        raise InvalidValue from error


def _flags(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return _strings(value)
    try:
        return tuple(shlex.split(_string(value)))
    except ValueError as error:
        raise InvalidValue from error


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise InvalidValue
    return value


def _nice(value: object) -> int:
    if _count(value) > 19:
        raise InvalidValue
    return _count(value)


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise InvalidValue
    return float(value)


def _rules(value: object) -> tuple[PermissionRule, ...]:
    from fleet_tui.permissions.rules import Malformed, rules_of

    try:
        return rules_of(value)
    except Malformed as error:
        raise InvalidValue(str(error)) from error


def _events(value: object) -> tuple[str, ...]:
    names = _strings(value)
    if not set(names) <= set(NOTIFY_EVENTS):
        raise InvalidValue
    return names


def _no_text(_text: str) -> object:
    raise InvalidValue


def _color(value: object) -> str:
    if isinstance(value, bool):
        return "auto" if value else "never"
    if value not in COLOR_MODES:
        raise InvalidValue
    return str(value)


def _color_text(text: str) -> object:
    return text if text in COLOR_MODES else _boolean_text(text)


def _boolean_text(text: str) -> bool:
    word = text.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise InvalidValue


def _theme_text(text: str) -> object:
    # A file may name a theme of another version; the dashboard then takes its own.
    if text not in THEMES:
        raise InvalidValue
    return text


def _number_text(number: Callable[[str], object]) -> Callable[[str], object]:
    def parse(text: str) -> object:
        try:
            return number(text.strip())
        except ValueError as error:
            raise InvalidValue from error

    return parse


def _seconds_text(text: str) -> object:
    number = float(text)
    return int(number) if number.is_integer() else number


def strings_text(text: str) -> list[str]:
    """Parse a TOML array, or take the text as the only item."""
    if not text.lstrip().startswith("["):
        return [text] if text.strip() else []
    import tomllib

    try:
        return list(_strings(tomllib.loads(f"value = {text}")["value"]))
    except (ValueError, RecursionError) as error:
        raise InvalidValue from error


STRING = ValueKind("a string", _string, str)
STRINGS = ValueKind("a list of strings", _strings, strings_text)
PATH = ValueKind("a path as a string", _path, str)
FLAGS = ValueKind("command-line flags as one string, with balanced quotes", _flags, str)
BOOLEAN = ValueKind("true or false", _boolean, _boolean_text, ("true", "false"))
COUNT = ValueKind("a whole number, 0 or more", _count, _number_text(int))
NICE = ValueKind("a whole number from 0 to 19", _nice, _number_text(int))
SECONDS = ValueKind("a number of seconds, 0 or more", _seconds, _number_text(_seconds_text))
PERMISSION = _choice(PERMISSION_MODES)
MODE = _choice(APPROVE_MODES)
STRATEGY = _choice(LANDING_STRATEGIES)
RULES = ValueKind("a list of tables, each written as [[approve.rules]] in the file", _rules, _no_text)
EVENTS = ValueKind(
    f"a list of {', '.join(map(_quoted, NOTIFY_EVENTS))}", _events, strings_text, NOTIFY_EVENTS
)
TERMINAL = _choice(TERMINAL_NOTICES)
COLOR = ValueKind('"auto", "always", "never", true or false', _color, _color_text, COLOR_MODES)
THEME = ValueKind("the name of a theme", _string, _theme_text, THEMES)
TABLE = ValueKind("a table of strings", _string, str)


def variable_problem(name: str) -> str:
    """Why an environment variable of this name cannot be set; empty if it can."""
    if not name or "=" in name or "\0" in name:
        return "is not a valid name for an environment variable"
    if name.startswith("FLEET_"):
        return "is reserved: fleet sets FLEET_* for each agent"
    return ""


def printable(name: str) -> str:
    """The name as part of a one-line message."""
    return name if name.isprintable() and len(name) <= 60 else ascii(name)[:60]


def shown(value: object) -> str:
    """The value as part of a one-line message, shortened."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of more than 4300 digits
        return f"this {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
