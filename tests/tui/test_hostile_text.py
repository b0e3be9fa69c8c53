"""Every screen of the dashboard, with hostile text wherever a name, prompt, branch, title or path can reach it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

import fleet_tui.tui
from fleet_tui.faces.away_summary import Summary
from fleet_tui.faces.live import LiveData
from fleet_tui.fleet.profiles import AgentProgram
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.landings import STEP_KINDS, LandingObstacle, LandingPlan, LandingStep
from fleet_tui.models import (
    Activity,
    Agent,
    Batch,
    Evidence,
    FleetState,
    PermissionRequest,
    PromptSummary,
    Receipt,
    StartPoint,
    Status,
    TrustRequest,
    TrustRequestLine,
)
from fleet_tui.prompting.why import SourceReport, StatusExplanation
from fleet_tui.tui.compare.compare_help import CompareHelp
from fleet_tui.tui.compare.screen import CompareScreen
from fleet_tui.tui.compare.surroundings import CompareSurroundings
from fleet_tui.tui.dashboard.screen import Dashboard
from fleet_tui.tui.dialogs.agent_gone import GoneDialog
from fleet_tui.tui.dialogs.answer import AnswerDialog
from fleet_tui.tui.dialogs.bases import BasePicker
from fleet_tui.tui.dialogs.confirm import Confirm, ConfirmInput
from fleet_tui.tui.dialogs.crash import CrashDialog
from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog
from fleet_tui.tui.dialogs.fan_out import FanOutDialog
from fleet_tui.tui.dialogs.form import Form
from fleet_tui.tui.dialogs.help import HelpDialog
from fleet_tui.tui.dialogs.logs import LogScreen
from fleet_tui.tui.dialogs.new_agents import MultiDialog, NewAgentDialog
from fleet_tui.tui.dialogs.picker import Picker
from fleet_tui.tui.dialogs.profile_field import ProfilePicker
from fleet_tui.tui.dialogs.progress import ProgressDialog
from fleet_tui.tui.dialogs.prompt import PromptDialog
from fleet_tui.tui.dialogs.queue import QueueDialog, QueuedPrompt
from fleet_tui.tui.dialogs.trust import FileDialog, TrustDialog
from fleet_tui.tui.dialogs.why import WhyDialog, WrongDialog
from fleet_tui.tui.landing.conflict_screen import ConflictScreen
from fleet_tui.tui.landing.screen import LandScreen
from fleet_tui.tui.landing.train_screen import TrainScreen
from fleet_tui.tui.review.review_dialogs import AgainstPicker, CommentDialog, ReviewHelp, SendDialog
from fleet_tui.tui.review.screen import ReviewScreen
from fleet_tui.tui.review.surroundings import Surroundings
from fleet_tui.tui.review.timeline import TimelineScreen
from fleet_tui.tui.widgets.toasts import Toasts
from fleet_tui.tui.worker_protocol import LaunchStep
from fleet_tui.work import (
    ChangedFile,
    Checkpoint,
    CheckpointKind,
    CheckRun,
    CheckState,
    Conflict,
    ConflictingFile,
    ConflictPlace,
    Diff,
    DiffLine,
    FileDiff,
    Hunk,
    PullRequest,
    ReviewComment,
    Timeline,
)
from tests.cli.commands import Cli
from tests.cli.test_hostile_text import CONTROLS, EVIL, hostile, place
from tests.tui import compare_states, fleet_states, landing_states
from tests.tui.dashboard_app import StageApp, until
from tests.tui.keyboard import Keyboard
from tests.tui.running_dashboard import drive, opened

__all__ = ("hostile", "place")

PLACE = ProjectInfo(
    project=f"/src/{EVIL}", name=EVIL, branch=EVIL, uncommitted=2, default_profile=EVIL, setup=(EVIL, EVIL),
    programs=(AgentProgram(EVIL, f"/bin/{EVIL}"), AgentProgram(f"x{EVIL}")), memory_free=1, memory_total=2,
)  # fmt: skip
BASES = [
    StartPoint(EVIL, "c0ffee" * 6, EVIL, fleet_states.NOW),
    StartPoint("", "beef" * 9, EVIL, fleet_states.NOW),
]
SAID = Evidence(
    EVIL,
    EVIL,
    fleet_states.NOW,
    EVIL,
    (("1", EVIL), ("2", EVIL)),
    True,
    PermissionRequest(EVIL, EVIL, f"/tmp/{EVIL}"),
)


def evil(status: Status, number: int) -> Agent:
    known = fleet_states.agent(f"a{number}", status, batch=f"b {EVIL}")
    return replace(
        known, name=f"{EVIL}{number}", project=f"/src/{EVIL}", branch=EVIL, base=EVIL, worktree=f"/t/{EVIL}", profile=EVIL,
        argv=(EVIL, EVIL), prompt=EVIL, status_detail=EVIL, evidence=SAID, title=EVIL, session_id=EVIL, trash="",
        lost_output=5000,
    )  # fmt: skip


AGENTS = tuple(evil(status, number) for number, status in enumerate(Status))
BLOCKED = next(agent for agent in AGENTS if agent.status is Status.BLOCKED)
STATE = FleetState(
    AGENTS,
    (Batch(f"b {EVIL}", f"/src/{EVIL}", fleet_states.NOW, EVIL),),
    prompts={agent.id: PromptSummary(2, "queued", EVIL) for agent in AGENTS},
    damaged=(EVIL,),
)
LIVE = LiveData(
    tails={agent.id: EVIL for agent in AGENTS},
    log=(AGENTS[0].id, (EVIL, EVIL)),
    pull_requests={
        agent.id: PullRequest(agent.id, EVIL, 12, "open", "failed", "", 0, 0.0, EVIL, EVIL, EVIL)
        for agent in AGENTS
    },
    recent_activity=(
        Activity(fleet_states.NOW, EVIL, EVIL),
        Activity(fleet_states.NOW, EVIL, EVIL, Status.BLOCKED),
    ),
)
WHY = StatusExplanation(
    EVIL,
    "blocked",
    EVIL,
    EVIL,
    EVIL,
    EVIL,
    fleet_states.NOW,
    (("1", EVIL),),
    (SourceReport(EVIL, EVIL, EVIL, EVIL, EVIL),),
    EVIL,
)


async def nothing(*_: Any, **__: Any) -> Any:
    return []


async def read(*_: Any) -> list[str]:
    return [EVIL, "x" + EVIL]


def progress() -> ProgressDialog:
    dialog = ProgressDialog(EVIL, 2, "fanout")
    for agent in AGENTS[:2]:
        dialog.take(LaunchStep(1, agent, "setup", EVIL))
    return dialog


def question() -> AnswerDialog:
    return AnswerDialog(replace(BLOCKED, status_detail="question"), fleet_states.NOW)


ASKED = TrustRequest(
    EVIL, EVIL, EVIL, (TrustRequestLine("run", EVIL, EVIL, is_alarming=True, number=1, change="+"),),
    count=1, same=1, restrictions=((EVIL, EVIL),), refused=((EVIL, 2),), digest="0123456789", parts={}, text=EVIL,
)  # fmt: skip
COMPARED = compare_states.comparison(
    *(
        replace(
            one, name=EVIL, label=f"{EVIL}{place}", profile=EVIL, base_conflicts=(EVIL,), problem=EVIL * (place > 3),
            files=(ChangedFile(f"src/{EVIL}{place}.py", "added", added=3), ChangedFile(EVIL, "added", added=9)),
            check=replace(one.check, summary=EVIL, note=EVIL, command=EVIL) if one.check is not None else None,
        )
        for place, one in enumerate(compare_states.CHECKED.agents)
    ),
    command=EVIL,
    no_checks=EVIL,
)  # fmt: skip


async def compared(verb: str, *_: Any, **__: Any) -> Any:
    return (
        replace(COMPARED, batch=EVIL, base=EVIL, prompt=f"{EVIL}\n{EVIL}") if verb == "comparison.of" else {}
    )


def comparison() -> CompareScreen:
    def start(work: Coroutine[Any, Any, None]) -> None:
        screen.run_worker(work)

    around = CompareSurroundings(
        compared, start, lambda: AGENTS, lambda *_: None, lambda _: None, lambda: fleet_states.NOW
    )
    screen = CompareScreen(list(AGENTS), around)
    return screen


FILE = ChangedFile(f"src/{EVIL}.py", "renamed", old_path=EVIL, old_blob="1", new_blob="2", added=1, removed=1)
LINES = (
    DiffLine(" ", EVIL, 1, 1),
    DiffLine("-", f"old = '{EVIL}'", 2),
    DiffLine("+", f"new = '{EVIL}'", 0, 2),
)
REVIEWED = {
    "review.diff": Diff("a", EVIL, "", "", (FILE, ChangedFile(EVIL, "added", is_binary=True)), (EVIL,)),
    "review.file_diff": FileDiff(FILE, (Hunk(1, 2, 1, 2, EVIL, LINES),)),
    "review.reviewed": {},
    "checks.runs": {AGENTS[0].id: CheckRun("1", "a", EVIL, "", "", CheckState.FAILED, 1.0)},
    "review.refresh_comments": [
        ReviewComment("1", "a", FILE.path, "new", 2, 2, (EVIL,), f"{EVIL}\n{EVIL}", fleet_states.NOW),
        ReviewComment("2", "a", EVIL, "old", 9, 9, (EVIL,), EVIL, fleet_states.NOW, 1, fleet_states.NOW),
    ],
}


async def reviewed(verb: str, *_: Any, **__: Any) -> Any:
    return REVIEWED[verb]


def evil_landing() -> LandingPlan:
    """A plan in which every text is hostile."""
    steps = tuple(LandingStep(kind, EVIL, EVIL, (EVIL, f"✓ {EVIL}", f"A {EVIL}")) for kind in STEP_KINDS)
    place_of = ConflictPlace(1, 9, EVIL, (EVIL,), (EVIL,), (EVIL,))
    return landing_states.plan(
        AGENTS[0], name=EVIL, profile=EVIL, into=EVIL, steps=steps, files=(FILE,), message=EVIL, message_of=EVIL,
        conflicts=(ConflictingFile(EVIL, "both changed", (place_of,), EVIL), ConflictingFile(EVIL, "other", (), EVIL)),
        give_back=f"{EVIL}\n{EVIL}", check_command=EVIL, warnings=(EVIL,),
        check=CheckRun("1", "a", EVIL, "", "", CheckState.FAILED, 1.0, 2.0, 1, EVIL),
        obstacles=(LandingObstacle("hook", EVIL, EVIL, (EVIL,)),),
        others=(Conflict(AGENTS[0].id, AGENTS[1].id, EVIL, (EVIL,), 1.0),),
    )  # fmt: skip


def landing(kind: str) -> Screen[None]:
    def start(work: Coroutine[Any, Any, None]) -> None:
        screen.run_worker(work)

    plan = evil_landing()
    merging = replace(plan, conflicts=())
    around = landing_states.access(
        landing_states.LandingWorker([merging, replace(merging, agent=AGENTS[1].id)]), AGENTS, start
    )
    screen: Screen[None]
    if kind == "conflict":
        screen = ConflictScreen(AGENTS[0], plan, around)
    else:
        screen = LandScreen(AGENTS[0], around) if kind == "land" else TrainScreen(AGENTS[:2], around)
    return screen


def review() -> ReviewScreen:
    def start(work: Coroutine[Any, Any, None]) -> None:
        screen.run_worker(work)

    screen = ReviewScreen(
        AGENTS[0],
        Surroundings(
            reviewed,
            start,
            Kept(),
            lambda *_: None,
            lambda _: None,
            lambda: AGENTS,
            lambda _: EVIL,
            lambda _: (),
            lambda: fleet_states.NOW,
        ),
    )
    return screen


EVIL_TIMELINE = Timeline(
    AGENTS[0].id,
    (
        Checkpoint("a", 0, "", "", CheckpointKind.START, 1.0),
        Checkpoint("a", 1, "", "", CheckpointKind.TURN, 2.0, EVIL, 1, 0, 1, 1, 9, (EVIL,) * 4, (EVIL,)),
        Checkpoint("a", 2, "", "", CheckpointKind.NAMED, 3.0, EVIL),
    ),
    Diff("a", EVIL, "", "", (FILE,)),
    ((1, CheckRun("r", "a", EVIL, "", "", CheckState.FAILED, 1.0, 2.0, 1, EVIL)),),
    EVIL,
    14,
)


async def saved(verb: str, *_: Any, **__: Any) -> Any:
    lines = REVIEWED["review.diff"], (REVIEWED["review.file_diff"],)
    return EVIL_TIMELINE if verb == "checkpoints.timeline" else lines


def timeline() -> TimelineScreen:
    def start(work: Coroutine[Any, Any, None]) -> None:
        screen.run_worker(work)

    around = Surroundings(
        saved,
        start,
        Kept(),
        lambda *_: None,
        lambda _: None,
        lambda: AGENTS,
        lambda _: EVIL,
        lambda _: (),
        lambda: fleet_states.NOW,
    )
    screen = TimelineScreen(AGENTS[0], around, lambda *_: None)
    return screen


class Kept:
    """Keeps no drafts."""

    def open(self, form: str, dialog: Any, on_result: Any) -> None:
        return

    def keep(self, form: str, values: Any) -> None:
        return

    def forget(self, form: str) -> None:
        return


SCREENS: dict[type[Screen[Any]], Callable[[], Screen[Any]]] = {
    AnswerDialog: lambda: AnswerDialog(BLOCKED, fleet_states.NOW),
    CompareScreen: comparison,
    Confirm: lambda: Confirm(EVIL, EVIL, EVIL),
    ConfirmInput: lambda: ConfirmInput(EVIL, EVIL, label=EVIL, value=EVIL, must_be=EVIL, does=EVIL),
    BasePicker: lambda: BasePicker(BASES, fleet_states.NOW),
    CrashDialog: lambda: CrashDialog(EVIL, EVIL * 3),
    FanOutDialog: lambda: FanOutDialog(PLACE, [EVIL], nothing, fleet_states.NOW, before=AGENTS),
    GoneDialog: lambda: GoneDialog(EVIL, [EVIL]),
    LogScreen: lambda: LogScreen(AGENTS[0], read),
    NewAgentDialog: lambda: NewAgentDialog(PLACE, [EVIL], nothing, fleet_states.NOW),
    MultiDialog: lambda: MultiDialog(PLACE, nothing, fleet_states.NOW),
    ProgressDialog: progress,
    ProfilePicker: lambda: ProfilePicker(
        [AgentProgram(EVIL, EVIL, EVIL, EVIL), AgentProgram(EVIL, "", EVIL)]
    ),
    PromptDialog: lambda: PromptDialog(AGENTS, [EVIL], EVIL),
    QueueDialog: lambda: QueueDialog(
        AGENTS[0], [Receipt("r", "a", EVIL, "refused", EVIL)], [QueuedPrompt("i", EVIL)]
    ),
    TrustDialog: lambda: TrustDialog(ASKED),
    FileDialog: lambda: FileDialog(ASKED),
    WhyDialog: lambda: WhyDialog(AGENTS[0], WHY, fleet_states.NOW),
    WrongDialog: lambda: WrongDialog(AGENTS[0]),
    AgainstPicker: lambda: AgainstPicker(AGENTS[0], AGENTS),
    CommentDialog: lambda: CommentDialog(EVIL, EVIL, [EVIL] * 9, EVIL),
    ReviewScreen: review,
    LandScreen: lambda: landing("land"),
    ConflictScreen: lambda: landing("conflict"),
    TrainScreen: lambda: landing("train"),
    TimelineScreen: timeline,
    SendDialog: lambda: SendDialog(AGENTS[0], f"{EVIL}\n{EVIL}", 2),
}
NOT_SHOWN = {
    Dialog: "what the others are made of",
    DraftDialog: "what the others are made of",
    Form: "what the others are made of",
    Picker: "what the others are made of",
    Dashboard: "shown below, in several sizes",
    HelpDialog: "has our own words only",
    CompareHelp: "has our own words only",
    ReviewHelp: "has our own words only",
}


def ours(kind: type[Any]) -> Iterator[type[Any]]:
    for module in pkgutil.walk_packages(fleet_tui.tui.__path__, "fleet_tui.tui."):
        importlib.import_module(module.name)
    waiting = [kind]
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if one.__module__.startswith("fleet_tui."):
            yield one


def check(app: App[None], where: str, seen: set[type[Widget]]) -> None:
    """No control character, and no markup from outside, in anything on the screen."""
    rows = app.screen._compositor.render_strips()
    shown = "\n".join(row.text for row in rows)
    assert CONTROLS.findall(shown.replace("\n", "")) == [], (where, shown)
    for row in rows:
        for segment in row:
            assert segment.style is None or "@click" not in segment.style.meta, (where, segment)
            assert "link" not in segment.text or segment.style is None or not segment.style.link, (
                where,
                segment,
            )
    seen.update(type(widget) for widget in app.screen.walk_children(Widget) if widget.region)


@pytest.mark.slow
def test_a_real_dashboard_shows_a_hostile_fleet_and_notices_as_plain_text(
    hostile: tuple[Cli, dict[str, str]], place: Path
) -> None:
    _, names = hostile

    async def test() -> None:
        async with opened(place, size=(140, 40)) as driven:
            await driven.until(lambda: "evil�[31mred" in driven.text(), "the agents")
            driven.dashboard.view.select(names["living"])
            driven.app.notify(EVIL, title=EVIL, markup=True)
            await driven.until(lambda: "[@click=app.quit]q[/]" in driven.text(), "the notice")
            check(driven.app, "real dashboard", set())
            for keys in (("enter",), ("escape",), ("w",), ("escape",), ("q",)):
                await driven.press(*keys)
                await driven.keyboard.pause()
                check(driven.app, f"real dashboard {keys}", set())

    drive(test())


@pytest.mark.pure
def test_every_screen_is_shown_or_has_a_reason_not_to_be() -> None:
    found = {kind for kind in ours(Screen) if not kind.__module__.startswith("textual.")}

    assert found == set(SCREENS) | set(NOT_SHOWN)


def shown_on(
    size: tuple[int, int], go: Callable[[StageApp, Pilot[None]], object], place: ProjectInfo = PLACE
) -> None:
    import asyncio

    async def run() -> None:
        app = StageApp(STATE, live=LIVE, place=place)
        app.worker.known |= {
            "project_info": place,
            "start_points": BASES,
            "start_point": (BASES[0], 5),
            "why": WHY,
        }
        async with app.run_test(size=size, notifications=True):
            keyboard = Keyboard(app)
            await keyboard.pause()
            await go(app, keyboard)  # type: ignore[misc]  # a coroutine

    asyncio.run(run())


MADE_OF = {"ErrorBoundary", "LineView", "Dialog", "Form", "PickerField", "Scrolled"}
UNSEEN = {
    "KeyColumns": "our own words only",
    "AllKeys": "our own words only",
    "PickerRows": "what the lists of pickers are made of",
    "TooSmall": "our own words only",
    "WhichKey": "our own words only",
    "CompareKeys": "our own words only",
    "ReviewKeys": "our own words only",
}


@pytest.mark.pure
def test_labels_and_input_fields_are_those_that_make_text_safe() -> None:
    """Textual's own read markup in a text."""
    for file in Path(fleet_tui.tui.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "textual.widgets":
                assert {name.name for name in node.names} <= {"TextArea"}, file


@pytest.mark.slow
def test_no_widget_lets_hostile_text_act_on_the_terminal() -> None:
    seen: set[type[Widget]] = set()

    async def dialogs(app: StageApp, pilot: Pilot[None]) -> None:
        for make in [*SCREENS.values(), question]:
            screen = make()
            await app.push_screen(screen)
            await until(pilot, lambda: app.screen is screen and screen.is_mounted)  # noqa: B023 - awaited at once
            await pilot.pause()
            for area in app.screen.query(TextArea):
                area.load_text(EVIL)
            for field in app.screen.query(Input):
                field.value = EVIL.replace("\n", "")
            await pilot.pause()
            await pilot.pause()
            check(app, type(screen).__name__, seen)
            app.pop_screen()
            await pilot.pause()

    async def dashboard(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        for keys in (
            (),
            ("enter",),
            ("escape",),
            ("l",),
            ("D",),
            ("2",),
            ("4",),
            ("z",),
            ("slash",),
            ("escape",),
            ("colon",),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            check(app, f"dashboard {keys}", seen)
        await pilot.press("escape")
        dashboard.notify(EVIL, title=EVIL)
        await until(pilot, lambda: any(toast.display for toast in dashboard.query(Toasts)))
        check(app, "toast", seen)
        dashboard.groups.away.show(Summary(5000.0, AGENTS[:3], EVIL))
        for agent in AGENTS:
            dashboard.view.select(agent.id)
            await pilot.pause()
            check(app, f"dashboard on {agent.status}", seen)

    async def empty(app: StageApp, pilot: Pilot[None]) -> None:
        app.dashboard.view.take_state(FleetState((), ()))
        await pilot.pause()
        check(app, "welcome", seen)

    shown_on((160, 50), dialogs)
    shown_on((160, 50), dashboard)
    shown_on((70, 20), dashboard)
    shown_on((120, 40), empty)
    shown_on((120, 40), empty, replace(PLACE, problem=EVIL, advice=EVIL, can_prepare=True))
    own = {kind.__name__ for kind in ours(Widget)} - MADE_OF - {kind.__name__ for kind in ours(Screen)}
    assert own - {kind.__name__ for kind in seen} == set(UNSEEN)
