"""Preview of a landing: everything that it would find, found out in memory, without changing anything.

Merges and trees go to the scratch objects, so a preview leaves nothing in the repository and runs no configured program.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.landings import (
    LandingObstacle,
    LandingPlan,
    LandingStep,
    Strategy,
)
from fleet_tui.models import Agent, Status
from fleet_tui.review import landing_message, pull_requests
from fleet_tui.review.landing_target import LandingTarget, find_target
from fleet_tui.store.database import Store
from fleet_tui.work import ChangedFile, Conflict, ConflictingFile

MOST_OTHERS = 12
"""Other agents that are tried against the result."""
OTHER_SECONDS = 10.0
"""Of git on each of them: the files of one must not block the landing of another."""
MOST_LINES = 6
"""Lines of one step; what is left is counted."""
_LETTERS = {
    "added": "A", "modified": "M", "deleted": "D", "renamed": "R", "mode changed": "M", "type changed": "T",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LandingChoices:
    """What the user has chosen for a landing; empty for what is configured or usual."""

    strategy: Strategy = "merge"
    into: str = ""
    message: str = ""
    check: str = ""
    """The command; empty for none."""
    tidies: bool = True
    draft: bool = False
    """Open a pull request as a draft."""


def preview(
    store: Store, agents: Sequence[Agent], choices: LandingChoices, *, others: bool = True
) -> list[LandingPlan]:
    """What landing these agents one after the other would do, each on top of the last.

    With `others`, also which other agents would conflict with the result.
    """
    plans: list[LandingPlan] = []
    tips: dict[tuple[str, str], str] = {}
    for agent in agents:
        try:
            target = find_target(store, agent, choices.into)
        except FleetError as error:
            plans.append(_impossible(agent, choices, error))
            continue
        with git.scratch_objects(target.git_dir) as scratch:
            key = (str(target.git_dir), target.into)
            planned = _Preview(
                store,
                replace(target, tip=tips.get(key, target.tip)),
                choices,
                scratch,
                is_first=key not in tips,
                tries_others=others,
            )
            plans.append(planned.plan())
            # Pull requests are independent of each other.
            if choices.strategy != "pr":
                tips[key] = planned.result or tips.get(key, target.tip)
    return plans


def _impossible(agent: Agent, choices: LandingChoices, error: FleetError) -> LandingPlan:
    obstacle = LandingObstacle("branch", error.message, error.hint)
    return LandingPlan(
        agent.id, agent.name, agent.profile, choices.into, choices.strategy, "", "", obstacles=(obstacle,)
    )


class _Preview:
    """One agent's preview, while the scratch objects are open."""

    def __init__(
        self,
        store: Store,
        target: LandingTarget,
        choices: LandingChoices,
        scratch: git.ScratchObjects,
        *,
        is_first: bool,
        tries_others: bool,
    ) -> None:
        self._store, self._target, self._choices, self._scratch = store, target, choices, scratch
        self._is_first, self._tries_others = is_first, tries_others
        self._objects: Mapping[str, str] = scratch.variables
        self._obstacles: list[LandingObstacle] = []
        self._warnings: list[str] = []
        self.result = ""
        """A commit of what the branch would have; empty if it cannot land."""

    def plan(self) -> LandingPlan:
        target, choices = self._target, self._choices
        git_dir, agent = target.git_dir, target.agent
        self._judge()
        uncommitted, left_out, work, files_tree = self._work()
        commits = git.commits_between(git_dir, target.tip, target.head, objects=self._objects)
        fork = git.fork_point(git_dir, target.tip, target.head, objects=self._objects)
        moved = git.commits_between(git_dir, target.head, target.tip, objects=self._objects) if fork else []
        conflicts, tree = self._merged(work, fork)
        files: tuple[ChangedFile, ...] = ()
        if not tree and fork and choices.strategy == "pr":
            files = tuple(git.changed_files(git_dir, fork, work, objects=self._objects))
        if tree:
            found = git.changed_files(git_dir, target.tip, tree, objects=self._objects)
            dirty = {one.path for one in uncommitted}
            files = tuple(replace(one, is_uncommitted=one.path in dirty) for one in found)
            if not files and not commits:
                self._stop(
                    "nothing",
                    f"{agent.name} has nothing that {target.into} does not have",
                    f"remove it with: fleet kill {agent.name}",
                )
            elif not files:
                self._stop(
                    "nothing",
                    f"the work of {agent.name} changes nothing in {target.into}",
                    f"remove it with: fleet kill {agent.name}",
                )
        base = self._base_place() if choices.strategy != "pr" else None
        pushes_to = self._pushes_to() if choices.strategy == "pr" else ""
        stays = self._dirty(base, tree)
        work_tree = base.work_tree if base is not None else target.repo.root
        hooks = git.present_hooks(git_dir, work_tree, git.BY_HAND.get(choices.strategy, ("pre-push",)))
        message_of = landing_message.message_of(choices.strategy, has_uncommitted=bool(uncommitted))
        message = choices.message or landing_message.default_message(
            target, choices.strategy, commits, has_uncommitted=bool(uncommitted)
        )
        ran = (
            git.present_hooks(git_dir, target.place.work_tree, git.COMMIT_HOOKS)
            if uncommitted and target.place is not None
            else ()
        )
        give_back = (
            landing_message.give_back_prompt(target.into, target.tip, conflicts, choices.check)
            if conflicts
            else ""
        )
        plan = LandingPlan(
            agent=agent.id, name=agent.name, profile=agent.profile, into=target.into, strategy=choices.strategy,
            old=target.tip, head=target.head, tree=files_tree, files=files, uncommitted=uncommitted, left_out=left_out,
            message=message if message_of else "", message_of=message_of, commits=tuple(commits), moved=tuple(moved),
            conflicts=conflicts, give_back=give_back, others=self._others(tree, work), check_command=choices.check,
            hooks=hooks, is_signed=git.is_signed(git_dir), folder=str(base.work_tree) if base else "",
            dirty=tuple(sorted(stays)), pushes_to=pushes_to, tidies=choices.tidies, deletes_branch=self._deletes_branch(),
            warnings=tuple(self._warnings), obstacles=tuple(self._obstacles),
        )  # fmt: skip
        if tree and not self._obstacles:
            self.result = git.snapshot_commit(git_dir, tree, [target.tip, work], self._objects)
        is_main = base is not None and base.own == git_dir
        return replace(plan, steps=tuple(steps(plan, commit_hooks=ran, is_main=is_main)))

    def _pushes_to(self) -> str:
        """Where a pull request's branch goes; what is in its way stops the landing."""
        target, agent = self._target, self._target.agent
        if target.on != agent.branch:
            self._stop(
                "branch",
                f"{agent.name} is not on its branch, so {agent.branch} does not have its work",
                f"git switch {agent.branch} in its worktree",
            )
        try:
            found = pull_requests.route(target.git_dir, agent.branch, target.into)
        except FleetError as error:
            self._stop("branch", error.message, error.hint)
            return ""
        return f"{found}, as a draft" if self._choices.draft else found

    def _work(self) -> tuple[tuple[ChangedFile, ...], tuple[str, ...], str, str]:
        """What is not committed, what is left out, a commit of everything, and its tree."""
        target = self._target
        if target.place is None:
            self._warnings.append(f"the folder of {target.agent.name} is gone; only its commits are landed")
            return (), (), target.head, git.tree_of(target.git_dir, target.head)
        found = git.take_snapshot(target.place, self._scratch, target.agent.id)
        changed = git.changed_files(target.git_dir, target.head, found.tree, objects=self._objects)
        uncommitted = tuple(replace(one, is_uncommitted=True) for one in changed)
        if found.left_out:
            self._warnings.append(
                f"other repositories and files over 50 MB are not landed: {', '.join(found.left_out)}"
            )
        if not uncommitted:
            return (), found.left_out, target.head, found.tree
        commit = git.snapshot_commit(target.git_dir, found.tree, [target.head], self._objects)
        return uncommitted, found.left_out, commit, found.tree

    def _merged(self, work: str, fork: str) -> tuple[tuple[ConflictingFile, ...], str]:
        """What conflicts, or the merged tree."""
        target = self._target
        if not fork:
            self._stop(
                "other",
                f"{target.agent.name} and {target.into} have no commit in common",
                "name another branch with --into",
            )
            return (), ""
        [merged] = git.merge_pairs(
            target.git_dir, [(target.tip, work)], base=target.tip, objects=self._objects
        )
        if merged.is_clean:
            return (), merged.tree
        names = {work: target.agent.name, target.tip: target.into}
        found = git.conflicting_files(
            target.git_dir, work, target.tip, base=target.tip, names=names, objects=self._objects
        )
        paths = tuple(one.path for one in found) or merged.paths
        count = "1 file conflicts" if len(paths) == 1 else f"{len(paths)} files conflict"
        said = f"{count} with {target.into}: {', '.join(paths[:5])}"
        if self._choices.strategy == "pr":
            self._warnings.append(f"{said}; the pull request cannot be merged until that is resolved")
        else:
            self._stop("conflict", said, "--give-back asks the agent to resolve them", paths)
        return found or tuple(ConflictingFile(path, "other") for path in merged.paths), ""

    def _base_place(self) -> git.GitPlaces | None:
        try:
            return self._target.base_place
        except FleetError as error:
            self._stop("in the way", error.message, error.hint)
            return None

    def _dirty(self, base: git.GitPlaces | None, tree: str) -> set[str]:
        """The changed files of the branch's worktree that stay as they are; any other stops the landing."""
        target = self._target
        if base is None:
            return set()
        if what := git.operation_in_progress(base):
            self._stop(
                "in the way", f"{base.work_tree} is in the middle of a {what}", "finish or abort that first"
            )
        dirty = git.dirty_files(base, "HEAD")
        if not tree:
            return dirty
        touched = git.landing_files(target.git_dir, target.tip, tree, objects=self._objects)
        clash = dirty & touched.modes.keys()
        if clash:
            self._stop(
                "in the way", f"{base.work_tree} has uncommitted changes in {', '.join(sorted(clash)[:8])}",
                "commit or stash them there", tuple(sorted(clash)),
            )  # fmt: skip
        if self._is_first and (there := git.files_in_the_way(base.work_tree, touched)):
            self._stop(
                "in the way", f"{', '.join(there[:8])} in {base.work_tree} would be overwritten",
                "move that away", tuple(there),
            )  # fmt: skip
        return dirty - clash

    def _judge(self) -> None:
        target, agent = self._target, self._target.agent
        if target.place is not None and (what := git.operation_in_progress(target.place)):
            self._stop(
                "unfinished", f"{agent.name} is in the middle of a {what}", "let it finish or abort that"
            )
        if target.place is not None and target.on != agent.branch:
            where = f"on {target.on}" if target.on else "on no branch"
            self._warnings.append(
                f"{agent.name} is {where}, so what is checked out there is landed, not {agent.branch}"
            )
        if agent.status in (Status.WORKING, Status.SETUP, Status.STARTING):
            self._warnings.append(f"{agent.name} is still working")
        elif agent.status is Status.BLOCKED:
            self._warnings.append(f"{agent.name} waits for an answer")
        if not self._choices.check:
            self._warnings.append("nothing is checked first: land.check names no command, or it was left out")

    def _deletes_branch(self) -> bool:
        """Whether tidying up deletes the branch: one that was made for the agent, and of which everything lands."""
        target, choices = self._target, self._choices
        is_its_own = target.agent.branch_made and target.on == target.agent.branch
        return choices.tidies and choices.strategy != "pr" and is_its_own

    def _others(self, tree: str, work: str) -> tuple[Conflict, ...]:
        """The project's other agents whose work would not merge with the result."""
        target = self._target
        if not tree or not self._tries_others:
            return ()
        result = git.snapshot_commit(target.git_dir, tree, [target.tip, work], self._objects)
        others: list[tuple[Agent, str]] = []
        for other in self._store.agents.all():
            if other.project != target.agent.project or other.id == target.agent.id or not other.has_worktree:
                continue
            if (
                other.status is Status.KILLED
                or len(others) >= MOST_OTHERS
                or not Path(other.worktree).is_dir()
            ):
                continue
            try:
                place = git.place_of(target.git_dir, Path(other.worktree), other.id)
                head = git.head_and_branch(place)[0]
                found = git.take_snapshot(place, self._scratch, other.id, seconds=OTHER_SECONDS)
                others.append((other, git.snapshot_commit(target.git_dir, found.tree, [head], self._objects)))
            except FleetError:
                continue  # its own row says what is wrong with it
        merges = git.merge_pairs(
            target.git_dir, [(result, commit) for _, commit in others], base=target.tip, objects=self._objects
        ) if others else []  # fmt: skip
        return tuple(
            Conflict(target.agent.id, other.id, target.into, merge.paths, 0.0)
            for (other, _), merge in zip(others, merges, strict=True)
            if not merge.is_clean
        )

    def _stop(self, kind: str, message: str, hint: str = "", files: Sequence[str] = ()) -> None:
        self._obstacles.append(LandingObstacle(kind, message, hint, tuple(files)))  # type: ignore[arg-type] # one of its literals


# ── the steps as a user reads them ──


def steps(plan: LandingPlan, *, commit_hooks: Sequence[str], is_main: bool) -> list[LandingStep]:
    """The numbered steps of a plan; one that has nothing to do is left out."""
    found = []
    if plan.uncommitted:
        files = [f"{_LETTERS[one.kind]} {one.path}" for one in plan.uncommitted]
        note = f"hooks run: {', '.join(commit_hooks)}" if commit_hooks else ""
        found.append(LandingStep("commit", "Commit what is not committed", note, lines=_some(files)))
    if plan.moved or plan.conflicts:
        count = len(plan.moved)
        note = f"moved by {count} since the branch" if count else ""
        rows = _some([f"{one.commit[:7]} {one.subject}" for one in plan.moved])
        state = (
            tuple(f"✗ {one.path}  {one.kind}" for one in plan.conflicts)
            if plan.conflicts
            else ("✓ merges clean, tried in memory",)
        )
        is_request = plan.strategy == "pr"
        title = f"Try the merge into {plan.into}" if is_request else f"Bring in {plan.into}"
        is_blocked = bool(plan.conflicts) and not is_request
        found.append(LandingStep("bring in", title, note, (*rows, *state), is_blocked))
    if plan.check_command:
        lines = ("in a scratch worktree; red stops here",)
        found.append(LandingStep("check", "Check the result", plan.check_command, lines))
    if plan.strategy == "pr":
        said = (plan.pushes_to, *([f"{', '.join(plan.hooks)} runs"] if plan.hooks else []))
        title = f"Push the branch, and open a pull request into {plan.into}"
        found.append(LandingStep("push", title, lines=said))
        return found
    found.append(_build_step(plan))
    found.append(_update_step(plan, is_main=is_main))
    if plan.tidies:
        lines = (
            "agent stopped, worktree to the trash" + (", branch removed" if plan.deletes_branch else ""),
        )
        found.append(LandingStep("tidy", "Tidy up", "fleet undo brings all of it back", lines))
    return found


def _build_step(plan: LandingPlan) -> LandingStep:
    count = len(plan.commits) + bool(plan.uncommitted)
    title = {
        "merge": f"Merge commit on {plan.into}",
        "squash": f"One commit on {plan.into}",
        "rebase": f"{count} {'commit' if count == 1 else 'commits'} on {plan.into}",
    }.get(plan.strategy, "")
    notes = [*(["signed"] if plan.is_signed else []), *(["hooks run"] if plan.hooks else [])]
    return LandingStep("build", title, ", ".join(notes), (", ".join(plan.hooks),) if plan.hooks else ())


def _update_step(plan: LandingPlan, *, is_main: bool) -> LandingStep:
    if not plan.folder:
        return LandingStep("update", f"Move {plan.into}", "it is checked out nowhere")
    title = "Update your main worktree" if is_main else f"Update {os.path.basename(plan.folder)}"  # noqa: PTH119 - only a name
    ways = [one for one in plan.obstacles if one.kind == "in the way"]
    if ways:
        return LandingStep("update", title, lines=tuple(f"✗ {one.message}" for one in ways), is_blocked=True)
    if not plan.dirty:
        return LandingStep("update", title, "✓ nothing is changed there")
    stay = (
        f"{', '.join(_some(plan.dirty))} {'stays as it is' if len(plan.dirty) == 1 else 'stay as they are'}"
    )
    return LandingStep("update", title, lines=("✓ none of its changed files is touched", stay))


def _some(lines: Sequence[str]) -> tuple[str, ...]:
    left = len(lines) - MOST_LINES
    return (*lines[:MOST_LINES], *([f"and {left} more"] if left > 0 else []))
