"""What the argument parser rejects: one line that says what is wrong and what to type, and nothing is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fleet_tui import paths
from fleet_tui.errors import UsageError
from tests.cli.commands import Cli, all_commands, cli, project, traces

__all__ = ["cli", "project"]

CLICK_WORDS = (
    "Error",
    "Invalid value",
    "Got unexpected",
    "No such",
    "Missing",
    "is not one of",
    "Usage:",
    "not in the range",
)


def test_every_command_explains_its_wrong_arguments(cli: Cli) -> None:
    before = everything(cli)
    count = 0

    for path, command in commands():
        for arguments in wrong_arguments(command):
            said = refused(cli, *path, *arguments)
            count += 1
            assert not any(word in said for word in CLICK_WORDS), said
    assert everything(cli) == before
    assert count > 100


def commands() -> Iterator[tuple[list[str], click.Command]]:
    for name, command in all_commands().items():
        yield [name], command
        if isinstance(command, click.Group):
            yield from (([name, inner], one) for inner, one in command.commands.items())


def wrong_arguments(command: click.Command) -> Iterator[list[str]]:
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    options = [param for param in command.params if isinstance(param, click.Option) and not param.is_eager]
    valid = [word for param in command.params if param.required for word in filled(param)]
    if valid:
        yield []
    yield ["--no-such-option"]
    yield [*valid, "-Z"]
    for option in options:
        spelling = max(option.opts, key=len)
        if option.is_flag:
            yield [*valid, f"{spelling}=1"]
            continue
        yield [*valid, spelling]
        if can_be_wrong(option):
            yield [*valid, spelling, "?"]
        if isinstance(option.type, click.types.FloatParamType):
            yield [*valid, spelling, "nan"]
            yield [*valid, spelling, "inf"]
    for wrong in filter(can_be_wrong, arguments):
        yield [word for param in arguments for word in (["?"] if param is wrong else filled(param))]
    if not any(param.nargs == -1 for param in arguments) and not isinstance(command, click.Group):
        required = [param for param in options if param.required]
        yield [word for param in (*required, *arguments) for word in filled(param)] + ["surplus"]
    if isinstance(command, click.Group):
        yield ["no-such-command"]


def can_be_wrong(param: click.Parameter) -> bool:
    """Whether its values have a type that the parser checks."""
    return not isinstance(param.type, (click.types.StringParamType, click.Path))


def filled(param: click.Parameter) -> list[str]:
    """A value that the parser accepts."""
    value = param.type.choices[0] if isinstance(param.type, click.Choice) else "3"
    return [max(param.opts, key=len), value] if isinstance(param, click.Option) else [value]


def refused(cli: Cli, *arguments: str) -> str:
    """The line of a refusal: what is wrong, and in parentheses what to do next."""
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (UsageError.exit_code, ""), (arguments, ran)
    assert ran.complaint.startswith("fleet: "), (arguments, ran)
    assert ran.complaint.endswith(")"), (arguments, ran)
    return ran.complaint


def everything(cli: Cli) -> object:
    """What the commands could have written."""
    mine = [
        path for folder in (cli.project, paths.user_config().parent) for path in sorted(folder.rglob("*"))
    ]
    return traces(cli.project), [(path, path.stat().st_mtime_ns) for path in mine if ".git" not in path.parts]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("fanout -1 x -p y", "COUNT cannot be negative (for example: fleet fanout 3 "),
        ("fanout x -p y", "COUNT must be a whole number, not 'x' (for example: fleet fanout 3 "),
        ("fanout 0 x -p y", "cannot start 0 agents at once (choose a count from 1 to 100)"),
        ("multi :x", "':x' needs a name before the colon (for example: fleet multi "),
        ("multi x", "'x' needs a colon (for example: fleet multi "),
        ("config edit", "not 'edit' (did you mean --edit?)"),
        ("config gett x", "not 'gett' (did you mean get?)"),
        ("list --grouper", "list has no option --grouper (did you mean --grouped?)"),
        ("list --frob", "list has no option --frob (see: fleet list --help)"),
        ("list --foo", "list has no option --foo (see: fleet list --help)"),
        ("trust --no", "trust has no option --no (see: fleet trust --help)"),
        ("- x", "no command '-' (see: fleet --help)"),
        ("-- --frob", "no command '--frob' (see: fleet --help)"),
        ("list x", "list takes no arguments, but got 'x' (see: fleet list --help)"),
        ("list watch", "list does not take 'watch' (did you mean --watch?)"),
        ("create x -p", "-p needs a value (for example: fleet create "),
        ("create fix the login", "but also got 'the login' (quote text with spaces; for example: fleet create "),
        ("logs x -n -5", "--lines must be a whole number of at least 0, not '-5' (for example: --lines 10)"),
        ("why", "why needs an AGENT (for example: fleet why fix-login)"),
        ("completion", "completion needs bash, zsh or fish (for example: "),
        ("profiles frob", "profiles has no command 'frob' (choose "),
        ("--json list", "fleet has no option --json (write it after the command: fleet list --json)"),
        ("--json", "fleet has no option --json (write it after the command: fleet COMMAND --json)"),
        ("--frob list", "fleet has no option --frob (see: fleet --help)"),
        ("config get ui.color x", "config get takes only KEY, but also got 'x' (for example: fleet config get "),
        ("config unset ui.color x", "config unset takes only KEY, but also got 'x' (for example: fleet config unset "),
        ("config set ui.color auto x", "but also got 'x' (quote text with spaces; for example: fleet config set "),
        ("config set ui.color blue", "not 'blue' (choose from auto, always, never)"),
        ("config set ui.log_lines blue", "not 'blue' (see what it means with: fleet config)"),
        ("fanout 3 x -p y --agents shell:1", "--agents names 1 agent, but the count is 3"),
    ],
)  # fmt: skip
def test_an_error_names_what_was_meant_or_shows_an_example(cli: Cli, arguments: str, said: str) -> None:
    assert said in refused(cli, *arguments.split())


def test_the_shortest_mistakes_ask_for_what_is_missing(cli: Cli) -> None:
    for name in ("create", "kill", "stop", "answer", "attach", "prompt", "queue", "fork", "revive"):
        assert "fix-" in refused(cli, name), "shows no example"


def test_the_installed_command_prints_the_same(cli: Cli, tmp_path: Path) -> None:
    ran = cli.script("fanout", "-1", "x", "-p", "y", cwd=tmp_path)

    assert (ran.code, ran.out) == (2, "")
    assert "COUNT cannot be negative" in ran.complaint
