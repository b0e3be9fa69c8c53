"""Show settings by key, and set or unset one in a file: `fleet config` with `get`, `set` and `unset`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fleet_tui.config.files import edit_hint, parse, read_text, write
from fleet_tui.config.kinds import TABLE, InvalidValue, ValueKind, shown, strings_text, variable_problem
from fleet_tui.config.settings import DEFAULT, KEYS, Config, row_key, row_of, unknown
from fleet_tui.errors import FleetError, NotFound, UsageError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_AUTHORITY_NOTES = {
    "user": " (your own file only)",
    "lower": " (a project can only lower it)",
    "higher": " (a project can only raise it)",
    "trusted": " (a project's value needs your trust)",
    "project": "",
}


class SettingValue(NamedTuple):
    """A setting's value and the file it came from."""

    key: str
    value: object
    origin: str


def text_of(value: object) -> str:
    """A value as it would be written in a file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(text_of(item) for item in value) + "]"
    if hasattr(value, "to_plain"):
        return text_of(value.to_plain())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {text_of(item)}" for name, item in value.items()) + "}"
    if value is None:
        return '""'
    if isinstance(value, int | float):
        return str(value)
    # A string of JSON is one of TOML, once DEL is escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def entries(config: Config) -> list[SettingValue]:
    """Every setting in the order of the table, then each environment variable and each key binding."""
    found = [
        SettingValue(row.key, getattr(config, row.field), config.origins.get(row.key, DEFAULT))
        for row in KEYS.values()
        if row.kind is not TABLE
    ]
    for name, value in config.env.items():
        found.append(SettingValue(f"env.{name}", value, config.origins.get(f"env.{name}", DEFAULT)))
    for action, chords in config.keys.items():
        found.append(SettingValue(f"keys.{action}", chords, config.origins.get(f"keys.{action}", DEFAULT)))
    return found


def entry(config: Config, key: str) -> SettingValue:
    """One setting with its origin."""
    return SettingValue(key, get(config, key), config.origins.get(key, DEFAULT))


def meaning(key: str) -> str:
    """The description of a key, and whose file may set it; empty for an unknown key."""
    row = KEYS.get(row_key(key))
    return row.doc + _AUTHORITY_NOTES[row.authority.name] if row is not None else ""


def default_of(key: str) -> object:
    """The default of a key; None for a variable or a key binding, which have none."""
    row = KEYS.get(key)
    return row.default if row is not None else None


def plain(value: object) -> Any:
    """A value as plain data, as in JSON."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if hasattr(value, "to_plain"):
        return plain(value.to_plain())
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, Path) else value


def get(config: Config, key: str) -> object:
    """The value of a key, or an error that names the nearest known key."""
    section, _, name = key.partition(".")
    if section == "env" and name:
        if name not in config.env:
            raise NotFound(f"{key} is not set", hint=f"set it with: fleet config set {key} VALUE")
        return config.env[name]
    if section == "keys" and name:
        if name not in config.keys:
            raise NotFound(f"{key} is not set", hint="see the keys in use with: fleet keys")
        return config.keys[name]
    return getattr(config, row_of(key).field)


def set_value(file: Path, key: str, text: str, *, inside: Path | None = None) -> None:
    """Set one key in a file, which is created if missing; comments and layout stay.

    With `inside`, the file must lie in that folder after all links are followed.
    """
    value = value_from_text(key, text)
    source = read_text(file, inside=inside) or ""
    wanted = parse(source, file)
    section, _, name = key.partition(".")

    def change(document: TOMLDocument) -> None:
        import tomlkit

        if section not in document:
            document[section] = tomlkit.table()
        table: Any = document[section]
        if not hasattr(table, "keys"):
            raise UsageError(
                f"{file}: {section} must be a table, written as [{section}]", hint=edit_hint(file)
            )
        table[name] = value

    edited = _edited(file, source, change, f"{key} cannot be set")
    wanted.setdefault(section, {})[name] = value
    _write(file, edited, wanted, f"{key} cannot be set", inside=inside)


def unset_value(file: Path, key: str, *, inside: Path | None = None) -> None:
    """Remove one key from a file, even an unknown one; comments and layout stay."""
    source = read_text(file, inside=inside) or ""
    wanted = parse(source, file)
    section, _, name = key.partition(".")
    table = wanted.get(section)
    if not isinstance(table, dict) or name not in table:
        if row_key(key) not in KEYS:
            raise UsageError(unknown(key), hint="fleet config lists all keys")
        if key in KEYS and KEYS[key].kind is TABLE:
            raise UsageError(f"{key} is a table", hint=f"unset one entry: fleet config unset {key}.NAME")
        raise NotFound(
            f"{key} is not set in {file}",
            hint=f"see where it is set with: fleet config get {key} --show-origin",
        )

    def change(document: TOMLDocument) -> None:
        found: Any = document[section]
        del found[name]

    edited = _edited(file, source, change, f"{key} cannot be removed")
    del table[name]
    _write(file, edited, wanted, f"{key} cannot be removed", inside=inside)


def _edited(file: Path, source: str, change: Callable[[TOMLDocument], None], problem: str) -> str:
    """The text of a file after a change."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(source)
        change(document)
        return tomlkit.dumps(document)
    except TOMLKitError as error:
        raise UsageError(f"{file}: {problem}: {error}", hint=edit_hint(file)) from error


def _write(file: Path, edited: str, wanted: Mapping[str, Any], problem: str, *, inside: Path | None) -> None:
    """Write an edited file, unless the edit changed more than it should."""
    if _without_empty(parse(edited, file)) != _without_empty(wanted):
        raise FleetError(f"{file}: {problem} without changing other keys", hint=edit_hint(file))
    write(file, edited.encode(), inside=inside)


def _without_empty(document: Mapping[str, Any]) -> dict[str, Any]:
    """A parsed file without its empty tables: removing the last key may remove the table."""
    return {section: content for section, content in document.items() if content != {}}


def value_from_text(key: str, text: str) -> object:
    """Convert text to a TOML value of the key's kind, with the checks that loading makes."""
    section, _, name = key.partition(".")
    if section == "env" and name:
        problem = variable_problem(name)
        if problem or "\0" in text:
            raise UsageError(
                f"{key} {problem or 'must not contain a NUL byte'}", hint="choose another name or value"
            )
        return text
    if section == "keys" and name:
        try:
            return strings_text(text)
        except InvalidValue as error:
            raise UsageError(
                f"{key} must be a key or a list of keys, not {shown(text)}",
                hint="see the keys with: fleet keys",
            ) from error
    row = row_of(key)
    if row.kind is TABLE:
        raise UsageError(f"{key} is a table", hint=f"set one entry: fleet config set {key}.NAME VALUE")
    try:
        value = row.kind.from_text(text)
        row.kind.from_toml(value)
        text.encode()
    except (InvalidValue, UnicodeEncodeError) as error:
        raise UsageError(
            f"{key} must be {row.kind.expected}, not {shown(text)}",
            hint=_choices(row.kind, text),
        ) from error
    return value


def _choices(kind: ValueKind, text: str) -> str:
    """A hint at what to write instead of this text."""
    import difflib

    if close := difflib.get_close_matches(text, kind.words, n=1):
        return f"did you mean {close[0]}?"
    return f"choose from {', '.join(kind.words)}" if kind.words else "see what it means with: fleet config"
