"""`fleet status` sums the fleet up in a few lines, or in one for a status bar."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from tests.agent_pool import AgentPool, module_pool, pool
from tests.cli.commands import Cli, eventually, project
from tests.conftest import git
from tests.reporting_agents import reporting

__all__ = ["module_pool", "pool", "project"]


@pytest.fixture
def cli(project: Path, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(project, capsys)


def test_an_empty_fleet_says_how_to_start_and_its_short_form_nothing(cli: Cli) -> None:
    assert cli.ok("status").splitlines() == [
        "project  0 agents",
        'next: fleet create NAME -p "what to do"',
    ]
    assert cli.ok("status", "--short") == ""
    assert json.loads(cli.ok("status", "--json"))["agents"] == 0


def test_ended_agents_are_counted_and_not_in_the_short_form(cli: Cli) -> None:
    cli.ok("multi", "a:x", "b:x")
    cli.ok("stop", "a", "b")

    assert cli.ok("status").splitlines()[0] == "project  2 agents  □ 2 ended"
    assert cli.ok("status", "--short") == ""
    cli.ok("kill", "-f", "a")
    assert cli.ok("status").splitlines()[0] == "project  1 agent  □ 1 ended"


def test_other_projects_have_one_line_and_all_of_them_with_a(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("create", "fix")
    eventually(lambda: cli.listed()[0]["status"] not in ("setup", "starting"))
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    monkeypatch.chdir(other)

    here = cli.ok("status").splitlines()
    assert here[0] == "other  0 agents"
    assert here[-1].startswith("1 agent in 1 other project  ")
    assert here[-1].endswith("  (fleet status -a)")
    assert cli.ok("status", "--short") == ""
    assert cli.ok("status", "-a").splitlines()[0].startswith("all projects  1 agent  ")
    assert cli.ok("status", "--short", "--all").strip()
    assert cli.ok("status", "-a").splitlines()[-1] == "next: nothing needs you; fleet-tui watches"
    monkeypatch.chdir(tmp_path)
    assert cli.ok("status").splitlines()[0].startswith("all projects  1 agent  ")
    assert "fleet wait '*' waits" in cli.ok("status"), "here it waits for agents of all projects"


def test_the_next_command_has_the_id_of_an_agent_whose_name_means_another(
    cli: Cli, fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("create", "fix")
    lost = fleet.find("fix")
    fleet.stop([lost])
    (paths.run(lost.id, 1) / "exit.json").unlink()
    with fleet.store.transaction():
        fleet.store.agents.change(lost.id, 0.0, status=Status.WORKING, boot_id="another boot", ended_at=None)
    assert cli.ok("status", "-a").splitlines()[-1] == "next: fleet revive fix"
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    monkeypatch.chdir(other)
    cli.ok("create", "fix")

    assert cli.ok("status", "-a").splitlines()[-1] == f"next: fleet revive {lost.id}"


class TestWithAgents:
    """Each status, with what the user is told about it."""

    @pytest.fixture
    def project(self, pool: AgentPool) -> Path:
        return pool.project

    @pytest.fixture
    def fleet(self, pool: AgentPool) -> Fleet:
        return pool.fleet

    def test_five_lines_say_who_needs_the_user_with_what_and_what_to_do(
        self, cli: Cli, pool: AgentPool
    ) -> None:
        done, calm, error = reporting(pool, "done"), reporting(pool, "idle"), reporting(pool, "error", "500")
        asks = reporting(pool, "blocked:kind=permission", "rm -rf build\x1b[2J")
        busy, limited = reporting(pool), reporting(pool, "limited")

        head, first, second, load, step = cli.ok("status").splitlines()

        assert (
            head
            == "project  6 agents  ◆ 1 needs you  ✗ 1 error  ◔ 1 limited  ✓ 1 done  ● 1 working  ○ 1 idle"
        )
        assert first.split("  ")[0] == f"◆ {asks.name}"
        assert "permission: rm -rf build" in first
        assert "\x1b" not in first
        assert second.split("  ")[0] == f"✗ {error.name}"
        assert second.endswith("error: 500  (and 1 more)")
        assert " cores  " in load
        assert step == f"next: fleet answer {asks.name}"
        assert cli.ok("status", "--short") == "◆1 ✗1 ◔1 ✓1 ●1 ○1\n"
        assert "\x1b[1;33m◆ 1" in self.colored(cli)
        found = json.loads(cli.ok("status", "--json"))
        assert found["statuses"] == dict.fromkeys(
            ("done", "idle", "error", "blocked", "working", "limited"), 1
        )
        assert [one["name"] for one in found["needing"]] == [asks.name, error.name, done.name]
        assert (found["agents"], found["next"], found["memory"] > 0) == (6, f"fleet answer {asks.name}", True)
        assert {calm.id, busy.id, limited.id}.isdisjoint(one["id"] for one in found["needing"])

    @staticmethod
    def colored(cli: Cli) -> str:
        cli.ok("config", "set", "--user", "ui.color", "always")
        try:
            return cli.ok("status")
        finally:
            cli.ok("config", "set", "--user", "ui.color", "auto")
