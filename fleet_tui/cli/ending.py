"""Commands that end agents, and bring them back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fleet_tui.cli.group import (
    cli,
    complete_agents,
    complete_batches,
    complete_killed,
    confirm,
    counted,
    open_fleet,
    say,
    shortened,
    tell_unwritable,
)

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.land import Kept
    from fleet_tui.models import Agent

_patterns = click.argument("patterns", nargs=-1, metavar="[PATTERN]...", shell_complete=complete_agents)
_batch_option = click.option(
    "-b", "--batch", metavar="BATCH", shell_complete=complete_batches, help="All of a batch."
)


@cli.command()
@_patterns
@_batch_option
def stop(patterns: tuple[str, ...], batch: str | None) -> None:
    """End agents; worktrees stay, `revive` starts them again.

    Programs get `fleet.stop_grace` seconds to end by themselves. A second stop or kill ends them at once.
    """
    fleet = open_fleet()
    stopped = fleet.stop(fleet.match(patterns, batch=batch, but_not=_gone()))
    _show([(agent.name, str(agent.status)) for agent in stopped])
    for warning in fleet.warnings_after_stop(stopped):
        say(f"fleet: {warning}", err=True)
    tell_unwritable(fleet)


@cli.command()
@_patterns
@_batch_option
@click.option("-f", "--force", is_flag=True, help="Do not ask. The worktree still goes to the trash.")
@click.option(
    "-d", "--delete-branch", is_flag=True, help="Delete the branch too, if it was made for the agent."
)
def kill(patterns: tuple[str, ...], batch: str | None, force: bool, delete_branch: bool) -> None:
    """End agents, their worktrees to the trash; `undo` undoes it.

    Programs get `fleet.stop_grace` seconds to end by themselves. A second stop or kill ends them at once.
    """
    fleet = open_fleet()
    agents = fleet.match(patterns, batch=batch, but_not=_gone())
    if not force:
        shown = shortened([agent.name for agent in agents])
        question = f"Kill {shown}?" if len(agents) == 1 else f"Kill {len(agents)} agents ({shown})?"
        confirm(f"{question} (fleet undo brings back what was killed)", flag="-f", default=len(agents) == 1)
    killed = fleet.kill(agents, delete_branch=delete_branch)
    _show([(kept.agent.name, _became(kept)) for kept in killed])
    for warning in fleet.warnings_after_kill(killed):
        say(f"fleet: {warning}", err=True)


def _became(kept: Kept) -> str:
    facts = ["killed", kept.note or "worktree in the trash"]
    if kept.branch:
        facts.append(f"branch {kept.branch} kept")
    elif kept.path is not None:
        facts.append("branch deleted")
    return ", ".join(facts)


def _show(rows: Sequence[Sequence[str]]) -> None:
    from fleet_tui import listing

    for line in listing.columns(rows):
        say(line)


def _gone() -> tuple[Any, ...]:
    from fleet_tui.models import Status

    return (Status.KILLED,)


@cli.command()
@click.argument("agent", default="", shell_complete=complete_killed)
@click.option("-a", "--all", "everywhere", is_flag=True, help="Of all projects.")
def undo(agent: str, everywhere: bool) -> None:
    """Undo the last kill, or restore the named agent."""
    fleet = open_fleet()
    restored = fleet.undo(agent, everywhere=everywhere)
    here = fleet.project()
    rows = []
    for one, note in restored:
        notes = [note] if note else []
        notes += [f"project {one.project}"] if one.project != here else []
        rows.append((one.name, one.status, one.worktree + (f"  ({', '.join(notes)})" if notes else "")))
    _show(rows)
    start = "; ".join(f"fleet revive {back.name}" for back, _ in restored[:5])
    again = "it" if len(restored) == 1 else "them"
    say(f"start {again} again: {start}" + (" …" if len(restored) > 5 else ""), err=True)


@cli.command()
@click.option("-a", "--all", "everywhere", is_flag=True, help="Of all projects.")
@click.option(
    "--empty",
    is_flag=True,
    help="Delete them. Work is saved under refs/fleet/trash, small ignored files in an archive.",
)
@click.option(
    "--prune-branches",
    is_flag=True,
    help="Remove branches of killed agents without commits of their own; undo brings them back.",
)
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
def trash(everywhere: bool, empty: bool, prune_branches: bool, force: bool, as_json: bool) -> None:
    """Show what the worktrees of killed agents hold, or delete them."""
    from fleet_tui import listing

    fleet = open_fleet()
    if prune_branches:
        _prune(fleet, everywhere=everywhere, force=force)
        if not empty:
            return
    agents = fleet.trash(everywhere=everywhere)
    if not (empty and agents):
        found = fleet.trash_report(agents)
        archives = fleet.kept_ignored(everywhere=everywhere)
        # Both have been made safe by the listing.
        click.echo(listing.trash_json(found) if as_json else listing.trash(found, archives, now=time.time()))
        idle = [] if as_json or empty else fleet.idle_branches(everywhere=everywhere)
        if idle:
            names = shortened([agent.branch for agent in idle])
            say(
                f"{counted(len(idle), 'branch', 'branches')} of killed agents without commits of their own: {names} "
                "(fleet trash --prune-branches removes them)"
            )
        return
    if not force:
        confirm(_question(fleet, agents), flag="--force")
    for agent, ref in fleet.empty_trash(agents):
        say(f"{agent.name}  " + (f"deleted, its last state saved as {ref}" if ref else "was gone already"))


def _prune(fleet: Fleet, *, everywhere: bool, force: bool) -> None:
    idle = fleet.idle_branches(everywhere=everywhere)
    if idle and not force:
        names = shortened([agent.branch for agent in idle])
        confirm(f"Remove {counted(len(idle), 'branch', 'branches')} ({names})?", flag="--force", default=True)
    for agent, ref in fleet.prune_branches(idle):
        say(f"{agent.branch}  removed, kept as {ref}")
    if not idle:
        say("no branch of a killed agent is without commits of its own")


def _question(fleet: Fleet, agents: Sequence[Agent]) -> str:
    """Names what is not saved when these agents' worktrees are deleted."""
    from fleet_tui import listing

    large = [one for item in fleet.trash_report(agents).items for one in item.contents.too_large]
    question = f"Delete {counted(len(agents), 'worktree')}?"
    if large:
        shown = shortened([f"{one.path} {listing.size(one.size)}" for one in large])
        question += f" Not saved, because too large: {shown}."
    return question
