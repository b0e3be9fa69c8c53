"""The pull_request table: the request of each agent's branch as last seen, and the rounds of failed checks."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from fleet_tui.fast_dataclasses import asdict
from fleet_tui.store import row_decoder
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.sqlite import SqliteDatabase
from fleet_tui.work import PullRequest

_SEEN = ("url", "number", "state", "checks", "review", "at", "head", "failed", "note")
"""What the host says; the other columns count rounds, and belong to one request."""
_PUT = f"""
insert into pull_request (agent, {", ".join(_SEEN)}, rounds) values (?{", ?" * len(_SEEN)}, 0)
on conflict (agent) do update set {", ".join(f"{name} = excluded.{name}" for name in _SEEN)},
rounds = case when number = excluded.number then rounds else 0 end,
handled = case when number = excluded.number then handled else '' end,
receipt = case when number = excluded.number then receipt else '' end
"""  # noqa: S608 - column names of our own
_CLAIM = """
update pull_request set rounds = rounds + 1, handled = ?, receipt = ''
where agent = ? and number = ? and handled != ? and rounds < ?
"""


class PullRequestTable:
    def __init__(self, db: SqliteDatabase, journal: JournalTable) -> None:
        self._db = db
        self._journal = journal

    def all(self) -> dict[str, PullRequest]:
        """The requests, by agent."""
        decode = functools.partial(row_decoder.work_row, "pull_request")
        found = row_decoder.valid_rows(self._db.rows("select * from pull_request"), decode)
        return {row["agent"]: _request(row) for row in found}

    def put(self, request: PullRequest) -> None:
        """Record what the host says of a request; its rounds stay, unless it is another one. Call inside a transaction."""
        values = {name: row_decoder.encoded(value) for name, value in asdict(request).items()}
        texts = {
            name: row_decoder.storable_text(value) for name, value in values.items() if isinstance(value, str)
        }
        values |= texts
        before = self.all().get(request.agent)
        self._db.execute(_PUT, (request.agent, *(values[name] for name in _SEEN)))
        if before is None or (before.number, before.state) != (request.number, request.state):
            data = {"url": texts["url"], "state": request.state}
            self._journal.add(request.at, request.agent, "pull-request", data)

    def claim_round(self, request: PullRequest, most: int, at: float) -> bool:
        """Begin the round about the request's head; False if it was begun before, or that many have been. Call inside a
        transaction."""
        values = (request.head, request.agent, request.number, request.head, most)
        is_claimed = self._db.execute(_CLAIM, values).rowcount > 0
        if is_claimed:
            self._journal.add(at, request.agent, "pull-request", {"round": request.rounds + 1})
        return is_claimed

    def return_round(self, request: PullRequest) -> None:
        """Undo a claim whose prompt was not sent. Call inside a transaction."""
        self._db.execute(
            "update pull_request set rounds = ?, handled = ? where agent = ? and handled = ?",
            (request.rounds, request.handled, request.agent, request.head),
        )

    def release_round(self, request: PullRequest) -> None:
        """Give up a claim that was never followed by a prompt. Call inside a transaction."""
        self._db.execute(
            "update pull_request set rounds = max(0, rounds - 1), handled = '' "
            "where agent = ? and handled = ? and receipt = ''",
            (request.agent, request.handled),
        )

    def set_receipt(self, request: PullRequest, receipt: str) -> None:
        """Record the prompt that a claimed round was sent with. Call inside a transaction."""
        self._db.execute(
            "update pull_request set receipt = ? where agent = ? and handled = ?",
            (receipt, request.agent, request.head),
        )


def _request(row: Mapping[str, Any]) -> PullRequest:
    return PullRequest(**row)
