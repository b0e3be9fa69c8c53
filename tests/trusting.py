"""Trust in a project, for tests of what comes after it."""

from __future__ import annotations

from pathlib import Path

from fleet_tui import config, paths, trust_store
from fleet_tui.errors import FleetError


def trust(project: Path) -> None:
    """As a user who has looked at all that the project's files ask for now."""
    trust_store.put(project, config.asked_by(project).parts)


def write_trusted(project: Path, text: str) -> Path:
    """A project's configuration as its user has written it; one that cannot be read needs no trust."""
    file = paths.project_config(project)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    try:
        trust(project)
    except FleetError:
        trust_store.forget(project)
    return file
