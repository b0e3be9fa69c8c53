"""The command `fleet` itself: help, versions, streams, errors and logs."""

from __future__ import annotations

import inspect
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from fleet_tui import __version__, errors, paths
from fleet_tui.cli.group import MODULES
from fleet_tui.cli.group import cli as group
from fleet_tui.fleet import Fleet
from tests.cli.commands import FLEET, Cli, all_commands, cli, project

__all__ = ["cli", "project"]


def test_fleet_alone_prints_its_help(cli: Cli) -> None:
    ran = cli()

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == cli.ok("-h") == cli.ok("--help")
    for command in (
        "init",
        "create",
        "list",
        "prompt",
        "attach",
        "logs",
        "kill",
        "fanout",
        "multi",
        "config",
        "update",
    ):
        assert f"\n  {command} " in ran.out


def test_the_help_truncates_no_description(cli: Cli) -> None:
    assert "..." not in cli.ok("--help").replace("[ARGS]...", "")


def test_the_help_names_every_exit_code(cli: Cli) -> None:
    codes = {
        one.exit_code for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "exit_code")
    }
    shown = " ".join(cli.ok("--help").split())
    named = re.findall(r"(?:: |, )(\d+) [a-z]", shown[shown.index("Exit codes") :])

    assert set(map(int, named)) == codes | {0, 70}


def test_every_command_has_help_that_says_what_it_does(cli: Cli) -> None:
    for name in all_commands():
        text = cli.ok(name, "-h")
        assert text.startswith(f"Usage: fleet {name}"), name
        assert len(text.splitlines()) > 3


def test_every_command_shows_an_example_that_names_it() -> None:
    for name, command in all_commands().items():
        examples = inspect.cleandoc(command.help or "").partition("\b\nExample")[2]
        assert f"fleet {name}" in examples or (name == "ui" and "fleet-tui" in examples), name
        # The first line is a sentence, which the list of commands shows whole.
        assert re.match(r"[A-Z][a-z]+ .*[.…]$", (command.help or "").splitlines()[0]), name


def test_every_command_is_defined_in_the_module_that_the_table_names() -> None:
    for name, command in all_commands().items():
        assert command.callback is not None
        assert command.callback.__module__ == f"fleet_tui.cli.{MODULES[name]}"
    assert set(group.commands) == set(MODULES)


def test_both_console_scripts_print_the_version() -> None:
    for name in ("fleet", "flt"):
        done = subprocess.run(
            [FLEET.with_name(name), "--version"], capture_output=True, text=True, check=True
        )
        assert done.stdout.split()[-1] == __version__


@pytest.mark.slow
def test_closed_and_full_outputs_cause_no_traceback(project: Path) -> None:
    for redirection, code in ((">&-", 0), ("2>&-", 0), ("<&-", 0), (">/dev/full", 1), (">&- 2>&- <&-", 0)):
        done = subprocess.run(
            ["sh", "-c", f'"$0" list {redirection}', FLEET], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code, (redirection, done)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
    code = subprocess.call(["sh", "-c", '"$0" nonsense 2>/dev/full', FLEET], timeout=60)
    assert code == 2


def test_a_closed_pipe_is_not_an_error(project: Path) -> None:
    command = 'set -o pipefail; "$0" config --help | head -1'
    done = subprocess.run(["bash", "-c", command, FLEET], capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)


@pytest.mark.slow
def test_a_deleted_current_folder_is_one_line(cli: Cli, tmp_path: Path) -> None:
    command = 'mkdir gone && cd gone && rmdir ../gone && "$0" list; "$0" --version'
    for env in ({}, {"FLEET_DEBUG": "1"}):
        done = subprocess.run(
            ["sh", "-c", command, FLEET],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, **env},
        )
        assert "fleet: the current folder no longer exists (cd to an existing folder)" in done.stderr
        assert __version__ in done.stdout
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("variable", ["FLEET_DEBUG", pytest.param("AI_FLEET_DEBUG", marks=pytest.mark.slow)])
def test_debug_adds_a_log_and_no_traceback_for_the_user(cli: Cli, variable: str) -> None:
    ran = cli.script("create", "a b", env={variable: "1"})

    log = paths.log() / "debug.log"
    said, line = ran.err.splitlines()
    assert said == f"fleet: debug log in {log}"
    assert "cannot be a branch name" in line
    text = log.read_text()
    assert "['create', 'a b']" in text
    assert "Traceback" in text
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_an_internal_error_is_named_and_logged(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("wires\ncrossed")

    monkeypatch.setattr(Fleet, "trash", broken)
    ran = cli("trash")

    assert ran.code == 70
    assert "internal error" in ran.complaint
    assert "Traceback" in (paths.log() / "crash.log").read_text()


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["kill", "fix"], "-f"),
        pytest.param(["update", "--check"], "--force", marks=pytest.mark.slow),
    ],
)
def test_without_a_terminal_a_question_is_refused_and_names_the_flag(
    cli: Cli, fleet: Fleet, project: Path, arguments: list[str], flag: str
) -> None:
    cli.ok("create", "fix")

    ran = cli.script(*arguments, stdin="n\n", env={"PIP_INDEX_URL": "http://127.0.0.1:9/"})

    assert ran.code == 2
    assert ran.complaint.endswith(f"(confirm with {flag})")
    assert not fleet.find("fix").has_ended
