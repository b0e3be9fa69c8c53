"""The keymap: the chords of the table of actions, overridden by the user's keys.

Refuses a keymap in which one chord would mean two things. Pure apart from reading the configuration; no Textual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fleet_tui.errors import UsageError
from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.tui.actions import ACTIONS, BY_ID, GROUPS, Action, Context

if TYPE_CHECKING:
    from pathlib import Path

    from fleet_tui.config.settings import Config

PRESETS: Mapping[str, Mapping[str, tuple[str, ...]]] = {"tmux": {"leader": ("ctrl+b",)}}
"""`preset = "tmux"` under [keys]."""

_NAMED = {
    "]": "right_square_bracket", "[": "left_square_bracket", "/": "slash", "?": "question_mark", ":": "colon",
    "|": "vertical_line", ".": "full_stop", ",": "comma", "<": "less_than_sign", ">": "greater_than_sign",
    "\\": "backslash", "=": "equals_sign", "+": "plus", "-": "minus", "!": "exclamation_mark", "@": "at",
    "#": "number_sign", "$": "dollar_sign", "%": "percent_sign", "&": "ampersand", "*": "asterisk", ";": "semicolon",
    "'": "apostrophe", '"': "quotation_mark", "(": "left_parenthesis", ")": "right_parenthesis", "_": "underscore",
    "`": "grave_accent", "~": "tilde", "^": "circumflex_accent", "{": "left_curly_bracket", "}": "right_curly_bracket",
}  # fmt: skip
_SHOWN = {
    "enter": "↵",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "f12": "F12",
    "f11": "F11",
    "f1": "F1",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "escape": "esc",
}
_ALSO = {"esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown", "del": "delete"}
"""Other names of keys: as the dashboard shows them, or as a keyboard has them printed on it."""
_MODIFIERS = ("alt", "ctrl", "shift", "super")
_SPECIAL = frozenset(
    {"enter", "tab", "space", "backspace", "delete", "insert", "escape", "home", "end", "pageup", "pagedown"}
    | {"up", "down", "left", "right"} | {f"f{number}" for number in range(1, 25)}
)  # fmt: skip
_AGENTS_OWN = frozenset(
    {"escape", "enter", "tab", "space", "backspace", *(f"ctrl+{letter}" for letter in "cdegkorstwx")}
    | {f"alt+{digit}" for digit in "123456789"}
)
"""Chords that agents and shells need; never reserved while typing."""
_OUTSIDE = {
    "ctrl+b": "tmux takes it as its prefix key",
    "ctrl+q": "Zellij and the terminal of VS Code may take it; F12 does the same",
    "f11": "many desktops use it for full screen",
    "f12": "some desktops use it for a drop-down terminal",
    "f1": "GNOME Terminal opens its help with it",
}
_HOW_TO_WRITE = 'write it as in "x", "ctrl+x", "f5" or "enter"'
_CYRILLIC = dict(zip("йцукенгшщзхъфывапролджэячсмитьбю", "qwertyuiop[]asdfghjkl;'zxcvbnm,.", strict=True))


@dataclass(frozen=True, slots=True)
class Keymap:
    """Chords per action, checked to be free of conflicts."""

    chords: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {a.id: a.keys for a in ACTIONS})

    def of(self, action: str) -> tuple[str, ...]:
        return self.chords.get(action, ())

    def shown(self, action: str) -> str:
        """The first chord as displayed; empty when the action has none."""
        chords = self.of(action)
        return show(chords[0]) if chords else ""

    def who(self, chord: str, context: Context) -> Action | None:
        wanted = normal(chord)
        return next(
            (a for a in ACTIONS if a.context == context and wanted in map(normal, self.of(a.id))), None
        )


def show(chord: str) -> str:
    return _SHOWN.get(chord, chord)


def normal(chord: str) -> str:
    """Normalize a chord: modifiers sorted and in lower case, the key as typed."""
    if len(chord) <= 1:
        return chord
    *modifiers, key = chord.split("+") if not chord.endswith("++") else [*chord[:-2].split("+"), "+"]
    key = key if len(key) == 1 and not modifiers else _ALSO.get(key.lower(), key.lower())
    return "+".join([*sorted(modifier.lower() for modifier in modifiers), key])


def event_key(chord: str) -> str:
    """Return the chord as key events name it."""
    *modifiers, key = normal(chord).split("+") if chord != "+" else ["+"]
    return "+".join([*modifiers, _NAMED.get(key, key)])


def latin(character: str | None) -> str:
    """Return the Latin key in the same place, for other layouts."""
    if not character:
        return ""
    found = _CYRILLIC.get(character.lower(), "")
    return found.upper() if found and character.isupper() else found


# ── the user's keys ─────────────────────────────────────────────────────────────────────────────────────────────


def load(project: Path | None) -> Keymap:
    """The keymap of the user's configuration and, over it, the project's."""
    from fleet_tui.config.load import load

    return chosen(load(project, trusted=False))[0]


def chosen(config: Config) -> tuple[Keymap, str]:
    """The keymap of a configuration. A project's keys that make no keymap are left out, with the reason returned; the
    user's own raise UsageError."""
    try:
        return of_config(config.keys), ""
    except UsageError as error:
        if config.keys == config.user_keys:
            raise
        return of_config(config.user_keys), f"the project's keys are ignored: {error.message}"


def of_config(table: Mapping[str, Sequence[str]]) -> Keymap:
    """The keymap of a [keys] table: a preset, and over it chords per action; an empty chord unbinds."""
    return resolve(_with_preset(table))


def problems(table: Mapping[str, Sequence[str]]) -> list[str]:
    """All errors in a [keys] table, one line each."""
    try:
        return [problem.message for problem in _problems(_with_preset(table))]
    except UsageError as error:
        rest = {name: chords for name, chords in table.items() if name != "preset"}
        return [error.message, *problems(rest)]


def _with_preset(table: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    own = dict(table)
    preset = next(iter(own.pop("preset", ())), "")
    if preset and preset not in PRESETS:
        raise UsageError(f"keys: no preset {preset!r}", hint="choose from " + ", ".join(PRESETS))
    chosen = {name: [chord for chord in chords if chord] for name, chords in own.items()}
    return {**PRESETS.get(preset, {}), **chosen}


def resolve(own: Mapping[str, Sequence[str]]) -> Keymap:
    """Return the keymap with these chords; UsageError when it would be ambiguous."""
    for problem in _problems(own):
        raise problem
    return Keymap(_with_defaults(own))


def _with_defaults(own: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {action.id: tuple(own.get(action.id, action.keys)) for action in ACTIONS}


def _problems(own: Mapping[str, Sequence[str]]) -> Iterator[UsageError]:
    for name, chords in own.items():
        if name not in BY_ID:
            yield UsageError(f"keys: there is no action {name!r}", hint="fleet keys lists them")
            continue
        for chord in chords:
            yield from _chord_problems(name, chord)
    chosen = _with_defaults(own)
    for context in ("list", "typing", "leader"):
        yield from _conflicts(chosen, own, context)
    for name in ("leave", "leader"):
        if not chosen[name]:
            yield UsageError(
                f"keys: {name} cannot be without a key", hint="there would be no way out of an agent"
            )


def _chord_problems(name: str, chord: str) -> Iterator[UsageError]:
    *modifiers, key = normal(chord).split("+") if chord != "+" else ["+"]
    if not is_key(chord):
        yield UsageError(f"keys.{name}: {chord!r} is not a key", hint=_HOW_TO_WRITE)
    elif BY_ID[name].context == "typing" and (
        normal(chord) in _AGENTS_OWN or (len(key) == 1 and not modifiers)
    ):
        yield UsageError(
            f"keys.{name}: {chord!r} is needed by agents while typing", hint="choose another, such as f10"
        )


def is_key(chord: str) -> bool:
    """Whether a keyboard can send this chord."""
    *modifiers, key = normal(chord).split("+") if chord != "+" else ["+"]
    return (len(key) == 1 or key in _SPECIAL) and all(modifier in _MODIFIERS for modifier in modifiers)


def _conflicts(
    chosen: Mapping[str, tuple[str, ...]], own: Mapping[str, Sequence[str]], context: str
) -> Iterator[UsageError]:
    taken: dict[str, str] = {}
    # The user's own chord wins over a default; the error names both actions.
    names = sorted((a.id for a in ACTIONS if a.context == context), key=lambda name: name not in own)
    for name in names:
        for chord in map(normal, chosen[name]):
            if chord in taken and taken[chord] != name:
                yield UsageError(
                    f"keys: {chord!r} is both {taken[chord]} and {name}",
                    hint=f'give {name} another key, or "" for none',
                )
            taken[chord] = name


def clashes(keymap: Keymap, environment: Mapping[str, str]) -> list[str]:
    """Warn of chords that the surrounding terminal or multiplexer is known to take."""
    found = []
    leave, leader = (set(map(normal, keymap.of(name))) for name in ("leave", "leader"))
    others = " or ".join(show(chord) for chord in keymap.of("leave") if normal(chord) != "ctrl+q")
    for host, is_here in (
        ("Zellij", "ZELLIJ" in environment),
        ("this terminal", environment.get("TERM_PROGRAM") == "vscode"),
    ):
        if is_here and "ctrl+q" in leave:
            found.append(
                f"{host} may keep ctrl+q for itself; {others or 'a click on the list'} leaves an agent"
            )
    if "TMUX" in environment and "ctrl+b" in leader:
        found.append("tmux keeps ctrl+b for itself; press it twice, or give the leader another key")
    return found


# ── what the command line prints ────────────────────────────────────────────────────────────────────────────────


def table(keymap: Keymap) -> Iterator[tuple[str, str, str, str]]:
    """Where, chords, name, meaning; for each action."""
    where = {"list": "list", "typing": "typing", "leader": f"after {keymap.shown('leader')}"}
    for group in GROUPS:
        for action in ACTIONS:
            if action.group == group:
                yield (
                    where[action.context],
                    " ".join(map(show, short(keymap.of(action.id)))),
                    action.id,
                    action.says,
                )


def short(chords: Sequence[str]) -> list[str]:
    """Shorten nine digits in a row to a range."""
    digits = [str(number) for number in range(1, 10)]
    return ["1–9"] if list(chords) == digits else list(chords)


def explain(keymap: Keymap, chord: str) -> list[str]:
    """Explain what gets a chord in each context; UsageError for one that no keyboard sends."""
    if not is_key(chord):
        raise UsageError(f"{chord!r} is not a key", hint=_HOW_TO_WRITE)
    wanted = normal(chord)
    in_list, typing = keymap.who(wanted, "list"), keymap.who(wanted, "typing")
    leader = keymap.shown("leader")
    after = keymap.who(wanted, "leader")
    lines = [
        f"in the list: {in_list.id} ({in_list.says})" if in_list else "in the list: nothing",
        f"while typing: {typing.id} ({typing.says})" if typing else "while typing: goes to the agent",
        f"after {leader}: {after.id} ({after.says})" if after else f"after {leader}: nothing",
    ]
    if wanted in map(normal, keymap.of("leader")):
        lines[2] = f"after {leader}: goes to the agent as itself"
    if wanted in _OUTSIDE:
        lines.append(f"outside: {_OUTSIDE[wanted]}")
    return lines
