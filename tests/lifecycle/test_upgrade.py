"""The upgrade: agents that an earlier version started, and its store, work with the present version.

The earlier version is built from its commit and installed with its own dependencies in an environment of its own.
Both versions are used through their command lines, as a user does who upgrades while agents run.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests import scripted
from tests.cli.commands import project
from tests.holder.holders import wait_until
from tests.places import REPOSITORY

__all__ = ["project"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

EARLIER = "1b16090"
"""The last commit before the code was sorted into rooms."""
SECONDS = 20.0
ASKS = f"exec {shlex.join(scripted.agent('chooses', 'permission', 'run rm?', 'Yes', 'Yes, always', 'No'))}"


@dataclass(frozen=True, slots=True)
class Version:
    """The command line of one version, in the current folder."""

    command: tuple[str, ...]

    def ok(self, *arguments: str) -> str:
        done = subprocess.run([*self.command, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (
            f"fleet {shlex.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stdout

    def agent(self, name: str) -> dict[str, Any]:
        """The agent's row, as JSON shows it."""
        [row] = [row for row in json.loads(self.ok("list", "--json")) if row["name"] == name]
        return dict(row)

    def shows(self, name: str, condition: Callable[[dict[str, Any]], object], what: str) -> None:
        wait_until(lambda: bool(condition(self.agent(name))), f"{name} {what}", seconds=SECONDS)

    def create(self, name: str, prompt: str = ASKS) -> None:
        """Start an agent that asks for a permission, then takes prompts; or that runs another script."""
        self.ok("create", name, "-a", "shell", "-p", prompt)


PRESENT = Version(tuple(scripted.FLEET))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the earlier version, installed once for all processes that run these tests."""
    root = tmp_path_factory.getbasetemp()
    shared = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, mark = shared / "earlier", shared / "earlier-is-installed"
    with (shared / "earlier-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.exists():
            _install(folder)
            mark.touch()
    return folder


def _install(folder: Path) -> None:
    source, wheels = folder / "source", folder / "wheels"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", str(REPOSITORY), "archive", EARLIER], capture_output=True)
    if archive.returncode:
        pytest.fail(
            f"this clone has no commit {EARLIER} to upgrade from: git fetch --unshallow", pytrace=False
        )
    subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels), str(source))
    venv.create(folder / "env", symlinks=True)
    [wheel] = wheels.glob("*.whl")
    _run(sys.executable, "-m", "pip", "--python", str(folder / "env"), "install", str(wheel))


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        pytest.fail(f"{shlex.join(command)} failed:\n{done.stdout[-2000:]}", pytrace=False)


@pytest.fixture
def earlier(environment: Path, project: Path) -> Iterator[Version]:
    """The earlier version in the current project; the present version stops the agents that it starts."""
    yield Version((str(environment / "env" / "bin" / "fleet"),))
    with contextlib.suppress(AssertionError):
        PRESENT.ok("stop", "*")


def is_held_by(environment: Path, row: dict[str, Any]) -> bool:
    """Whether the agent's keeper runs the code of that environment."""
    parent = Path(f"/proc/{row['pid']}/stat").read_text().rpartition(")")[2].split()[1]
    return str(environment).encode() in Path(f"/proc/{parent}/cmdline").read_bytes()


def is_asking(row: dict[str, Any]) -> bool:
    return bool(row["status"] == "blocked" and row["choices"])


# ── agents whose holders run the earlier code ───────────────────────────────────────────────────────────────────


def test_a_running_agent_is_listed_and_shown(earlier: Version, environment: Path) -> None:
    earlier.create("old")

    PRESENT.shows("old", is_asking, "asking")

    assert is_held_by(environment, PRESENT.agent("old"))
    assert "run rm?" in PRESENT.ok("peek", "old")
    assert "run rm?" in PRESENT.ok("logs", "old")
    assert "run rm?" in PRESENT.ok("answer", "old")
    assert "blocked" in PRESENT.ok("why", "old")


def test_a_running_agent_is_answered_and_prompted_with_a_receipt(earlier: Version) -> None:
    earlier.create("old")
    PRESENT.shows("old", is_asking, "asking")
    worktree = Path(PRESENT.agent("old")["worktree"])

    PRESENT.ok("answer", "old", "2")
    wait_until(lambda: (worktree / "chosen").exists(), "the answer", seconds=SECONDS)
    receipt = json.loads(PRESENT.ok("prompt", "old", "hello from a later version", "--wait", "--json"))

    assert (worktree / "chosen").read_text() == "2\n"
    assert (worktree / "prompts").read_text() == "hello from a later version\n"
    assert receipt["state"] == "answered"


def test_a_running_agent_is_attached_to_and_typed_into(earlier: Version) -> None:
    earlier.create("old", "printf 'ready'; read -r line; printf 'got: %s' \"$line\"; exec cat")

    with contextlib.closing(
        pexpect.spawn(PRESENT.command[0], [*PRESENT.command[1:], "attach", "old"], timeout=SECONDS)
    ) as host:
        host.expect("ready")
        host.send("typed\r")
        host.expect("got: typed")
        host.send("\x11")
        host.expect(pexpect.EOF)

    assert "got: typed" in PRESENT.ok("peek", "old")


def test_a_running_agent_is_killed_restored_and_revived(earlier: Version, environment: Path) -> None:
    earlier.create("old")
    PRESENT.shows("old", is_asking, "asking")
    before = PRESENT.agent("old")
    (Path(before["worktree"]) / "work.txt").write_text("precious")

    PRESENT.ok("kill", "-f", "old")

    assert not Path(before["worktree"]).exists()
    assert not scripted.is_alive(before["pid"])

    PRESENT.ok("undo", "old")
    PRESENT.ok("revive", "old", "--fresh")

    PRESENT.shows("old", is_asking, "asking")
    revived = PRESENT.agent("old")
    assert (Path(revived["worktree"]) / "work.txt").read_text() == "precious"
    assert not is_held_by(environment, revived)


# ── a store and trash of the earlier version ────────────────────────────────────────────────────────────────────


def test_a_store_of_the_earlier_version_is_opened_with_all_it_has(earlier: Version) -> None:
    for name in ("runs", "ends", "goes"):
        earlier.create(name, "exec cat" if name != "ends" else "read -r line; exit 3")
    earlier.ok("prompt", "ends", "go", "--now")
    earlier.shows("ends", lambda row: row["status"] == "exited", "ending")
    earlier.ok("prompt", "runs", "something", "--now")
    worktree = Path(earlier.agent("goes")["worktree"])
    (worktree / "work.txt").write_text("precious")
    earlier.ok("kill", "-f", "goes")
    known = json.loads(earlier.ok("list", "--json"))

    found = json.loads(PRESENT.ok("list", "--json"))

    names = ("id", "name", "branch", "worktree", "profile", "prompt", "created_at")
    assert [{key: row[key] for key in names} for row in found] == [
        {key: row[key] for key in names} for row in known
    ]
    assert {row["name"]: row["exit_code"] for row in found} == {"runs": None, "ends": 3}
    assert "something" in PRESENT.ok("peek", "runs")
    assert "goes" in PRESENT.ok("trash")

    PRESENT.ok("undo")

    assert (worktree / "work.txt").read_text() == "precious"
    PRESENT.ok("doctor")
