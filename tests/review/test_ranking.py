"""The order of compared agents and the reasons that are given for it."""

from __future__ import annotations

import pytest

from fleet_tui.comparison import ComparedAgent
from fleet_tui.review.ranking import differences, grounds, ranked
from fleet_tui.work import ChangedFile, CheckRun, CheckState

pytestmark = pytest.mark.pure


def check(state: CheckState = CheckState.PASSED, summary: str = "214 passed") -> CheckRun:
    return CheckRun("k", "x", "make test", "tree", "", state, 1.0, 2.0, 0, summary)


RED = check(CheckState.FAILED, "5 failed, 209 passed")


def made(
    label: str,
    *,
    lines: int = 10,
    files: tuple[str, ...] = ("src/session.py",),
    run: CheckRun | None = None,
    current: bool = True,
    **more: object,
) -> ComparedAgent:
    """An agent that has added so many lines to the first of its files."""
    changed = tuple(ChangedFile(path, "modified", added=lines if path == files[0] else 0) for path in files)
    return ComparedAgent(
        label.lower(), f"auth-{label}", label, "claude", "done", check=run, is_check_current=run is not None and current,
        files=changed, **more,  # type: ignore[arg-type] # what a test sets
    )  # fmt: skip


def order(*agents: ComparedAgent) -> str:
    return " ".join(f"{rank.place}{rank.agent}" for rank in ranked(agents, "main"))


@pytest.mark.parametrize(
    ("agents", "places"),
    [
        ([made("A", run=RED, lines=1), made("B", lines=2), made("C", run=check(), lines=99)], "1c 2b 3a"),
        (
            [made("A", run=check(), base_conflicts=("x.py",), lines=1), made("B", run=check(), lines=99)],
            "1b 2a",
        ),
        ([made("A", lines=3), made("B", lines=2), made("C", lines=1)], "1c 2b 3a"),
        ([made("A", cost=0.9), made("B", cost=0.1)], "1b 2a"),
        ([made("A", cost=0.9), made("B")], "1a 1b"),
        ([made("A", lines=0, files=()), made("B", run=RED)], "1b 2a"),
        ([made("A", run=check(), current=False, lines=1), made("B", run=check(), lines=99)], "1b 2a"),
        ([made("B"), made("A"), made("AA", lines=11)], "1a 1b 3aa"),
        ([made("A")], "1a"),
        ([], ""),
    ],
)
def test_checks_come_before_conflicts_before_size_before_cost(
    agents: list[ComparedAgent], places: str
) -> None:
    assert order(*agents) == places


def reasons(*agents: ComparedAgent) -> dict[str, str]:
    return {rank.agent: rank.reason for rank in ranked(agents, "main")}


def test_a_reason_says_what_was_measured_in_the_order_that_decides() -> None:
    found = reasons(
        made("A", run=check(), lines=80, tests=4),
        made("B", run=RED, lines=86, base_conflicts=("src/login.py",)),
        made("C", lines=164, tests=-2, is_working=True),
        made("D", files=()),
        made("E", problem="no worktree: it is killed"),
    )

    assert found == {
        "a": "the check passes, smallest diff, merges clean, adds 4 tests",
        "b": "the check fails: 5 failed, 209 passed, conflicts with main in login.py",
        "c": "still working, not checked, largest diff, merges clean, removes 2 tests",
        "d": "nothing changed",
        "e": "no worktree: it is killed",
    }


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (None, "not checked"),
        (check(CheckState.TIMED_OUT), "the check took too long"),
        (check(CheckState.NOT_STARTED), "the check did not start"),
        (check(CheckState.CANCELLED), "the check was cancelled"),
        (check(CheckState.WAITING), "waits for its check"),
        (check(CheckState.RUNNING), "the check is running"),
        (check(CheckState.FAILED, ""), "the check fails"),
    ],
)
def test_each_state_of_a_check_has_its_words(run: CheckRun | None, words: str) -> None:
    assert reasons(made("A", run=run))["a"].split(", ")[0] == words


def test_a_check_of_other_files_is_no_reason() -> None:
    assert reasons(made("A", run=check(), current=False))["a"].startswith("changed since its check")


def test_what_nothing_tells_apart_is_said_to_be_level() -> None:
    ranks = ranked([made("A"), made("B")], "main")

    assert ranks[1].reason.endswith("level with A")
    assert ranks[1].decided == "level with A: nothing that is measured tells them apart"


@pytest.mark.parametrize(
    ("other", "decided"),
    [
        (made("B", run=RED), "behind A: the check fails: 5 failed, 209 passed, A: the check passes"),
        (made("B", run=check(), base_conflicts=("x",)), "behind A: it conflicts with main"),
        (made("B", run=check(), lines=11), "behind A: 11 lines against 10"),
        (made("B", run=check(), cost=0.5), "behind A: $0.50 against $0.25"),
        (made("B", files=()), "behind A: it has changed nothing"),
    ],
)
def test_what_puts_an_agent_behind_is_one_fact(other: ComparedAgent, decided: str) -> None:
    assert ranked([made("A", run=check(), cost=0.25), other], "main")[1].decided == decided


def test_the_grounds_of_the_first_compare_it_with_the_others() -> None:
    agents = [
        made("C", run=check(), lines=83, files=("session.py", "claims.py"), tests=4, cost=0.61),
        made("A", run=check(), lines=134, files=("session.py", "claims.py", "signer.py"), tests=8, cost=0.84),
        made(
            "B", run=RED, lines=40, files=("session.py", "signer.py"), base_conflicts=("login.py",), cost=0.39
        ),
    ]

    rows = [(one.fact, one.others, one.is_better) for one in grounds(agents[0], agents, "main")]

    assert rows == [
        ("214 passed", "the same as A, better than B", True),
        ("no conflict with main", "B conflicts in login.py", True),
        ("83 lines in 2 files", "B is smaller: 40", False),
        ("4 tests added", "A adds 8", False),
        ("$0.61", "B cost $0.39", False),
        ("signer.py is unchanged", "A and B change it", False),
    ]


def test_what_is_seen_across_all_is_about_files_and_conflicts() -> None:
    agents = [
        made("A", files=("session.py", "signer.py"), conflicts={"b": ("session.py",)}),
        made("B", files=("session.py",), conflicts={"a": ("session.py",)}),
        made("C", files=("session.py", "db/1.sql", "db/2.sql", "db/3.sql")),
        made("D", files=()),
    ]

    assert differences(agents) == [
        "A, B and C change session.py",
        "only A changes signer.py",
        "only C changes 1.sql, 2.sql and 1 more file",
        "A and B conflict in session.py",
    ]
    assert differences(agents[:2])[0] == "all change session.py"
    assert (
        differences([made("A", files=("a",)), made("B", files=("b",))])[0] == "all change no file in common"
    )
    assert differences(agents[:1]) == []


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (check(), "the same as A, not known of B, better than C"),
        (RED, "A passes, not known of B, the same as C"),
        (None, "A passes, the same as B, C fails"),
    ],
)
def test_checks_that_have_not_run_are_neither_better_nor_worse(mine: CheckRun | None, words: str) -> None:
    agents = [made("X", run=mine), made("A", run=check()), made("B"), made("C", run=RED)]

    assert grounds(agents[0], agents, "main")[0].others == words
