"""A new store in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fleet_tui.store.database import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder / "fleet.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path, busy_seconds=0.1)) as opened:
        yield opened
