"""Comparisons made by hand: five agents with one prompt, as a real review.ranking orders them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fleet_tui.comparison import ComparedAgent, Comparison
from fleet_tui.models import FleetState, Status
from fleet_tui.review import ranking
from fleet_tui.work import ChangedFile, CheckRun, CheckState
from tests.tui import fleet_states
from tests.tui.dashboard_app import StillWorker

PROMPT = """Replace the session cookie by signed tokens.
- keep the public API of auth.Session as it is
- old cookies must work until 1 December
- add a migration if one is needed
- run the whole test suite before you say done"""

LABELS = "ABCDE"
STATE = FleetState(
    tuple(
        replace(
            fleet_states.agent(f"refactor-auth-{label}", Status.DONE, batch="fan1", profile=profile),
            prompt=PROMPT,
        )
        for label, profile in zip(LABELS, ("claude", "codex", "claude", "gemini", "codex"), strict=True)
    ),
    fleet_states.SMALL.batches,
    1,
)
IDS = {label: agent.id for label, agent in zip(LABELS, STATE.agents, strict=True)}
TOUCHED = {
    "C": "src/auth/session.py=24 src/auth/claims.py=40 src/auth/signer.py=12 src/auth/middleware.py=7",
    "A": "src/auth/session.py=24 src/auth/claims.py=64 src/auth/signer.py=16 src/auth/middleware.py=15 src/http/login.py=6 tests/auth/test_session.py=8 pyproject.toml=1",
    "E": "src/auth/session.py=60 src/auth/claims.py=50 src/auth/middleware.py=21 src/http/login.py=18 migrations/0042_tokens.py=41 tests/auth/test_session.py=14",
    "B": "src/auth/session.py=60 src/auth/middleware.py=17 src/http/login.py=40",
    "D": "src/auth/session.py=30 src/auth/middleware.py=14",
}


def check(label: str, state: CheckState, summary: str = "", note: str = "") -> CheckRun:
    now = fleet_states.NOW
    is_over = state not in (CheckState.WAITING, CheckState.RUNNING)
    return CheckRun(
        f"k{label}", IDS[label], "make test", "tree", "", state, now - 95, now - 20 if is_over else None, 0, summary,
        note=note,
    )  # fmt: skip


def compared(label: str, run: CheckRun | None, cost: float, seconds: float, **more: Any) -> ComparedAgent:
    agent = next(one for one in STATE.agents if one.id == IDS[label])
    files = []
    for word in TOUCHED[label].split():
        path, _, count = word.partition("=")
        removed = int(count) // 5
        files.append(
            ChangedFile(
                path, "modified", added=int(count) - removed, removed=removed, is_uncommitted=label == "C"
            )
        )
    return ComparedAgent(
        agent.id, agent.name, label, agent.profile, "done", check=run, is_check_current=run is not None and run.is_over,
        files=tuple(files), commits=1, seconds=seconds, cost=cost, tokens=120_000, **more,
    )  # fmt: skip


def comparison(*agents: ComparedAgent, **more: Any) -> Comparison:
    ranks = ranking.ranked(agents, "main")
    found = {one.id: one for one in agents}
    return Comparison(
        "refactor-auth", fleet_states.ATLAS, "main", PROMPT, tuple(found[rank.agent] for rank in ranks),
        ranking.by_agent(ranks), tuple(ranking.differences([found[rank.agent] for rank in ranks])), **more,
    )  # fmt: skip


CHECKED = comparison(
    compared("C", check("C", CheckState.PASSED, "214 passed"), 0.61, 581, tests=4),
    compared("A", check("A", CheckState.PASSED, "214 passed"), 0.84, 725, tests=8),
    compared("E", check("E", CheckState.PASSED, "211 passed, 3 skipped"), 0.47, 750, tests=2),
    compared(
        "B", check("B", CheckState.FAILED, "5 failed, 209 passed"), 0.39, 672,
        base_conflicts=("src/http/login.py",), conflicts={IDS["E"]: ("src/http/login.py",)},
    ),
    compared("D", check("D", CheckState.TIMED_OUT), 0.22, 722),
    command="make test",
)  # fmt: skip
RUNNING = comparison(
    compared("C", check("C", CheckState.PASSED, "214 passed"), 0.61, 581, tests=4),
    compared("A", check("A", CheckState.RUNNING), 0.84, 725, tests=8),
    compared("E", check("E", CheckState.WAITING), 0.47, 750, tests=2),
    command="make test",
)
UNCHECKED = comparison(
    compared("B", None, 0.39, 672),
    compared("D", None, 0.22, 722),
    no_checks='this project has no check command (set one: fleet config set land.check "make test")',
)


class CompareWorker(StillWorker):
    """Answers with one comparison."""

    def __init__(self, found: Comparison = CHECKED) -> None:
        super().__init__()
        self.known["comparison.of"] = found
        self.known["checks.runs"] = {one.id: one.check for one in found.agents if one.check is not None}
        self.known["checks.output"] = [
            "collected 214 items",
            "tests/test_a.py ........",
            "214 passed in 75.1s",
        ]
