"""Record which parts of a repository's files the user has trusted.

One file per repository in the user's state folder, named by a hash of the repository's real path. A record holds the
parts as they were shown, so that the next question can show what has changed. A repository is trusted while every
part that it asks for is recorded with the same value: a removed part needs no new question, an added or changed part
does. The table of settings (`config.settings`) defines which parts there are.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.system import files

Parts = Mapping[str, Any]
"""TOML values by key, such as `setup.commands` or `env.PATH`."""


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """What the user trusted in one repository, and when."""

    repository: str
    at: float
    parts: Parts


def missing(repository: Path, parts: Parts) -> Parts:
    """The parts that are not trusted with their present value."""
    record = recorded(repository) if parts else None
    known = record.parts if record is not None else {}
    wanted = plain(parts)
    return {key: parts[key] for key, value in wanted.items() if key not in known or known[key] != value}


def recorded(repository: Path) -> TrustRecord | None:
    """What is trusted there; None if nothing is, or the record cannot be read."""
    record = _read(_file(repository))
    # The file's name is a hash, so compare the path itself.
    return record if record is not None and record.repository == _key(repository) else None


def put(repository: Path, parts: Parts) -> None:
    """Trust exactly these parts, replacing what was trusted before."""
    found = TrustRecord(_key(repository), time.time(), plain(parts))
    content = {"repository": found.repository, "at": found.at, "parts": found.parts}
    file = _file(repository)
    try:
        paths.private(file.parent)
        files.replace(file, json.dumps(content, indent=1).encode(), sync=True)
    except OSError as error:
        raise FleetError(
            f"cannot write {file}: {error.strerror}", hint="check the folder's permissions"
        ) from error


def is_agent() -> bool:
    """Whether an agent, or a program that it started, runs this process."""
    return "FLEET_AGENT_ID" in os.environ


def add(repository: Path, parts: Parts) -> None:
    """Trust these parts in addition, because the user has just written them. No-op if an agent has."""
    if not parts or is_agent():
        return
    record = recorded(repository)
    put(repository, {**(record.parts if record is not None else {}), **parts})


def forget(repository: Path) -> bool:
    """Delete the record; returns whether there was one."""
    file = _file(repository)
    known = file.exists()
    file.unlink(missing_ok=True)
    return known


def everything() -> list[TrustRecord]:
    """All readable records, sorted by path."""
    folder = _folder()
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    found = [record for record in map(_read, files) if record is not None]
    return sorted(found, key=lambda record: record.repository)


def digest(parts: Parts) -> str:
    """A hash of the parts, for users to compare."""
    import hashlib

    return hashlib.sha256(json.dumps(plain(parts), sort_keys=True).encode()).hexdigest()


def plain(parts: Parts) -> dict[str, Any]:
    """The parts as a record returns them: JSON values."""
    found: dict[str, Any] = json.loads(json.dumps(dict(parts), default=str))
    return found


def _folder() -> Path:
    return paths.state() / "trust"


def _key(repository: Path) -> str:
    return os.fsencode(os.path.realpath(repository)).decode("utf-8", "backslashreplace")


def _file(repository: Path) -> Path:
    import hashlib

    name = hashlib.sha256(os.fsencode(os.path.realpath(repository))).hexdigest()[:32]
    return _folder() / f"{name}.json"


def _read(file: Path) -> TrustRecord | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        found = json.loads(files.read(file))
        parts = found["parts"]
        if isinstance(parts, dict):
            return TrustRecord(str(found["repository"]), float(found["at"]), parts)
    return None
