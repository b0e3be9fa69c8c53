"""Rebuild a damaged store from what can be read of it and from the agents' own files. Deletes nothing.

The damaged file is kept beside the new one as `fleet.db.damaged-TIME`. The new one is complete before it takes the
place of the old: whatever fails before, a full disk say, leaves everything as it was.
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

from fleet_tui import copies, git, paths, stored
from fleet_tui.errors import FleetError, StoreDamaged, StoreError
from fleet_tui.holder import Killed, read_events, read_record
from fleet_tui.models import Agent, Batch, Receipt, ReceiptState, Status
from fleet_tui.store import Contents, Store, alone, salvage
from fleet_tui.values import dataclass, replace

WAIT_SECONDS = 60.0
"""For another process that is rebuilding the store, or writing to it."""
SHOWN = 5
DRAFT = ".rebuild-"
"""How the names of folders begin in which a new store is made."""

_TOLD = dict.fromkeys((ReceiptState.ASIDE, ReceiptState.TYPING, ReceiptState.PASTED), ReceiptState.QUEUED)
"""What a holder writes down about a prompt that it is just typing, as a receipt has it."""


def rebuild(path: Path) -> list[str]:
    """Put a sound store in the place of a damaged one; says what was done, or nothing when the store was sound."""
    if not path.exists():
        return []
    with alone(path, WAIT_SECONDS):
        for unfinished in path.parent.glob(f"{DRAFT}*"):
            # Of a process that was killed: no other can be at work here.
            shutil.rmtree(unfinished, ignore_errors=True)
        problem = _problem(path)
        return [_rebuilt(path, problem)] if problem else []


def _problem(path: Path) -> str:
    """What is wrong with the store, in a few words; empty when it is sound or a newer program's."""
    try:
        with contextlib.closing(Store(path, is_alone=True)) as store:
            if store.is_newer:
                return "its version number is wrong" if store.has_own_schema() else ""
            problems = store.check()
            problems += [] if problems else _differing(store)
    except StoreDamaged as error:
        return error.message.removeprefix(f"the store {path} is damaged: ")
    return problems[0] if problems else ""


def _differing(store: Store) -> list[str]:
    """Rows that can be read, and are not what was written all the same."""
    rows = {agent.id: agent for agent in store.agents()}
    differ = [
        copy.agent.name
        for copy in _current(path_of_agents(store.path))
        if copy.agent.id in rows and _merged(rows[copy.agent.id], copy) != rows[copy.agent.id]
    ]
    strays = [rows[one].name for one in _strays(rows.values(), path_of_agents(store.path))]
    return [f"wrong in agent: {', '.join(map(ascii, (differ + strays)[:SHOWN]))}"] if differ or strays else []


def path_of_agents(path: Path) -> Path:
    return path.with_name("agents")


def _current(agents: Path) -> Iterator[copies.Copy]:
    return (copy for copy in copies.read_all(agents) if copy.is_current and _is_sound(copy))


def _is_sound(copy: copies.Copy) -> bool:
    """Whether the copy, which may be damaged as well, could be a row."""
    row = {name: stored.plain(getattr(copy.agent, name)) for name in stored.AGENT_COLUMNS}
    try:
        stored.agent(row | {"evidence": ""})
        stored.batch({name: getattr(copy.batch, name) for name in ("id", "project", "prompt", "created_at")})
    except stored.Damaged:
        return False
    return True


def _merged(row: Agent, copy: copies.Copy) -> Agent:
    """The row with what its copy knows better: all that only the store itself writes down."""
    known = {name: getattr(copy.agent, name) for name in copies.COPIED - {"intent", "run"}}
    # A process killed just before its commit has copied a run that was never begun.
    begun = (run for run in (copy.agent.run, row.run) if paths.run(row.id, run).is_dir())
    return replace(row, created_at=copy.agent.created_at, run=next(begun, copy.agent.run), **known)


def _strays(rows: Iterable[Agent], agents: Path) -> list[str]:
    """Ids of rows that no agent has: another one's row, whose id has changed."""
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
            found = _gathered(path)
            fresh = Path(folder) / path.name
            _write(fresh, found.contents)
            kept = _swapped(path, fresh)
    except (OSError, StoreError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else error.message
        raise StoreError(
            f"the store {path} is damaged ({problem}) and could not be rebuilt: {reason}",
            hint="nothing was changed; check space and permissions, then try again",
        ) from error
    return _told(problem, kept, found)


@dataclass(frozen=True, slots=True)
class _Gathered:
    """What the new store is to have in it."""

    contents: Contents
    restored: list[str]
    """The names of the agents that were restored from their own files."""
    missing: list[str]
    """What could be found nowhere, in words."""


def _gathered(path: Path) -> _Gathered:
    old, agents = salvage(path), path_of_agents(path)
    strays = set(_strays((agent for agent, _, _ in old.agents), agents))
    rows = {agent.id: (agent, intent, read) for agent, intent, read in old.agents if agent.id not in strays}
    batches = {(batch.project, batch.id): batch for batch in old.batches}
    projects = {project["root"]: project for project in old.projects}
    restored = []
    for copy in filter(_is_sound, copies.read_all(agents)):
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
    contents = Contents(
        list(projects.values()),
        list(batches.values()),
        sorted(rows.values(), key=lambda row: row[0].created_at),
        receipts,
        # What its holder has reported is taken over anew for an agent that was restored.
        [line for line in old.journal if line["seq"] is None or line["agent"] not in again],
        [spent for spent in old.spending if spent["agent"] in rows],
        old.journal_end,
    )
    names = sorted(rows[one][0].name for one in restored)
    return _Gathered(
        contents,
        names,
        _missing(old, agents=len(restored), batches=len(unknown), receipts=len(receipts) - len(old.receipts)),
    )


def _missing(old: Contents, *, agents: int, batches: int, receipts: int) -> list[str]:
    """What is found nowhere, given how much was restored or not; what was spent is read again from the records."""
    lost = old.damaged.get("agent", 0) - agents
    found = (
        [f"{_counted(lost, 'agent')} without files of {'its' if lost == 1 else 'their'} own"]
        if lost > 0
        else []
    )
    found += [f"the prompt of {_counted(batches, 'batch', 'batches')}"] if batches else []
    if "receipt" in old.unreadable:
        found.append("receipts of prompts that reached no agent")
    elif (lost := old.damaged.get("receipt", 0) - receipts) > 0:
        found.append(_counted(lost, "receipt"))
    if "journal" in old.unreadable:
        found.append("the history of changes")
    elif lost := old.damaged.get("journal", 0):
        found.append(f"{_counted(lost, 'line')} of the history")
    return found


def _counted(number: int, noun: str, several: str = "") -> str:
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def _receipts(known: Sequence[Receipt], rows: Iterable[str], agents: Path) -> Iterator[Receipt]:
    """Those that were readable, and those that the agents' holders have written down."""
    ids = set(rows)
    sound = [receipt for receipt in known if receipt.agent in ids]
    yield from sound
    seen = {receipt.id for receipt in sound}
    for agent in sorted(ids):
        for receipt in _written_down(agents / agent, agent):
            if receipt.id not in seen:
                yield receipt


def _written_down(folder: Path, agent: str) -> Iterator[Receipt]:
    found: dict[str, Receipt] = {}
    runs = (entry for entry in folder.glob("*") if entry.name.isdigit())
    for run in sorted(runs, key=lambda entry: int(entry.name)):
        with contextlib.suppress(OSError):
            told = {str(event["data"].get("prompt", "")): event["at"] for event in read_events(run, 0)[1]}
            for line in (run / "prompts.jsonl").read_bytes().splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    receipt = _receipt(json.loads(line), agent, told)
                    found[receipt.id] = receipt
    yield from found.values()


def _receipt(said: dict[str, Any], agent: str, told: dict[str, float]) -> Receipt:
    state = _TOLD.get(said["state"], said["state"])
    at = float(told.get(said["id"], 0.0))
    return stored.receipt(
        {
            "id": said["id"],
            "agent": agent,
            "text": said["text"],
            "state": state,
            "reason": said["reason"],
            "at": at,
        }
    )


def _write(path: Path, contents: Contents) -> None:
    """A whole store in one file, on the disk."""
    with contextlib.closing(Store(path, is_alone=True)) as fresh:
        with fresh.transaction():
            fresh.fill(contents)
        problems = fresh.check()
        if problems:
            raise StoreError(f"the new store is not sound: {problems[0]}", hint="run: fleet doctor")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swapped(path: Path, fresh: Path) -> Path:
    """Keep the damaged store under another name, and put the new one in its place; returns that name."""
    kept = _free_name(path)
    _keep(path, kept)
    for suffix in ("-wal", "-shm"):
        # A new store beside the log of another one would be damaged by it at once.
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
    """A second name for the file, so that there is a store at every moment; where there are no such names, a copy."""
    try:
        os.link(path, kept)
    except OSError:
        shutil.copy2(path, kept)


def _told(problem: str, kept: Path, found: _Gathered) -> str:
    """One line: what happened, what is there again, what is missing, and where the old file is."""
    restored = found.restored
    said = f"rebuilt the damaged store ({problem}): {_counted(len(found.contents.agents), 'agent')}"
    if restored:
        names = ", ".join(restored[:SHOWN]) + (" …" if len(restored) > SHOWN else "")
        said += f", {len(restored)} from {'its' if len(restored) == 1 else 'their'} own files ({names})"
    said += f"; missing: {', '.join(found.missing)}" if found.missing else "; nothing is missing"
    return f"{said}; the damaged file is kept as {kept}"


# ── rows that are missing ───────────────────────────────────────────────────────────────────────────────────────


def restore(store: Store) -> list[Agent]:
    """Rows for agents that have a folder but no row."""
    found = [copy for copy in copies.read_all(path_of_agents(store.path)) if _is_sound(copy)]
    if not found:
        return []
    with store.transaction():
        known = {agent.id for agent in store.agents()}
        lost = [(as_killed(copy.agent), copy) for copy in found if copy.agent.id not in known]
        for agent, copy in lost:
            store.add_batch(copy.batch, copy.project_name, [(agent, copy.intent)])
        for receipt in _receipts((), {agent.id for agent, _ in lost}, path_of_agents(store.path)):
            store.set_receipt(
                receipt.id, receipt.agent, receipt.text, receipt.state, receipt.reason, receipt.at
            )
    return [agent for agent, _ in lost]


def as_killed(agent: Agent) -> Agent:
    """The agent as its folder shows it: a worktree in the trash, or the mark of its kill, tells of that."""
    mark = read_record(paths.killed(agent.id), Killed)
    waiting = paths.trash(Path(agent.worktree).parent)
    # A record in the trash that cannot be read must not keep the agents from being found again.
    with contextlib.suppress(FleetError):
        for entry in git.trashed(waiting) if waiting.is_dir() else ():
            if entry.original == Path(agent.worktree) or entry.bears(f"-{agent.id}"):
                at = mark.at if mark is not None else entry.at
                return replace(agent, status=Status.KILLED, trash=str(entry.path), ended_at=at)
    return agent if mark is None else replace(agent, status=Status.KILLED, ended_at=mark.at)
