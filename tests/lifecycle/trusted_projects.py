"""Trusted projects, for tests in which trust is not the subject."""

from __future__ import annotations

from pathlib import Path

from fleet_tui import paths
from fleet_tui.config import trust_store
from fleet_tui.config.project_files import asked_by
from fleet_tui.errors import FleetError


def trust(project: Path) -> None:
    """As a user who has looked at all that the project's files ask for now."""
    trust_store.put(project, asked_by(project).parts)


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
