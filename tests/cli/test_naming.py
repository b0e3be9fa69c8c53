"""Agents are renamed, and moved to other batches."""

from __future__ import annotations

from fleet_tui.fleet import Fleet
from tests.cli.commands import Cli, cli, project

__all__ = ["cli", "project"]


def test_rename_changes_the_name_and_keeps_the_branch(cli: Cli, fleet: Fleet) -> None:
    cli.ok("multi", "fix:x", "other:x")

    assert cli.ok("rename", "fix", "login") == "fix is now login; its branch is still fix\n"

    assert {one["name"] for one in cli.listed()} == {"login", "other"}
    assert fleet.find("login").branch == "fix"
    assert cli.ok("rename", "login", "fix") == "login is now fix\n"
    ran = cli("rename", "fix", "other")
    assert (ran.code, ran.complaint) == (4, "fleet: there is already an agent 'other' (choose another name)")
    assert (cli("rename", "fix", "two words").code, cli("rename", "nobody", "x").code) == (2, 3)


def test_move_makes_a_batch_or_joins_one_by_its_name_or_id(cli: Cli, fleet: Fleet) -> None:
    cli.ok("multi", "one:x", "two:x", "three:x")
    started = fleet.find("one").batch

    assert cli.ok("move", "one", "t*", "auth").splitlines() == [
        "one    batch auth",
        "two    batch auth",
        "three  batch auth",
    ]
    assert {fleet.find(name).batch for name in ("one", "two", "three")} == {"auth"}
    cli.ok("move", "-b", "auth", "other")
    assert fleet.find("one").batch == "other"
    cli.ok("fanout", "2", "login", "-p", "x")
    cli.ok("move", "two", "login")
    assert fleet.find("two").batch == fleet.find("login-A").batch, (
        "a batch is named by the name of its agents"
    )
    cli.ok("move", "two", started)
    assert fleet.find("two").batch == started
    assert "one" in cli.ok("stop", "-b", "other")


def test_an_agent_that_is_not_of_the_batch_is_not_said_to_be_in_another_project(cli: Cli) -> None:
    cli.ok("multi", "a:x", "b:x", "c:x")
    cli.ok("move", "a", "auth")

    for command in (["stop"], ["wait"], ["kill", "-f"], ["move", "docs"]):
        ran = cli(command[0], "b", "-b", "auth", *command[1:])
        assert (ran.code, ran.complaint) == (
            3,
            "fleet: no agent of the batch 'auth' matches 'b' (fleet list -g shows the batches)",
        )


def test_move_says_what_is_missing(cli: Cli, fleet: Fleet) -> None:
    cli.ok("multi", "fix:x", "other:x")

    ran = cli("move", "auth")
    assert (ran.code, "fleet move fix-login auth" in ran.complaint) == (2, True)
    assert cli("move").code == 2
    assert cli("move", "nobody", "auth").code == 3
    assert cli("move", "fix", "two words").code == 2
    cli.ok("kill", "-f", "fix")
    assert cli("move", "fix", "auth").code == 3
