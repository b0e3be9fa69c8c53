"""Spare worktrees with real git: made, used for an agent or refused, and cleaned up after a kill at every step."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.errors import Refused
from fleet_tui.git.entries import link_problem
from fleet_tui.git.spares import MOST_CHANGED
from tests.git import repositories
from tests.git.repositories import branches, call, commit, entries, worktree


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repositories.isolate(tmp_path / "home", monkeypatch)
    return tmp_path / "home"


@dataclass(frozen=True, slots=True)
class Spare:
    repo: Path
    path: Path
    commit: str
    fingerprint: str

    def plan(self, branch: str = "fix", base: str = "") -> git.WorktreePlan:
        return git.plan(
            git.discover(self.repo), branch, base=base, path=self.path.parent.parent / f"{branch}-k3m"
        )

    def claim(self, plan: git.WorktreePlan | None = None) -> bool:
        plan = self.plan() if plan is None else plan
        found = git.discover(self.repo)
        held = git.hold_spare(found, self.path, self.commit, self.fingerprint)
        if held is None:
            return False
        with contextlib.closing(held):
            return git.take_spare(found, held, plan, admin_name=plan.path.name, lock_reason="fleet agent fix")

    @property
    def entry(self) -> Path:
        return self.repo / ".git" / "worktrees" / f"spare.{self.path.name}"


@pytest.fixture
def spare(repo: Path, tmp_path: Path) -> Spare:
    found = git.discover(repo)
    path = tmp_path / "trees" / ".spares" / "abc"
    git.make_spare(found, path, found.head)
    return Spare(repo, path, found.head, git.checkout_settings(found).fingerprint)


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file.name != ".git"
    }


def test_a_spare_is_a_locked_detached_worktree_without_a_branch(spare: Spare) -> None:
    assert branches(spare.repo) == {"main"}
    assert git.spare_entries(spare.repo / ".git") == ["abc"]
    assert (spare.entry / "locked").read_text().startswith("a spare worktree of fleet")
    assert call(spare.path, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert call(spare.path, "status", "--porcelain", "--ignored") == ""
    assert git.is_spare_clean(git.discover(spare.repo), spare.path, spare.commit)


def test_a_taken_spare_is_what_git_worktree_add_would_have_made(spare: Spare) -> None:
    plan = spare.plan()

    assert spare.claim(plan)

    other = worktree(spare.repo, "other", plan.path.parent / "other-k4n")
    assert files_in(plan.path) == files_in(other)
    assert call(plan.path, "status", "--porcelain", "--ignored", "--branch") == "## fix"
    assert branches(spare.repo) == {"main", "fix", "other"}
    assert call(spare.repo, "rev-parse", "fix") == spare.commit
    assert entries(spare.repo) == ["fix-k3m", "other-k4n"]
    assert link_problem(spare.repo / ".git", plan.path) == ""
    assert (spare.repo / ".git/worktrees/fix-k3m/locked").read_text() == "fleet agent fix\n"
    assert "branch." not in call(spare.repo, "config", "--list")
    assert "Created from" in call(spare.repo, "reflog", "show", "fix")
    assert list(spare.path.parent.iterdir()) == []
    assert call(spare.repo, "worktree", "prune", "--dry-run", "--verbose") == ""
    commit(plan.path, {"new.txt": "x"})
    assert call(spare.repo, "log", "-1", "--format=%s", "fix") == "a change"


def test_a_spare_that_differs_in_a_few_files_is_brought_to_the_wanted_commit(spare: Spare) -> None:
    (spare.repo / "src" / "b.py").unlink()
    tip = commit(spare.repo, {"a.txt": "three\n", "new/c.txt": "c\n"})
    plan = spare.plan()

    assert spare.claim(plan)

    assert call(plan.path, "rev-parse", "HEAD") == tip
    assert call(plan.path, "status", "--porcelain", "--ignored", "--branch") == "## fix"
    assert set(files_in(plan.path)) == {".gitignore", "a.txt", "new/c.txt"}
    assert list(spare.path.parent.iterdir()) == []


def test_a_spare_that_differs_in_many_files_is_not_used(spare: Spare) -> None:
    commit(spare.repo, {f"many/{number}": "x" for number in range(MOST_CHANGED + 1)})

    assert not spare.claim()

    assert branches(spare.repo) == {"main"}
    assert git.is_spare_clean(git.discover(spare.repo), spare.path, spare.commit)


def _write(name: str) -> Callable[[Spare], object]:
    return lambda spare: (spare.path / name).write_text("by somebody")


def _hook(name: str) -> Callable[[Spare], object]:
    def install(spare: Spare) -> None:
        file = spare.repo / ".git" / "hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)

    return install


DOUBTS: dict[str, Callable[[Spare], object]] = {
    "a changed file": _write("a.txt"),
    "a new file": _write("new.txt"),
    "an ignored file": _write("my.secret"),
    "a missing file": lambda spare: (spare.path / "a.txt").unlink(),
    "a staged file": lambda spare: [_write("new.txt")(spare), call(spare.path, "add", "new.txt")],
    "a commit of its own": lambda spare: commit(spare.path, {"new.txt": "x"}),
    "a branch of its own": lambda spare: call(spare.path, "checkout", "-q", "-b", "mine"),
    "a git at work": lambda spare: (spare.entry / "index.lock").touch(),
    "no index": lambda spare: (spare.entry / "index").unlink(),
    "a changed link": _write(".git"),
    "a folder that is gone": lambda spare: spare.path.rename(spare.path.parent.parent / "elsewhere"),
    "an entry that is gone": lambda spare: spare.entry.rename(spare.repo / "elsewhere"),
    "another line ending": lambda spare: call(spare.repo, "config", "core.autocrlf", "true"),
    "a new filter": lambda spare: call(spare.repo, "config", "filter.x.smudge", "cat"),
    "new attributes": lambda spare: (spare.repo / ".git/info/attributes").write_text("* text eol=crlf\n"),
    "a sparse checkout": lambda spare: call(spare.repo, "sparse-checkout", "set", "src"),
    "a post-checkout hook": _hook("post-checkout"),
    "a reference-transaction hook": _hook("reference-transaction"),
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_on_any_doubt_a_spare_is_not_used_and_stays_as_it_is(spare: Spare, doubt: str) -> None:
    DOUBTS[doubt](spare)
    plan = spare.plan()
    before = branches(spare.repo), entries(spare.repo), sorted(spare.path.parent.iterdir())

    assert not spare.claim(plan)

    assert (branches(spare.repo), entries(spare.repo), sorted(spare.path.parent.iterdir())) == before
    assert not plan.path.exists()
    git.add(git.discover(spare.repo), plan, admin_name=plan.path.name)


def test_settings_that_do_not_matter_to_a_checkout_are_no_doubt(spare: Spare) -> None:
    call(spare.repo, "config", "branch.main.remote", "origin")
    call(spare.repo, "config", "user.signingkey", "abc")

    assert spare.claim()


@pytest.mark.parametrize("name", ["fix", "fix/below"])
def test_a_branch_that_was_created_meanwhile_is_left_alone(spare: Spare, name: str) -> None:
    plan = spare.plan()
    tip = commit(spare.repo, {"later.txt": "x"})
    call(spare.repo, "branch", name, tip)

    assert not spare.claim(plan)

    assert call(spare.repo, "rev-parse", name) == tip
    assert git.is_spare_clean(git.discover(spare.repo), spare.path, spare.commit)


def test_a_folder_in_the_agents_place_is_left_alone(spare: Spare) -> None:
    plan = spare.plan()
    plan.path.mkdir()

    assert not spare.claim(plan)

    assert plan.path.is_dir()
    assert branches(spare.repo) == {"main"}


def test_of_many_agents_at_once_one_gets_the_spare(spare: Spare) -> None:
    plans = [spare.plan(f"agent-{number}") for number in range(6)]

    with ThreadPoolExecutor(6) as pool:
        got = list(pool.map(spare.claim, plans))

    assert sorted(got) == [False] * 5 + [True]
    [winner] = [plan for plan, is_ours in zip(plans, got, strict=True) if is_ours]
    assert branches(spare.repo) == {"main", winner.branch}
    assert entries(spare.repo) == [winner.path.name]


UNFIT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a hook": (lambda repo: _hook("post-checkout")(Spare(repo, repo, "", "")), "post-checkout hook"),
    "a hook elsewhere": (
        lambda repo: [
            _hook("post-checkout")(Spare(repo, repo, "", "")),
            (repo / ".git/hooks").rename(repo / "my-hooks"),
            call(repo, "config", "core.hooksPath", "my-hooks"),
        ],
        "post-checkout hook",
    ),
    "sparse": (lambda repo: call(repo, "sparse-checkout", "set", "src"), "sparse|settings of their own"),
    "partial": (lambda repo: call(repo, "config", "remote.origin.promisor", "true"), "partial clone"),
    "submodules": (lambda repo: commit(repo, {".gitmodules": ""}), "submodules"),
    "a filter": (
        lambda repo: [
            call(repo, "config", "filter.lfs.smudge", "git-lfs smudge -- %f"),
            commit(repo, {".gitattributes": "*.bin filter=lfs\n", "a.bin": "pointer\n"}),
        ],
        "filter lfs",
    ),
}


@pytest.mark.parametrize("case", UNFIT)
def test_no_worktree_is_made_in_advance_where_a_checkout_is_more_than_its_files(
    repo: Path, case: str
) -> None:
    change, problem = UNFIT[case]
    change(repo)
    found = git.discover(repo)
    settings = git.checkout_settings(found)

    said = settings.problem or git.checkout_problem(found, found.head, settings)

    assert any(part in said for part in problem.split("|")), said


def test_a_plain_repository_is_fit_also_with_filters_that_no_file_uses(repo: Path) -> None:
    call(repo, "config", "filter.lfs.smudge", "git-lfs smudge -- %f")
    found = git.discover(repo)
    settings = git.checkout_settings(found)

    assert (settings.problem, git.checkout_problem(found, found.head, settings)) == ("", "")


def test_making_a_spare_runs_nothing_that_the_repository_configures(repo: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
        hook.chmod(0o755)
    call(repo, "config", "core.fsmonitor", str(repo / ".git/hooks/post-checkout"))
    canary.unlink(missing_ok=True)
    found = git.discover(repo)

    git.make_spare(found, tmp_path / "trees" / ".spares" / "abc", found.head)

    assert not canary.exists()


def test_a_failed_making_leaves_nothing(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(git.GitFailed):
        git.make_spare(git.discover(repo), tmp_path / "trees" / ".spares" / "abc", "0" * 40)

    assert (entries(repo), list((tmp_path / "trees" / ".spares").iterdir())) == ([], [])


def test_a_clean_spare_is_brought_to_a_later_commit_and_a_changed_one_is_not(spare: Spare) -> None:
    tip = commit(spare.repo, {"a.txt": "later\n"})
    found = git.discover(spare.repo)

    assert git.bring_spare(found, spare.path, spare.commit, tip)
    assert git.is_spare_clean(found, spare.path, tip)
    (spare.path / "work.txt").write_text("mine")
    assert not git.bring_spare(found, spare.path, tip, spare.commit)


# ── killed at every step ──

STEPS = """
import os, signal, sys
from pathlib import Path
from fleet_tui import git
from fleet_tui.git import creation, entries, head, plain, spares

def count(event, arguments, left=[int(sys.argv[1])]):
    is_step = event in ("os.rename", "os.remove", "os.mkdir", "subprocess.Popen")
    if is_step or (event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

repo, path, base, fingerprint, place = sys.argv[2:]
found = git.discover(Path(repo))
if fingerprint == "make":
    sys.addaudithook(count)
    git.make_spare(found, Path(path), base)
else:
    plan = git.WorktreePlan("fix", found.head, Path(place), True)
    sys.addaudithook(count)
    held = git.hold_spare(found, Path(path), base, fingerprint)
    assert held and git.take_spare(found, held, plan, admin_name=plan.path.name, lock_reason="x")
"""


def dies(number: int, *arguments: object) -> bool:
    """Run the steps and kill their process at the given one; False if it ended before."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS, str(number), *map(str, arguments)], stderr=subprocess.PIPE, check=False
    )
    assert done.returncode in (0, -9), done.stderr.decode()
    return done.returncode != 0


def clean_up_agent(plan: git.WorktreePlan) -> None:
    """What a reconciliation does about the agent."""
    root = plan.path.parents[1] / "project"
    git.roll_back_add(root, path=plan.path, branch=plan.branch, makes_branch=True, base=plan.base)


def clean_up_spare(repo: Path, path: Path, base: str) -> None:
    """What the next launcher does about the spare."""
    also = git.spare_target(path)
    git.roll_back_add(repo, path=path, branch="", makes_branch=False, base=base, also=also)
    git.forget_spare_target(path)


@pytest.mark.slow
@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("comes_first", ["agent", "spare"])
def test_a_claim_killed_at_any_step_can_be_cleaned_up_completely(
    repo: Path, tmp_path: Path, is_behind: bool, comes_first: str
) -> None:
    first = git.discover(repo)
    settings = git.checkout_settings(first).fingerprint
    if is_behind:
        commit(repo, {"a.txt": "later\n", "new/c.txt": "c\n"})
    place = tmp_path / "trees" / "fix-k3m"
    number, was_killed = 0, True
    while was_killed:
        number += 1
        path = tmp_path / "trees" / ".spares" / f"spare{number}"
        git.make_spare(first, path, first.head)
        was_killed = dies(number, repo, path, first.head, settings, place)
        if was_killed:
            plan = git.WorktreePlan("fix", git.discover(repo).head, place, True)
            if comes_first == "agent":
                clean_up_agent(plan)
            clean_up_spare(repo, path, first.head)
            if comes_first == "spare":
                clean_up_agent(plan)
            assert branches(repo) == {"main"}, number
            assert entries(repo) == [], number
            assert not place.exists(), number
            assert list(path.parent.iterdir()) == [], number

    assert number > 10
    assert call(place, "status", "--porcelain", "--branch") == "## fix"


@pytest.mark.slow
def test_a_making_killed_at_any_step_can_be_cleaned_up_completely(repo: Path, tmp_path: Path) -> None:
    head = call(repo, "rev-parse", "HEAD")
    number, was_killed = 0, True
    while was_killed:
        number += 1
        path = tmp_path / "trees" / ".spares" / f"spare{number}"
        was_killed = dies(number, repo, path, head, "make", "-")
        if was_killed:
            git.roll_back_add(repo, path=path, branch="", makes_branch=False, base=head)
            assert entries(repo) == [], number
            assert not path.exists(), number

    assert number > 4


def test_a_spare_in_which_somebody_has_worked_is_not_rolled_back_but_released(spare: Spare) -> None:
    (spare.path / "work.txt").write_text("precious")
    with pytest.raises(Refused, match=r"work\.txt is not from its checkout"):
        git.roll_back_add(
            spare.repo, path=spare.path, branch="", makes_branch=False, base=spare.commit, seconds=0
        )
    place = spare.path.parent.parent / "spare-abc"

    git.release_spare(spare.repo / ".git", spare.path, place)

    assert (place / "work.txt").read_text() == "precious"
    assert call(place, "status", "--porcelain") == "?? work.txt"
    call(spare.repo, "worktree", "remove", "--force", str(place))
