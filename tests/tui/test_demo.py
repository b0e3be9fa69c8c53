"""The tour: real programs that really work, and nothing left of them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import PermissionRequest, Status
from fleet_tui.tui.demo import tour
from fleet_tui.tui.widgets.header import Header
from tests.tui.dashboard_app import StageApp
from tests.tui.keyboard import Keyboard


def wait_for(condition: Callable[[], object], what: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A short folder for what is temporary, and agents that act without pauses."""
    folder = Path(os.environ["XDG_RUNTIME_DIR"])
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TOUR_SPEED", "0.02")
    return folder


def asked_for(fleet: Fleet, name: str) -> PermissionRequest | None:
    evidence = fleet.find(name).evidence
    return evidence.request if evidence is not None else None


@pytest.mark.slow
def test_its_agents_edit_files_ask_and_finish_and_nothing_is_left(place: Path) -> None:
    before = dict(os.environ)
    with tour.staged() as project:
        fleet = Fleet(project)

        def status(name: str) -> Status | None:
            return next((agent.status for agent in fleet.agents() if agent.name == name), None)

        wait_for(lambda: status("clean-build") is Status.BLOCKED, "the careful one asks")
        request = PermissionRequest("rm -r build/", "nothing in the code mentions it")
        wait_for(lambda: asked_for(fleet, "clean-build") == request, "and says what for")
        wait_for(lambda: status("parser-A") is Status.DONE, "the builder is done")
        wait_for(lambda: status("write-docs") is Status.DONE, "the writer is done")
        builder, careful = fleet.find("parser-A"), fleet.find("clean-build")
        assert r"(\d+)" in (Path(builder.worktree) / "clockwork" / "durations.py").read_text()
        assert "Ran 3 tests" in "\n".join(fleet.logs(builder, 100))
        assert (Path(careful.worktree) / "build").is_dir()
        fleet.answer(fleet.find("clean-build"), "yes")
        wait_for(lambda: status("clean-build") is Status.DONE, "it goes on when allowed")
        assert not (Path(careful.worktree) / "build").exists()
        fleet.close()
    assert list(place.glob("fleet-demo-*")) == []
    assert dict(os.environ) == before


def test_a_killed_dashboard_leaves_nothing_behind_either(place: Path) -> None:
    script = "import time\nfrom fleet_tui.tui.demo import tour\nwith tour.staged() as project:\n    print(project, flush=True)\n    time.sleep(1000)"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    project = Path(process.stdout.readline().strip())
    wait_for(lambda: (project.parent / "state" / "fleet-tui" / "fleet.db").exists(), "the fleet is there")
    process.kill()
    process.wait()
    process.stdout.close()
    wait_for(lambda: not list(place.glob("fleet-demo-*")), "everything is removed")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_the_header_says_that_it_is_a_demo_and_what_to_press_until_a_key_is_pressed(
    size: tuple[int, int],
) -> None:
    async def run() -> None:
        app = StageApp(is_demo=True)
        async with app.run_test(size=size):
            keyboard = Keyboard(app)
            await keyboard.pause()
            assert "demo: press a to answer, ↵ to type, ? for help" in header(app)
            assert "1 needs you" in header(app)
            await keyboard.press("j")
            assert "demo" in header(app)
            assert "press" not in header(app)

    asyncio.run(run())


def header(app: StageApp) -> str:
    return "".join(segment.text for segment in app.dashboard.query_one(Header).render_line(0))
