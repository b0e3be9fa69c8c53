"""Profiles on the command line: the list, the tested versions, and the check of a program."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.programs import versions
from tests.cli.commands import FLEET, Cli, cli, project
from tests.holder.holders import wait_until
from tests.places import REPOSITORY

__all__ = ["cli", "project"]


def test_profiles_are_listed_with_their_signs_and_how_to_get_them(cli: Cli) -> None:
    rows = {row["name"]: row for row in json.loads(cli.ok("profiles", "--json"))}

    assert rows["claude"]["signs"] == ["reports", "hook", "title", "screen"]
    assert "npm" in rows["claude"]["install"]
    assert rows["shell"]["installed"]


def test_a_profile_with_a_mistyped_key_is_listed_with_file_and_key(cli: Cli) -> None:
    file = paths.user_profiles() / "rep.toml"
    file.parent.mkdir(parents=True)
    file.write_text('progam = "rep"\n')
    problem = f"{file}: there is no key progam (did you mean program?)"

    listed = cli.ok("profiles").splitlines()

    place = next(number for number, line in enumerate(listed) if line.startswith("rep "))
    assert listed[place].split(maxsplit=1)[1] == "has no program"
    assert listed[place + 1].strip() == f"! {problem}"
    rows = {row["name"]: row for row in json.loads(cli.ok("profiles", "--json"))}
    assert (rows["rep"]["problems"], rows["shell"]["problems"]) == ([problem], [])
    assert f"! {problem}" in cli("doctor").out


@pytest.mark.parametrize(
    ("version", "shown", "is_proven"),
    [
        (versions.tested()["claude"].versions[-1], "yes", True),
        ("2.1.200", "yes", True),
        ("999.0.1", "other versions", False),
        ("2.0.99", "other versions", False),
        ("nightly", "unknown", None),
    ],
)
def test_an_installed_version_that_the_tests_do_not_cover_is_untested(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    shown: str,
    is_proven: bool | None,
) -> None:
    program = tmp_path / "programs" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")

    listed = next(line for line in cli.ok("profiles").splitlines() if line.startswith("claude "))
    rows = {row["name"]: row for row in json.loads(cli.ok("profiles", "--json"))}

    assert f" {shown} " in listed
    assert rows["claude"]["is_proven"] is is_proven
    assert rows["claude"]["proven"] == list(versions.tested()["claude"].versions)
    assert (rows["shell"]["is_proven"], rows["shell"]["proven"]) == (None, [])


@pytest.mark.pure
def test_the_documentation_has_the_table_of_tested_versions() -> None:
    page = (REPOSITORY / "docs" / "agents.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]

    assert {name.strip(" `"): tuple(versions.split(", ")) for name, versions, *_ in rows} == {
        name: one.versions for name, one in versions.tested().items()
    }


@pytest.mark.slow
def test_a_check_starts_the_program_and_leaves_nothing_behind(cli: Cli, fleet: Fleet) -> None:
    proof = json.loads(cli.ok("profiles", "check", "shell", "--json"))

    assert proof["status"] == "idle"
    assert "silence" in proof["spoke"]
    assert list((paths.state() / "agents").glob("*")) == []
    assert fleet.agents(everywhere=True) == []


@pytest.mark.slow
def test_a_check_runs_no_modules_of_the_project(cli: Cli) -> None:
    (cli.project / "json.py").write_text("raise SystemExit('not yours')\n")

    assert json.loads(cli.ok("profiles", "check", "shell", "--json"))["status"] == "idle"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_check_leaves_nothing_behind(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    rules = '[[status.screen]]\nname = "never"\nmatch = "never"\nstatus = "idle"\n'
    user = paths.user_profiles()
    user.mkdir(parents=True)
    (user / "mute.toml").write_text(f'program = "cat"\n[status]\nquiet_is_idle = false\n{rules}')

    with subprocess.Popen([FLEET, "profiles", "check", "mute"], stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: bool(list((paths.state() / "agents").glob("*/1/holder.json"))), "its start")
        process.send_signal(number)

    assert process.returncode == 130
    assert list((paths.state() / "agents").glob("*")) == []
    assert list((tmp_path / "scratch").glob("fleet-check-*")) == []


def test_a_missing_program_cannot_be_checked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    ran = cli("profiles", "check", "qwen")

    assert ran.code == 3
    assert "npm install" in ran.complaint
