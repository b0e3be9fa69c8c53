"""What a review knows: the diff, the lines of files that were looked at, what was read, the comments.

Asks the worker for all of it. Keeps no widget; the screen draws from here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fleet_tui.models import Agent, Receipt
from fleet_tui.tui.review.file_rows import FileMarks, in_order
from fleet_tui.work import ChangedFile, CheckRun, Diff, FileDiff, ReviewComment, Side

KEPT = 24
"""Files whose lines are kept."""
AROUND, WHOLE = 3, -1
"""Unchanged lines around changed ones; all lines of the file."""

Call = Callable[..., Awaitable[Any]]
Key = tuple[str, str, str, str, int]


class ReviewModel:
    """The review of one agent, against its base or something else."""

    def __init__(self, agent: Agent, call: Call, against: str = "") -> None:
        self.agent = agent
        self.against = against
        """The agent, branch or commit that it is compared with; empty for its base."""
        self.diff: Diff | None = None
        self.files: list[ChangedFile] = []
        """In the order of the list."""
        self.comments: list[ReviewComment] = []
        self.check: CheckRun | None = None
        """The newest check of the agent's work."""
        self.is_whole = False
        """Whether files are shown whole."""
        self._reviewed: dict[str, str] = {}
        self._call = call
        self._known: dict[Key, FileDiff] = {}

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def read_diff(self, *, counts: bool = True) -> bool:
        """Read which files differ now, with their counts of lines or faster without; returns whether that has changed."""
        against = self.against
        found: Diff = await self._call("review.diff", self.agent.id, against=against, counts=counts)
        if against != self.against or found == self.diff:
            return False
        if self.diff is None or found.files != self.diff.files:
            self.files = in_order(found.files)
        self.diff = found
        return True

    async def read_notes(self) -> bool:
        """Read marks, comments, which follow their lines, and the newest check; returns whether they have changed."""
        agent = self.agent.id
        reviewed, comments, checks = await asyncio.gather(
            self._call("review.reviewed", agent),
            self._call("review.refresh_comments", agent),
            self._call("checks.runs", [agent]),
        )
        found = dict(reviewed), list(comments), dict(checks).get(agent)
        if found == (self._reviewed, self.comments, self.check):
            return False
        self._reviewed, self.comments, self.check = found
        return True

    def known(self, file: ChangedFile) -> FileDiff | None:
        """The lines of a file as it is now, if they have been read."""
        return self._known.get(_key(file, self.against, self._context))

    async def read_file(self, file: ChangedFile) -> FileDiff:
        """The lines of a file, read unless they are known."""
        # What the user chooses meanwhile is not what these lines are of.
        against, context = self.against, self._context
        key = _key(file, against, context)
        found = self._known.pop(key, None)
        if found is None:
            found = await self._call(
                "review.file_diff", self.agent.id, file.path, against=against, context=context
            )
        # The file may have changed since its name was read; its lines are of the newer state.
        self._known[_key(found.file, against, context)] = self._known[key] = found
        while len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
        return found

    @property
    def _context(self) -> int:
        return WHOLE if self.is_whole else AROUND

    # ── what was read ───────────────────────────────────────────────────────────────────────────────────────────

    def is_read(self, file: ChangedFile) -> bool:
        """Whether the user has marked this content of the file as read."""
        return self._reviewed.get(file.path) == file.new_blob

    @property
    def read_count(self) -> int:
        return sum(map(self.is_read, self.files))

    async def mark(self, file: ChangedFile, *, is_read: bool) -> None:
        if is_read:
            self._reviewed[file.path] = file.new_blob
            await self._call("review.mark_reviewed", self.agent.id, file.path, file.new_blob)
        else:
            self._reviewed.pop(file.path, None)
            await self._call("review.unmark_reviewed", self.agent.id, file.path)

    def next_unread(self, place: int) -> int | None:
        """The next file that was not read, after this one or from the beginning."""
        order = [*range(place + 1, len(self.files)), *range(place)]
        return next((at for at in order if not self.is_read(self.files[at])), None)

    # ── comments ────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def unsent(self) -> list[ReviewComment]:
        return [one for one in self.comments if not one.is_sent]

    def comments_on(self, file: ChangedFile) -> list[ReviewComment]:
        """The comments on a file that its diff shows: those on the old side belong to what it was compared with."""
        paths = {file.path, file.old_path} - {""}
        return [
            one for one in self.comments
            if one.path in paths and (one.side == "new" or one.against == self.against)
        ]  # fmt: skip

    def marks_of(self, file: ChangedFile) -> FileMarks:
        here = self.comments_on(file)
        unsent = sum(not one.is_sent for one in here)
        return FileMarks(self.is_read(file), unsent, has_sent=len(here) > unsent)

    async def comment(self, path: str, side: Side, first: int, last: int, text: str) -> None:
        await self._call("review.comment", self.agent.id, path, side, first, last, text, against=self.against)

    async def reword(self, comment_id: str, text: str) -> None:
        await self._call("review.reword_comment", self.agent.id, comment_id, text)

    async def delete(self, comment_id: str) -> None:
        await self._call("review.delete_comment", self.agent.id, comment_id)

    async def round_text(self) -> str:
        found: str = await self._call("review.round_text", self.agent.id)
        return found

    async def send(self, *, now: bool) -> Receipt:
        found: Receipt = await self._call("review.send_comments", self.agent.id, now=now)
        return found


def _key(file: ChangedFile, against: str, context: int) -> Key:
    return against, file.path, file.old_blob, f"{file.new_blob} {file.new_mode}", context


def place_in(files: Sequence[ChangedFile], path: str, before: int) -> int:
    """The place of a file by its path; of what stands there now if it is gone."""
    found = next((at for at, one in enumerate(files) if one.path == path), None)
    return found if found is not None else max(0, min(before, len(files) - 1))
