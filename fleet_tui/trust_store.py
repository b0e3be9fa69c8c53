"""Keep which parts of which repositories' files the user has trusted.

One file per repository in the user's state folder, named by a hash of the repository's real path. A record holds the
parts as they were shown, so the next question can show what has changed. A repository is trusted as long as every
part that it asks for is recorded with that very value: a part that is taken away needs no new question, a part that
is added or changed does. What a part means, and which there are, is decided by the table of settings (`config`).
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import bounded_files, paths
from fleet_tui.errors import FleetError
from fleet_tui.values import dataclass

Parts = Mapping[str, Any]
"""Values by key, such as `setup.commands` or `env.PATH`, as TOML has them."""


@dataclass(frozen=True, slots=True)
class Record:
    """What was trusted in one repository, and when."""

    repository: str
    at: float
    parts: Parts


def missing(repository: Path, parts: Parts) -> Parts:
    """Those of the parts that were not trusted with this value."""
    record = recorded(repository) if parts else None
    known = record.parts if record is not None else {}
    wanted = plain(parts)
    return {key: parts[key] for key, value in wanted.items() if key not in known or known[key] != value}


def recorded(repository: Path) -> Record | None:
    """What was trusted there; None if nothing was, or the record cannot be read."""
    record = _read(_file(repository))
    # The name is a hash of the path; the path itself is what counts.
    return record if record is not None and record.repository == _key(repository) else None


def put(repository: Path, parts: Parts) -> None:
    """Trust these parts, and no others, from now on."""
    found = Record(_key(repository), time.time(), plain(parts))
    content = {"repository": found.repository, "at": found.at, "parts": found.parts}
    file = _file(repository)
    try:
        paths.private(file.parent)
        _replace(file, json.dumps(content, indent=1).encode())
    except OSError as error:
        raise FleetError(
            f"cannot write {file}: {error.strerror}", hint="check the folder's permissions"
        ) from error


def is_agent() -> bool:
    """Whether an agent, or a program that it has started, is running this."""
    return "FLEET_AGENT_ID" in os.environ


def add(repository: Path, parts: Parts) -> None:
    """Trust these parts as well, because the user has written them; what an agent writes is not trusted."""
    if not parts or is_agent():
        return
    record = recorded(repository)
    put(repository, {**(record.parts if record is not None else {}), **parts})


def forget(repository: Path) -> bool:
    """Trust nothing there any more; whether anything was."""
    file = _file(repository)
    known = file.exists()
    file.unlink(missing_ok=True)
    return known


def everything() -> list[Record]:
    """All records that can be read, by path."""
    folder = _folder()
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    found = [record for record in map(_read, files) if record is not None]
    return sorted(found, key=lambda record: record.repository)


def digest(parts: Parts) -> str:
    """A hash of the parts, for people to compare."""
    import hashlib

    return hashlib.sha256(json.dumps(plain(parts), sort_keys=True).encode()).hexdigest()


def plain(parts: Parts) -> dict[str, Any]:
    """The parts as they come back from a record."""
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


def _read(file: Path) -> Record | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        found = json.loads(bounded_files.read(file))
        parts = found["parts"]
        if isinstance(parts, dict):
            return Record(str(found["repository"]), float(found["at"]), parts)
    return None


def _replace(file: Path, content: bytes) -> None:
    """In one step, readable by the user alone."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
