"""The review screen: changed files on the left, the diff of one of them on the right.

Draws the model (`review_model`) and turns keys into calls of it. Follows the agent while it works: what is on the screen stays
where it is. One class, as Textual delivers all keys and messages to the screen; comments are in `comment_work`.
"""

from __future__ import annotations

import time
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen

from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.quantities import counted
from fleet_tui.tui.review.code_colors import language_of
from fleet_tui.tui.review.comment_work import CommentWork
from fleet_tui.tui.review.diff_titles import notice, place_words, titles
from fleet_tui.tui.review.diff_view import DiffView
from fleet_tui.tui.review.files_panel import FilesPanel
from fleet_tui.tui.review.keys import bound, footer_keys
from fleet_tui.tui.review.review_dialogs import BASE, AgainstPicker, ReviewHelp
from fleet_tui.tui.review.review_header import ReviewHeader, check_fact
from fleet_tui.tui.review.review_model import ReviewModel, place_in
from fleet_tui.tui.review.sentences import failed, nothing_changed, without_lines
from fleet_tui.tui.review.surroundings import Surroundings
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.footer import Footer, FooterKey
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, clean
from fleet_tui.work import ChangedFile, FileDiff

LIVE_SECONDS = 1.0
"""How often the screen asks what the agent has changed since."""
RESTS = 4
"""How many times longer it rests than asking took."""
NOTES_SECONDS = 5.0
"""How often it asks for comments, whose receipts change while no file does."""
NARROW, WIDE, BIG = 100, 140, 200


class ReviewScreen(ErrorBoundary, Screen[None]):
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS = [Binding(key, action, says, show=False) for key, action, says in bound()]  # noqa: RUF012 - Textual's own way

    def __init__(self, agent: Agent, surroundings: Surroundings, against: str = "") -> None:
        super().__init__()
        self.model = ReviewModel(agent, surroundings.call, against)
        self._around = surroundings
        self._place = 0
        """The selected file."""
        self._shown: FileDiff | None = None
        """The diff on the screen, which is of the selected file once that has been read."""
        self._shown_against = ""
        self._enter_at = 0
        """Where the cursor goes in the next file: its first change, or its last with -1."""
        self._failure: FleetError | None = None
        self._is_reading = False
        self._notes_at = 0.0
        self._comments = CommentWork(self, self.model, surroundings, redraw=self._notes_changed)

    # ── composing ───────────────────────────────────────────────────────────────────────────────────────────────

    def compose(self) -> ComposeResult:
        yield ReviewHeader(id="header")
        with Container(id="body"):
            with Frame(id="files"):
                yield FilesPanel(id="names")
            with Frame(id="diff"):
                yield DiffView(id="lines")
                yield Input(placeholder="search", id="search")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self.query_one("#search").display = False
        self._fit(self.app.size.width)
        self._draw()
        self._around.start(self._follow())

    def on_resize(self) -> None:
        self._fit(self.size.width)

    def _fit(self, width: int) -> None:
        self.set_class(width < NARROW, "-narrow")
        self.set_class(width >= WIDE, "-wide")
        self.set_class(width >= BIG, "-big")

    # ── following the agent ─────────────────────────────────────────────────────────────────────────────────────

    async def _follow(self) -> None:
        """Read everything once, and arrange for the next time."""
        began = time.monotonic()
        try:
            await self._read()
            self._failure = None
        except FleetError as error:
            self._failure = error
        if not self.is_attached:
            return
        self._draw()
        rest = max(LIVE_SECONDS, RESTS * (time.monotonic() - began))
        self.set_timer(
            rest if self.app.app_focus else RESTS * rest, lambda: self._around.start(self._follow())
        )

    async def _read(self) -> None:
        model = self.model
        newest = next((one for one in self._around.agents() if one.id == model.agent.id), None)
        model.agent = newest or model.agent
        is_first = model.diff is None
        # Names come first: counting the lines of thousands of files takes longer.
        has_changed = await model.read_diff(counts=not is_first)
        if has_changed:
            self._files_changed()
        is_due = time.monotonic() - self._notes_at > NOTES_SECONDS
        if (has_changed or is_due) and self.is_attached:
            self._notes_at = time.monotonic()
            if await model.read_notes():
                self._notes_changed()
        if is_first and model.files and await model.read_diff():
            self._files_changed()

    def _files_changed(self) -> None:
        if not self.is_attached:
            return
        path = self._shown.file.path if self._shown is not None else ""
        self._place = place_in(self.model.files, path, self._place)
        self._open()

    def _notes_changed(self) -> None:
        if self.is_attached:
            self._show_diff()
            self._draw()

    # ── the selected file ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def file(self) -> ChangedFile | None:
        """The selected file."""
        return self.model.files[self._place] if self.model.files else None

    @property
    def view(self) -> DiffView:
        return self.query_one(DiffView)

    def _select(self, place: int, *, enter_at: int = 0) -> None:
        self._place = place
        self._enter_at = enter_at
        self._open()

    def _open(self) -> None:
        """Show the selected file, read first if its lines are not known."""
        file = self.file
        known = self.model.known(file) if file is not None else None
        if file is None:
            self._shown = None
            self._show_diff()
        elif known is not None:
            self._take(known)
        else:
            self._is_reading = True
            self._around.start(self._read_selected())
        self._draw()

    async def _read_selected(self) -> None:
        file = self.file
        if file is None:
            return
        try:
            found = await self.model.read_file(file)
        except FleetError as error:
            self._failure = error
            found = None
        if not self.is_attached or self.file is None or self.file.path != file.path:
            return
        self._is_reading = False
        if found is not None:
            self._take(found)
        self._draw()

    def _take(self, diff: FileDiff) -> None:
        self._is_reading = False
        self._shown, is_same = diff, self._is_shown(diff.file)
        self._shown_against = self.model.against
        self._show_diff(is_same_file=is_same)
        if self._enter_at and not is_same:
            self.view.to_change(self._enter_at, first=True)
        self._enter_at = 0
        following = self._place + 1
        if following < len(self.model.files) and self.model.known(self.model.files[following]) is None:
            self._around.start(self._read_ahead(self.model.files[following]))

    def _is_shown(self, file: ChangedFile) -> bool:
        shown = self._shown
        return (
            shown is not None and shown.file.path == file.path and self._shown_against == self.model.against
        )

    async def _read_ahead(self, file: ChangedFile) -> None:
        if self.is_attached:
            await self.model.read_file(file)

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _show_diff(self, *, is_same_file: bool = True) -> None:
        shown, model = self._shown, self.model
        hunks = shown.hunks if shown is not None else ()
        first = hunks[0].lines[0].text if hunks and hunks[0].lines else ""
        self.view.show(
            hunks,
            language_of(shown.file.path, first) if shown is not None else "",
            model.comments_on(shown.file) if shown is not None else (),
            unsent=len(model.unsent),
            now=self._around.now(),
            sentence=self._sentence(),
            is_same_file=is_same_file,
        )

    def _sentence(self) -> list[Line]:
        """What is shown where no lines are."""
        model = self.model
        if self._shown is not None:
            return without_lines(self._shown)
        if self._failure is not None:
            return failed(self._failure.message, self._failure.hint)
        if model.diff is None or model.files:
            return [(), (("  reading", "muted"),)]
        return nothing_changed(model.agent.name, model.against, model.diff.left_out)

    def _draw(self) -> None:
        """Bring everything around the diff up to date."""
        if not self.is_attached:
            return
        model = self.model
        if self._shown is None:
            self._show_diff()
        self.query_one(ReviewHeader).show(model.agent.name, self._target(), self._facts(), model.diff)
        left_out = model.diff.left_out if model.diff is not None else ()
        self.query_one(FilesPanel).show(model.files, left_out, self._place, model.marks_of)
        self._draw_edges()

    def _facts(self) -> list[Line]:
        """What decides whether the work can land, the most important first."""
        model = self.model
        tree = model.diff.new if model.diff is not None else ""
        facts = [check_fact(model.check, tree), self._around.conflicts(model.agent)]
        return [fact for fact in facts if fact]

    def _target(self) -> Line:
        against = self.model.against
        if against:
            return ((" against ", "muted"), (clean(against), ""))
        into = self._around.into(self.model.agent)
        return ((" into ", "muted"), (clean(into), "")) if into else ()

    @on(DiffView.Moved)
    @on(FilesPanel.Scrolled)
    def _draw_edges(self) -> None:
        if not self.is_attached:
            return
        model = self.model
        files = self.query_one("#files", Frame)
        read: Line = ((f"{model.read_count} of {len(model.files)} read", "muted"),) if model.files else ()
        files.title((("Files", "bold foreground"),), read, ((), read))
        unsent = len(model.unsent)
        files.foot((), ((f"{counted(unsent, 'comment')}, not sent", "warning"),) if unsent else ())
        self._title_diff()
        self._show_footer()

    def _title_diff(self) -> None:
        frame, shown, view = self.query_one("#diff", Frame), self._shown, self.view
        if shown is None:
            frame.title(())
            frame.foot((), ())
            return
        # What was read for its lines has no counts yet.
        listed = self.file if self.file is not None and self.file.path == shown.file.path else shown.file
        place = place_words(view.change, view.hits if view.wanted else None)
        if self._is_reading and self.file is not None and not self._is_shown(self.file):
            place = (("reading", "muted"),)
        (left, right), *shorter = titles(listed, view.language, place)
        frame.title(left, right, *shorter)
        chosen = view.chosen[1:] if view.is_choosing and view.chosen is not None else None
        frame.foot(notice(chosen, self._failure, self.model.agent, shown), ())

    def _show_footer(self) -> None:
        view, footer = self.view, self.query_one(Footer)
        help_key = FooterKey("?", "help", ("?",))
        if view.is_choosing:
            entries = [
                FooterKey("j k", "extend", ("j",)),
                FooterKey("c", "comment", ("c",)),
                FooterKey("esc", "give up the range", ("escape",)),
            ]
            footer.show_list(entries, help_key, chip="REVIEW")
            return
        file, unsent = self.file, len(self.model.unsent)
        if file is None:
            entries = [FooterKey("=", "compare with another", ("=",)), FooterKey("esc", "back", ("escape",))]
            footer.show_list(entries, help_key, chip="REVIEW")
            return
        labels = {
            "send": f"send {counted(unsent, 'comment')}" if unsent else "",
            "split": "unified" if view.is_split else "side by side",
            "whole": "changes only" if self.model.is_whole else "whole file",
            "mark": "mark unread" if self.model.is_read(file) else "mark read",
            "next(1)": "found" if view.wanted else "change",
        }
        footer.show_list(footer_keys(labels), help_key, chip="REVIEW")

    # ── keys that move ──────────────────────────────────────────────────────────────────────────────────────────

    def action_line(self, step: int) -> None:
        self.view.move(step)

    def action_page(self, direction: int) -> None:
        self.view.page(direction)

    def action_edge(self, direction: int) -> None:
        self.view.to_edge(direction)

    def action_next(self, direction: int) -> None:
        """The next place found or the next change; after the last change of a file comes the next file."""
        if self.view.wanted:
            self.view.find(direction)
        elif not self.view.to_change(direction):
            place = self._place + direction
            if 0 <= place < len(self.model.files):
                self._select(place, enter_at=direction)
            else:
                self.notify("no more changes" if direction > 0 else "this is the first change", timeout=2)

    def action_file(self, step: int) -> None:
        if self.model.files:
            self._select(max(0, min(len(self.model.files) - 1, self._place + step)))

    @on(FilesPanel.Clicked)
    def _clicked_file(self, event: FilesPanel.Clicked) -> None:
        self._select(event.place)

    def action_comment_at(self, direction: int) -> None:
        if not self.view.to_comment(direction):
            self.notify("no more comments in this file", timeout=2)

    def action_side(self, side: str) -> None:
        self.view.to_side("old" if side == "old" else "new")

    def action_sideways(self, direction: int) -> None:
        self.view.sideways(direction)

    def action_choose(self) -> None:
        self.view.choose(is_on=not self.view.is_choosing)

    def action_leave(self) -> None:
        """Give up the nearest thing: the search field, the range, what was searched for, the screen."""
        if self.focused is not None:
            self._close_search()
        elif self.view.is_choosing:
            self.view.choose(is_on=False)
        elif self.view.wanted:
            self.view.search("")
        else:
            self.dismiss(None)

    # ── keys that change how it looks ───────────────────────────────────────────────────────────────────────────

    def action_split(self) -> None:
        self.view.toggle_split()

    def action_wrap(self) -> None:
        self.view.toggle_wrap()

    def action_files(self) -> None:
        self.toggle_class("-no-files")

    def action_whole(self) -> None:
        self.model.is_whole = not self.model.is_whole
        self._open()

    @on(DiffView.Chosen)
    def action_enter(self) -> None:
        """Edit the comment with the cursor; elsewhere show the whole file, or its changes only."""
        if not self._comments.edit():
            self.action_whole()

    def action_search(self) -> None:
        field = self.query_one("#search", Input)
        field.display = True
        field.focus()

    @on(Input.Submitted)
    def _search(self, event: Input.Submitted) -> None:
        self._close_search()
        if not self.view.search(event.value):
            self.notify(f"{event.value!r} is not in this file", severity="warning", timeout=3)

    def _close_search(self) -> None:
        self.set_focus(None)
        self.query_one("#search").display = False

    def action_against(self) -> None:
        agent = self.model.agent
        others = [one for one in self._around.agents() if one.project == agent.project and one.has_worktree]

        def chosen(name: str | None) -> None:
            if name is not None:
                self.model.against = "" if name == BASE else name
                self._around.start(self._compare())

        self.app.push_screen(AgainstPicker(agent, others), chosen)

    async def _compare(self) -> None:
        """Read the diff against something else; if that fails, against what it was before."""
        before, self._shown = self._shown_against, None
        try:
            await self.model.read_diff()
        except FleetError:
            self.model.against = before
            await self.model.read_diff()
            raise
        finally:
            self._files_changed()

    def action_help(self) -> None:
        self.app.push_screen(ReviewHelp())

    # ── keys that do something with a file or a line ────────────────────────────────────────────────────────────

    def action_mark(self) -> None:
        """Mark the file as read and go to the next unread one, or mark it as unread."""
        file = self.file
        if file is None:
            return
        is_read = not self.model.is_read(file)
        self._around.start(self.model.mark(file, is_read=is_read))
        following = self.model.next_unread(self._place) if is_read else None
        if following is not None:
            self._select(following)
        elif is_read:
            self.notify("all files are read", timeout=2)
        self._draw()

    def action_comment(self) -> None:
        self._comments.write()

    def action_delete(self) -> None:
        self._comments.delete()

    def action_send(self) -> None:
        self._comments.send()

    def action_land(self) -> None:
        self._around.land(self.model.agent)

    def action_edit(self) -> None:
        file = self.file
        if file is None:
            return
        if file.kind == "deleted":
            self.notify("it is deleted, so there is nothing to open", severity="warning", timeout=3)
            return
        self._around.edit(self.model.agent, file.path, self.view.new_number)
