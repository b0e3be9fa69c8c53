"""Landings for pictures: a plan that can land, one that conflicts, a train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fleet_tui.landings import CommitLine, LandingPlan, LandingStep
from fleet_tui.models import Agent
from fleet_tui.tui.landing.dashboard_access import DashboardAccess
from fleet_tui.work import (
    ChangedFile,
    CheckRun,
    CheckState,
    Conflict,
    ConflictingFile,
    ConflictPlace,
)
from tests.tui import fleet_states

FILES = (
    ChangedFile("src/auth/session.py", "modified", new_blob="1", added=24, removed=3),
    ChangedFile("src/auth/claims.py", "added", new_blob="2", added=37),
    ChangedFile("src/auth/middleware.py", "modified", new_blob="3", added=7),
    ChangedFile("docs/tokens.md", "added", new_blob="4", added=12, is_uncommitted=True),
)
MESSAGE = """Replace the session cookie by signed tokens

Session.issue signs claims instead of storing an id;
Session.load verifies them and checks revocations.

Fleet-Agent: refactor-auth-C (claude)
"""
STEPS = (
    LandingStep("commit", "Commit what is not committed", lines=("A docs/tokens.md",)),
    LandingStep(
        "bring in", "Bring in main", "moved by 2 since the branch",
        ("7c40d1e Throttle log-ins by address", "b81e004 Rename auth.middleware to http.guard", "✓ merges clean, tried in memory"),
    ),
    LandingStep("check", "Check the result", "make test", ("in a scratch worktree; red stops here",)),
    LandingStep("build", "One commit on main", "signed, hooks run", ("pre-commit, commit-msg",)),
    LandingStep("update", "Update your main worktree", lines=("✓ none of its changed files is touched", "README.md stays as it is")),
    LandingStep("tidy", "Tidy up", "u brings all of it back", ("agent stopped, worktree to the trash, branch removed",)),
)  # fmt: skip


def plan(agent: Agent, **values: Any) -> LandingPlan:
    run = CheckRun(
        "k", agent.id, "make test", "tree", "", CheckState.PASSED, fleet_states.NOW - 60, fleet_states.NOW, 0, "214 passed"
    )  # fmt: skip
    made = LandingPlan(
        agent.id, agent.name, agent.profile, "main", "squash", "e41c0d2" * 5, "9c2e4f1" * 5, STEPS, FILES, FILES[3:],
        message=MESSAGE, message_of="the one commit", moved=(CommitLine("7c40d1e", "Throttle", "Ana", 1.0),),
        check_command="make test", check=run, others=(Conflict(agent.id, "id-refactor-auth-a", "main", ("src/auth/session.py",), 1.0),),
    )  # fmt: skip
    return replace(made, **values)


CONFLICTS = (
    ConflictingFile(
        "src/http/login.py", "both changed",
        (
            ConflictPlace(
                41, 58, "login()", ('if user and user.check(req.form["pw"]):', "    sid = sessions.issue(user)"),
                ('if user and user.check(req.form["pw"]):', "    token = tokens.issue(user, req.addr)"),
                ("if throttle.blocked(req.addr):", "    return too_many(req)"),
            ),
            ConflictPlace(90, 93, "logout()", ("x",), ("y",), ("z",)),
        ),
    ),
    ConflictingFile("src/auth/session.py", "deleted there", message="deleted in main and modified in the agent's branch"),
)  # fmt: skip
GIVE_BACK = "Your work conflicts with main. Rebase onto main.\nResolve src/http/login.py (lines 41–58, 90–93).\nRun make test."


class LandingWorker:
    """Answers what the screens of a landing ask of the worker."""

    def __init__(self, plans: Sequence[LandingPlan]) -> None:
        self.plans = {one.agent: one for one in plans}
        self.asked: list[str] = []

    async def __call__(self, verb: str, *arguments: Any, **_: Any) -> Any:
        self.asked.append(verb)
        if verb == "landing.preview":
            return [self.plans[agent] for agent in arguments[0]]
        if verb == "review.reviewed":
            return {FILES[0].path: FILES[0].new_blob, FILES[1].path: "older"}
        return []


def access(worker: LandingWorker, agents: Sequence[Agent], start: Any) -> DashboardAccess:
    return DashboardAccess(
        worker, start, lambda: agents, lambda *_, **__: None, lambda *_: None, lambda _: None, lambda _: None,
        lambda: fleet_states.NOW,
    )  # fmt: skip
