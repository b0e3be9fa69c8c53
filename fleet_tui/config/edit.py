"""Show settings by key, and set one in a file: `fleet config`, `config get` and `config set`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fleet_tui.config.files import EDIT_HINT, parse, read_text, write
from fleet_tui.config.kinds import TABLE, InvalidValue, shown, strings_text, variable_problem
from fleet_tui.config.settings import DEFAULT, KEYS, Config, row_of
from fleet_tui.errors import FleetError, NotFound, UsageError


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
    return str(value) if isinstance(value, int | float) else f'"{value}"'


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
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    value = value_from_text(key, text)
    source = read_text(file, inside=inside) or ""
    before = parse(source, file)
    section, _, name = key.partition(".")
    try:
        document = tomlkit.parse(source)
        if section not in document:
            document[section] = tomlkit.table()
        table = document[section]
        if not hasattr(table, "keys"):
            raise UsageError(f"{file}: {section} must be a table, written as [{section}]", hint=EDIT_HINT)
        table[name] = value
        edited = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise UsageError(f"{file}: {key} cannot be set: {error}", hint=EDIT_HINT) from error
    before.setdefault(section, {})[name] = value
    if parse(edited, file) != before:
        raise FleetError(
            f"{file}: {key} cannot be set without changing other keys", hint="run: fleet config --edit"
        )
    write(file, edited.encode(), inside=inside)


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
            f"{key} must be {row.kind.expected}, not {shown(text)}", hint=f"see: fleet config get {key}"
        ) from error
    return value
