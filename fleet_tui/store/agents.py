"""The agent table: agents with their launch intents, and the copies of their rows in the agents' own folders."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from fleet_tui.errors import NotFound, StoreDamaged
from fleet_tui.fast_dataclasses import fields
from fleet_tui.models import ENDED, Agent, Batch, Status
from fleet_tui.store import row_decoder
from fleet_tui.store.failures import REPAIR
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.sqlite import SqliteDatabase, listed

COLUMNS = [field.name for field in fields(Agent)]

_NAMES = ", ".join(f"agent.{name}" for name in COLUMNS)
_HAS_ENDED = f"status in ({listed(ENDED)})"
_SELECT = f"select {_NAMES} from agent"  # noqa: S608 - column names of our own
_SELECT_LIVE = f"select {_NAMES}, events_read from agent where not {_HAS_ENDED}"  # noqa: S608 - names and constants
_SELECT_ALL = f"""
select {_NAMES}, intent, intent = '' or json_valid(intent) as has_valid_intent from agent order by rowid
"""  # noqa: S608 - column names of our own
_SELECT_FOR_COPY = f"""
select {_NAMES}, intent, project.name as project_name, batch.prompt as batch_prompt, batch.created_at as batch_created_at
from agent left join project on project.root = agent.project
left join batch on batch.project = agent.project and batch.id = agent.batch
where agent.id in (select value from json_each(?))
"""  # noqa: S608 - column names of our own
_INSERT = f"insert into agent ({', '.join(COLUMNS)}, intent) values ({'?, ' * len(COLUMNS)}?)"  # noqa: S608 - column names of our own


class AgentTable:
    def __init__(self, db: SqliteDatabase, journal: JournalTable) -> None:
        self._db = db
        self._journal = journal
        self._decoded: dict[Any, tuple[tuple[Any, ...], Agent]] = {}
        """The agents that were read last, by id, with the columns that each was decoded from."""
        self._to_copy: set[str] = set()
        """Agents whose copied columns the open transaction has changed."""

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, agent_id: str) -> Agent:
        row = next(iter(self._db.rows(f"{_SELECT} where id = ?", (agent_id,))), None)
        if row is None:
            raise NotFound(f"no agent with the id {agent_id!r}", hint="list all agents with: fleet list -a")
        try:
            return self._decode(row)
        except row_decoder.DamagedRow as error:
            raise StoreDamaged(
                f"the store's record of {row_decoder.label(row)} is damaged: {error}", hint=REPAIR
            ) from error

    def all(self, project: str | None = None) -> list[Agent]:
        """All agents, or those of one project, oldest first; without damaged ones."""
        where, values = (" where project = ?", (project,)) if project is not None else ("", ())
        return self._valid(self._db.rows(f"{_SELECT}{where} order by created_at, rowid", values))

    def all_and_damaged(self) -> tuple[list[Agent], list[str]]:
        """All agents, oldest first, and the labels of those whose rows are damaged."""
        rows = self._db.rows(f"{_SELECT} order by created_at, rowid")
        agents = self._valid(rows)
        known = {agent.id for agent in agents}
        return agents, [row_decoder.label(row) for row in rows if row["id"] not in known]

    def live(self) -> list[tuple[Agent, int]]:
        """Agents that have not ended, each with the read offset of its events."""
        rows = self._db.rows(_SELECT_LIVE)
        return row_decoder.valid_rows(
            rows, lambda row: (self._decode(row), row_decoder.offset(row["events_read"]))
        )

    def at(self, worktrees: Collection[str], ids: Collection[str]) -> list[Agent]:
        """The agents that have one of these worktrees or one of these ids."""
        folders, names = (", ".join("?" for _ in values) for values in (worktrees, ids))
        rows = self._db.rows(
            f"{_SELECT} where worktree in ({folders}) or id in ({names})", (*worktrees, *ids)
        )
        return self._valid(rows)

    def without_conversation(self, ended_since: float) -> list[Agent]:
        """Agents whose conversation id, which their program chooses, is not known yet; of the ended ones only those
        that ended since then."""
        rows = self._db.rows(
            f"{_SELECT} where session_id = '' "
            "and case when json_valid(intent) then json_extract(intent, '$.captures_since') end "
            f"and (not {_HAS_ENDED} or ended_at >= ?)",
            (ended_since,),
        )
        return self._valid(rows)

    def damaged(self) -> list[str]:
        """The agents whose row or intent is damaged, by name as far as that can be read."""
        found = []
        for row in self._db.rows(_SELECT_ALL):
            with contextlib.suppress(row_decoder.DamagedRow):
                self._decode(row)
                if row["has_valid_intent"] and isinstance(row["intent"], str):
                    continue
            found.append(row_decoder.label(row))
        return found

    def is_empty(self) -> bool:
        """Whether the table has no row, as in a new file."""
        return not self._db.rows("select 1 from agent limit 1")

    def intent(self, agent_id: str) -> dict[str, Any]:
        """The launch intent of an agent; empty when it is unknown or damaged."""
        rows = self._db.rows("select intent from agent where id = ?", (agent_id,))
        found = row_decoder.valid_rows(rows, lambda row: row_decoder.intent(row["intent"]))
        return found[0] if found else {}

    def git_dirs(self, agents: Sequence[Agent]) -> dict[str, Path]:
        """The git folder of each agent's repository, as of its creation or last repair, by agent id."""
        rows = self._db.rows(
            "select id, case when json_valid(intent) then json_extract(intent, '$.git_dir') end as git_dir "
            "from agent where id in (select value from json_each(?))",
            (json.dumps([agent.id for agent in agents]),),
        )
        return {
            row["id"]: Path(row["git_dir"])
            for row in rows
            if row["git_dir"] and isinstance(row["git_dir"], str)
        }

    def taken_names(self, project: str, names: Sequence[str]) -> list[str]:
        """Which of these names an agent of the project has; those of killed and failed agents are free again."""
        rows = self._db.rows(
            "select distinct name from agent where project = ? and name in (select value from json_each(?)) "
            "and status not in ('killed', 'failed')",
            (project, json.dumps(names)),
        )
        return [row["name"] for row in rows]

    def used_ports(self) -> set[int]:
        """The first ports of the port ranges of all living agents."""
        rows = self._db.rows(f"select port_base from agent where not {_HAS_ENDED}")  # noqa: S608 - constants
        return {row["port_base"] for row in rows if isinstance(row["port_base"], int)}

    def _valid(self, rows: Sequence[sqlite3.Row]) -> list[Agent]:
        return row_decoder.valid_rows(rows, self._decode)

    def _decode(self, row: sqlite3.Row) -> Agent:
        """Decode a row that begins with COLUMNS. Cached, because decoding costs far more than comparing the columns,
        and a listing reads each row several times, a dashboard continually."""
        values = tuple(row)[: len(COLUMNS)]
        known = self._decoded.get(values[0])
        if known is None or known[0] != values:
            agent = row_decoder.agent(row, is_newer=self._db.is_newer)
            known = self._decoded[values[0]] = values, agent
        return known[1]

    # ── changing, inside a transaction ──────────────────────────────────────────────────────────────────────────

    def add(self, agent: Agent, intent: Mapping[str, Any]) -> None:
        """Add an agent of a batch that exists."""
        row = to_row(agent)
        self._db.execute(_INSERT, (*row.values(), json.dumps(intent)))
        self._journal.add(
            agent.created_at, agent.id, "agent-added", {"name": agent.name, "status": agent.status}
        )
        self._to_copy.add(agent.id)

    def change(self, agent_id: str, at: float, *, only_from: Sequence[Status] = (), **values: Any) -> bool:
        """Set columns and journal the change; False when the agent's status is not one of `only_from`."""
        settings = [f"{name} = ?" for name in values]
        parameters = [row_decoder.encoded(value) for value in values.values()]
        if "status" in values:
            # A repeated status keeps the time at which it was first set.
            settings.append("status_since = case when status = ? then status_since else ? end")
            parameters += [str(values["status"]), at]
        guard = f" and status in ({', '.join('?' * len(only_from))})" if only_from else ""
        cursor = self._db.execute(
            f"update agent set {', '.join(settings)} where id = ?{guard}",  # noqa: S608 - column names come from code
            (*parameters, agent_id, *map(str, only_from)),
        )
        if cursor.rowcount:
            from fleet_tui.store import backup  # deferred: a listing changes nothing

            if not backup.COPIED.isdisjoint(values):
                self._to_copy.add(agent_id)
            shown = {
                name: row_decoder.encoded(value)
                for name, value in values.items()
                if name not in {"intent", "events_read"}
            }
            self._journal.add(at, agent_id, "agent-changed", shown)
        return cursor.rowcount > 0

    def import_events(
        self, agent_id: str, run: int, read_to: int, events: Sequence[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        """Journal a holder's events, each once, and note how far they were read; returns the new ones."""
        fresh = [
            event
            for event in events
            if self._journal.add(
                event["at"], agent_id, event["kind"], event.get("data", {}), run, event["seq"]
            )
        ]
        self._db.execute(
            "update agent set events_read = ? where id = ? and run = ?", (read_to, agent_id, run)
        )
        return fresh

    def begin_transaction(self) -> None:
        self._to_copy.clear()

    def write_copies(self) -> None:
        """Copy the rows that the transaction has changed to the agents' own folders."""
        folder = self._db.path.parent / "agents"
        changed = [agent_id for agent_id in self._to_copy if (folder / agent_id).is_dir()]
        if not changed:
            return
        from fleet_tui.store import backup  # deferred: a listing changes nothing

        for row in self._db.rows(_SELECT_FOR_COPY, (json.dumps(changed),)):
            # Keep the older copy of a damaged row: it is the better of the two.
            with contextlib.suppress(row_decoder.DamagedRow):
                agent = row_decoder.agent(row)
                batch = Batch(
                    agent.batch, agent.project, row["batch_created_at"] or 0.0, row["batch_prompt"] or ""
                )
                intent = row_decoder.intent(row["intent"])
                backup.write(folder, agent, intent, batch, row["project_name"] or "")


def to_row(agent: Agent) -> dict[str, Any]:
    """The columns of an agent, without those that only the store has."""
    values = {name: row_decoder.encoded(getattr(agent, name)) for name in COLUMNS}
    return values | {"evidence": values["evidence"] or ""}
