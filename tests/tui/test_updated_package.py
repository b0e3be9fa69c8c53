"""A dashboard whose package was replaced while it is open: the worker that it spawns next is of another version."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

import fleet_tui
from fleet_tui.errors import FleetError
from fleet_tui.tui.worker_client import WorkerClient

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fleet")]
PACKAGE = Path(fleet_tui.__file__).parent


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another copy of the package, which new processes import."""
    folder = tmp_path / "site"
    shutil.copytree(PACKAGE, folder / "fleet_tui", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder / "fleet_tui"


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def call(repository: Path, verb: str, *arguments: object) -> tuple[object, list[tuple[str, str]], bool]:
    """The result of a call, the messages to the dashboard, and whether it would spawn another worker."""
    told: list[tuple[str, str]] = []

    async def go() -> tuple[object, bool]:
        client = WorkerClient(repository)
        client.on_outdated = lambda message, hint: told.append((message, hint))
        try:
            try:
                found: object = await asyncio.wait_for(client.call(verb, *arguments), 30.0)
            except FleetError as error:
                found = f"{error.message}: {error.hint}"
            client.start()
            return found, client._connection is not None
        finally:
            client.close()

    found, has_worker = asyncio.run(go())
    return found, told, has_worker


UPDATED = "fleet-tui was updated: restart the dashboard; agents keep running"


@pytest.mark.usefixtures("installed")
def test_a_worker_of_the_same_package_is_understood(repository: Path) -> None:
    found, told, has_worker = call(repository, "start_points")

    assert isinstance(found, list)
    assert (told, has_worker) == ([], True)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        pytest.param("__init__.py", '__version__ = "', '__version__ = "9', id="another version"),
        pytest.param("tui/worker_protocol.py", "PROTOCOL = ", "PROTOCOL = 9", id="another protocol"),
    ],
)
def test_a_worker_of_another_version_says_that_the_dashboard_is_to_be_restarted(
    repository: Path, installed: Path, file: str, old: str, new: str
) -> None:
    replace(installed / file, old, new)

    found, told, has_worker = call(repository, "start_points")

    assert found == UPDATED
    assert [": ".join(one) for one in told] == [UPDATED]
    assert not has_worker, "no other worker is spawned"


def test_an_answer_that_cannot_be_unpickled_says_so(repository: Path, installed: Path) -> None:
    for file in ("tui/worker_protocol.py", "tui/worker.py", "tui/worker_client.py"):
        replace(installed / file, "WorkerAnswer", "CallResult")

    assert call(repository, "start_points")[0] == UPDATED


def test_a_module_that_was_moved_says_so(repository: Path, installed: Path) -> None:
    (installed / "tui/worker_protocol.py").rename(installed / "tui/worker_messages.py")
    for file in ("tui/worker.py", "tui/worker_client.py"):
        replace(installed / file, "worker_protocol", "worker_messages")

    assert call(repository, "start_points")[0] == UPDATED


def test_a_call_that_the_worker_cannot_unpickle_says_so(repository: Path, installed: Path) -> None:
    for file in ("tui/worker_protocol.py", "tui/worker.py", "tui/worker_client.py"):
        replace(installed / file, "WorkerCall", "CallRequest")

    assert call(repository, "start_points")[0] == UPDATED
