"""Rebuild a damaged store from its readable rows and from the agents' own files. Deletes nothing.

The damaged file is kept as `fleet.db.damaged-TIME`. The new store is complete before it replaces the old one, so a
failure, such as a full disk, changes nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fleet_tui import git, paths
from fleet_tui.errors import FleetError, StoreDamaged, StoreError
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.holder.event_log import read_last_events
from fleet_tui.holder.run_folder import PROMPTS_FILE, PROMPTS_MOST, Killed, read_record
from fleet_tui.models import Agent, Batch, Receipt, ReceiptState, Status
from fleet_tui.quantities import counted
from fleet_tui.store import backup, replacement_lock, row_decoder
from fleet_tui.store.database import Store
from fleet_tui.store.salvage import StoreContents, fill, salvage
from fleet_tui.system import files

WAIT_SECONDS = 60.0
"""To wait for another process that is rebuilding the store or writing to it."""
SHOWN = 5
DRAFT = ".rebuild-"
"""The prefix of the temporary folder in which the new store is written."""

_RECEIPT_STATES = dict.fromkeys(
    (ReceiptState.ASIDE, ReceiptState.TYPING, ReceiptState.PASTED), ReceiptState.QUEUED
)
"""The holder's own states of a prompt in delivery, and what a receipt calls them."""


def rebuild(path: Path) -> list[str]:
    """Replace a damaged store; returns one line about it, or nothing if the store is sound."""
    if not path.exists():
        return []
    with replacement_lock.exclusive(path, WAIT_SECONDS):
        for unfinished in path.parent.glob(f"{DRAFT}*"):
            # Left by a killed process: this one holds the exclusive lock.
            shutil.rmtree(unfinished, ignore_errors=True)
        problem = _problem(path)
        return [_rebuilt(path, problem)] if problem else []


def _problem(path: Path) -> str:
    """What is wrong with the store; empty if it is sound or a newer version's."""
    try:
        with contextlib.closing(Store(path, has_exclusive_lock=True)) as store:
            if store.db.is_newer:
                return "its version number is wrong" if store.db.has_own_schema() else ""
            problems = store.check()
            problems += [] if problems else _differing(store)
    except StoreDamaged as error:
        return error.message.removeprefix(f"the store {path} is damaged: ")
    return problems[0] if problems else ""


def _differing(store: Store) -> list[str]:
    """Rows that are readable but differ from their copies: corruption that SQLite cannot detect."""
    rows = {agent.id: agent for agent in store.agents.all()}
    differ = [
        copy.agent.name
        for copy in _current(path_of_agents(store.path))
        if copy.agent.id in rows and _merged(rows[copy.agent.id], copy) != rows[copy.agent.id]
    ]
    strays = [rows[one].name for one in _strays(rows.values(), path_of_agents(store.path))]
    return [f"wrong in agent: {', '.join(map(ascii, (differ + strays)[:SHOWN]))}"] if differ or strays else []


def path_of_agents(path: Path) -> Path:
    """The folder of agents beside a store."""
    return path.with_name("agents")


def _current(agents: Path) -> Iterator[backup.AgentCopy]:
    return (copy for copy in backup.read_all(agents) if copy.is_current and _is_sound(copy))


def _is_sound(copy: backup.AgentCopy) -> bool:
    """Whether the copy, which may be damaged as well, decodes to a row."""
    row = {name: row_decoder.encoded(getattr(copy.agent, name)) for name in row_decoder.AGENT_COLUMNS}
    try:
        row_decoder.agent(row | {"evidence": ""})
        row_decoder.batch(
            {name: getattr(copy.batch, name) for name in ("id", "project", "prompt", "created_at")}
        )
    except row_decoder.DamagedRow:
        return False
    return True


def _merged(row: Agent, copy: backup.AgentCopy) -> Agent:
    """The row with the columns that its copy keeps, which only the store writes."""
    known = {name: getattr(copy.agent, name) for name in backup.COPIED - {"intent", "run"}}
    # A process killed just before its commit leaves a copy with a run that never began.
    begun = (run for run in (copy.agent.run, row.run) if paths.run(row.id, run).is_dir())
    return replace(row, created_at=copy.agent.created_at, run=next(begun, copy.agent.run), **known)


def _strays(rows: Iterable[Agent], agents: Path) -> list[str]:
    """Ids that no agent has: rows whose id column is corrupt."""
    copied = {(copy.agent.created_at, copy.agent.worktree): copy.agent.id for copy in _current(agents)}
    return [
        row.id
        for row in rows
        if not (agents / row.id).is_dir() and copied.get((row.created_at, row.worktree), row.id) != row.id
    ]


# ── the new store ───────────────────────────────────────────────────────────────────────────────────────────────


def _rebuilt(path: Path, problem: str) -> str:
    try:
        with tempfile.TemporaryDirectory(prefix=DRAFT, dir=path.parent) as folder:
            found = _recover(path)
            fresh = Path(folder) / path.name
            _write(fresh, found.contents)
            kept = _swapped(path, fresh)
    except (OSError, StoreError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else error.message
        raise StoreError(
            f"the store {path} is damaged ({problem}) and could not be rebuilt: {reason}",
            hint="nothing was changed; check space and permissions, then try again",
        ) from error
    return _summary(problem, kept, found)


@dataclass(frozen=True, slots=True)
class _Recovered:
    """What goes into the new store."""

    contents: StoreContents
    restored: list[str]
    """Names of agents restored from their own files."""
    missing: list[str]
    """Descriptions of what could not be recovered."""


def _recover(path: Path) -> _Recovered:
    old, agents = salvage(path), path_of_agents(path)
    strays = set(_strays((agent for agent, _, _ in old.agents), agents))
    rows = {agent.id: (agent, intent, read) for agent, intent, read in old.agents if agent.id not in strays}
    batches = {(batch.project, batch.id): batch for batch in old.batches}
    projects = {project["root"]: project for project in old.projects}
    restored = []
    for copy in filter(_is_sound, backup.read_all(agents)):
        one = copy.agent.id
        if one not in rows:
            rows[one] = (as_killed(copy.agent), dict(copy.intent), 0)
            restored.append(one)
        elif copy.is_current:
            agent, _, read = rows[one]
            rows[one] = (_merged(agent, copy), dict(copy.intent), read)
        agent = rows[one][0]
        if copy.is_current or (agent.project, agent.batch) not in batches:
            batch = replace(copy.batch, id=agent.batch, project=agent.project)
            batches[agent.project, agent.batch] = batch
    unknown = {
        (agent.project, agent.batch): Batch(agent.batch, agent.project, agent.created_at)
        for agent, _, _ in rows.values()
        if (agent.project, agent.batch) not in batches
    }
    batches |= unknown
    for (project, _), batch in batches.items():
        projects.setdefault(
            project, {"root": project, "name": Path(project).name, "created_at": batch.created_at}
        )
    again = set(restored)
    receipts = [*_receipts(old.receipts, rows, agents)]
    contents = StoreContents(
        list(projects.values()),
        list(batches.values()),
        sorted(rows.values(), key=lambda row: row[0].created_at),
        receipts,
        # A restored agent's events are imported again, so drop the old journal lines.
        [line for line in old.journal if line["seq"] is None or line["agent"] not in again],
        [spent for spent in old.spending if spent["agent"] in rows],
        {
            table: [row for row in kept if row.get("agent", "") in {"", *rows}]
            for table, kept in old.work.items()
        },
        old.journal_end,
    )
    names = sorted(rows[one][0].name for one in restored)
    return _Recovered(
        contents,
        names,
        _missing(old, agents=len(restored), batches=len(unknown), receipts=len(receipts) - len(old.receipts)),
    )


def _missing(old: StoreContents, *, agents: int, batches: int, receipts: int) -> list[str]:
    """Describe what could not be recovered. Spending is left out: it is read again from the programs' records."""
    lost = old.damaged.get("agent", 0) - agents
    found = [f"{counted(lost, 'agent')} without own files"] if lost > 0 else []
    found += [f"the prompt of {counted(batches, 'batch', 'batches')}"] if batches else []
    if "receipt" in old.unreadable:
        found.append("receipts of prompts that reached no agent")
    elif (lost := old.damaged.get("receipt", 0) - receipts) > 0:
        found.append(counted(lost, "receipt"))
    if "journal" in old.unreadable:
        found.append("the history of changes")
    elif lost := old.damaged.get("journal", 0):
        found.append(f"{counted(lost, 'line')} of the history")
    return found


def _receipts(known: Sequence[Receipt], rows: Iterable[str], agents: Path) -> Iterator[Receipt]:
    """The readable receipts, and those in the holders' files."""
    ids = set(rows)
    sound = [receipt for receipt in known if receipt.agent in ids]
    yield from sound
    seen = {receipt.id for receipt in sound}
    for agent in sorted(ids):
        for receipt in _recorded_receipts(agents / agent, agent):
            if receipt.id not in seen:
                yield receipt


def _recorded_receipts(folder: Path, agent: str) -> Iterator[Receipt]:
    found: dict[str, Receipt] = {}
    runs = (entry for entry in folder.glob("*") if entry.name.isdecimal())
    for run in sorted(runs, key=lambda entry: int(entry.name)):
        with contextlib.suppress(OSError):
            times = {str(event["data"].get("prompt", "")): event["at"] for event in read_last_events(run)}
            for line in files.read(run / PROMPTS_FILE, limit=PROMPTS_MOST).splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    receipt = _receipt(json.loads(line), agent, times)
                    found[receipt.id] = receipt
    yield from found.values()


def _receipt(entry: dict[str, Any], agent: str, times: dict[str, float]) -> Receipt:
    state = _RECEIPT_STATES.get(entry["state"], entry["state"])
    at = float(times.get(entry["id"], 0.0))
    return row_decoder.receipt(
        {
            "id": entry["id"],
            "agent": agent,
            "text": entry["text"],
            "state": state,
            "reason": entry["reason"],
            "at": at,
        }
    )


def _write(path: Path, contents: StoreContents) -> None:
    """Write a complete store and sync it to disk."""
    with contextlib.closing(Store(path, has_exclusive_lock=True)) as fresh:
        with fresh.transaction():
            fill(fresh, contents)
        problems = fresh.check()
        if problems:
            raise StoreError(f"the new store is not sound: {problems[0]}", hint="run: fleet doctor")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swapped(path: Path, fresh: Path) -> Path:
    """Rename the damaged store and move the new one into its place; returns the damaged store's new path."""
    kept = _free_name(path)
    _keep(path, kept)
    for suffix in ("-wal", "-shm"):
        # SQLite would apply the old store's write-ahead log to the new one.
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(kept.with_name(kept.name + suffix))
    fresh.replace(path)
    return kept


def _free_name(path: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = [
        f"{path.name}.damaged-{stamp}",
        *(f"{path.name}.damaged-{stamp}-{number}" for number in range(2, 100)),
    ]
    return next(path.with_name(name) for name in names if not path.with_name(name).exists())


def _keep(path: Path, kept: Path) -> None:
    """Link the file, so that there is a store at every moment; copy it on a filesystem without hard links."""
    try:
        os.link(path, kept)
    except OSError:
        shutil.copy2(path, kept)


def _summary(problem: str, kept: Path, found: _Recovered) -> str:
    """One line: the problem, what was restored, what is missing, and where the damaged file is."""
    restored = found.restored
    line = f"rebuilt the damaged store ({problem}): {counted(len(found.contents.agents), 'agent')}"
    if restored:
        names = ", ".join(restored[:SHOWN]) + (" …" if len(restored) > SHOWN else "")
        line += f", {len(restored)} from {'its' if len(restored) == 1 else 'their'} own files ({names})"
    line += f"; missing: {', '.join(found.missing)}" if found.missing else "; nothing is missing"
    return f"{line}; the damaged file is kept as {kept}"


# ── rows that are missing ───────────────────────────────────────────────────────────────────────────────────────


def restore(store: Store) -> list[Agent]:
    """Add rows for agents that have a folder but no row; returns them."""
    found = [copy for copy in backup.read_all(path_of_agents(store.path)) if _is_sound(copy)]
    if not found:
        return []
    with store.transaction():
        known = {agent.id for agent in store.agents.all()}
        lost = [(as_killed(copy.agent), copy) for copy in found if copy.agent.id not in known]
        for agent, copy in lost:
            store.batches.add(copy.batch, copy.project_name, [(agent, copy.intent)])
        for receipt in _receipts((), {agent.id for agent, _ in lost}, path_of_agents(store.path)):
            store.receipts.put(
                receipt.id, receipt.agent, receipt.text, receipt.state, receipt.reason, receipt.at
            )
    return [agent for agent, _ in lost]


def as_killed(agent: Agent) -> Agent:
    """The agent with the status killed, if its worktree is in the trash or its folder has a record of the kill."""
    mark = read_record(paths.killed(agent.id), Killed)
    waiting = paths.trash(Path(agent.worktree).parent)
    # An unreadable record in the trash must not prevent the restoration.
    with contextlib.suppress(FleetError):
        for entry in git.trashed(waiting) if waiting.is_dir() else ():
            if entry.original == Path(agent.worktree) or entry.bears(f"-{agent.id}"):
                at = mark.at if mark is not None else entry.at
                return replace(agent, status=Status.KILLED, trash=str(entry.path), ended_at=at)
    return agent if mark is None else replace(agent, status=Status.KILLED, ended_at=mark.at)
