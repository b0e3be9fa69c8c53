"""Show the trash, empty it, and undo kills."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.completion import complete_killed
from fleet_tui.cli.group import (
    callable_name,
    cli,
    confirm,
    refreshed_fleet,
    say,
    say_columns,
    say_json,
    shortened,
)
from fleet_tui.cli.options import json_option
from fleet_tui.errors import FleetError, UsageError
from fleet_tui.faces.plain import JsonRecord, changed_record, trash_record
from fleet_tui.quantities import age, counted, file_size

if TYPE_CHECKING:
    from pathlib import Path

    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent
    from fleet_tui.trashed import TrashItem, TrashReport

NAMED_FILES = 8
"""Files that one line names; the others are counted."""
ALL_FILES = 1000
"""Those that `show` names."""


@cli.command()
@click.argument("agent", required=False, shell_complete=complete_killed)
@click.option("-a", "--all", "everywhere", is_flag=True, help="Look in all projects.")
@click.option(
    "--only-agent", is_flag=True, help="Restore the agent, and leave on its branch what it has landed."
)
@json_option
def undo(agent: str | None, everywhere: bool, only_agent: bool, as_json: bool) -> None:
    """Undo the last kill or landing, or those of the named agent.

    A landing is taken back by moving its branch back, or, if that has later commits, by a commit that reverts it.

    \b
    Example:
      fleet undo fix-login
    """
    if agent == "":
        raise UsageError("undo got no name", hint="leave the argument out to undo the last kill")
    fleet = refreshed_fleet()
    named = [fleet.landing.find(agent, everywhere=everywhere)] if agent is not None else []
    _restore(fleet, named, everywhere=everywhere, unland=not only_agent, as_json=as_json)


def _restore(fleet: Fleet, named: Sequence[Agent], *, everywhere: bool, unland: bool, as_json: bool) -> None:
    restored = fleet.undo(named, everywhere=everywhere, unland=unland)
    if as_json:
        say_json([changed_record(one, note=note) for one, note in restored], indent=2)
        return
    here = fleet.project()
    rows = []
    for one, note in restored:
        notes = [note] if note else []
        notes += [f"project {one.project}"] if one.project != here else []
        rows.append((one.name, one.status, one.worktree + (f"  ({', '.join(notes)})" if notes else "")))
    say_columns(rows)
    start = "; ".join(f"fleet revive {callable_name(fleet, back)}" for back, _ in restored[:5])
    again = "it" if len(restored) == 1 else "them"
    say(f"to start {again} again: {start}" + (" …" if len(restored) > 5 else ""), err=True)


everywhere_option = click.option("-a", "--all", "everywhere", is_flag=True, help="Include all projects.")
force_option = click.option("-f", "--force", is_flag=True, help="Do not ask for confirmation.")


@cli.group(invoke_without_command=True)
@everywhere_option
@click.option(
    "--empty",
    is_flag=True,
    help="Delete the worktrees. Work is saved under refs/fleet/trash, small ignored files in an archive.",
)
@click.option(
    "--prune-branches",
    is_flag=True,
    help="Delete branches of killed agents that have no commits of their own; undo restores them.",
)
@force_option
@json_option
@click.pass_context
def trash(
    context: click.Context, everywhere: bool, empty: bool, prune_branches: bool, force: bool, as_json: bool
) -> None:
    """List worktrees of killed agents; restore or delete them.

    \b
    Example:
      fleet trash show fix-login
    """
    if context.invoked_subcommand is not None:
        if everywhere or empty or prune_branches or force or as_json:
            raise UsageError(
                "an option of fleet trash stands before its subcommand",
                hint=f"write it after the word {context.invoked_subcommand}",
            )
        return
    fleet = refreshed_fleet()
    done: list[JsonRecord] = []
    try:
        if prune_branches:
            _prune(fleet, done, everywhere=everywhere, force=force, as_json=as_json)
        agents = fleet.trash.agents(everywhere=everywhere) if empty or not prune_branches else []
        if empty and agents:
            _empty(fleet, agents, done, force=force, as_json=as_json)
        elif (empty and not as_json) or not (empty or prune_branches):
            _list(fleet, agents, everywhere=everywhere, has_branches=not empty, as_json=as_json)
    except FleetError:
        if as_json and done:
            say_json(done, indent=2)
        raise
    if as_json and (empty or prune_branches):
        say_json(done, indent=2)


@trash.command("list")
@everywhere_option
@json_option
def list_trash(everywhere: bool, as_json: bool) -> None:
    """List the worktrees of killed agents, like fleet trash.

    \b
    Example:
      fleet trash list -a
    """
    fleet = refreshed_fleet()
    agents = fleet.trash.agents(everywhere=everywhere)
    _list(fleet, agents, everywhere=everywhere, has_branches=True, as_json=as_json)


@trash.command("show")
@click.argument("agent", shell_complete=complete_killed)
@click.option("-a", "--all", "everywhere", is_flag=True, help="Look in all projects.")
@json_option
def show_trashed(agent: str, everywhere: bool, as_json: bool) -> None:
    """Show what a killed agent's worktree holds.

    \b
    Example:
      fleet trash show fix-login
    """
    fleet = refreshed_fleet()
    [item] = fleet.trash.report([fleet.trash.find(agent, everywhere=everywhere)]).items
    if as_json:
        say_json(trash_record(item), indent=2)
        return
    for line in item_lines(item, callable_name(fleet, item.agent), now=time.time()):
        say(line)


@trash.command("restore")
@click.argument("agents", metavar="AGENT...", nargs=-1, required=True, shell_complete=complete_killed)
@click.option("-a", "--all", "everywhere", is_flag=True, help="Look in all projects.")
@json_option
def restore_trashed(agents: tuple[str, ...], everywhere: bool, as_json: bool) -> None:
    """Restore killed agents; what they have landed stays landed.

    \b
    Example:
      fleet trash restore fix-login
    """
    fleet = refreshed_fleet()
    named = [fleet.trash.find(agent, everywhere=everywhere) for agent in agents]
    _restore(fleet, named, everywhere=everywhere, unland=False, as_json=as_json)


@trash.command("empty")
@click.argument("agents", metavar="[AGENT]...", nargs=-1, shell_complete=complete_killed)
@everywhere_option
@force_option
@json_option
def empty_trash(agents: tuple[str, ...], everywhere: bool, force: bool, as_json: bool) -> None:
    """Delete the worktrees of these killed agents, or of all.

    Work is saved under refs/fleet/trash, small ignored files in an archive.

    \b
    Example:
      fleet trash empty fix-login
    """
    fleet = refreshed_fleet()
    found = (
        [fleet.trash.find(agent, everywhere=everywhere) for agent in agents]
        if agents
        else fleet.trash.agents(everywhere=everywhere)
    )
    done: list[JsonRecord] = []
    try:
        if found:
            _empty(fleet, found, done, force=force, as_json=as_json)
        elif not as_json:
            say("The trash is empty")
    except FleetError:
        if as_json and done:
            say_json(done, indent=2)
        raise
    if as_json:
        say_json(done, indent=2)


def _list(
    fleet: Fleet, agents: Sequence[Agent], *, everywhere: bool, has_branches: bool, as_json: bool
) -> None:
    found = fleet.trash.report(agents)
    if as_json:
        say_json([trash_record(item) for item in found.items], indent=2)
        return
    for line in trash_lines(found, fleet.trash.archives(everywhere=everywhere), now=time.time()):
        say(line)
    idle = fleet.trash.idle_branches(everywhere=everywhere) if has_branches else []
    if idle:
        names = shortened([agent.branch for agent in idle])
        say(
            f"{counted(len(idle), 'branch', 'branches')} of killed agents without commits of their own: {names} "
            "(fleet trash --prune-branches deletes them)"
        )


def _empty(
    fleet: Fleet, agents: Sequence[Agent], done: list[JsonRecord], *, force: bool, as_json: bool
) -> None:
    if not force:
        confirm(_question(fleet, agents), flag="--force")
    for agent, ref in fleet.trash.empty(agents):
        done.append(changed_record(fleet.current(agent), saved_as=ref or None))
        if not as_json:
            say(f"{agent.name}  " + (f"deleted, its last state saved as {ref}" if ref else "already gone"))


def _prune(fleet: Fleet, done: list[JsonRecord], *, everywhere: bool, force: bool, as_json: bool) -> None:
    idle = fleet.trash.idle_branches(everywhere=everywhere)
    if idle and not force:
        names = shortened([agent.branch for agent in idle])
        confirm(f"Delete {counted(len(idle), 'branch', 'branches')} ({names})?", flag="--force", default=True)
    for agent, ref in fleet.trash.prune_branches(idle):
        done.append(changed_record(fleet.current(agent), saved_as=ref or None))
        if not as_json:
            say(f"{agent.branch}  deleted, saved as {ref}")
    if not idle and not as_json:
        say("no killed agent has a branch without commits of its own")


def _question(fleet: Fleet, agents: Sequence[Agent]) -> str:
    """Ask to delete, and name the files that are not saved."""
    large = [one for item in fleet.trash.report(agents).items for one in item.contents.too_large]
    question = f"Delete {counted(len(agents), 'worktree')}?"
    if large:
        shown = shortened([f"{one.path} {file_size(one.size)}" for one in large])
        question += f" Not saved because too large: {shown}."
    return question


# ── what is in the trash ────────────────────────────────────────────────────────────────────────────────────────


def trash_lines(found: TrashReport, archives: Sequence[tuple[Path, float]] = (), *, now: float) -> list[str]:
    """Killed agents: where their worktrees are, until when, what they hold and what keeps them in the trash."""
    from fleet_tui.cli.table import aligned

    rows = [
        (
            item.agent.name,
            _removal(item, now),
            file_size(item.contents.size),
            _departure(item, now),
            item.agent.trash,
        )
        for item in found.items
    ]
    text: list[str] = []
    for line, item in zip(aligned(rows), found.items, strict=True):
        text += [line, *(f"    {detail}" for detail in _details(item, now))]
    for archive, goes_at in archives:
        text.append(f"archive of ignored files, deleted {_in(goes_at - now)}: {archive}")
    if not found.items:
        return [*text, "The trash is empty" if not text else "No worktrees in the trash"]
    total = f"{len(found.items)} in the trash (fleet undo restores the last kill, fleet undo AGENT only that agent)"
    rule = "Deleted worktrees are saved under refs/fleet/trash, without ignored files."
    return [*text, total, rule, *_over_limit(found)]


def item_lines(item: TrashItem, name: str, *, now: float) -> list[str]:
    """One killed agent, with all that its worktree holds."""
    from fleet_tui.cli.table import aligned

    agent = item.agent
    facts = [("killed", _removal(item, now)), ("branch", agent.branch)]
    if agent.trash:
        facts += [("worktree", agent.trash), ("size", file_size(item.contents.size))]
    facts += [("later", _departure(item, now)), ("restore", f"fleet trash restore {name}")]
    details = _details(item, now, most=ALL_FILES)
    return [agent.name, *(f"  {line}" for line in (*aligned(facts), *details))]


def _removal(item: TrashItem, now: float) -> str:
    """When a worktree was moved to the trash, by what and by whom, as far as it is recorded."""
    return (
        f"{age(now - (item.agent.ended_at or now))} ago"
        + (f", {item.why}" if item.why else "")
        + (f" by {item.who}" if item.who else "")
    )


def _departure(item: TrashItem, now: float) -> str:
    if item.contents.saved:
        return "partly deleted"
    if item.contents.obstacles or not item.agent.trash:
        return "stays"
    return "deleted next" if item.is_over else f"deleted {_in(item.goes_at - now)}"


def _in(seconds: float) -> str:
    return f"in {age(seconds)}" if seconds > 0 else "next"


def _details(item: TrashItem, now: float, *, most: int = NAMED_FILES) -> Iterator[str]:
    contents = item.contents
    stays = contents.obstacles or not item.agent.trash
    if contents.saved:
        yield f"saved as {contents.saved}; fleet trash --empty deletes the rest"
    if contents.uncommitted:
        yield f"uncommitted: {_some(contents.uncommitted, most)}"
    if contents.kept:
        when = "" if stays else f", deleted {_in(item.goes_at - now)}"
        yield f"ignored{when}: {_some([f'{one.path} {file_size(one.size)}' for one in contents.kept], most)}"
    if contents.too_large:
        too_large = _some([f"{one.path} {file_size(one.size)}" for one in contents.too_large], most)
        yield f"ignored and too large to save: {too_large}"
    for text, hint in contents.obstacles:
        yield f"stays: {text}" + (f" ({hint})" if hint else "")


def _some(names: Sequence[str], most: int) -> str:
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def _over_limit(found: TrashReport) -> list[str]:
    if found.size <= found.limit:
        return []
    return [
        f"The trash of all projects is over its limit: {file_size(found.size)} of {file_size(found.limit)} (fleet.trash_mb). "
        "The next create deletes the oldest worktrees whose work is merged; none is deleted on its first day."
    ]
