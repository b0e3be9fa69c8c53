"""Read configuration files, within size limits, and write them.

Errors name the file, and the line where possible. tomllib is imported only if there is a file: every command pays for
this module. Which of the values count is decided elsewhere (`load`, `project_files`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.config.kinds import InvalidValue, printable, shown, variable_problem
from fleet_tui.config.settings import INCLUDE_FILE, KEYS, row_key, unknown
from fleet_tui.errors import FleetError, Refused, UsageError
from fleet_tui.system import files

MAX_BYTES = 256 << 10
"""Of a configuration file."""
MAX_INCLUDE_BYTES = 64 << 10
MAX_DOTS = 100
"""Per line: tomllib looks up each level of a dotted key from the top, so the time grows with the square."""
MAX_WARNINGS = 20
"""About unknown keys: finding a suggestion for each takes time."""

_SECTIONS = frozenset(key.partition(".")[0] for key in KEYS)


def edit_command(file: Path) -> str:
    """The command that opens a configuration file: the user's own needs a flag."""
    return "fleet config --edit" + (" --user" if file == paths.user_config() else "")


def edit_hint(file: Path) -> str:
    """How to fix an error in a configuration file."""
    return f"fix it with: {edit_command(file)}"


def read(file: Path, *, inside: Path | None = None) -> dict[str, Any]:
    """Parse a file; empty if there is none. With `inside`, the file must lie in that folder."""
    text = read_text(file, inside=inside)
    return {} if text is None else parse(text, file)


def read_text(file: Path, *, inside: Path | None = None, limit: int = MAX_BYTES) -> str | None:
    """The text of a file, or None if there is none."""
    try:
        return files.read(file, inside=inside, limit=limit).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not valid UTF-8 at byte {error.start}", hint=edit_hint(file)) from error
    except OSError as error:
        raise FleetError(
            f"cannot read {file}: {error.strerror}", hint="check the file and its permissions"
        ) from error


def read_include(project: Path) -> tuple[str, ...]:
    """The patterns in a project's include file, without comments and empty lines."""
    text = read_text(project / INCLUDE_FILE, inside=project, limit=MAX_INCLUDE_BYTES) or ""
    entries = map(str.strip, text.splitlines())
    return tuple(
        entry for entry in entries if entry.strip("!/") and not entry.startswith("#") and "\0" not in entry
    )


def parse(text: str, file: Path) -> dict[str, Any]:
    """Parse TOML; an error names the file, line and column."""
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise UsageError(f"{file}:{number}: more than {MAX_DOTS} dots in one line", hint=edit_hint(file))
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UsageError(f"{file}: values are nested too deeply", hint=edit_hint(file)) from error
    except ValueError as error:
        raise _syntax_error(file, text, str(error)) from error


def _syntax_error(file: Path, text: str, message: str) -> UsageError:
    lines = text.rstrip("\n").split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    found = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if found:
        message = message[: found.start()]
        if found[1]:
            line, column = int(found[1]), int(found[2])
    return UsageError(f"{file}:{line}:{column}: {message}", hint=edit_hint(file))


def settings_in(
    document: dict[str, Any],
    file: Path,
    warnings: list[str],
    *,
    is_project: bool = False,
    problems: list[str] | None = None,
) -> Iterator[tuple[str, object]]:
    """Convert the values of all known keys; unknown keys become warnings.

    An invalid value raises UsageError; with `problems`, it is added to them and left out.
    """
    for section, content in document.items():
        if section not in _SECTIONS:
            _warn_unknown(section, file, warnings)
            continue
        if not isinstance(content, dict):
            wrong = f"{file}: {section} must be a table, written as [{section}]"
            _report(UsageError(wrong, hint=edit_hint(file)), problems)
            continue
        for name, value in content.items():
            key = f"{section}.{name}"
            if row_key(key) not in KEYS:
                _warn_unknown(key, file, warnings)
                continue
            try:
                converted = _converted(key, value, file)
            except UsageError as error:
                # A repository must not be able to keep the dashboard from opening.
                _report(error, warnings if section == "keys" and is_project else problems)
                continue
            yield key, converted
            warnings += _rule_warnings(value, file) if key == "approve.rules" else ()


def _report(error: UsageError, problems: list[str] | None) -> None:
    """Raise an error, or add it to the problems if they are collected."""
    if problems is None:
        raise error
    problems.append(error.message)


def _warn_unknown(key: str, file: Path, warnings: list[str]) -> None:
    if len(warnings) < MAX_WARNINGS:
        warnings.append(unknown(key, file))
    elif len(warnings) == MAX_WARNINGS:
        warnings.append(f"{file}: more unknown keys")


def _rule_warnings(rules: list[dict[str, Any]], file: Path) -> Iterator[str]:
    from fleet_tui.permissions.rules import unknown_keys

    for number, rule in enumerate(rules, 1):
        for name in unknown_keys(rule):
            yield f"{file}: unknown key {name!r} in approve.rules[{number}], so this rule only asks"


def _converted(key: str, value: object, file: Path) -> object:
    section, _, name = key.partition(".")
    if section == "env":
        return _variable(name, value, file)
    if section == "keys":
        return _chords(name, value, file)
    kind = KEYS[key].kind
    try:
        return kind.from_toml(value)
    except InvalidValue as error:
        wrong = str(error) or f" must be {kind.expected}, not {shown(value)}"
        raise UsageError(f"{file}: {key}{wrong}", hint=edit_hint(file)) from error


def _variable(name: str, value: object, file: Path) -> str:
    problem = variable_problem(name)
    if problem:
        raise UsageError(f"{file}: env.{printable(name)} {problem}", hint=edit_hint(file))
    if isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64
    ):
        return str(value)
    if not isinstance(value, str) or "\0" in value:
        raise UsageError(
            f"{file}: env.{printable(name)} must be a string, not {shown(value)}", hint=edit_hint(file)
        )
    return value


def _chords(action: str, value: object, file: Path) -> tuple[str, ...]:
    """The keys of an action. The dashboard checks whether the action and the keys exist."""
    chords = (value,) if isinstance(value, str) else value
    if not isinstance(chords, list | tuple) or not all(isinstance(chord, str) for chord in chords):
        raise UsageError(
            f"{file}: keys.{printable(action)} must be a key or a list of keys, not {shown(value)}",
            hint=edit_hint(file),
        )
    return tuple(chords)


def check_folder(folder: Path) -> None:
    """Refuse a file in place of a folder of configuration files."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise Refused(f"{folder} is not a folder", hint="move it away")


def write(file: Path, content: bytes, *, new: bool = False, inside: Path | None = None) -> None:
    """Replace a file atomically. With `new`, raise FileExistsError if there is one.

    With `inside`, raise PermissionError instead of following a link out of that folder. Unlike `system.files.replace`,
    this follows links, keeps the mode of a file and applies the umask to a new one: the file is the user's own.
    """
    if inside is not None:
        files.check_inside(file, inside)
    target = file.resolve() if file.is_symlink() else file
    check_folder(target.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    # os.open applies the umask; tempfile does not.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if target.exists():
                os.fchmod(descriptor, target.stat().st_mode & 0o777)
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        if new:
            os.link(temporary, target)
        else:
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
