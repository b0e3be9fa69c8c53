"""What the user does with comments in a review: write, change, delete, send."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fleet_tui.models import Receipt, ReceiptState
from fleet_tui.tui.review.comment_lines import where
from fleet_tui.tui.review.place import find_range
from fleet_tui.tui.review.review_dialogs import CommentDialog, SendDialog
from fleet_tui.tui.widgets.lines import clean
from fleet_tui.work import Side

if TYPE_CHECKING:
    from fleet_tui.tui.review.review_model import ReviewModel
    from fleet_tui.tui.review.screen import ReviewScreen
    from fleet_tui.tui.review.surroundings import Surroundings

COMMENT = "comment"
"""The field of the dialog with the text."""


class CommentWork:
    """The comments of one review."""

    def __init__(
        self, screen: ReviewScreen, model: ReviewModel, around: Surroundings, *, redraw: Callable[[], None]
    ) -> None:
        self._screen = screen
        self._model = model
        self._around = around
        self._redraw = redraw

    def write(self) -> None:
        """Comment on the chosen lines."""
        view, file = self._screen.view, self._screen.file
        chosen = view.chosen
        if file is None or chosen is None:
            self._screen.notify("move to a line first", severity="warning", timeout=3)
            return
        side, first, last = chosen
        path = file.old_path if side == "old" and file.old_path else file.path
        quoted = view.document.quoted(side, first, last)
        form = self._form(path, side, last)

        def save(text: str) -> None:
            self._around.drafts.keep(form, {COMMENT: text})
            self._around.start(self._add(form, path, side, first, last, quoted, text))

        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        where_said = f"{lines} of the old file" if side == "old" else lines
        self._around.drafts.open(form, CommentDialog(where_said, path, quoted), save)

    def _form(self, path: str, side: Side, last: int) -> str:
        return f"comment {self._model.agent.id} {side} {last} {path}"

    async def _add(
        self, form: str, path: str, side: Side, first: int, last: int, quoted: list[str], text: str
    ) -> None:
        """Store a comment on the lines that were chosen, where they are now."""
        if len(quoted) == last - first + 1:
            moved = find_range(self._screen.view.document.hunks, side, first, quoted)
            first, last = (moved, moved + last - first) if moved else (first, last)
        await self._model.comment(path, side, first, last, text)
        self._around.drafts.forget(form)
        if self._screen.is_attached:
            self._screen.view.choose(is_on=False)
        await self._reread()

    async def _reread(self) -> None:
        await self._model.read_notes()
        self._redraw()

    def edit(self) -> bool:
        """Change the comment with the cursor; returns False if there is none that can be changed."""
        comment = self._screen.view.comment
        if comment is None or comment.is_sent:
            return False

        async def reword(text: str) -> None:
            await self._model.reword(comment.id, text)
            await self._reread()

        dialog = CommentDialog(where(comment), comment.path, comment.quoted, comment.text)
        self._around.drafts.open(
            f"reword {comment.id}", dialog, lambda text: self._around.start(reword(text))
        )
        return True

    def delete(self) -> None:
        """Delete the comment with the cursor; its text stays the draft of a new one on its line."""
        comment = self._screen.view.comment
        if comment is None:
            self._screen.notify("no comment here", severity="warning", timeout=2)
            return
        if comment.is_sent:
            self._screen.notify("it was sent, so it stays", severity="warning", timeout=3)
            return

        async def work() -> None:
            self._around.drafts.keep(
                self._form(comment.path, comment.side, comment.last), {COMMENT: comment.text}
            )
            await self._model.delete(comment.id)
            await self._reread()
            self._screen.notify("c on its line brings it back", title="comment deleted", timeout=3)

        self._around.start(work())

    def send(self) -> None:
        """Show the prompt of all comments that are not sent, and send it."""
        count = len(self._model.unsent)
        if not count:
            self._screen.notify("c writes a comment", title="no comments to send", timeout=3)
            return

        def chosen(is_now: bool | None) -> None:
            if is_now is not None:
                self._around.start(self._send(is_now=is_now))

        async def ask() -> None:
            text = await self._model.round_text()
            if self._screen.is_attached:
                self._screen.app.push_screen(SendDialog(self._model.agent, text, count), chosen)

        self._around.start(ask())

    async def _send(self, *, is_now: bool) -> None:
        receipt = await self._model.send(now=is_now)
        await self._reread()
        self._tell(receipt)

    def _tell(self, receipt: Receipt) -> None:
        name = clean(self._model.agent.name)
        if receipt.state == ReceiptState.REFUSED:
            self._screen.notify(
                receipt.reason or " ",
                title=f"refused by {name}; the comments are kept",
                severity="error",
                timeout=8,
            )
            return
        reason = f" ({receipt.reason})" if receipt.reason else ""
        said = (
            f"queued for {name} until idle{reason}"
            if receipt.state == ReceiptState.QUEUED
            else f"sent to {name}"
        )
        self._screen.notify(f"{said}; {receipt.note}" if receipt.note else said)
