"""Shells complete commands, names and keys."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import FLEET, Cli, cli, project

__all__ = ["cli", "project"]


COMPLETE = """
eval "$("$FLEET" completion bash)"
ask() { COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1_completion" "$1"; echo "${COMPREPLY[@]}"; }
ask fleet cre
ask flt ki
ask fleet peek fi
ask fleet create x -a cl
ask fleet config get agent.d
ask fleet kill -b manual
ask fleet kill -b log
ask fleet stop login-
ask fleet undo log
ask fleet path fi
ask fleet wait fix --for bl
ask fleet move fix lo
ask fleet help reviv
"""


@pytest.mark.slow
def test_bash_completes_commands_agents_profiles_keys_and_batches(cli: Cli) -> None:
    cli.ok("create", "fix")
    cli.ok("fanout", "2", "login", "-p", "x")
    cli.ok("kill", "-f", "login-B")

    done = subprocess.run(
        ["bash", "-c", COMPLETE],
        capture_output=True,
        text=True,
        env={**os.environ, "FLEET": str(FLEET), "PATH": f"{FLEET.parent}:{os.environ['PATH']}"},
    )

    assert done.stderr == ""
    batch = cli.listed()[0]["batch"]
    assert done.stdout.splitlines() == [
        "create", "kill", "fix", "claude", "agent.default", batch, "login", "login-A", "login-B",
        "fix", "blocked", "login-A login", "revive",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shell", "command"),
    [
        (
            "zsh",
            "autoload -U compinit; compinit -u -D; eval \"$('{fleet}' completion zsh)\"; print $_comps[fleet]",
        ),
        ("fish", "'{fleet}' completion fish | source; complete -C 'fleet creat'"),
    ],
)
def test_the_scripts_of_other_shells_are_accepted_by_them(shell: str, command: str, project: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    done = subprocess.run(
        [shell, *(["-f"] if shell == "zsh" else []), "-c", command.format(fleet=FLEET)],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{FLEET.parent}:{os.environ['PATH']}"},
    )

    assert done.stderr == ""
    assert done.stdout.startswith(("_fleet_completion", "create"))
