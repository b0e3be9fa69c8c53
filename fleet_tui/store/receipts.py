"""The receipt table: how far each prompt got on its way into an agent."""

from __future__ import annotations

from fleet_tui.errors import NotFound
from fleet_tui.models import ENDED, FINAL_STATES, PromptSummary, Receipt
from fleet_tui.store import row_decoder
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.sqlite import SqliteDatabase, listed

COLUMNS = ("id", "agent", "text", "state", "reason", "at")

_SELECT = f"select {', '.join(COLUMNS)} from receipt"  # noqa: S608 - column names of our own
_ORDER = "case {} when 'queued' then 0 when 'typed' then 1 when 'accepted' then 2 else 3 end"
"""How far along a state is."""
_ADVANCE = f"""
update receipt set state = ?, reason = ?, at = ? where id = ? and agent = ? and {_ORDER.format("state")} <= {_ORDER.format("?")}
"""  # noqa: S608 - constants
_CLOSE = f"""
update receipt set state = case when state in ('typed', 'accepted') then 'unknown' else 'refused' end, reason = ?, at = ?
where agent = ? and state not in ({listed(FINAL_STATES)}) and not (state = 'typed' and reason != '')
"""  # noqa: S608 - constants
# With one max() in a query, SQLite takes the other columns from the row that has the maximum.
_SUMMARIES = f"""
select receipt.agent, sum(receipt.state = 'queued') as queued, receipt.state, receipt.reason,
(select first.reason from receipt as first where first.agent = receipt.agent
and first.state = 'queued' order by first.rowid limit 1) as waits, max(receipt.rowid)
from receipt join agent on agent.id = receipt.agent
where agent.status not in ({listed(ENDED)}) group by receipt.agent
"""  # noqa: S608 - constants


class ReceiptTable:
    def __init__(self, db: SqliteDatabase, journal: JournalTable) -> None:
        self._db = db
        self._journal = journal

    def put(self, receipt_id: str, agent_id: str, text: str, state: str, reason: str, at: float) -> None:
        """Add a receipt, or set the state of one that exists. Call inside a transaction."""
        self._db.execute(
            "insert into receipt (id, agent, text, state, reason, at) values (?, ?, ?, ?, ?, ?) "
            "on conflict (id) do update set state = excluded.state, reason = excluded.reason, at = excluded.at",
            (receipt_id, agent_id, row_decoder.storable_text(text), state, reason, at),
        )
        self._journal.add(at, agent_id, "receipt", {"id": receipt_id, "state": state, "reason": reason})

    def reword(self, receipt_id: str, agent_id: str, text: str, at: float) -> None:
        """Change the text of a queued prompt. Call inside a transaction."""
        self._db.execute(
            "update receipt set text = ? where id = ?", (row_decoder.storable_text(text), receipt_id)
        )
        self._journal.add(at, agent_id, "receipt", {"id": receipt_id, "text": text})

    def advance(self, receipt_id: str, agent_id: str, state: str, reason: str, at: float) -> None:
        """Set the state that an agent's holder reports, never back to an earlier one: reports arrive by two paths, in any
        order. Ignores receipts of other agents. Call inside a transaction."""
        self._db.execute(_ADVANCE, (state, reason, at, receipt_id, agent_id, state))

    def close(self, agent_id: str, reason: str, at: float) -> None:
        """End the receipts of an agent without a holder: queued prompts were refused, the outcome of submitted ones is
        unknown. Call inside a transaction."""
        self._db.execute(_CLOSE, (reason, at, agent_id))

    def get(self, receipt_id: str) -> Receipt:
        rows = self._db.rows(f"{_SELECT} where id = ?", (receipt_id,))
        found = row_decoder.valid_rows(rows, row_decoder.receipt)
        if not found:
            raise NotFound(f"no prompt {receipt_id!r}", hint="fleet prompt prints the id of each prompt")
        return found[0]

    def of(self, agent_id: str, limit: int = 100) -> list[Receipt]:
        """The newest receipts of an agent, oldest first."""
        rows = self._db.rows(f"{_SELECT} where agent = ? order by rowid desc limit ?", (agent_id, limit))
        return row_decoder.valid_rows(rows[::-1], row_decoder.receipt)

    def summaries(self) -> dict[str, PromptSummary]:
        """A summary of the prompts of each living agent, by its id."""
        return {
            row["agent"]: PromptSummary(row["queued"], row["state"], row["reason"], row["waits"] or "")
            for row in self._db.rows(_SUMMARIES)
            if row["state"] in row_decoder.RECEIPT_STATES
            and isinstance(row["reason"], str)
            and isinstance(row["waits"], str | None)
        }
