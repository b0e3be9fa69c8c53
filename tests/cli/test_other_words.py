"""Words that are no command run one, or name the one that is meant."""

from __future__ import annotations

import pytest

from fleet_tui.cli.group import MODULES
from fleet_tui.cli.other_words import ALIASES, SYNONYMS, meant
from fleet_tui.fleet import Fleet
from tests.cli.commands import Cli, all_commands, cli, project

__all__ = ["cli", "project"]

COMING = (
    "task",
    "tasks",
    "review",
    "serve",
    "workflow",
)
"""Verbs that fleet may get one day: no word may promise them before."""


@pytest.mark.parametrize("word", ["l", "ls", "ps"])
def test_ls_and_ps_list(cli: Cli, word: str) -> None:
    assert cli.ok(word) == cli.ok("list")
    assert cli.ok(word, "--json") == "[]\n"


def test_rm_kills_into_the_trash_and_asks_as_kill_does(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")

    assert cli("rm", "fix").complaint.endswith("(confirm with -f)")
    assert not fleet.find("fix").has_ended
    assert "worktree in the trash" in cli.ok("rm", "-f", "fix")
    assert "fleet kill [OPTIONS]" in cli.ok("remove", "--help") == cli.ok("delete", "--help")


def test_the_help_names_the_words_that_run_a_command(cli: Cli) -> None:
    shown = cli.ok("--help").split("Other words:")[1]

    assert [line.split() for line in shown.strip().splitlines()] == [
        ["l,", "ls,", "ps", "fleet", "list"],
        ["rm,", "remove,", "delete", "fleet", "kill"],
    ]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("tail", "use: fleet logs"),
        ("start", "use: fleet create"),
        ("send", "use: fleet prompt"),
        ("resume", "use: fleet revive"),
        ("restore", "use: fleet undo"),
        ("dashboard", "use: fleet ui"),
        ("watch", "use: fleet list --watch"),
        ("List", "use: fleet list"),
        ("unset", "use: fleet config"),
        ("batches", "use: fleet list --grouped"),
        ("cd", 'use: fleet path AGENT, as in: cd "$(fleet path AGENT)"'),
        ("changes", "use: fleet diff"),
        ("crate", "see: fleet --help"),
    ],
)
def test_another_word_names_the_command_that_is_meant(cli: Cli, word: str, hint: str) -> None:
    ran = cli(word, "fix-login")

    assert (ran.code, ran.complaint) == (2, f"fleet: no command {word!r} ({hint})")


@pytest.mark.parametrize(
    ("option", "hint"),
    [("--list", "use: fleet list"), ("-v", "use: fleet --version"), ("--rm", "use: fleet kill")],
)
def test_a_command_written_as_an_option_names_the_command(cli: Cli, option: str, hint: str) -> None:
    ran = cli(option)

    assert (ran.code, ran.complaint) == (2, f"fleet: fleet has no option {option} ({hint})")
    assert "use: " not in cli("--nonsense").complaint


def test_every_word_leads_to_a_command_that_exists(cli: Cli) -> None:
    commands = all_commands()
    for instead in {*ALIASES.values(), *SYNONYMS.values()} - {"--version"}:
        name, *options = instead.split(" AGENT")[0].split()
        assert name in commands, instead
        known = {option for one in commands[name].params for option in one.opts}
        assert {option for option in options if option.startswith("-")} <= known, instead


def test_no_word_is_a_command_or_promises_one() -> None:
    words = {*ALIASES, *SYNONYMS}

    assert not words & MODULES.keys()
    assert not ALIASES.keys() & SYNONYMS.keys()
    assert not [word for word in COMING if meant(word, MODULES)]


def test_help_is_the_help_of_a_command(cli: Cli) -> None:
    assert cli.ok("help") == cli.ok("--help")
    assert cli.ok("help", "create") == cli.ok("create", "--help")
    assert cli.ok("help", "rm") == cli.ok("kill", "--help")
    assert cli.ok("help", "profiles", "check") == cli.ok("profiles", "check", "--help")
    ran = cli("help", "create", "x")
    assert (ran.code, ran.complaint) == (2, "fleet: fleet create has no command 'x' (fleet create --help)")
    ran = cli("help", "tail")
    assert (ran.code, ran.complaint) == (2, "fleet: no command 'tail' (use: fleet logs)")
