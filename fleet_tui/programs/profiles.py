"""Profiles by name: the built-in TOML files in the folder `profiles`, overridden by the user's files.

A file of the same name in the user's profile folder wins, key by key; both are on top of `generic.toml` or of the
profile that `extends` names. A new program needs a file, not Python.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import FleetError, NotFound, UsageError
from fleet_tui.programs.executable import find_executable, refuse_unexecutable
from fleet_tui.programs.profile import Profile
from fleet_tui.programs.profile_file import NAME, parse_profile
from fleet_tui.system import files

BASE = "generic"

_FOLDER = Path(__file__).parent / "profiles"


def names() -> list[str]:
    """Names of all profiles, built in and the user's."""
    found = {file.stem for folder in (_FOLDER, paths.user_profiles()) for file in folder.glob("*.toml")}
    return sorted(name for name in found if name != BASE and NAME.fullmatch(name) and _files(name))


def load(name: str) -> Profile:
    """The profile of that name, or a generic one for a program without a profile."""
    if NAME.fullmatch(name) and _files(name):
        return parse_profile(name, _merged(name), str(_files(name)[-1]))
    program = find_executable(name, os.environ.get("PATH"))
    if not program:
        refuse_unexecutable(name)
        raise NotFound(
            f"no profile or program {name!r}",
            hint="install it, add its folder to PATH, or choose from " + ", ".join(names()),
        )
    data = _merged(BASE) | {"program": program}
    return parse_profile(Path(name).name, data, f"{_FOLDER / BASE}.toml")


def _files(name: str) -> list[Path]:
    files = (_FOLDER / f"{name}.toml", paths.user_profiles() / f"{name}.toml")
    return [file for file in files if file.is_file()]


def _merged(name: str, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """A profile's data on top of the profile it extends."""
    if name in seen:
        raise UsageError(f"profile {name!r} extends itself", hint="remove one `extends` of the cycle")
    documents = [_read(file) for file in _files(name)]
    if not documents:
        raise NotFound(f"no profile {name!r} to extend", hint="choose from " + ", ".join(names()))
    own: dict[str, Any] = {}
    for document in documents:
        own = _overlaid(own, document)
    if name == BASE:
        return own
    parent = own.pop("extends", BASE)
    if not isinstance(parent, str):
        raise UsageError(f"profile {name!r}: extends must be a string", hint="fix the file or remove it")
    return _overlaid(_merged(parent, (*seen, name)), own)


def _overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two tables; the upper wins key by key."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _overlaid(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _read(file: Path) -> dict[str, Any]:
    try:
        return _parsed(files.read(file))
    except OSError as error:
        raise FleetError(f"cannot read {file}: {error.strerror}", hint="check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: {error}", hint="fix the file or remove it") from error


@functools.lru_cache(maxsize=64)
def _parsed(text: bytes) -> dict[str, Any]:
    """Cached by content, as profiles are loaded often and change rarely. Callers must not modify the result."""
    import tomllib

    return tomllib.loads(text.decode("utf-8-sig"))
