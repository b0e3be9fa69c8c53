"""Stop agents, and kill them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet_tui.cli.group import (
    cli,
    confirm,
    refreshed_fleet,
    say,
    say_columns,
    say_json,
    shortened,
    warn_unwritable,
)
from fleet_tui.cli.options import batch_option, json_option, patterns_argument
from fleet_tui.faces.plain import changed_record, killed_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet_tui.fleet import Fleet
    from fleet_tui.lifecycle.trash import KillResult


@cli.command()
@patterns_argument
@batch_option
@json_option
def stop(patterns: tuple[str, ...], batch: str | None, as_json: bool) -> None:
    """Stop agents; worktrees stay, and `revive` starts them again.

    AGENT is a name or a glob. Programs get `fleet.stop_grace` seconds to exit; a second stop or kill ends them at once.

    \b
    Example:
      fleet stop 'login-*'
    """
    fleet = refreshed_fleet()
    stopped = fleet.stop(fleet.match(patterns, batch=batch, but_not=_killed()))
    if as_json:
        say_json([changed_record(agent) for agent in stopped], indent=2)
    else:
        say_columns([(agent.name, str(agent.status)) for agent in stopped])
    for warning in fleet.warnings_after_stop(stopped):
        say(f"fleet: {warning}", err=True)
    warn_unwritable(fleet)


@cli.command()
@patterns_argument
@batch_option
@click.option(
    "-f", "--force", is_flag=True, help="Do not ask for confirmation. Worktrees still go to the trash."
)
@click.option(
    "-d", "--delete-branch", is_flag=True, help="Also delete the branch, if it was created for the agent."
)
@json_option
def kill(
    patterns: tuple[str, ...], batch: str | None, force: bool, delete_branch: bool, as_json: bool
) -> None:
    """Stop agents and move their worktrees to the trash.

    `undo` restores them. AGENT is a name or a glob. Also: fleet rm, remove, delete. Programs get `fleet.stop_grace` seconds to exit; a second stop or kill ends them at once.

    \b
    Example:
      fleet kill fix-login 'login-*'
    """
    fleet = refreshed_fleet()
    agents = fleet.match(patterns, batch=batch, but_not=_killed())
    if not force:
        shown = shortened([agent.name for agent in agents])
        question = f"Kill {shown}?" if len(agents) == 1 else f"Kill {len(agents)} agents ({shown})?"
        confirm(question, note="fleet undo restores what was killed", flag="-f", default=len(agents) == 1)
    say_killed(fleet, fleet.kill(agents, delete_branch=delete_branch), as_json=as_json)


def say_killed(fleet: Fleet, killed: Sequence[KillResult], *, as_json: bool) -> None:
    """Print which agents were killed, and what became of their worktrees and branches."""
    if as_json:
        say_json([killed_record(fleet.current(kept.agent), kept) for kept in killed], indent=2)
    else:
        say_columns([(kept.agent.name, _outcome(kept)) for kept in killed])
    for warning in fleet.warnings_after_kill(killed):
        say(f"fleet: {warning}", err=True)


def _outcome(kept: KillResult) -> str:
    facts = ["killed", kept.note or "worktree in the trash"]
    if kept.branch:
        facts.append(f"branch {kept.branch} kept")
    elif kept.path is not None:
        facts.append("branch deleted")
    return ", ".join(facts)


def _killed() -> tuple[Any, ...]:
    from fleet_tui.models import Status

    return (Status.KILLED,)
