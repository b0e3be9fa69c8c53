"""The tables of projects and batches: add a batch with its agents, and give a moved project its new root."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fleet_tui.models import Agent, Batch
from fleet_tui.store import row_decoder
from fleet_tui.store.agents import AgentTable
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.sqlite import SqliteDatabase

COLUMNS = ("id", "project", "prompt", "created_at")


class BatchTable:
    def __init__(self, db: SqliteDatabase, journal: JournalTable, agents: AgentTable) -> None:
        self._db = db
        self._journal = journal
        self._agents = agents

    def add(self, batch: Batch, project_name: str, agents: Sequence[tuple[Agent, Mapping[str, Any]]]) -> None:
        """Add a batch and its agents with their intents. Call inside a transaction."""
        self._add_project(batch.project, project_name, batch.created_at)
        added = self._db.execute(
            "insert into batch (id, project, prompt, created_at) values (?, ?, ?, ?) on conflict do nothing",
            (batch.id, batch.project, batch.prompt, batch.created_at),
        )
        if added.rowcount:
            self._journal.add(batch.created_at, "", "batch-added", {"batch": batch.id})
        for agent, intent in agents:
            self._agents.add(agent, intent)

    def all(self) -> list[Batch]:
        rows = self._db.rows("select id, project, created_at, prompt from batch order by created_at")
        return row_decoder.valid_rows(rows, row_decoder.batch)

    def move_project(self, old: str, new: str, *, name: str, git_dir: str, at: float) -> None:
        """Move all agents and batches of a project to another root. Call inside a transaction."""
        self._db.defer_foreign_keys()
        self._add_project(new, name, at)
        self._db.execute(
            "insert into batch (id, project, prompt, created_at) "
            "select id, ?, prompt, created_at from batch where project = ? on conflict do nothing",
            (new, old),
        )
        for agent in self._agents.all(old):
            intent = {**self._agents.intent(agent.id), "repository": new, "git_dir": git_dir}
            self._agents.change(agent.id, at, project=new, intent=json.dumps(intent))
        self._db.execute("delete from batch where project = ?", (old,))
        for table in ("spare", "landing"):
            self._db.execute(f"update {table} set project = ? where project = ?", (new, old))  # noqa: S608 - constants
        self._db.execute("delete from project where root = ?", (old,))

    def _add_project(self, root: str, name: str, at: float) -> None:
        self._db.execute(
            "insert into project (root, name, created_at) values (?, ?, ?) on conflict do nothing",
            (root, name, at),
        )
