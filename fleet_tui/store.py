"""What is true, in one SQLite file per user; the only module with SQL.

Every change is one transaction that also writes a journal line. Readers in other processes notice changes by
`version()`. A store that is locked, damaged or newer than this program is an error, never an empty fleet; a damaged row
is left out and named by `damaged()`, and hides no other. `salvage` reads what is left of a damaged file. A store that
cannot be written, on a full disk say, can still be read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from fleet_tui import copies, reserve, stored
from fleet_tui.errors import NotFound, StoreDamaged, StoreError, StoreUnwritable
from fleet_tui.models import ENDED, OVER, Agent, Batch, FleetState, Prompted, Receipt, Status
from fleet_tui.values import dataclass, field, fields

T = TypeVar("T")

SCHEMA_VERSION = 3
BUSY_SECONDS = 10.0
WAL_PAUSE = 0.01
PRIMARY_CODE = 0xFF
"""SQLite says more in the bits above: that a log is just being recovered, say."""
_UNWRITABLE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
)
NETWORK_FILESYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "sshfs", "fuse.sshfs", "9p", "afs", "ceph"}
)

MIGRATIONS: dict[int, str] = {
    1: """
create table spending (
    agent           text primary key references agent (id),
    input_tokens    integer not null,
    cached_tokens   integer not null,
    output_tokens   integer not null,
    cost            real,
    context_tokens  integer,
    context_limit   integer,
    model           text not null,
    at              real not null,
    cost_before     real not null,
    sources         text not null -- JSON: the files that this was read from, and how far
) strict;
create index if not exists receipt_by_agent on receipt (agent)
""",
    2: "alter table agent add column lost_output integer not null default 0",
}
"""From version N to N + 1: statements that only add. Version 1 is schema.sql.

Each changes the schema: that tells a store of a newer version from one whose version number is damaged.
"""
REPAIR = "run: fleet list --repair"

_COLUMNS = [field.name for field in fields(Agent)]
_SELECT = f"select {', '.join(_COLUMNS)} from agent"  # noqa: S608 - column names of our own
_RECEIPT = "select id, agent, text, state, reason, at from receipt"
_ENDED = ", ".join(f"'{status}'" for status in sorted(ENDED))
_OVER = ", ".join(f"'{state}'" for state in sorted(OVER))


class Store:
    """One connection to the fleet's file. Make a new one in each process: connections do not cross a fork."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS, is_alone: bool = False) -> None:
        self.path = path
        self._is_alone = is_alone
        """The caller already has the file to itself."""
        self._read: dict[Any, tuple[tuple[Any, ...], Agent]] = {}
        """The agents that were read last, by id, with the columns that each was made of."""
        self._changed: set[str] = set()
        """Agents of which the transaction has changed what is copied to their folders."""
        self.is_newer = False
        """The file was written by a newer program: reading works, changing is refused."""
        self._is_frozen = False
        """Opened as a file that does not change: SQLite could not make the files that it needs beside it."""
        self._version = -1
        self._busy_seconds = self._wait_seconds = busy_seconds
        self._files_seen = 0
        self._file: tuple[int, int] | None = None
        """Which file was opened; None while it is not there any more."""
        _refuse_network(path)
        reserve.look_after(path.parent)
        self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        is_frozen = False
        with _as_store_errors(self.path), self._in_place():
            try:
                db = self._connect()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & PRIMARY_CODE not in _UNWRITABLE:
                    raise
                db, is_frozen = self._connect_frozen(error), True
            # Not before: where it cannot be opened, the connection before this one is still in use.
            self._is_frozen = is_frozen
            self._file, self._version = _identity(self.path), -1
        self._files_seen += 1
        return db

    def _connect(self) -> sqlite3.Connection:
        old = os.umask(0o077)
        try:
            db = sqlite3.connect(
                self.path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(db)
            except BaseException:
                db.close()
                raise
        finally:
            os.umask(old)
        return db

    def _connect_frozen(self, why: sqlite3.OperationalError) -> sqlite3.Connection:
        """Read the file alone: a log beside it needs space to be opened, and is written back when it is closed."""
        from urllib.parse import quote

        db = sqlite3.connect(
            f"file:{quote(str(self.path))}?immutable=1",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            db.row_factory = sqlite3.Row
            is_known = db.execute("pragma user_version").fetchone()[0] == SCHEMA_VERSION
        except sqlite3.DatabaseError:
            is_known = False
        if not is_known:
            db.close()
            raise why
        return db

    def refuse_frozen(self) -> None:
        """Raise StoreUnwritable when the store could only be opened for reading and still can only be."""
        if self._is_frozen:
            self._thaw()
        if self._is_frozen:
            if reserve.is_full(self.path.parent):
                raise _full(self.path)
            raise StoreUnwritable(f"the store {self.path} cannot be written", hint="check its permissions")

    def _thaw(self) -> None:
        """Open the store for writing if that has become possible."""
        frozen, self._db = self._db, self._open()
        frozen.close()

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.row_factory = sqlite3.Row
        found = db.execute("pragma user_version").fetchone()[0]
        if found != SCHEMA_VERSION:
            self._migrate(db, found)
        db.execute("pragma synchronous = normal")
        db.execute("pragma foreign_keys = on")

    def _migrate(self, db: sqlite3.Connection, found: int) -> None:
        if found > SCHEMA_VERSION:
            self.is_newer = True
            return
        self._write_ahead(db)
        db.execute("begin immediate")
        found = db.execute("pragma user_version").fetchone()[0]
        _make(db, found)
        db.execute(f"pragma user_version = {SCHEMA_VERSION}")
        db.execute("commit")

    def _write_ahead(self, db: sqlite3.Connection) -> None:
        """Turn the write-ahead log on. SQLite does not wait here for another process that does the same."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                db.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if (
                    error.sqlite_errorcode & PRIMARY_CODE != sqlite3.SQLITE_BUSY
                    or time.monotonic() >= deadline
                ):
                    raise
                time.sleep(WAL_PAUSE)
            else:
                return

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """No other file takes the store's place before the block ends."""
        if self._is_alone:
            yield
        else:
            with _locked(self.path, fcntl.LOCK_SH, self._wait_seconds):
                yield

    # ── transactions ────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def transaction(self, *, uses_reserve: bool = True) -> Iterator[None]:
        """All or nothing. IMMEDIATE, because a transaction that starts as a reader cannot wait to become a writer.

        On a full disk the reserve is given up for it, unless it is about what can be recorded later as well.
        """
        if self.is_newer:
            raise StoreError(
                f"{self.path} was written by a newer fleet-tui, and this one may only read it",
                hint="restart with the newer version",
            )
        reserve.look_after(self.path.parent)
        if uses_reserve:
            reserve.give_up(self.path.parent)
        self.refuse_frozen()
        with _as_store_errors(self.path), self._in_place():
            if self.has_moved and self._file is not None and self.path.exists():
                # It was rebuilt since: what is written to the old file would be lost.
                self._keep_up()
            self._changed.clear()
            self._db.execute("begin immediate")
            try:
                yield
                self._write_copies()
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("rollback")
                raise

    def _write_copies(self) -> None:
        """Copy what has changed of agents to their own folders, from which a damaged store is rebuilt."""
        agents = self.path.parent / "agents"
        changed = [agent_id for agent_id in self._changed if (agents / agent_id).is_dir()]
        if not changed:
            return
        rows = self._rows(
            f"select {', '.join(f'agent.{name}' for name in _COLUMNS)}, intent, project.name as project_name, "  # noqa: S608 - names of our own
            "batch.prompt as batch_prompt, batch.created_at as batch_created_at from agent "
            "left join project on project.root = agent.project "
            "left join batch on batch.project = agent.project and batch.id = agent.batch "
            f"where agent.id in ({', '.join('?' * len(changed))})",
            changed,
        )
        for row in rows:
            # A damaged row is not worth copying: the copy is better.
            with contextlib.suppress(stored.Damaged):
                agent = stored.agent(row)
                batch = Batch(
                    agent.batch, agent.project, row["batch_created_at"] or 0.0, row["batch_prompt"] or ""
                )
                copies.write(agents, agent, stored.intent(row["intent"]), batch, row["project_name"] or "")

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows, also where a text in one of them is no text any more."""
        with _as_store_errors(self.path):
            try:
                return self._db.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                if not str(error).startswith("Could not decode"):
                    raise
                self._db.text_factory = stored.text
                return self._db.execute(statement, values).fetchall()

    def _sound(self, rows: Sequence[sqlite3.Row], read: Callable[[sqlite3.Row], T]) -> list[T]:
        """What the rows are, without the damaged ones."""
        found = []
        for row in rows:
            with contextlib.suppress(stored.Damaged):
                found.append(read(row))
        return found

    def _agent(self, row: sqlite3.Row) -> Agent:
        """The agent of a row that begins with all columns of one. Checking them takes much longer than to see that the
        row is the one that was read before: a listing reads each several times, a dashboard again and again."""
        values = tuple(row)[: len(_COLUMNS)]
        known = self._read.get(values[0])
        if known is None or known[0] != values:
            known = self._read[values[0]] = values, stored.agent(row, is_newer=self.is_newer)
        return known[1]

    @contextmanager
    def waiting_at_most(self, seconds: float) -> Iterator[None]:
        """Inside, give up sooner on a store that another process keeps locked."""
        self._set_timeout(min(seconds, self._busy_seconds))
        try:
            yield
        finally:
            self._set_timeout(self._busy_seconds)

    def _set_timeout(self, seconds: float) -> None:
        self._wait_seconds = seconds
        with _as_store_errors(self.path):
            self._db.execute(f"pragma busy_timeout = {int(seconds * 1000)}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside is of one moment."""
        with _as_store_errors(self.path):
            self._db.execute("begin")
            try:
                yield
            finally:
                self._db.execute("rollback")

    @property
    def has_moved(self) -> bool:
        """Whether the file that was opened is not the one at the path: people are told to move a damaged store away."""
        return _identity(self.path) != self._file

    def _keep_up(self) -> None:
        """Go on with the file that is there now."""
        if not self.has_moved and self._file is not None:
            return
        # As long as anybody holds on to the old file, SQLite takes what is left beside it for a part of the next one.
        self._db.close()
        self._file = None
        if not self.path.exists():
            raise StoreError(
                f"the store {self.path} is not there any more",
                hint="agents are still running; run: fleet list --repair",
            )
        self._db = self._open()

    def version(self) -> int:
        """A number that changes when another connection has changed the store, or another file has taken its place."""
        self._keep_up()
        if self._is_frozen:
            self._thaw()
        with _as_store_errors(self.path):
            found = int(self._db.execute("pragma data_version").fetchone()[0])
            if found != self._version:
                # Whoever has changed it may have been a newer program, and brought it up to its own version.
                self._version = found
                self.is_newer = self._db.execute("pragma user_version").fetchone()[0] > SCHEMA_VERSION
            return (self._files_seen << 40) + found

    def _journal(
        self,
        at: float,
        agent: str,
        kind: str,
        data: Mapping[str, Any],
        run: int | None = None,
        seq: int | None = None,
    ) -> bool:
        cursor = self._db.execute(
            "insert into journal (at, agent, kind, data, run, seq) values (?, ?, ?, ?, ?, ?) on conflict do nothing",
            (at, agent, kind, json.dumps(data), run, seq),
        )
        return cursor.rowcount > 0

    # ── projects, batches, agents ───────────────────────────────────────────────────────────────────────────────

    def add_batch(
        self, batch: Batch, project_name: str, agents: Sequence[tuple[Agent, Mapping[str, Any]]]
    ) -> None:
        """A batch and its agents with their intents; call inside a transaction."""
        self._db.execute(
            "insert into project (root, name, created_at) values (?, ?, ?) on conflict do nothing",
            (batch.project, project_name, batch.created_at),
        )
        added = self._db.execute(
            "insert into batch (id, project, prompt, created_at) values (?, ?, ?, ?) on conflict do nothing",
            (batch.id, batch.project, batch.prompt, batch.created_at),
        )
        if added.rowcount:
            self._journal(batch.created_at, "", "batch-added", {"batch": batch.id})
        for agent, intent in agents:
            self._add_agent(agent, intent)
            self._changed.add(agent.id)

    def _add_agent(self, agent: Agent, intent: Mapping[str, Any]) -> None:
        values = [_to_column(agent, name) for name in _COLUMNS] + [json.dumps(intent)]
        marks = ", ".join("?" * len(values))
        self._db.execute(
            f"insert into agent ({', '.join(_COLUMNS)}, intent) values ({marks})",  # noqa: S608 - names of our own
            values,
        )
        self._journal(agent.created_at, agent.id, "agent-added", {"name": agent.name, "status": agent.status})

    def move_project(self, old: str, new: str, *, name: str, git_dir: str, at: float) -> None:
        """Let all agents and batches of a project belong to another root; call inside a transaction."""
        self._db.execute("pragma defer_foreign_keys = on")
        self._db.execute(
            "insert into project (root, name, created_at) values (?, ?, ?) on conflict do nothing",
            (new, name, at),
        )
        self._db.execute(
            "insert into batch (id, project, prompt, created_at) "
            "select id, ?, prompt, created_at from batch where project = ? on conflict do nothing",
            (new, old),
        )
        for agent in self.agents(old):
            intent = {**self.intent(agent.id), "repository": new, "git_dir": git_dir}
            self.change(agent.id, at, project=new, intent=json.dumps(intent))
        self._db.execute("delete from batch where project = ?", (old,))
        self._db.execute("delete from project where root = ?", (old,))

    def taken_names(self, project: str, names: Sequence[str]) -> list[str]:
        """Those names that an agent of the project already has; a killed or failed one has given its name back."""
        marks = ", ".join("?" * len(names))
        rows = self._rows(
            f"select distinct name from agent where project = ? and name in ({marks}) "  # noqa: S608 - marks only
            "and status not in ('killed', 'failed')",
            (project, *names),
        )
        return [row["name"] for row in rows]

    def used_ports(self) -> set[int]:
        rows = self._rows(f"select port_base from agent where status not in ({_ENDED})")  # noqa: S608 - constants
        return {row["port_base"] for row in rows if isinstance(row["port_base"], int)}

    def agents(self, project: str | None = None) -> list[Agent]:
        where, values = (" where project = ?", (project,)) if project is not None else ("", ())
        return self._sound(self._rows(f"{_SELECT}{where} order by created_at, rowid", values), self._agent)

    def damaged(self) -> list[str]:
        """The agents whose rows cannot be what was written, by name as far as that can be read."""
        rows = self._rows(
            f"select {', '.join(_COLUMNS)}, intent, intent = '' or json_valid(intent) as is_intended "  # noqa: S608 - names of our own
            "from agent order by rowid"
        )
        found = []
        for row in rows:
            with contextlib.suppress(stored.Damaged):
                self._agent(row)
                if row["is_intended"] and isinstance(row["intent"], str):
                    continue
            found.append(stored.label(row))
        return found

    def is_empty(self) -> bool:
        """No agent was ever added, or the file is not the one that they were added to."""
        with _as_store_errors(self.path):
            return self._db.execute("select 1 from agent limit 1").fetchone() is None

    def agent(self, agent_id: str) -> Agent:
        row = next(iter(self._rows(f"{_SELECT} where id = ?", (agent_id,))), None)
        if row is None:
            raise NotFound(f"no agent with the id {agent_id!r}", hint="fleet list -a shows all of them")
        try:
            return self._agent(row)
        except stored.Damaged as error:
            raise StoreDamaged(
                f"the store's record of {stored.label(row)} is damaged: {error}", hint=REPAIR
            ) from error

    def live(self) -> list[tuple[Agent, int]]:
        """Agents that have not ended, each with how much of its events was taken over."""
        rows = self._rows(
            f"select {', '.join(_COLUMNS)}, events_read from agent "  # noqa: S608 - names and constants of our own
            f"where status not in ({_ENDED})"
        )
        return self._sound(rows, lambda row: (self._agent(row), stored.offset(row["events_read"])))

    def without_conversation(self, ended_since: float) -> list[Agent]:
        """Agents whose program chooses the id of its conversation and has not been seen to; of those that have
        ended, the latest."""
        rows = self._rows(
            f"{_SELECT} where session_id = '' "
            "and case when json_valid(intent) then json_extract(intent, '$.captures_since') end "
            f"and (status not in ({_ENDED}) or ended_at >= ?)",
            (ended_since,),
        )
        return self._sound(rows, self._agent)

    def intent(self, agent_id: str) -> dict[str, Any]:
        """What the launcher was to make; empty where that is not known, or cannot be read any more."""
        rows = self._rows("select intent from agent where id = ?", (agent_id,))
        found = self._sound(rows, lambda row: stored.intent(row["intent"]))
        return found[0] if found else {}

    def agents_at(self, worktrees: Collection[str], ids: Collection[str]) -> list[Agent]:
        """The agents whose worktree is one of these folders, or who have one of these ids."""
        folders, names = (", ".join("?" for _ in values) for values in (worktrees, ids))
        rows = self._rows(f"{_SELECT} where worktree in ({folders}) or id in ({names})", (*worktrees, *ids))
        return self._sound(rows, self._agent)

    def git_dirs(self, agents: Sequence[Agent]) -> dict[str, Path]:
        """The repository's git folder of each agent, as it was when the agent was made or last repaired."""
        rows = self._rows(
            "select id, case when json_valid(intent) then json_extract(intent, '$.git_dir') end as git_dir "
            "from agent where id in (select value from json_each(?))",
            (json.dumps([agent.id for agent in agents]),),
        )
        return {
            row["id"]: Path(row["git_dir"])
            for row in rows
            if row["git_dir"] and isinstance(row["git_dir"], str)
        }

    def state(self) -> FleetState:
        """All that a face shows, of one moment."""
        with self.reading():
            batches = self._rows("select id, project, created_at, prompt from batch order by created_at")
            last = self._rows("select coalesce(max(id), 0) from journal")[0][0]
            rows = self._rows(f"{_SELECT} order by created_at, rowid")
            agents = self._sound(rows, self._agent)
            known = {agent.id for agent in agents}
            damaged = [stored.label(row) for row in rows if row["id"] not in known]
            return FleetState(
                tuple(agents),
                tuple(self._sound(batches, stored.batch)),
                int(last),
                self.prompted(),
                tuple(damaged),
            )

    def projects(self) -> dict[str, str]:
        """Root → name."""
        return {row["root"]: row["name"] for row in self._rows("select root, name from project")}

    # ── changes ─────────────────────────────────────────────────────────────────────────────────────────────────

    def change(self, agent_id: str, at: float, *, only_from: Sequence[Status] = (), **values: Any) -> bool:
        """Set columns of one agent and journal it; False when its status was not one of `only_from`."""
        settings = [f"{name} = ?" for name in values]
        parameters = [stored.plain(value) for value in values.values()]
        if "status" in values:
            # A status that is said again has lasted since it was first said.
            settings.append("status_since = case when status = ? then status_since else ? end")
            parameters += [str(values["status"]), at]
        guard = f" and status in ({', '.join('?' * len(only_from))})" if only_from else ""
        cursor = self._db.execute(
            f"update agent set {', '.join(settings)} where id = ?{guard}",  # noqa: S608 - names come from code, never from input
            (*parameters, agent_id, *map(str, only_from)),
        )
        if cursor.rowcount:
            if not copies.COPIED.isdisjoint(values):
                self._changed.add(agent_id)
            shown = {
                name: stored.plain(value)
                for name, value in values.items()
                if name not in {"intent", "events_read"}
            }
            self._journal(at, agent_id, "agent-changed", shown)
        return cursor.rowcount > 0

    def take_over(
        self, agent_id: str, run: int, read_to: int, events: Sequence[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        """Journal a holder's events, each once; returns those that were new. Call inside a transaction."""
        fresh = [
            event
            for event in events
            if self._journal(event["at"], agent_id, event["kind"], event.get("data", {}), run, event["seq"])
        ]
        self._db.execute(
            "update agent set events_read = ? where id = ? and run = ?", (read_to, agent_id, run)
        )
        return fresh

    def set_receipt(
        self, receipt_id: str, agent_id: str, text: str, state: str, reason: str, at: float
    ) -> None:
        self._db.execute(
            "insert into receipt (id, agent, text, state, reason, at) values (?, ?, ?, ?, ?, ?) "
            "on conflict (id) do update set state = excluded.state, reason = excluded.reason, at = excluded.at",
            (receipt_id, agent_id, stored.written(text), state, reason, at),
        )
        self._journal(at, agent_id, "receipt", {"id": receipt_id, "state": state, "reason": reason})

    def reword_receipt(self, receipt_id: str, agent_id: str, text: str, at: float) -> None:
        """A prompt that waits was given other words."""
        self._db.execute("update receipt set text = ? where id = ?", (stored.written(text), receipt_id))
        self._journal(at, agent_id, "receipt", {"id": receipt_id, "text": text})

    def move_receipt(self, receipt_id: str, state: str, reason: str, at: float) -> None:
        """What the holder says of a prompt. It only goes forward: news may come by two ways."""
        self._db.execute(
            f"update receipt set state = ?, reason = ?, at = ? where id = ? and {_place('state')} <= {_place('?')}",  # noqa: S608 - constants
            (state, reason, at, receipt_id, state),
        )

    def close_receipts(self, agent_id: str, reason: str, at: float) -> None:
        """No holder is left to bring an agent's prompts forward: what became of those that were submitted is not
        known."""
        self._db.execute(
            "update receipt set state = iif(state in ('typed', 'accepted'), 'unknown', 'refused'), reason = ?, at = ? "  # noqa: S608 - constants
            f"where agent = ? and state not in ({_OVER}) and not (state = 'typed' and reason != '')",
            (reason, at, agent_id),
        )

    def receipt(self, receipt_id: str) -> Receipt:
        rows = self._rows(f"{_RECEIPT} where id = ?", (receipt_id,))
        found = self._sound(rows, stored.receipt)
        if not found:
            raise NotFound(f"no prompt {receipt_id!r}", hint="fleet prompt says the id of each")
        return found[0]

    def prompted(self) -> dict[str, Prompted]:
        """What became of the prompts of each living agent."""
        # With one max() in a query, SQLite takes plain columns from the row that has it.
        rows = self._rows(
            "select receipt.agent, sum(receipt.state = 'queued') as queued, receipt.state, receipt.reason, "  # noqa: S608 - constants
            "(select first.reason from receipt as first where first.agent = receipt.agent "
            "and first.state = 'queued' order by first.rowid limit 1) as waits, max(receipt.rowid) "
            "from receipt join agent on agent.id = receipt.agent "
            f"where agent.status not in ({_ENDED}) group by receipt.agent"
        )
        return {
            row["agent"]: Prompted(row["queued"], row["state"], row["reason"], row["waits"] or "")
            for row in rows
            if row["state"] in stored.RECEIPT_STATES
            and isinstance(row["reason"], str)
            and isinstance(row["waits"], str | None)
        }

    def receipts(self, agent_id: str, limit: int = 100) -> list[Receipt]:
        """The newest prompts of an agent, oldest first."""
        rows = self._rows(f"{_RECEIPT} where agent = ? order by rowid desc limit ?", (agent_id, limit))
        return self._sound(rows[::-1], stored.receipt)

    def spending(self) -> dict[str, dict[str, Any]]:
        """What was last read of each agent's spending."""
        found = self._sound(self._rows("select * from spending"), stored.spending)
        return {row["agent"]: row for row in found}

    def set_spending(self, agent_id: str, values: Mapping[str, Any]) -> None:
        """Keep what was read; not journaled, since it can be read again from where it came."""
        self._db.execute(
            f"insert or replace into spending (agent, {', '.join(values)}) "  # noqa: S608 - names come from code, never from input
            f"values (?{', ?' * len(values)})",
            (agent_id, *values.values()),
        )

    def journal(self, since: int, limit: int = 1000) -> list[dict[str, Any]]:
        rows = self._rows("select * from journal where id > ? order by id limit ?", (since, limit))
        return [
            {name: line[name] for name in ("id", "at", "agent", "kind")} | {"data": json.loads(line["data"])}
            for line in self._sound(rows, stored.journal_line)
        ]

    def moved_since(self, journal_id: int) -> frozenset[str]:
        """The agents whose status was written after that line of the journal."""
        rows = self._rows(
            "select distinct agent from journal where id > ? and kind in ('agent-changed', 'agent-added') "
            "and case when json_valid(data) then json_extract(data, '$.status') end is not null",
            (journal_id,),
        )
        return frozenset(row["agent"] for row in rows)

    def prune_journal(self, before: float) -> None:
        """Forget what happened long ago, of agents that have ended since."""
        with self.transaction():
            self._db.execute(
                f"delete from journal where at < ? and agent not in (select id from agent where status not in ({_ENDED}))",  # noqa: S608 - constants
                (before,),
            )

    def check(self) -> list[str]:
        """What is wrong with the file or with a row in it; empty when sound."""
        found = [row[0] for row in self._rows("pragma integrity_check(10)")]
        if found != ["ok"]:
            return [str(one) for one in found]
        problems = []
        for table, read in _READ.items():
            damaged = 0
            for row in self._rows(f"select * from {table}"):  # noqa: S608 - constants
                try:
                    read(row)
                except stored.Damaged:
                    damaged += 1
            if damaged:
                problems.append(f"{damaged} damaged in {table}")
        if self._rows("pragma foreign_key_check"):
            problems.append("rows that belong to nothing")
        return problems

    def has_own_schema(self) -> bool:
        """Whether this version made the tables, whatever the file says about its version."""
        with contextlib.closing(sqlite3.connect(":memory:")) as own:
            own.row_factory = sqlite3.Row
            _make(own, 0)
            expected = {row["sql"] for row in own.execute(_SCHEMA)}
        return {row["sql"] for row in self._rows(_SCHEMA)} == expected

    # ── rebuilding ──────────────────────────────────────────────────────────────────────────────────────────────

    def fill(self, contents: Contents) -> None:
        """Put in all that was read from another file; call inside a transaction, of a new store."""
        for project in contents.projects:
            self._insert("project", project)
        for batch in contents.batches:
            self._insert(
                "batch", {name: getattr(batch, name) for name in ("id", "project", "prompt", "created_at")}
            )
        for agent, intent, read_to in contents.agents:
            row = {name: _to_column(agent, name) for name in _COLUMNS}
            self._insert("agent", row | {"intent": json.dumps(intent), "events_read": read_to})
        for receipt in contents.receipts:
            self._insert(
                "receipt",
                {name: getattr(receipt, name) for name in ("id", "agent", "text", "state", "reason", "at")},
            )
        for line in contents.journal:
            self._insert("journal", line)
        for spent in contents.spending:
            self._insert("spending", spent)
        self._db.execute("delete from sqlite_sequence where name = 'journal'")
        self._db.execute(
            "insert into sqlite_sequence (name, seq) values ('journal', ?)", (contents.journal_end,)
        )

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        self._db.execute(
            f"insert into {table} ({', '.join(row)}) values ({', '.join('?' * len(row))}) on conflict do nothing",  # noqa: S608 - names of our own
            tuple(row.values()),
        )


@dataclass(frozen=True, slots=True)
class Contents:
    """All that is sound in a store."""

    projects: list[dict[str, Any]] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    agents: list[tuple[Agent, dict[str, Any], int]] = field(default_factory=list)
    """Each with its intent, and how much of its events was taken over."""
    receipts: list[Receipt] = field(default_factory=list)
    journal: list[dict[str, Any]] = field(default_factory=list)
    spending: list[dict[str, Any]] = field(default_factory=list)
    journal_end: int = 0
    """The number of the last line of the journal: readers remember it, and the next one has to be higher."""
    unreadable: frozenset[str] = frozenset()
    """Tables that could not be read to their end."""
    damaged: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each table were left out."""


def _stored_agent(row: sqlite3.Row) -> tuple[Agent, dict[str, Any], int]:
    return stored.agent(row), stored.intent(row["intent"]), stored.offset(row["events_read"])


_READ: dict[str, Callable[[sqlite3.Row], Any]] = {
    "project": stored.project,
    "batch": stored.batch,
    "agent": _stored_agent,
    "receipt": stored.receipt,
    "journal": stored.journal_line,
    "spending": stored.spending,
}
"""The tables, parents before children."""
_SCHEMA = "select sql from sqlite_master where sql is not null and name not like 'sqlite_%'"


def salvage(path: Path) -> Contents:
    """Read what is sound in a damaged file: every row that can be reached, from both ends of each table."""
    read: dict[str, list[Any]] = {table: [] for table in _READ}
    damaged: dict[str, int] = {}
    unreadable: set[str] = set()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.row_factory, db.text_factory = sqlite3.Row, stored.text
        for table, parse in _READ.items():
            rows: dict[int, sqlite3.Row] = {}
            for order in ("asc", "desc"):
                try:
                    for row in db.execute(f"select rowid as place, * from {table} order by rowid {order}"):  # noqa: S608 - constants
                        rows[row["place"]] = row
                except (sqlite3.Error, MemoryError, UnicodeDecodeError):
                    unreadable.add(table)
                else:
                    break
            for place in sorted(rows):
                try:
                    read[table].append(parse(rows[place]))
                except stored.Damaged:
                    damaged[table] = damaged.get(table, 0) + 1
    lines = read["journal"]
    is_whole = "journal" not in unreadable
    return Contents(
        read["project"], read["batch"], read["agent"], read["receipt"], lines, read["spending"],
        # Seconds since 1970 are more than any store has had lines.
        max((line["id"] for line in lines), default=0) if is_whole else int(time.time()),
        frozenset(unreadable), damaged,
    )  # fmt: skip


@contextmanager
def alone(path: Path, seconds: float) -> Iterator[None]:
    """Keep every other process from opening and changing the store until the block ends."""
    with _locked(path, fcntl.LOCK_EX, seconds):
        yield


@contextmanager
def _locked(path: Path, how: int, seconds: float) -> Iterator[None]:
    try:
        descriptor = os.open(path.with_name("store.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        # Where no file can be made, none can take the store's place.
        yield
        return
    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise _kept_locked(path) from None
                time.sleep(WAL_PAUSE)
        yield
    finally:
        # A process forked meanwhile has the descriptor too, and must not keep the lock.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _make(db: sqlite3.Connection, found: int) -> None:
    """Bring a file of some version up to this one."""
    if found == 0:
        script = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
        for statement in _statements(script):
            db.execute(statement)
        found = 1
    while found < SCHEMA_VERSION:
        for statement in _statements(MIGRATIONS[found]):
            db.execute(statement)
        found += 1


def _place(state: str) -> str:
    """How far along a prompt's state is, as SQL."""
    return f"case {state} when 'queued' then 0 when 'typed' then 1 when 'accepted' then 2 else 3 end"


def _statements(script: str) -> Iterator[str]:
    text = "\n".join(line.split("--")[0] for line in script.splitlines())
    return (part.strip() for part in text.split(";") if part.strip())


def _to_column(agent: Agent, name: str) -> Any:
    value = getattr(agent, name)
    return "" if name == "evidence" and value is None else stored.plain(value)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _as_store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise StoreError(f"the store {path} is not open any more", hint="try again") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # Not even the name of a column, or what SQLite says about it, has to be text.
        text = str(error) if isinstance(error, sqlite3.Error) else "its schema cannot be read"
        # Python's own errors, of text that is none say, have no code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        primary = code & PRIMARY_CODE
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise _kept_locked(path) from error
        if primary == sqlite3.SQLITE_FULL or (
            primary == sqlite3.SQLITE_IOERR and reserve.is_full(path.parent)
        ):
            raise _full(path) from error
        if primary in _NOT_THE_FILE and code != sqlite3.SQLITE_IOERR_SHORT_READ:
            raise StoreUnwritable(
                f"the store {path} cannot be written: {text}", hint="check space and permissions"
            ) from error
        raise StoreDamaged(
            f"the store {path} is damaged: {text}", hint=f"agents are still running; {REPAIR}"
        ) from error


def _kept_locked(path: Path) -> StoreUnwritable:
    return StoreUnwritable(f"the store {path} stayed locked by another process", hint="try again in a moment")


def _full(path: Path) -> StoreUnwritable:
    return StoreUnwritable(f"the disk is full: cannot write {path}", hint="make room on it")


_NOT_THE_FILE = frozenset(
    {
        sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
    }
)  # fmt: skip


def _refuse_network(path: Path) -> None:
    """SQLite's locks do not hold on a network filesystem."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    folder = os.path.realpath(path.parent)
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    if kind in NETWORK_FILESYSTEMS:
        raise StoreError(
            f"the store's folder {folder} is on a network filesystem ({kind})",
            hint="set XDG_STATE_HOME to a local folder",
        )
