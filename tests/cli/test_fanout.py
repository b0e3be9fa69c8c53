"""After a fan-out, its batch and the commands that go on with it are printed."""

from __future__ import annotations

import re
import shlex

import pytest

from fleet_tui.fleet import Fleet
from tests.cli.commands import FLEET, Cli, cli, prints, project

__all__ = ["cli", "project"]


def steps(said: str) -> list[list[str]]:
    """The commands on standard error, split as a shell would."""
    return [
        shlex.split(re.split(r"  +", line.strip())[0])
        for line in said.splitlines()
        if line.startswith("  fleet")
    ]


def test_every_command_that_a_fan_out_names_works_on_its_batch(cli: Cli, fleet: Fleet) -> None:
    ran = cli("fanout", "2", "it's-login", "-p", "hello")

    batch = fleet.find("it's-login-A").batch
    assert ran.err.splitlines()[0] == f"batch it's-login [{batch}], to go on with it:"
    assert [line.split()[:2] for line in ran.out.splitlines()] == [
        [name, fleet.find(name).worktree and line.split()[1]]
        for name, line in zip(("it's-login-A", "it's-login-B"), ran.out.splitlines(), strict=True)
    ]
    watch, prompt, wait, stop, kill = steps(ran.err)
    assert watch == ["fleet-tui"]
    assert FLEET.with_name(watch[0]).exists()
    for name in ("it's-login-A", "it's-login-B"):
        prints(fleet, fleet.find(name), "ready")
    assert len(cli.ok(*prompt[1:], "--now").splitlines()) == 2
    assert cli(*wait[1:], "--timeout", "0.1").code in (0, 9)
    assert cli.ok(*stop[1:]).split() == ["it's-login-A", "stopped", "it's-login-B", "stopped"]
    assert len(cli.ok(*kill[1:], "-f").splitlines()) == 2


@pytest.mark.slow
def test_multi_names_its_batch_by_its_id_and_headless_agents_take_no_prompt(cli: Cli, fleet: Fleet) -> None:
    ran = cli("multi", "fix:x", "other:y")

    batch = fleet.find("fix").batch
    assert ran.err.splitlines()[0] == f"batch {batch}, to go on with it:"
    assert ["fleet", "stop", "-b", batch] in steps(ran.err)
    assert cli("create", "one").err == ""
