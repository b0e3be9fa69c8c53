"""Make, list, compare and restore checkpoints of an agent's files."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import cli, refreshed_fleet, say, say_columns, say_json
from fleet_tui.cli.options import json_option, name_argument, refuse_empty
from fleet_tui.errors import UsageError
from fleet_tui.faces.timeline import checkpoint_title
from fleet_tui.faces.work_records import checkpoint_record, diff_record, restored_record
from fleet_tui.quantities import age, counted

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent
    from fleet_tui.work import Checkpoint, RestoredFiles

NAMED_FILES = 5
"""Files that one line names; the others are counted."""


@cli.command()
@name_argument
@click.option(
    "-m", "--message", "note", default="", metavar="TEXT", callback=refuse_empty, help="Name the checkpoint."
)
@click.option("--list", "as_list", is_flag=True, help="List the agent's checkpoints.")
@click.option(
    "--diff", type=click.IntRange(min=0), metavar="N", help="Print what checkpoint N changed, as a patch."
)
@click.option(
    "--against",
    default="",
    metavar="M|base|now",
    callback=refuse_empty,
    help="With --diff, compare with another checkpoint, the agent's start or its files now.",
)
@click.option(
    "--restore",
    type=click.IntRange(min=0),
    metavar="N",
    help="Bring the files back to checkpoint N; 0 is the agent's start.",
)
@click.option("-f", "--force", is_flag=True, help="Restore while the agent's turn is running.")
@click.option("--rename", type=click.IntRange(min=1), metavar="N", help="Name checkpoint N with -m.")
@json_option
def checkpoint(
    branch: str,
    note: str,
    as_list: bool,
    diff: int | None,
    against: str,
    restore: int | None,
    force: bool,
    rename: int | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Save an agent's files as a checkpoint, or go back to one.

    A checkpoint has committed, changed and untracked files, but no ignored ones. It is also made by itself when a turn
    has changed files. Restoring one saves the files as they are first, and changes neither commits nor the index.

    \b
    Examples:
      fleet checkpoint fix-login -m "before the rename"
      fleet checkpoint fix-login --list
      fleet checkpoint fix-login --diff 3 --against now
      fleet checkpoint fix-login --restore 3
    """
    given = [as_list, diff is not None, restore is not None, rename is not None]
    if sum(given) > 1:
        raise UsageError("--list, --diff, --restore and --rename exclude each other", hint="give one of them")
    if note and any(given) and rename is None:
        raise UsageError("-m names a new checkpoint", hint="leave it out, or name an old one with --rename N")
    if rename is not None and not note:
        raise UsageError("--rename needs a name", hint=f"fleet checkpoint {branch} --rename {rename} -m NAME")
    fleet = refreshed_fleet()
    agent = fleet.find(branch)
    if as_list:
        _list(fleet, agent, as_json=as_json)
    elif diff is not None:
        _diff(fleet, agent, diff, against, as_json=as_json)
    elif restore is not None:
        _show_restored(fleet.checkpoints.restore(agent, restore, force=force), agent, as_json=as_json)
    elif rename is not None:
        _show_made(fleet.checkpoints.rename(agent, rename, note), agent, is_new=False, as_json=as_json)
    else:
        made, is_new = fleet.checkpoints.make(agent, note)
        if not is_new and not as_json:
            last = f"checkpoint {made.number}" if made.number else "its start"
            say(f"{agent.name}: nothing has changed since {last}")
            return
        _show_made(made, agent, is_new=is_new, as_json=as_json)


def _show_made(made: Checkpoint, agent: Agent, *, is_new: bool, as_json: bool) -> None:
    if as_json:
        say_json(checkpoint_record(made, is_new=is_new), indent=2)
        return
    say(f"{agent.name}: checkpoint {made.number}  {_changes(made)}  {made.note}".rstrip())
    if made.left_out:
        say(f"not in it: {_some(made.left_out)}", err=True)


def _list(fleet: Fleet, agent: Agent, *, as_json: bool) -> None:
    start = fleet.checkpoints.start(agent)
    found = [*([start] if start else []), *fleet.checkpoints.all(agent)][::-1]
    if as_json:
        say_json([checkpoint_record(one) for one in found], indent=2)
        return
    say_columns(list(checkpoint_rows(found, now=time.time())))
    if found and found[0].kind == "saved":
        number = found[0].restored
        say(
            f"restoring {number} did not finish; do it again: fleet checkpoint {agent.name} --restore {number}"
        )
    say(f"restore one with: fleet checkpoint {agent.name} --restore N")


def checkpoint_rows(found: Sequence[Checkpoint], *, now: float) -> Iterator[tuple[str, ...]]:
    """A row for each checkpoint."""
    for one in found:
        yield (
            str(one.number), f"{age(now - one.at)} ago", _changes(one), checkpoint_title(one), _some(one.files, one.changed)
        )  # fmt: skip


def _changes(one: Checkpoint) -> str:
    return f"+{one.added} -{one.removed}" if one.changed else "·"


def _some(names: Sequence[str], count: int = 0) -> str:
    count = max(count, len(names))
    more = f" and {count - NAMED_FILES} more" if count > NAMED_FILES else ""
    return ", ".join(names[:NAMED_FILES]) + more


def _diff(fleet: Fleet, agent: Agent, number: int, against: str, *, as_json: bool) -> None:
    if as_json:
        say_json(diff_record(fleet.checkpoints.diff(agent, number, against=against)), indent=2)
        return
    # Byte for byte, because other programs read it.
    text = fleet.checkpoints.patch(agent, number, against=against)
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def _show_restored(done: RestoredFiles, agent: Agent, *, as_json: bool) -> None:
    if as_json:
        say_json(restored_record(done), indent=2)
        return
    number = done.checkpoint.number
    if not done.changed:
        say(f"{agent.name}: its files are as in checkpoint {number} already")
    else:
        say(f"{agent.name}: {counted(done.changed, 'file')} brought back to checkpoint {number}")
        say(f"to go back: fleet checkpoint {agent.name} --restore {done.saved}", err=True)
    if done.pointers:
        say(f"only pointers of Git LFS, get them with git lfs pull: {_some(done.pointers)}", err=True)
    if done.submodules:
        say(f"submodules stay at their commits: {_some(done.submodules)}", err=True)
