"""`fleet.review`: what agents have changed, and what the user said of it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import Agent, ReceiptState

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Receipt
    from fleet_tui.review.diff import WorkPlace
    from fleet_tui.store.reviews import StoredComment
    from fleet_tui.work import Diff, FileDiff, ReviewComment, Side


class ReviewVerbs:
    """Diffs, reviewed files and comments."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    # ── diffs ───────────────────────────────────────────────────────────────────────────────────────────────────

    def diff(
        self, agent: Agent, *, against: str = "", files: Sequence[str] = (), counts: bool = True
    ) -> Diff:
        """What an agent has changed, committed or not, since its base, a commit or another agent.

        `files` selects files and folders. Without `counts`, the lines of each file are not counted, which is faster for thousands of files.
        """
        from fleet_tui.review import diff

        with diff.opened(
            self._fleet.store, self._fleet.current(agent), self._other(against), counts=counts,
            find_trashed=self._trashed,
        ) as found:  # fmt: skip
            return found.selected(files)

    def file_diff(self, agent: Agent, path: str, *, against: str = "", context: int = 3) -> FileDiff:
        """The lines that an agent has changed in one file, with lines around them; all lines if `context` is -1."""
        from fleet_tui.review import diff

        return diff.file_diff(
            self._fleet.store, self._fleet.current(agent), path, self._other(against), context=context,
            find_trashed=self._trashed,
        )  # fmt: skip

    def patch(self, agent: Agent, *, against: str = "", files: Sequence[str] = ()) -> str:
        """An agent's changes as a patch that `git apply` takes, of all files or of some files and folders."""
        from fleet_tui.review import diff

        with diff.opened(
            self._fleet.store, self._fleet.current(agent), self._other(against), counts=False,
            find_trashed=self._trashed,
        ) as found:  # fmt: skip
            return found.patch(files)

    def stat(self, agent: Agent, *, against: str = "", files: Sequence[str] = (), width: int = 80) -> str:
        """How many lines an agent has changed in each file, as `git diff --stat` prints it."""
        from fleet_tui.review import diff

        with diff.opened(
            self._fleet.store, self._fleet.current(agent), self._other(against), counts=False,
            find_trashed=self._trashed,
        ) as found:  # fmt: skip
            return found.stat(width, files)

    # ── reviewed files ──────────────────────────────────────────────────────────────────────────────────────────

    def reviewed(self, agent: Agent) -> dict[str, str]:
        """The files of an agent that the user has reviewed: by path, the content (`new_blob`) at that time.

        A mark counts only as long as the file still has that content, which is empty for a deleted file.
        """
        return self._fleet.store.reviews.reviewed(agent.id)

    def mark_reviewed(self, agent: Agent, path: str, content: str) -> None:
        """Mark a file of an agent as reviewed, with the content (`new_blob`) that was seen."""
        with self._fleet.store.transaction():
            self._fleet.store.reviews.mark(agent.id, path, content, time.time())

    def unmark_reviewed(self, agent: Agent, path: str) -> None:
        """Mark a file of an agent as not reviewed."""
        with self._fleet.store.transaction():
            self._fleet.store.reviews.unmark(agent.id, path, time.time())

    # ── comments ────────────────────────────────────────────────────────────────────────────────────────────────

    def comment(
        self, agent: Agent, path: str, side: Side, first: int, last: int, text: str, *, against: str = ""
    ) -> ReviewComment:
        """Comment on lines of a file: of the agent's side ("new"), or of what it is compared with ("old")."""
        from fleet_tui import names
        from fleet_tui.errors import NotFound
        from fleet_tui.review import comments, diff
        from fleet_tui.work import ReviewComment

        said = comments.checked_text(text)
        agent, store = self._fleet.current(agent), self._fleet.store
        found = diff.shown_text(store, agent, path, side, self._other(against), find_trashed=self._trashed)
        if found is None:
            raise NotFound(
                f"{path!r} is no text file of {agent.name}",
                hint="fleet diff AGENT --name-only lists its files",
            )
        draft = ReviewComment(
            names.new_id(os.urandom),
            agent.id,
            path,
            side,
            first,
            last,
            (),
            said,
            time.time(),
            against=against,
        )
        new = comments.quoted(draft, comments.lines_of(found))
        with store.transaction():
            store.reviews.add(new)
        return new.comment

    def reword_comment(self, agent: Agent, comment_id: str, text: str) -> None:
        """Change the text of a comment that is not sent yet."""
        from fleet_tui.review import comments

        said = comments.checked_text(text)
        with self._fleet.store.transaction():
            one = self._fleet.store.reviews.comment(agent.id, comment_id)
            comments.check_unsent(one)
            self._fleet.store.reviews.reword(one, said, time.time())

    def delete_comment(self, agent: Agent, comment_id: str) -> None:
        """Delete a comment that is not sent yet."""
        from fleet_tui.review import comments

        with self._fleet.store.transaction():
            one = self._fleet.store.reviews.comment(agent.id, comment_id)
            comments.check_unsent(one)
            self._fleet.store.reviews.delete(one, time.time())

    def comments(self, agent: Agent) -> list[ReviewComment]:
        """The comments on an agent's work, oldest first, with the numbers that their lines have now."""
        from fleet_tui.errors import FleetError
        from fleet_tui.review import comments

        stored = self._fleet.store.reviews.comments(agent.id)
        files: comments.FileLines = {}
        # Comments stay readable when the agent's files are gone.
        with contextlib.suppress(FleetError):
            files = self._lines_now(self._fleet.current(agent), stored)
        return comments.located(stored, files)

    def refresh_comments(self, agent: Agent) -> list[ReviewComment]:
        """Record where the lines of comments are now, and that those of sent ones have changed."""
        found = self.comments(agent)
        before = {one.comment.id: one.comment for one in self._fleet.store.reviews.comments(agent.id)}
        moved = [one for one in found if (one.first, one.last) != _numbers(before.get(one.id))]
        handled = [one for one in found if one.is_changed and one.is_sent and one.handled_at is None]
        if moved or handled:
            now = time.time()
            with self._fleet.store.transaction():
                for one in moved:
                    self._fleet.store.reviews.moved(one, one.first, one.last)
                for one in handled:
                    self._fleet.store.reviews.handled(one, now)
            done = {one.id for one in handled}
            found = [replace(one, handled_at=now) if one.id in done else one for one in found]
        return found

    def round_text(self, agent: Agent) -> str:
        """The prompt with all comments that are not sent yet."""
        from fleet_tui.review import comments

        found = self.comments(agent)
        return comments.round_text(comments.unsent(found), comments.next_round(found))

    def send_comments(self, agent: Agent, *, now: bool = False) -> Receipt:
        """Send all comments that are not sent yet to the agent, as one prompt."""
        from fleet_tui.review import comments

        found = self.comments(agent)
        waiting, number = comments.unsent(found), comments.next_round(found)
        text = comments.round_text(waiting, number)
        receipt = self._sent(agent, text) or self._fleet.prompts.send(agent, text, now=now)
        if receipt.state != ReceiptState.REFUSED:
            with self._fleet.store.transaction():
                self._fleet.store.reviews.sent(waiting, number, receipt.id, time.time())
        return receipt

    def _sent(self, agent: Agent, text: str) -> Receipt | None:
        """The prompt with exactly this round, if it was sent and that could not be recorded."""
        earlier = (one for one in self._fleet.prompts.receipts(agent) if one.text == text)
        return next((one for one in earlier if one.state != ReceiptState.REFUSED), None)

    def _lines_now(
        self, agent: Agent, stored: Sequence[StoredComment]
    ) -> dict[tuple[str, Side, str], Sequence[str] | None]:
        """The lines of the files that comments are about."""
        from fleet_tui.review import comments, diff

        found: dict[tuple[str, Side, str], Sequence[str] | None] = {}
        for against in {one.comment.against for one in stored}:
            wanted = {
                (one.comment.path, one.comment.side) for one in stored if one.comment.against == against
            }
            texts = diff.texts_now(
                self._fleet.store, agent, wanted, self._other(against), find_trashed=self._trashed
            )
            for (path, side), text in texts.items():
                found[path, side, against] = None if text is None else comments.lines_of(text)
        return found

    # ── agents by name, and in the trash ────────────────────────────────────────────────────────────────────────

    def _other(self, name: str) -> Agent | str:
        """The agent of that name, or the name itself for a branch or commit."""
        from fleet_tui.errors import NotFound

        if not name:
            return ""
        try:
            return self._fleet.find(name)
        except NotFound:
            return name

    def _trashed(self, agent: Agent) -> WorkPlace | None:
        """Where the work of a killed agent is: in the trash, or after that in a ref."""
        from fleet_tui import git
        from fleet_tui.lifecycle.worktree_location import mark, waiting
        from fleet_tui.review.diff import WorkPlace

        item = waiting(agent)
        place = git.place_in_trash(item) if item is not None else None
        if place is not None:
            return WorkPlace(place.git_dir, place)
        git_dir = self._fleet.store.agents.git_dirs([agent])[agent.id]
        refs = git.saved_refs(git_dir, mark(agent))
        return WorkPlace(git_dir, commit=git.commit_of(git_dir, refs[-1])) if refs else None


def _numbers(comment: ReviewComment | None) -> tuple[int, int]:
    return (comment.first, comment.last) if comment is not None else (0, 0)
