"""The tables of a review: files marked as reviewed, and comments on lines of an agent's work.

A path may hold bytes that are no UTF-8, which a column cannot: such a path is stored as JSON behind a slash, with which
no path in a repository begins.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fleet_tui.errors import NotFound
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import ReceiptState
from fleet_tui.store import row_decoder
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.sqlite import SqliteDatabase
from fleet_tui.work import ReviewComment

_COMMENTS = """
select review_comment.*, coalesce(receipt.state, '') as receipt_state
from review_comment left join receipt on receipt.id = review_comment.receipt
"""
_ADD = """
insert into review_comment (id, agent, path, side, first, last, against, quoted, before, after, text, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_LISTS = ("quoted", "before", "after")


@dataclass(frozen=True, slots=True)
class StoredComment:
    """A comment with the lines around it, by which its place is found again."""

    comment: ReviewComment
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class ReviewTables:
    def __init__(self, db: SqliteDatabase, journal: JournalTable) -> None:
        self._db = db
        self._journal = journal

    # ── reviewed files ──

    def reviewed(self, agent_id: str) -> dict[str, str]:
        """The content that was reviewed, by path."""
        rows = self._db.rows("select * from reviewed_file where agent = ?", (agent_id,))
        found = row_decoder.valid_rows(rows, lambda row: row_decoder.work_row("reviewed_file", row))
        return {_shown_path(row["path"]): row["content"] for row in found}

    def mark(self, agent_id: str, path: str, content: str, at: float) -> None:
        """Call inside a transaction."""
        self._db.execute(
            "insert into reviewed_file (agent, path, content, at) values (?, ?, ?, ?) "
            "on conflict (agent, path) do update set content = excluded.content, at = excluded.at",
            (agent_id, _stored_path(path), content, at),
        )
        self._journal.add(at, agent_id, "file-reviewed", {"path": path, "content": content})

    def unmark(self, agent_id: str, path: str, at: float) -> None:
        """Call inside a transaction."""
        gone = self._db.execute(
            "delete from reviewed_file where agent = ? and path = ?", (agent_id, _stored_path(path))
        )
        if gone.rowcount:
            self._journal.add(at, agent_id, "file-unreviewed", {"path": path})

    # ── comments ──

    def comments(self, agent_id: str) -> list[StoredComment]:
        """The comments on an agent's work, oldest first."""
        rows = self._db.rows(f"{_COMMENTS} where review_comment.agent = ? order by created_at", (agent_id,))
        return row_decoder.valid_rows(rows, _comment)

    def comment(self, agent_id: str, comment_id: str) -> ReviewComment:
        for one in self.comments(agent_id):
            if one.comment.id == comment_id:
                return one.comment
        raise NotFound(
            f"there is no comment {comment_id!r}", hint="fleet comments AGENT lists them with their ids"
        )

    def add(self, new: StoredComment) -> None:
        """Call inside a transaction."""
        one = new.comment
        values = (
            *(one.id, one.agent, _stored_path(one.path), one.side, one.first, one.last, one.against),
            *(json.dumps(lines) for lines in (one.quoted, new.before, new.after)),
            *(one.text, one.created_at),
        )
        self._db.execute(_ADD, values)
        self._journal.add(one.created_at, one.agent, "comment-added", {"id": one.id, "path": one.path})

    def reword(self, one: ReviewComment, text: str, at: float) -> None:
        """Call inside a transaction."""
        self._db.execute("update review_comment set text = ? where id = ?", (text, one.id))
        self._journal.add(at, one.agent, "comment-changed", {"id": one.id})

    def delete(self, one: ReviewComment, at: float) -> None:
        """Call inside a transaction."""
        self._db.execute("delete from review_comment where id = ?", (one.id,))
        self._journal.add(at, one.agent, "comment-deleted", {"id": one.id})

    def sent(self, comments: Sequence[ReviewComment], number: int, receipt: str, at: float) -> None:
        """Record that these comments were sent together. Call inside a transaction."""
        for one in comments:
            self._db.execute(
                "update review_comment set round = ?, sent_at = ?, receipt = ?, handled_at = null where id = ?",
                (number, at, receipt, one.id),
            )
            self._journal.add(
                at, one.agent, "comment-sent", {"id": one.id, "round": number, "receipt": receipt}
            )

    def moved(self, one: ReviewComment, first: int, last: int) -> None:
        """Record where the lines of a comment are now. Call inside a transaction."""
        self._db.execute("update review_comment set first = ?, last = ? where id = ?", (first, last, one.id))

    def handled(self, one: ReviewComment, at: float) -> None:
        """Record that the lines of a sent comment have changed. Call inside a transaction."""
        done = self._db.execute(
            "update review_comment set handled_at = ? where id = ? and handled_at is null", (at, one.id)
        )
        if done.rowcount:
            self._journal.add(at, one.agent, "comment-handled", {"id": one.id})


def _comment(row: row_decoder.StoredRow) -> StoredComment:
    values = row_decoder.work_row("review_comment", row)
    lists = {name: _lines(values.pop(name), name) for name in _LISTS}
    if values["side"] not in ("old", "new"):
        raise row_decoder.DamagedRow("side")
    state = row["receipt_state"]
    values["path"] = _shown_path(values["path"])
    values["receipt_state"] = state if state in frozenset(ReceiptState) else ""
    return StoredComment(ReviewComment(**values, quoted=lists["quoted"]), lists["before"], lists["after"])


def _lines(column: str, name: str) -> tuple[str, ...]:
    try:
        found: Any = json.loads(column)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(line, str) for line in found):
        raise row_decoder.DamagedRow(name)
    return tuple(found)


def _stored_path(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        return "/" + json.dumps(path)
    return path


def _shown_path(stored: str) -> str:
    if not stored.startswith("/"):
        return stored
    try:
        return str(json.loads(stored[1:]))
    except ValueError:
        raise row_decoder.DamagedRow("path") from None
