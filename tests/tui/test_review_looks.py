"""The review screen as pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from fleet_tui.tui.review.screen import ReviewScreen
from fleet_tui.work import ReviewComment
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, until
from tests.tui.review_states import AGENT, SESSION, TEXTS, ReviewWorker, changed

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)


def comment(
    number: int, side: str, last: int, text: str, *, is_sent: bool = False, is_handled: bool = False
) -> ReviewComment:
    now = fleet_states.NOW
    return ReviewComment(
        f"c{number}", AGENT, SESSION, "old" if side == "old" else "new", last, last, ("",), text, now,
        round=int(is_sent), sent_at=now - 180 if is_sent else None, receipt="r" if is_sent else "",
        handled_at=now - 60 if is_handled else None, receipt_state="accepted" if is_sent else "",
    )  # fmt: skip


def worker() -> ReviewWorker:
    made = ReviewWorker()
    claims = "src/auth/claims.py"
    made.reviewed = {claims: changed(claims, *TEXTS[claims]).new_blob}
    made.left_out = ("data/dump.sql",)
    made.comments = [
        comment(1, "new", 36, "Sign with the key id in the header, or we cannot rotate keys without logging everybody out."),
        comment(2, "old", 37, "Why is it no longer kept?", is_sent=True),
        comment(3, "new", 6, "Import it where it is used.", is_sent=True, is_handled=True),
    ]  # fmt: skip
    return made


def reviewing(app: StageApp, *keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Steps before the picture: open the review, wait for its lines and their colors, press the keys."""

    async def run(pilot: Pilot[None]) -> None:
        app.dashboard.view.select(AGENT)
        await pilot.press("d")
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        await until(
            pilot, lambda: screen.model.diff is not None and screen.model.diff.added and screen.model.comments
        )
        await pilot.press("J")
        await until(pilot, lambda: screen._shown is not None and screen._shown.file.path == SESSION)
        await pilot.press(*keys)
        view = screen.view
        await until(pilot, lambda: view.color(view._top, view._top + view.size.height, 10.0))
        view.redraw(everything=True)
        await pilot.pause()

    return run


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((160, 45), "fleet-dark"),
        pytest.param((80, 24), "fleet-dark", marks=pytest.mark.slow),
        pytest.param((120, 40), "fleet-dark", marks=pytest.mark.slow),
        pytest.param((200, 60), "fleet-dark", marks=pytest.mark.slow),
        pytest.param((160, 45), "fleet-light", marks=pytest.mark.slow),
        pytest.param((120, 40), "ansi-dark", marks=pytest.mark.slow),
    ],
    ids=["160x45", "80x24", "120x40", "200x60", "160x45-light", "120x40-16colors"],
)
def test_review(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = StageApp(theme=theme, worker=worker())

    assert snap_compare(app, terminal_size=size, run_before=reviewing(app, "n", "n", "n", "j"))


@pytest.mark.slow
def test_a_chosen_range_and_a_search(snap_compare: Compare) -> None:
    app = StageApp(worker=worker())

    assert snap_compare(
        app,
        terminal_size=(160, 45),
        run_before=reviewing(app, "slash", "s", "e", "l", "f", "enter", "v", "j", "j"),
    )


@pytest.mark.slow
def test_writing_a_comment(snap_compare: Compare) -> None:
    app = StageApp(worker=worker())

    assert snap_compare(app, terminal_size=(120, 40), run_before=reviewing(app, "n", "n", "c", "w", "h", "y"))


@pytest.mark.slow
def test_sending_comments(snap_compare: Compare) -> None:
    app = StageApp(worker=worker())

    assert snap_compare(app, terminal_size=(80, 24), run_before=reviewing(app, "C"))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["120x40", "80x24"])
def test_keys_of_the_review(snap_compare: Compare, size: tuple[int, int]) -> None:
    app = StageApp(worker=worker())

    assert snap_compare(app, terminal_size=size, run_before=reviewing(app, "question_mark"))
