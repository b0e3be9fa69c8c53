"""Land one agent's work on a branch: commit, merge, check, build, move the branch, record it.

Nothing of the user is changed before the last of these steps, and that one is all or nothing. The agent's own branch
gets its uncommitted work as a commit first, which stays whatever happens after. Stopping the agent and moving its
worktree to the trash is left to the caller.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fleet_tui import git, names
from fleet_tui.errors import FleetError, Refused
from fleet_tui.fast_dataclasses import replace
from fleet_tui.landings import (
    Landing,
    LandingObstacle,
    LandingPlan,
    LandingState,
    ObstacleKind,
    StepKind,
    StepState,
)
from fleet_tui.models import Agent
from fleet_tui.review import landing_message, pull_requests
from fleet_tui.review.landing_plan import LandingChoices, preview
from fleet_tui.review.landing_target import find_target
from fleet_tui.store.database import Store
from fleet_tui.work import CheckRun, CheckState, ConflictingFile

ATTEMPTS = 3
"""How often it starts again because the branch has moved meanwhile."""

Checker = Callable[[Path, str, str], CheckRun]
"""Runs the check in a folder that has a commit and its tree checked out, and waits for its end."""
OnLandingStep = Callable[[StepKind, StepState, str], None]


class LandingStopped(Refused):
    """A landing that could not be done; the branch that it was for is as before."""

    def __init__(
        self,
        obstacle: LandingObstacle,
        *,
        conflicts: tuple[ConflictingFile, ...] = (),
        give_back: str = "",
        check: CheckRun | None = None,
    ) -> None:
        super().__init__(obstacle.message, hint=obstacle.hint)
        self.obstacle = obstacle
        self.conflicts = conflicts
        self.give_back = give_back
        self.check = check


class LandingRun:
    """One agent's landing."""

    def __init__(
        self,
        store: Store,
        agent: Agent,
        choices: LandingChoices,
        *,
        checker: Checker | None,
        on_step: OnLandingStep,
        seen: str = "",
    ) -> None:
        self._seen = seen
        """The tree that the user was shown; empty if none was."""
        self._store, self._agent, self._choices = store, agent, choices
        self._checker, self._on_step = checker, on_step
        self._target = find_target(store, agent, choices.into)
        self._checked: set[str] = set()
        self._squash_message = ""
        self.notes: list[str] = []

    def land(self) -> Landing:
        """Do it. Raises LandingStopped with what stops it."""
        plan = self._plan()
        self._commit(plan)
        if self._choices.strategy == "pr":
            return self._request(plan)
        for attempt in range(1, ATTEMPTS + 1):
            commit = self._build()
            landing = self._record(commit)
            try:
                with self._step("update"):
                    git.move_branch(
                        self._target.git_dir,
                        self._target.into,
                        self._target.tip,
                        commit,
                        why=f"fleet: land {self._agent.branch}",
                        root=self._target.repo.root,
                    )
            except LandingStopped as error:
                self._set(landing, LandingState.FAILED, error.message)
                tip = find_target(self._store, self._agent, self._target.into).tip
                if tip == self._target.tip or attempt == ATTEMPTS:
                    raise
                self.notes.append(
                    f"{self._target.into} moved while this was landing, so it was merged and checked again"
                )
                self._target = replace(self._target, tip=tip)
            else:
                self._set(landing, LandingState.LANDED)
                self._run_post_merge()
                return replace(landing, state=LandingState.LANDED)
        raise AssertionError("the last attempt raises or returns")

    # ── the steps ──

    def _plan(self) -> LandingPlan:
        plan = preview(
            self._store, [self._agent], replace(self._choices, into=self._target.into), others=False
        )[0]
        if self._seen and plan.tree != self._seen:
            self._stop(
                "other",
                f"the files of {self._agent.name} have changed since they were shown",
                f"look again: fleet land {self._agent.name}",
            )
        if plan.obstacles:
            raise LandingStopped(plan.obstacles[0], conflicts=plan.conflicts, give_back=plan.give_back)
        return plan

    def _commit(self, plan: LandingPlan) -> None:
        """Commit what is not committed, on the agent's own branch."""
        message = landing_message.message_of(plan.strategy, has_uncommitted=bool(plan.uncommitted))
        self._squash_message = plan.message if message == "the one commit" else ""
        self._merge_message = (
            plan.message if message == "the merge commit"
            else landing_message.with_agent(landing_message.merge_message(self._agent), self._agent)
        )  # fmt: skip
        if not plan.uncommitted or self._target.place is None:
            return
        with self._step("commit", kind="hook"):
            message = (
                landing_message.with_agent(plan.message, self._agent)
                if plan.strategy == "pr"
                else plan.message
            )
            head = git.commit_everything(self._target.place, message, without=plan.left_out)
        self._target = replace(self._target, head=head)
        self._on_step("commit", "done", head[:10])

    def _request(self, plan: LandingPlan) -> Landing:
        """Check the work as it would be after a merge, if it merges, then push it and open a pull request."""
        with self._step("bring in"):
            draft = self._draft(signs=False)
        if draft.commit == self._target.tip:
            self._refuse_conflict(draft)
        self._check(draft.commit or self._target.head)
        title, _, body = plan.message.partition("\n")
        branch = self._agent.branch
        if git.commit_of(self._target.git_dir, f"refs/heads/{branch}") != self._target.head:
            self._stop("branch", f"{branch} has got another commit meanwhile", "land it again")
        with self._step("push"):
            request = pull_requests.open_request(
                self._store, self._agent, title, body.strip(), self._target.into, draft=self._choices.draft
            )
        self._on_step("push", "done", request.url)
        target = self._target
        landing = Landing(
            names.new_id(os.urandom), self._agent.project, self._agent.id, target.into, "pr",
            target.tip, target.head, target.head, LandingState.PUSHED, time.time(), plan.message,
        )  # fmt: skip
        with self._store.transaction():
            self._store.landings.add(landing)
        return landing

    def _build(self) -> str:
        """The commit that lands, checked."""
        target = self._target
        place = target.base_place
        work_tree = place.work_tree if place is not None else target.repo.root
        hooks = git.present_hooks(target.git_dir, work_tree, git.BY_HAND[self._choices.strategy])
        signs = git.is_signed(target.git_dir) and not hooks
        with self._step("bring in"):
            draft = self._draft(signs=signs)
        self._refuse_conflict(draft)
        self._check(draft.commit)
        if not hooks:
            return draft.commit
        with self._step("build", kind="hook"):
            commit = self._by_hand()
        # A hook may have changed files, and then this is not what was checked.
        self._check(commit)
        return commit

    def _draft(self, *, signs: bool) -> git.BuiltCommit:
        target = self._target
        if self._choices.strategy == "squash":
            return git.squashed(target.git_dir, target.tip, target.head, self._squash_message, signs=signs)
        if self._choices.strategy == "rebase":
            return git.rebased(target.git_dir, target.tip, target.head, signs=signs)
        return git.merged(target.git_dir, target.tip, target.head, self._merge_message, signs=signs)

    def _refuse_conflict(self, draft: git.BuiltCommit) -> None:
        target = self._target
        if draft.commit == target.tip:
            self._stop("nothing", f"{self._agent.name} has nothing that {target.into} does not have")
        if draft.commit:
            return
        names_of = {draft.ours: self._agent.name, draft.theirs: target.into}
        found = git.conflicting_files(
            target.git_dir, draft.ours, draft.theirs, base=target.tip, names=names_of
        )
        of = f" in “{draft.subject}”" if draft.subject else ""
        paths = tuple(one.path for one in found)
        verb = "conflict" if len(paths) > 1 else "conflicts"
        message = f"{', '.join(paths[:5]) or 'its work'} {verb} with {target.into}{of}"
        obstacle = LandingObstacle("conflict", message, "--give-back asks the agent to resolve it", paths)
        self._on_step("bring in", "failed", message)
        give_back = landing_message.give_back_prompt(target.into, target.tip, found, self._choices.check)
        raise LandingStopped(obstacle, conflicts=found, give_back=give_back)

    def _check(self, commit: str) -> None:
        """Run the check on a commit's files, in a scratch worktree; a red one stops the landing."""
        tree = git.tree_of(self._target.git_dir, commit)
        if self._checker is None or tree in self._checked:
            return
        with self._step("check", kind="check", text=self._choices.check), self._scratch(commit) as folder:
            run = self._checker(folder, commit, tree)
        if not run.is_green:
            message = f"the check did not pass: {described(run)}"
            obstacle = LandingObstacle("check", message, "--no-check lands it all the same")
            self._on_step("check", "failed", message)
            raise LandingStopped(obstacle, check=run)
        self._checked.add(tree)
        self._on_step("check", "done", run.summary)

    def _by_hand(self) -> str:
        target = self._target
        hooks = git.hooks_folder(target.git_dir, target.repo.root)
        with self._scratch(target.tip) as folder:
            if self._choices.strategy == "rebase":
                return git.rebase_by_hand(folder, target.tip, target.head)
            if self._choices.strategy == "squash":
                return git.squash_by_hand(folder, target.head, self._squash_message, hooks=hooks)
            return git.merge_by_hand(folder, target.head, self._merge_message, hooks=hooks)

    def _scratch(self, commit: str) -> contextlib.AbstractContextManager[Path]:
        root = Path(self._agent.worktree).parent
        return git.scratch_worktree(self._target.repo, root, commit)

    def _run_post_merge(self) -> None:
        place = None if self._choices.strategy == "rebase" else self._target.base_place
        if place is not None and (
            failed := git.run_post_merge(place, is_squash=self._choices.strategy == "squash")
        ):
            self.notes.append(failed)

    # ── the record ──

    def _record(self, commit: str) -> Landing:
        target = self._target
        landing = Landing(
            names.new_id(os.urandom), self._agent.project, self._agent.id, target.into, self._choices.strategy,
            target.tip, commit, target.head, LandingState.BEGUN, time.time(), git.message_of(target.git_dir, commit),
        )  # fmt: skip
        with self._store.transaction():
            self._store.landings.add(landing)
        return landing

    def _set(self, landing: Landing, state: LandingState, reason: str = "") -> None:
        with self._store.transaction():
            self._store.landings.change(landing, state, time.time(), reason=reason)

    @contextlib.contextmanager
    def _step(self, step: StepKind, *, kind: ObstacleKind = "other", text: str = "") -> Iterator[None]:
        """Report a step, and turn its errors into what stopped the landing."""
        self._on_step(step, "running", text)
        try:
            yield
        except LandingStopped:
            raise
        except FleetError as error:
            self._on_step(step, "failed", error.message)
            files = error.files if isinstance(error, git.InTheWay) else ()
            found: ObstacleKind = "in the way" if isinstance(error, git.InTheWay) else kind
            raise LandingStopped(LandingObstacle(found, error.message, error.hint, files)) from error
        if step in ("bring in", "build", "update"):
            self._on_step(step, "done", "")

    @staticmethod
    def _stop(kind: ObstacleKind, message: str, hint: str = "") -> None:
        raise LandingStopped(LandingObstacle(kind, message, hint))


def described(run: CheckRun) -> str:
    """How a check ended, in a few words."""
    found = run.summary or run.note
    if run.state is CheckState.FAILED and run.exit_code is not None:
        return found or f"it ended with code {run.exit_code}"
    return f"{run.state}{f', {found}' if found else ''}"
