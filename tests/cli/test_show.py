"""Agents are listed, watched and looked at, and their output is printed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from fleet_tui.cli.table import width_of
from fleet_tui.fleet import Fleet
from tests.cli.commands import FLEET, Cli, cli, prints, project
from tests.conftest import git
from tests.holder.holders import living_server
from tests.terminal.host_terminal import Host

__all__ = ["cli", "project"]


def test_l_is_list(cli: Cli) -> None:
    assert cli.ok("l") == cli.ok("list")


def test_list_json_has_the_promised_keys(cli: Cli) -> None:
    cli.ok("create", "fix", "-p", "hello")

    [agent] = cli.listed()

    promised = (
        "id name project branch worktree batch profile status pid cpu memory created_at prompt exit_code"
    )
    assert set(promised.split()) <= set(agent)
    assert (agent["name"], agent["branch"], agent["project"]) == ("fix", "fix", str(cli.project))
    assert (agent["prompt"], agent["profile"], agent["exit_code"]) == ("hello", "echoer", None)
    assert agent["batch"].startswith("manual-")
    assert agent["pid"] > 0
    assert agent["memory"] > 0


def test_list_shows_this_project_and_with_a_all(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("create", "fix")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    monkeypatch.chdir(other)

    assert cli.listed() == []
    assert "fleet list -a" in cli.ok("list")
    assert [agent["name"] for agent in cli.listed("-a")] == ["fix"]
    monkeypatch.chdir(tmp_path)
    assert [agent["name"] for agent in cli.listed()] == ["fix"]
    assert "\x1b" not in cli.ok("list")
    cli.ok("config", "set", "--user", "ui.color", "always")
    assert "\x1b[2m" in cli.ok("list")


@pytest.mark.parametrize(
    ("flag", "environment", "configured", "is_colored"),
    [
        ("", {}, "auto", False),
        ("", {}, "always", True),
        ("", {"FORCE_COLOR": "1"}, "auto", True),
        ("", {"FORCE_COLOR": "1"}, "never", True),
        ("", {"FORCE_COLOR": "0"}, "auto", False),
        ("", {"NO_COLOR": "1"}, "always", False),
        ("", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, "auto", False),
        ("", {"NO_COLOR": ""}, "always", True),
        ("always", {"NO_COLOR": "1"}, "never", True),
        ("never", {"FORCE_COLOR": "1"}, "always", False),
        ("auto", {}, "always", False),
        ("auto", {"FORCE_COLOR": "1"}, "never", True),
    ],
)
def test_the_flag_decides_on_colors_then_the_environment_then_the_setting(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, flag: str, environment: dict[str, str], configured: str, is_colored: bool
) -> None:  # fmt: skip
    cli.ok("config", "set", "--user", "ui.color", configured)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for command in ("profiles", "keys", "config"):
        out = cli.ok(command, *(["--color", flag] if flag else []))
        assert ("\x1b[2m" in out) == is_colored, command
    assert "\x1b" not in cli.ok("keys", "--json", "--color", "always")


def test_profiles_and_keys_have_headers_and_fit_the_terminal(cli: Cli) -> None:
    assert cli.ok("profiles").splitlines()[0].split() == ["NAME", "VERSION", "TESTED", "SIGNS"]
    assert cli.ok("keys").splitlines()[0].split() == ["WHERE", "KEYS", "ACTION", "MEANING"]

    for command in ("profiles", "keys"):
        with Host([FLEET, command], cols=60, rows=200) as host:
            host.pump_until_ended()
            host.pump(host.shows("$ fleet attach"))
            printed = re.sub(r"\x1b\[[0-9;]*m", "", host.output.decode()).split("\r\n")
        assert "NAME" in printed[0] or "WHERE" in printed[0]
        assert "\x1b[2m" in host.output.decode()
        assert max(map(width_of, printed)) == 60


def test_an_empty_list_shows_how_to_start(cli: Cli) -> None:
    assert "fleet create NAME" in cli.ok("list")
    assert cli.listed() == []


@pytest.mark.slow
def test_logs_are_text_and_raw_with_their_escapes(cli: Cli, fleet: Fleet, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "colorful"
    program.write_text("#!/bin/sh\nprintf '\\033[31mred\\033[0m\\nsecond\\nthird\\n'\nsleep 1000\n")
    program.chmod(0o755)
    cli.ok("create", "fix", "-a", "colorful")
    prints(fleet, fleet.find("fix"), "third")

    assert cli.ok("logs", "fix").splitlines() == ["red", "second", "third"]
    assert cli.ok("logs", "fix", "-n", "1") == "third\n"
    assert cli.ok("logs", "fix", "-n", "0") == ""
    assert cli.ok("peek", "fix").splitlines() == ["red", "second", "third"]
    assert "\x1b[31mred" in cli.script("logs", "--raw", "fix").out


@pytest.mark.slow
def test_logs_are_read_from_the_disk_while_the_screen_server_does_not_answer(cli: Cli, fleet: Fleet) -> None:
    agent = fleet.create("fix", profile="shell", prompt="seq 200; exec cat")
    prints(fleet, agent, "200")
    server = living_server(agent.keeper_pid, agent.pid)
    os.kill(server, signal.SIGSTOP)
    try:
        ran = cli("logs", "fix", "-n", "3")
    finally:
        os.kill(server, signal.SIGCONT)

    assert ran.code == 0
    assert len(ran.out.split()) == 3
    assert ran.complaint.endswith("(the lines on its screen are missing)")


@pytest.mark.slow
def test_logs_follow_until_the_agent_ends(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    prints(fleet, fleet.find("fix"), "ready")
    with subprocess.Popen([FLEET, "logs", "-f", "fix"], stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "ready\n"
        for options in (["-f"], ["-f", "--raw"], ["-n", "1"]):
            unread = subprocess.Popen([FLEET, "logs", "fix", *options], stdout=subprocess.PIPE)
            with unread:
                assert unread.stdout is not None
                if "-f" in options:
                    unread.stdout.read(1)
                unread.stdout.close()
            assert unread.returncode == 0, options
        fleet.prompts.send(fleet.find("fix"), "hello", now=True)
        prints(fleet, fleet.find("fix"), "got: hello")
        fleet.stop([fleet.find("fix")])
        assert "got: hello" in following.stdout.read()
    assert following.returncode == 0


@pytest.mark.slow
def test_watching_redraws_fits_and_restores_the_screen(cli: Cli) -> None:
    cli.ok("multi", *(f"agent-{number}:x" for number in range(3)))

    for end, code in ((signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 129)):
        with Host([FLEET, "list", "--watch"], cols=40, rows=5) as host:
            host.pump(host.shows("3 agents"))
            host.pump(host.shows("more"))
            assert "agent-0" in host.text
            host.signal(end)
            assert host.pump_until_ended() == code
            host.pump(host.shows("$ fleet attach"))
            assert host.screen.modes == host.modes_before
