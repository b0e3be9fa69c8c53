"""Agents are created: from any place in a repository, with their files, and with a report on the terminal."""

from __future__ import annotations

import signal
import stat
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from tests.cli.commands import FLEET, Cli, cli, configure, prints, project
from tests.conftest import git
from tests.lifecycle.trusted_projects import trust
from tests.terminal.host_terminal import Host

__all__ = ["cli", "project"]


def test_on_a_terminal_create_shows_its_steps_and_interrupting_it_stops_nothing(
    cli: Cli, fleet: Fleet, project: Path
) -> None:
    configure(project, "[setup]\ncommands = ['while test ! -e go; do sleep 0.02; done']\n")

    with Host([FLEET, "fanout", "2", "x", "-p", "hello"], cols=150) as host:
        host.pump(host.shows("x-A: setup: while"))
        host.pump(host.shows("x-B: setup: while"))
        host.signal(signal.SIGINT)
        host.pump(host.shows("fleet: interrupted (x-A, x-B still start; see: fleet list)"))
        assert host.pump_until_ended() == 130
    for name in ("x-A", "x-B"):
        (Path(fleet.find(name).worktree) / "go").touch()
        prints(fleet, fleet.find(name), "argument: hello")


def test_ignored_files_are_copied_and_missing_ones_are_named(cli: Cli, project: Path) -> None:
    (project / ".gitignore").write_text(".env\nsecret/\nlocal.*\n")
    git(project, "add", ".gitignore")
    git(project, "commit", "-q", "-m", "ignore")
    (project / ".env").write_text("KEY=1")
    (project / ".env").chmod(0o640)
    (project / "secret").mkdir()
    (project / "secret" / "key").write_text("k")
    (project / "local.toml").write_text("x")
    (project / ".worktreeinclude").write_text("local.*\n")
    trust(project)
    configure(
        project,
        "[setup]\ncredential_files = ['.env', 'secret', 'missing.key', '/etc/passwd', '../outside']\n",
    )

    ran = cli("create", "fix")

    assert ran.code == 0
    tree = Path(cli.listed()[0]["worktree"])
    assert (tree / ".env").read_text() == "KEY=1"
    assert stat.S_IMODE((tree / ".env").stat().st_mode) == 0o640
    assert (tree / "secret" / "key").exists()
    assert (tree / "local.toml").exists()
    assert "not found: missing.key" in ran.err
    assert "/etc/passwd: lies outside the repository" in ran.err
    assert "../outside: contains '..'" in ran.err


@pytest.mark.slow
def test_uncommitted_changes_are_reported_once(cli: Cli, project: Path) -> None:
    (project / "readme.txt").write_text("changed")

    ran = cli("fanout", "2", "x", "-p", "hello")

    said = [line.strip() for line in ran.err.splitlines() if "not copied" in line]
    assert said == ["not copied: 1 uncommitted change here; agents start from the last commit"]
    assert (Path(cli.listed()[0]["worktree"]) / "readme.txt").read_text() == "hello\n"
    assert cli("create", "y", "--base", "main").err == ""


@pytest.mark.slow
def test_create_works_in_any_folder_of_the_repository_or_a_worktree(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project / "sub" / "deep")
    cli.ok("create", "one")
    [one] = cli.listed()
    git(Path(one["worktree"]), "commit", "-q", "--allow-empty", "-m", "more")
    monkeypatch.chdir(one["worktree"])

    cli.ok("create", "two")

    first, second = cli.listed()
    assert (first["project"], second["project"]) == (str(project), str(project))
    assert second["base"] == git(Path(one["worktree"]), "rev-parse", "HEAD").strip()


@pytest.mark.slow
def test_create_works_with_a_bare_repository_and_a_detached_head(
    cli: Cli, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "checkout", "-q", "--detach")
    cli.ok("create", "detached")
    git(tmp_path, "clone", "-q", "--bare", str(project), "bare.git")
    monkeypatch.chdir(tmp_path / "bare.git")
    cli.ok("create", "in-bare")

    assert [agent["name"] for agent in cli.listed("-a")] == ["detached", "in-bare"]
    assert (Path(cli.listed()[0]["worktree"]) / "readme.txt").exists()
    cli.ok("kill", "-f", "in-bare")
    cli.ok("undo")


@pytest.mark.slow
def test_create_works_with_a_submodule(cli: Cli, project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(project), "library")
    git(
        project,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "library"),
        "lib",
    )
    git(project, "commit", "-q", "-m", "library")

    cli.ok("create", "fix")
    cli.ok("kill", "-f", "fix")
    cli.ok("undo")

    assert (Path(cli.listed()[0]["worktree"]) / ".gitmodules").exists()
