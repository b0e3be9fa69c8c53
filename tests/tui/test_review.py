"""The review screen: keys, marks, comments, and what it does while the agent goes on working."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from fleet_tui.errors import NotFound
from fleet_tui.faces.live import ConflictDetails
from fleet_tui.models import Receipt, Status
from fleet_tui.tui.dashboard.review_actions import at_line
from fleet_tui.tui.review import screen as review_screen
from fleet_tui.tui.review.review_dialogs import AgainstPicker, CommentDialog, ReviewHelp, SendDialog
from fleet_tui.tui.review.screen import ReviewScreen
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.work import ChangedFile, CheckRun, CheckState, Conflict, FileDiff
from tests.tui.dashboard_app import StageApp, until
from tests.tui.keyboard import Keyboard
from tests.tui.review_states import AGENT, SESSION, SESSION_NEW, SESSION_OLD, ReviewWorker

Go = Callable[["Review"], Awaitable[None]]


class Review:
    """An open review and a keyboard for it."""

    def __init__(self, app: StageApp, worker: ReviewWorker, pilot: Pilot[None]) -> None:
        self.app = app
        self.worker = worker
        self.pilot = pilot

    @property
    def screen(self) -> ReviewScreen:
        return next(one for one in self.app.screen_stack if isinstance(one, ReviewScreen))

    @property
    def path(self) -> str:
        shown = self.screen._shown
        return shown.file.path if shown is not None else ""

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def write(self, text: str) -> None:
        await self.press(*("space" if letter == " " else letter for letter in text))

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self.pilot, condition)
        await self.pilot.pause()

    async def go_to(self, path: str) -> None:
        while self.path != path:
            before = self.path
            await self.press("J")
            await self.until(lambda: self.path != before)  # noqa: B023 - awaited at once

    def text(self) -> str:
        return "\n".join(row.text for row in self.app.screen._compositor.render_strips())

    def toasts(self) -> str:
        return "\n".join(f"{toast.title} {toast.message}" for toast in self.app._notifications)


def reviewing(
    go: Go,
    worker: ReviewWorker | None = None,
    *,
    size: tuple[int, int] = (160, 45),
    waits_for: str = "claims.py",
) -> None:
    """Run the steps of a test on an open review."""

    async def run() -> None:
        made = worker or ReviewWorker()
        app = StageApp(worker=made)
        async with app.run_test(size=size, notifications=True):
            keyboard = Keyboard(app)
            await keyboard.pause()
            app.dashboard.view.select("id-refactor-auth-a")
            await keyboard.press("d")
            review = Review(app, made, keyboard)
            await review.until(lambda: waits_for in review.text())
            await go(review)

    asyncio.run(run())


@pytest.fixture(autouse=True)
def lively(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for changes at once, so that tests do not wait."""
    monkeypatch.setattr(review_screen, "LIVE_SECONDS", 0.02)


def test_it_opens_on_the_first_file_and_escape_leaves_it() -> None:
    async def go(review: Review) -> None:
        await review.until(lambda: "LIMIT_1 = 1" in review.text())
        shown = review.text()
        assert "refactor-auth-A into main" in shown
        assert "6 files +85 −12" in shown
        assert "0 of 6 read" in shown
        await review.press("escape")
        assert review.app.screen is review.app.dashboard

    reviewing(go)


def test_files_come_before_their_counts_and_their_lines() -> None:
    async def go(review: Review) -> None:
        names = [verb for verb, *_ in review.worker.asked if verb.startswith("review.")]
        counted = [call[-1]["counts"] for call in review.worker.asked if call[0] == "review.diff"]
        assert names[0] == "review.diff"
        await review.until(lambda: "+64" in review.text())
        assert counted[0] is False

    reviewing(go)


def test_changes_lead_from_file_to_file() -> None:
    async def go(review: Review) -> None:
        await review.press("n")
        await review.until(lambda: review.path == SESSION)
        assert review.screen.view.change == (1, 8)
        await review.press("n", "n")
        assert review.screen.view.change == (3, 8)
        await review.press("N", "N", "N")
        await review.until(lambda: review.path == "src/auth/claims.py")

    reviewing(go)


def test_space_marks_a_file_and_goes_to_the_next_unread() -> None:
    async def go(review: Review) -> None:
        await review.press("space")
        await review.until(lambda: review.path == SESSION)
        assert "1 of 6 read" in review.text()
        assert list(review.worker.reviewed) == ["src/auth/claims.py"]
        await review.press("K")
        await review.until(lambda: review.path == "src/auth/claims.py")
        await review.press("space")
        await review.until(lambda: "0 of 6 read" in review.text())
        assert review.worker.reviewed == {}

    reviewing(go)


def test_a_mark_ends_when_the_file_changes() -> None:
    async def go(review: Review) -> None:
        await review.press("space")
        await review.until(lambda: "1 of 6 read" in review.text())
        review.worker.texts["src/auth/claims.py"] = ("", "LIMIT = 1\n")
        await review.until(lambda: "0 of 6 read" in review.text())

    reviewing(go)


def test_a_comment_is_written_changed_deleted_and_its_text_kept() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("n", "n", "c")
        assert isinstance(review.app.screen, CommentDialog)
        assert "line 31" in review.text()
        await review.write("why not")
        await review.press("enter")
        await review.until(lambda: "you on line 31, not sent" in review.text())
        assert "1 comment, not sent" in review.text()
        [made] = review.worker.comments
        assert (made.path, made.side, made.first, made.last, made.text) == (SESSION, "new", 31, 31, "why not")

        await review.press("enter")
        assert isinstance(review.app.screen, CommentDialog)
        await review.write(" this")
        await review.press("enter")
        await review.until(lambda: "why not this" in review.text())

        await review.press("D")
        await review.until(lambda: "not sent" not in review.text())
        await review.press("c")
        assert "why not this" in review.text()

    reviewing(go)


def test_a_range_of_lines_is_chosen_with_v() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("n", "n", "v", "j")
        assert "lines 31 to 32 chosen" in review.text()
        await review.press("c")
        await review.write("both")
        await review.press("enter")
        await review.until(lambda: "you on lines 31 to 32" in review.text())
        assert not review.screen.view.is_choosing

    reviewing(go)


def test_the_old_side_can_be_commented_on() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("n", "n", "h", "c")
        assert "line 31 of the old file" in review.text()
        await review.write("x")
        await review.press("enter")
        await review.until(lambda: review.worker.comments)
        assert review.worker.comments[0].side == "old"

    reviewing(go)


def test_an_open_comment_goes_to_its_lines_when_they_move_meanwhile() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("n", "n", "c")
        await review.write("here")
        review.worker.texts[SESSION] = (SESSION_OLD, "# one\n# two\n" + SESSION_NEW)
        await review.until(lambda: review.screen.view.number == 33)
        assert isinstance(review.app.screen, CommentDialog)
        assert "here" in review.text()
        await review.press("enter")
        await review.until(lambda: review.worker.comments)
        assert review.worker.comments[0].first == 33

    reviewing(go)


def test_a_refused_comment_stays_a_draft() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("c")
        await review.write("keep me")
        review.worker.failure = NotFound("it has no worktree", hint="fleet undo restores it")
        await review.press("enter")
        await review.until(lambda: "it has no worktree" in review.toasts())
        review.worker.failure = None
        await review.press("c")
        assert "keep me" in review.text()

    reviewing(go)


def test_comments_are_sent_after_their_prompt_was_shown() -> None:
    async def go(review: Review) -> None:
        await review.press("C")
        assert "no comments to send" in review.toasts()
        await review.press("c")
        await review.write("rename it")
        await review.press("enter")
        await review.until(lambda: review.worker.comments)
        await review.press("C")
        await review.until(lambda: isinstance(review.app.screen, SendDialog))
        assert "Review, round 1" in review.text()
        await review.press("escape")
        assert not review.worker.comments[0].is_sent
        await review.press("C")
        await review.until(lambda: isinstance(review.app.screen, SendDialog))
        await review.press("enter")
        await review.until(lambda: "round 1, 0s ago, accepted" in review.text())
        assert "sent to refactor-auth-A" in review.toasts()
        await review.press("D")
        assert "it was sent" in review.toasts()

    reviewing(go)


def test_a_refused_round_says_why_and_keeps_its_comments() -> None:
    async def go(review: Review) -> None:
        review.worker.receipt = Receipt("r1", "a", "", "refused", "it has ended")
        await review.press("c")
        await review.write("rename it")
        await review.press("enter")
        await review.until(lambda: review.worker.comments)
        await review.press("C")
        await review.until(lambda: isinstance(review.app.screen, SendDialog))
        await review.press("enter")
        await review.until(lambda: "the comments are kept it has ended" in review.toasts())
        await review.until(lambda: "refused, not sent" in review.text())

    reviewing(go)


def test_the_place_stays_while_the_agent_works() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("n", "n", "n", "j")
        view = review.screen.view
        row, number = view._cursor - view._top, view.number
        text = view.line.text if view.line is not None else ""
        review.worker.texts[SESSION] = (SESSION_OLD, SESSION_NEW.replace("COOKIE", "# a\n# b\nCOOKIE"))
        review.worker.texts["src/auth/another.py"] = ("", "new = True\n")
        await review.until(lambda: view.number == number + 2)
        assert view.line is not None
        assert view.line.text == text
        assert view._cursor - view._top == row
        assert review.path == SESSION
        assert "7 files" in review.text()

    reviewing(go, size=(160, 30))


def test_a_file_that_is_gone_gives_way_to_the_next() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        del review.worker.texts[SESSION]
        await review.until(lambda: review.path == "src/auth/signer.py")

    reviewing(go)


def test_a_failure_is_told_and_what_was_shown_stays() -> None:
    async def go(review: Review) -> None:
        review.worker.failure = NotFound("refactor-auth-A has no worktree", hint="fleet undo restores it")
        await review.until(lambda: "not up to date: refactor-auth-A has no worktree" in review.text())
        assert "LIMIT_1 = 1" in review.text()
        review.worker.failure = None
        await review.until(lambda: "not up to date" not in review.text())

    reviewing(go)


def test_an_agent_that_cannot_be_read_says_what_to_do() -> None:
    worker = ReviewWorker()
    worker.failure = NotFound("refactor-auth-A has no worktree", hint="fleet undo restores it")

    async def go(review: Review) -> None:
        assert "fleet undo restores it" in review.text()
        await review.press("n", "J", "c", "space", "D", "o", "W", "enter", "escape")
        assert review.app.screen is review.app.dashboard

    reviewing(go, worker, waits_for="has no worktree")


def test_an_agent_that_has_changed_nothing_says_so_and_shows_the_first_file_when_it_comes() -> None:
    worker = ReviewWorker({})
    worker.left_out = ("data/big.bin",)

    async def go(review: Review) -> None:
        assert "1 new file is too large" in review.text()
        review.worker.texts["a.py"] = ("", "x = 1\n")
        await review.until(lambda: "x = 1" in review.text())

    reviewing(go, worker, waits_for="Nothing changed yet")


def test_a_killed_agent_is_still_shown() -> None:
    async def go(review: Review) -> None:
        view = review.app.dashboard.view
        agents = tuple(
            replace(one, status=Status.KILLED) if one.name == "refactor-auth-A" else one
            for one in view.state.agents
        )
        view.take_state(replace(view.state, agents=agents))
        await review.until(lambda: "killed: this is what it had" in review.text())

    reviewing(go)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (FileDiff(ChangedFile("a.bin", "modified", is_binary=True), (), 2048, 4096), "2K before, 4K now."),
        (FileDiff(ChangedFile("a.bin", "added", is_binary=True), (), 0, 4096), "4K, new."),
        (FileDiff(ChangedFile("b", "renamed", old_path="a", old_blob="1", new_blob="1"), ()), "It was a."),
        (FileDiff(ChangedFile("b", "mode changed", "", "100644", "100755", "1", "1"), ()), "now executable"),
        (FileDiff(ChangedFile("b", "modified", "", "160000", "160000", "12", "34"), ()), "12 before, 34 now."),
        (FileDiff(ChangedFile("b", "modified"), (), 90 << 20, 91 << 20, is_cut=True), "Too large to show."),
        (FileDiff(ChangedFile("b", "added"), ()), "A new file without content."),
    ],
    ids=["binary", "new binary", "renamed", "mode", "submodule", "too large", "empty"],
)  # fmt: skip
def test_a_file_without_lines_says_why(file: FileDiff, said: str) -> None:
    worker = ReviewWorker({})
    worker.others = {file.file.path: file}

    async def go(review: Review) -> None:
        assert said in review.text()
        await review.press("n", "c", "j", "G")
        assert said in review.text()

    reviewing(go, worker, waits_for=said)


def test_the_whole_file_is_shown_on_demand_and_the_line_stays() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("n", "n")
        assert "def name_of" not in review.text()
        await review.press("enter")
        await review.until(lambda: "def name_of" in review.text())
        assert review.screen.view.number == 31
        await review.press("W")
        await review.until(lambda: "def name_of" not in review.text())

    reviewing(go)


def test_a_file_that_is_all_new_has_the_whole_width() -> None:
    async def go(review: Review) -> None:
        assert not review.screen.view.is_split
        await review.go_to(SESSION)
        assert review.screen.view.is_split
        assert "+13 −11   change" in review.text()

    reviewing(go)


def test_layouts_follow_the_width_and_the_user() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("n", "n")
        assert not review.screen.view.is_split
        await review.press("u")
        assert review.screen.view.is_split
        assert review.screen.view.number == 31
        await review.press("u", "w")
        assert review.screen.view.is_wrapped
        await review.press("f")
        assert not review.screen.query_one("#files").region

    reviewing(go, size=(100, 30))


def test_searching_steps_through_the_places_and_escape_ends_it() -> None:
    async def go(review: Review) -> None:
        await review.go_to(SESSION)
        await review.press("slash")
        await review.write("cookie")
        assert review.screen.query_one("#search", Input).has_focus
        await review.press("enter")
        assert "found" in review.text()
        first = review.screen.view._cursor
        await review.press("n")
        assert review.screen.view._cursor > first
        await review.press("N", "N")
        await review.press("escape")
        assert "change" in review.text()
        assert not review.screen.view.wanted
        await review.press("slash")
        await review.write("nowhere")
        await review.press("enter")
        assert "'nowhere' is not in this file" in review.toasts()

    reviewing(go)


def test_another_agent_is_compared_with() -> None:
    async def go(review: Review) -> None:
        await review.press("equals_sign")
        assert isinstance(review.app.screen, AgainstPicker)
        await review.press("down", "enter")
        await review.until(lambda: "against refactor-auth-B" in review.text())
        await review.until(lambda: review.path)
        last = [call for call in review.worker.asked if call[0] == "review.file_diff"][-1]
        assert last[-1]["against"] == "refactor-auth-B"
        await review.press("equals_sign", "enter")
        await review.until(lambda: "into main" in review.text())

    reviewing(go)


@pytest.mark.parametrize(
    ("tree", "state", "said"),
    [
        ("new", CheckState.PASSED, "✓ make test"),
        ("earlier", CheckState.PASSED, "– make test, files changed since"),
        ("new", CheckState.FAILED, "✗ make test failed"),
        ("new", CheckState.RUNNING, "● make test, running"),
    ],
)
def test_the_top_line_says_how_the_check_ended_and_whether_it_still_counts(
    tree: str, state: CheckState, said: str
) -> None:
    worker = ReviewWorker()
    worker.check = CheckRun("1", AGENT, "make test", tree, "", state, 1.0)

    async def go(review: Review) -> None:
        await review.until(lambda: f"{said}   6 files" in review.text())

    reviewing(go, worker)


def test_the_top_line_says_with_whom_the_work_conflicts() -> None:
    async def go(review: Review) -> None:
        view = review.app.dashboard.view
        view.live = replace(view.live, conflict_marks={AGENT: "B"})
        await review.until(lambda: "≠ B   6 files" in review.text())
        view.live = replace(
            view.live, conflict_marks={}, conflict_details=ConflictDetails(AGENT, base="main")
        )
        await review.until(lambda: "✓ merges with main   6 files" in review.text())

    reviewing(go)


def test_a_conflict_opens_the_review_of_the_two() -> None:
    async def go(review: Review) -> None:
        await review.press("escape")
        view = review.app.dashboard.view
        conflict = Conflict(AGENT, "id-refactor-auth-b", "main", (SESSION,), 1.0)
        view.live = replace(view.live, conflicts=(conflict,), conflict_marks={AGENT: "B"})
        await review.press("equals_sign")
        await review.until(lambda: "refactor-auth-A against refactor-auth-B" in review.text())

    reviewing(go)


def test_a_file_opens_in_the_editor_at_the_line_of_the_cursor_and_the_work_is_landed_from_here() -> None:
    async def go(review: Review) -> None:
        asked: list[tuple[object, ...]] = []
        screen = review.screen
        screen._around = replace(
            screen._around,
            edit=lambda agent, path, line: asked.append((agent.id, path, line)),
            land=lambda agent: asked.append((agent.id,)),
        )
        await review.go_to(SESSION)
        await review.press("n", "n", "j", "o", "m")
        assert asked == [(AGENT, SESSION, 32), (AGENT,)]

    reviewing(go)


def test_a_deleted_file_has_nothing_to_open() -> None:
    async def go(review: Review) -> None:
        await review.press("e")
        assert "nothing to open" in review.toasts()

    reviewing(go, ReviewWorker({"gone.py": ("x = 1\n", "")}), waits_for="x = 1")


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        (["vim", "-n"], ["vim", "-n", "+7", "/w/a.py"]),
        (["/usr/bin/nano"], ["/usr/bin/nano", "+7", "/w/a.py"]),
        (["code", "--wait"], ["code", "--wait", "--goto", "/w/a.py:7"]),
        (["hx"], ["hx", "/w/a.py:7"]),
        (["my-editor"], ["my-editor", "/w/a.py"]),
    ],
)
def test_editors_are_told_the_line_in_their_own_way(editor: list[str], command: list[str]) -> None:
    assert at_line(editor, "/w/a.py", 7) == command


def test_help_lists_every_key_with_a_meaning() -> None:
    async def go(review: Review) -> None:
        await review.press("question_mark")
        assert isinstance(review.app.screen, ReviewHelp)
        for said in ("mark read, next unread", "open in your editor", "compare with another"):
            assert said in review.text()
        await review.press("escape")
        assert isinstance(review.app.screen, ReviewScreen)

    reviewing(go)


def test_the_mouse_selects_files_and_lines_and_scrolls() -> None:
    async def go(review: Review) -> None:
        await review.pilot.click("#names", offset=(8, 2))
        await review.until(lambda: review.path == SESSION)
        await review.pilot.click("#lines", offset=(100, 4))
        assert (review.screen.view.side, review.screen.view.number) == ("new", 4)
        await review.pilot.click("#lines", offset=(10, 6))
        assert (review.screen.view.side, review.screen.view.number) == ("old", 7)

    reviewing(go, size=(160, 30))


def test_pages_and_ends_are_reached() -> None:
    async def go(review: Review) -> None:
        view = review.screen.view
        await review.press("G")
        assert view.number == 64
        await review.press("g")
        assert view.number == 1
        await review.press("pagedown")
        assert view.number > 10
        await review.press("ctrl+u")
        assert view.number == 1

    reviewing(go, size=(80, 24))
