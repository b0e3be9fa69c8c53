"""Find repositories, plan, create and repair worktrees, with real git."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.errors import FleetError, NoRepository, NotFound, Refused
from fleet_tui.git import program
from tests.git import repositories
from tests.git.repositories import branches, call, commit, entries, make, worktree


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repositories.isolate(tmp_path / "home", monkeypatch)
    return tmp_path / "home"


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    return tmp_path / "trees"


# ── finding the repository ──


def test_a_repository_is_found_from_any_folder_in_it(repo: Path) -> None:
    found = git.discover(repo / "src")

    assert found == git.Repository(
        root=repo,
        git_dir=repo / ".git",
        name="project",
        is_bare=False,
        head=call(repo, "rev-parse", "HEAD"),
        head_branch="main",
    )


def test_a_linked_worktree_leads_to_the_main_repository_with_its_own_head(repo: Path, trees: Path) -> None:
    place = worktree(repo, "side", trees / "side")
    tip = commit(place, {"new.txt": "x"})

    found = git.discover(place / "src")

    assert (found.root, found.git_dir, found.name) == (repo, repo / ".git", "project")
    assert (found.head, found.head_branch, found.is_bare) == (tip, "side", False)


def test_a_bare_repository_is_named_without_its_suffix_also_from_its_worktrees(
    repo: Path, trees: Path
) -> None:
    bare = trees / "thing.git"
    call(repo, "clone", "--quiet", "--bare", str(repo), str(bare))
    place = worktree(bare, "side", trees / "side")

    for start in (bare, place):
        found = git.discover(start)
        assert (found.root, found.git_dir, found.name, found.is_bare) == (bare, bare, "thing", True)


def test_the_inside_of_the_git_folder_belongs_to_the_work_tree_around_it(repo: Path) -> None:
    assert git.discover(repo / ".git" / "refs").root == repo


def test_a_submodule_is_a_repository_of_its_own(repo: Path, tmp_path: Path) -> None:
    outer = make(tmp_path / "outer")
    call(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "part")

    assert git.discover(outer / "part").root == outer / "part"

    place = worktree(outer / "part", "side", tmp_path / "side")
    assert git.discover(place).root == outer / "part"


def test_a_detached_head_has_no_branch(repo: Path) -> None:
    call(repo, "checkout", "--quiet", "--detach")

    assert git.discover(repo).head_branch == ""


def test_a_format_that_git_does_not_know_is_named_with_what_to_do(repo: Path) -> None:
    call(repo, "config", "core.repositoryFormatVersion", "1")
    call(repo, "config", "extensions.refStorage", "notyet")

    with pytest.raises(NoRepository, match=r"(?i)extension.*(refstorage|notyet)") as caught:
        git.discover(repo)

    assert "newer git" in caught.value.hint


def test_no_repository_hints_at_making_one(tmp_path: Path) -> None:
    with pytest.raises(NoRepository) as caught:
        git.discover(tmp_path)

    assert "git init" in caught.value.hint


def test_a_folder_that_does_not_exist_is_not_a_repository(tmp_path: Path) -> None:
    with pytest.raises(NoRepository, match="nowhere"):
        git.discover(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("options", "hint"), [((), "git commit --allow-empty"), (("--bare",), "push one to it with: git push")]
)
def test_a_repository_without_a_commit_hints_at_how_to_get_one(
    tmp_path: Path, options: tuple[str, ...], hint: str
) -> None:
    call(tmp_path, "init", "--quiet", *options)

    with pytest.raises(NoRepository, match="no commit yet") as caught:
        git.discover(tmp_path)

    assert hint in caught.value.hint


def test_another_users_repository_is_not_trusted_for_the_user(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    with pytest.raises(NoRepository, match="another user owns it") as caught:
        git.discover(repo)

    assert f"safe.directory {repo}" in caught.value.hint


def test_the_environment_of_a_hook_does_not_mislead(
    repo: Path, tmp_path: Path, trees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))

    found = git.discover(repo)
    git.add(found, git.plan(found, "side", path=trees / "side"), admin_name="side")

    assert found.root == repo
    assert (trees / "side" / "a.txt").exists()
    assert not git.status(git.place_at(trees / "side"))


# ── planning ──


def test_a_plan_starts_at_the_head_of_the_current_worktree(repo: Path, trees: Path) -> None:
    place = worktree(repo, "side", trees / "side")
    tip = commit(place, {"new.txt": "x"})
    found = git.discover(place)

    assert git.plan(found, "next", path=trees / "next") == git.WorktreePlan("next", tip, trees / "next", True)
    assert git.plan(found, "next", base="HEAD", path=trees / "next").base == tip
    assert git.plan(found, "next", base="HEAD~1", path=trees / "next").base == call(repo, "rev-parse", "HEAD")


def test_a_base_may_be_a_tag_a_short_commit_a_remote_branch_or_relative(repo: Path, tmp_path: Path) -> None:
    first = call(repo, "rev-parse", "HEAD")
    call(repo, "tag", "-a", "-m", "v1", "v1")
    second = commit(repo, {"a.txt": "changed\n"})
    clone = tmp_path / "clone"
    call(repo, "clone", "--quiet", str(repo), str(clone))
    found = git.discover(clone)

    wanted = {
        "v1": first,
        first[:9]: first,
        "origin/main": second,
        "HEAD~1": first,
        "@^": first,
        "main": second,
    }
    for base, expected in wanted.items():
        assert git.plan(found, "x", base=base, path=tmp_path / "x").base == expected


@pytest.mark.parametrize("base", ["nothing", "main:a.txt", "--all", "-x", "a\nb"])
def test_a_base_that_is_not_a_commit_is_not_found(repo: Path, trees: Path, base: str) -> None:
    with pytest.raises(NotFound):
        git.plan(git.discover(repo), "x", base=base, path=trees / "x")


def test_a_branch_that_exists_is_refused_and_the_hint_says_how_to_work_on_it(repo: Path, trees: Path) -> None:
    call(repo, "branch", "taken")

    with pytest.raises(Refused, match="already exists") as caught:
        git.plan(git.discover(repo), "taken", path=trees / "x")

    assert "--existing" in caught.value.hint


def test_an_existing_branch_can_be_worked_on_from_its_own_tip(repo: Path, trees: Path) -> None:
    call(repo, "checkout", "--quiet", "-b", "old")
    tip = commit(repo, {"old.txt": "x"})
    call(repo, "checkout", "--quiet", "main")
    found = git.discover(repo)

    plan = git.plan(found, "old", existing=True, path=trees / "old")
    git.add(found, plan, admin_name="old")

    assert (plan.base, plan.makes_branch) == (tip, False)
    assert call(trees / "old", "symbolic-ref", "--short", "HEAD") == "old"
    assert (trees / "old" / "old.txt").exists()


def test_a_branch_to_work_on_must_exist(repo: Path, trees: Path) -> None:
    with pytest.raises(NotFound, match="no branch"):
        git.plan(git.discover(repo), "new", existing=True, path=trees / "x")


@pytest.mark.parametrize("existing", [True, False])
def test_a_branch_that_is_checked_out_elsewhere_is_refused_with_the_place(
    repo: Path, trees: Path, existing: bool
) -> None:
    worktree(repo, "side", trees / "side")

    with pytest.raises(Refused, match=str(trees / "side")):
        git.plan(git.discover(repo), "side", existing=existing, path=trees / "x")


@pytest.mark.parametrize(("there", "wanted"), [("x", "x/y"), ("x", "x/y/z"), ("x/y", "x"), ("x/y/z", "x/y")])
def test_a_name_cannot_be_both_branch_and_folder_of_branches(
    repo: Path, trees: Path, there: str, wanted: str
) -> None:
    call(repo, "branch", there)

    with pytest.raises(Refused, match="conflicts with branch"):
        git.plan(git.discover(repo), wanted, path=trees / "x")


def test_names_that_only_look_alike_do_not_clash(repo: Path, trees: Path) -> None:
    for name in ("fix", "feature/one", "feature-2"):
        call(repo, "branch", name)
    found = git.discover(repo)

    for number, name in enumerate(("fix-2", "fixes/y", "feature/two", "feature/on")):
        git.add(found, git.plan(found, name, path=trees / str(number)), admin_name=str(number))


def test_a_folder_that_exists_is_refused_even_when_empty_or_a_broken_link(repo: Path, trees: Path) -> None:
    (trees / "empty").mkdir(parents=True)
    (trees / "link").symlink_to(trees / "nowhere")

    for path in (trees / "empty", trees / "link"):
        with pytest.raises(Refused, match="already exists"):
            git.plan(git.discover(repo), "x", path=path)


def test_a_fan_out_is_planned_together(repo: Path, trees: Path) -> None:
    names = [f"job-{letter}" for letter in "ABCDE"]

    plans = git.plan_many(git.discover(repo), names, [trees / name for name in names], "main")

    assert [plan.branch for plan in plans] == names
    assert {plan.base for plan in plans} == {call(repo, "rev-parse", "main")}


@pytest.mark.parametrize("names", [["x", "x"], ["x", "x/y"], ["x/y/z", "x"], ["new", "taken"]])
def test_a_fan_out_whose_names_clash_is_refused_as_a_whole(repo: Path, trees: Path, names: list[str]) -> None:
    call(repo, "branch", "taken")

    with pytest.raises(Refused):
        git.plan_many(git.discover(repo), names, [trees / str(number) for number in range(len(names))])


def test_branch_names_are_found_by_pattern(repo: Path) -> None:
    for name in ("job-A", "job-B", "jobs", "job-x/y"):
        call(repo, "branch", name)

    assert git.branch_names(git.discover(repo), "job-*") == {"job-A", "job-B"}


# ── creating a worktree ──


def test_a_worktree_has_the_files_of_its_base_and_its_own_branch(repo: Path, trees: Path) -> None:
    first = call(repo, "rev-parse", "HEAD")
    commit(repo, {"later.txt": "x"})
    found = git.discover(repo)

    plan = git.plan(found, "feat/ü", base="HEAD~1", path=trees / "deep" / "side")
    git.add(found, plan, admin_name="agent1", lock_reason="agent1 is alive")

    assert call(plan.path, "symbolic-ref", "--short", "HEAD") == "feat/ü"
    assert call(plan.path, "rev-parse", "HEAD") == first
    assert not (plan.path / "later.txt").exists()
    assert call(plan.path, "status", "--porcelain") == ""
    listed = git.worktrees(found)[1]
    assert listed == git.Worktree(plan.path, "agent1", first, "feat/ü", True, "agent1 is alive")


def test_an_entry_gets_another_name_if_the_wanted_one_is_taken(repo: Path, trees: Path) -> None:
    worktree(repo, "one", trees / "one")
    found = git.discover(repo)

    git.add(found, git.plan(found, "two", path=trees / "two"), admin_name="one")

    assert entries(repo) == ["one", "two"]
    assert not git.status(git.place_at(trees / "one"))
    assert not git.status(git.place_at(trees / "two"))


def test_a_remote_base_leaves_no_tracking_behind(repo: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    call(repo, "clone", "--quiet", str(repo), str(clone))
    call(clone, "config", "branch.autoSetupMerge", "always")
    before = (clone / ".git" / "config").read_text()

    worktree(clone, "side", tmp_path / "side", base="origin/main")

    assert (clone / ".git" / "config").read_text() == before


def test_uncommitted_changes_of_the_main_tree_are_not_copied(repo: Path, trees: Path) -> None:
    (repo / "a.txt").write_text("dirty\n")

    place = worktree(repo, "side", trees / "side")

    assert (place / "a.txt").read_text() == "one\ntwo\n"
    assert (repo / "a.txt").read_text() == "dirty\n"


def test_filters_hooks_and_line_endings_are_gits_own(repo: Path, trees: Path) -> None:
    call(repo, "config", "filter.shout.smudge", "tr a-z A-Z")
    call(repo, "config", "filter.shout.clean", "tr A-Z a-z")
    commit(
        repo, {".gitattributes": "*.loud filter=shout\n*.crlf eol=crlf\n", "x.loud": "hey\n", "y.crlf": "z\n"}
    )
    hook = repo / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\npwd > hooked.secret\n")
    hook.chmod(0o755)

    place = worktree(repo, "side", trees / "side")

    assert (place / "x.loud").read_text() == "HEY\n"
    assert (place / "y.crlf").read_bytes() == b"z\r\n"
    assert (place / "hooked.secret").read_text().strip() == str(place)
    assert not git.status(git.place_at(place))
    assert git.diff_stat(git.place_at(place), "main") == git.DiffStat(0, 0, 0, 0, False, 0, 0)


def test_a_sparse_checkout_stays_sparse(repo: Path, trees: Path) -> None:
    commit(repo, {"big/one": "1", "big/two": "2"})
    call(repo, "sparse-checkout", "set", "src")

    place = worktree(repo, "side", trees / "side")

    assert (place / "src" / "b.py").exists()
    assert not (place / "big").exists()
    assert git.diff_stat(git.place_at(place), "main") == git.DiffStat(0, 0, 0, 0, False, 0, 0)


def test_a_sha256_repository_works_through_the_program(tmp_path: Path, trees: Path) -> None:
    repo = make(tmp_path / "modern", "--object-format=sha256")
    place = worktree(repo, "feat/side", trees / "side", base="main")
    (place / "a.txt").write_text("one\ntwo\nthree\n")

    assert len(git.discover(place).head) == 64
    assert git.diff_stat(git.place_at(place), "main") == git.DiffStat(1, 0, 1, 0, True, 0, 0)


def test_creating_does_not_load_pygit2(repo: Path, trees: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from fleet_tui import git\n"
        "repo = git.discover(Path(sys.argv[1]))\n"
        "git.add(repo, git.plan(repo, 'side', path=Path(sys.argv[2])), admin_name='side')\n"
        "git.to_trash(Path(sys.argv[2]), Path(sys.argv[3]), stamp='s', delete_branch=True)\n"
        "print('pygit2' in sys.modules)\n"
    )
    arguments = [str(repo), str(trees / "side"), str(trees / ".trash")]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"


# ── failures leave nothing behind ──


def assert_nothing_left(repo: Path, path: Path) -> None:
    assert not path.exists()
    assert entries(repo) == []
    assert branches(repo) == {"main"}
    assert list((repo / ".git").rglob("*.lock")) == []


def test_a_checkout_that_fails_half_way_leaves_nothing_and_can_be_repeated(repo: Path, trees: Path) -> None:
    commit(repo, {".gitattributes": "*.bad filter=broken\n", "z.bad": "x"})
    call(repo, "config", "filter.broken.smudge", "false")
    call(repo, "config", "filter.broken.required", "true")
    found = git.discover(repo)
    plan = git.plan(found, "side", path=trees / "side")

    with pytest.raises(git.GitFailed, match="smudge filter broken failed"):
        git.add(found, plan, admin_name="side")
    assert_nothing_left(repo, plan.path)

    call(repo, "config", "filter.broken.smudge", "cat")
    git.add(found, git.plan(found, "side", path=trees / "side"), admin_name="side")
    assert (plan.path / "z.bad").read_text() == "x"


def test_a_failing_hook_is_a_failure_that_leaves_nothing(repo: Path, trees: Path) -> None:
    hook = repo / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch made-by-hook\necho no tool here >&2\nexit 3\n")
    hook.chmod(0o755)
    found = git.discover(repo)

    with pytest.raises(git.GitFailed, match="no tool here"):
        git.add(found, git.plan(found, "side", path=trees / "side"), admin_name="side")

    assert_nothing_left(repo, trees / "side")


def test_a_branch_that_another_process_created_meanwhile_is_left_alone(repo: Path, trees: Path) -> None:
    found = git.discover(repo)
    plan = git.plan(found, "side", path=trees / "side")
    call(repo, "branch", "side")

    with pytest.raises(Refused, match="already exists"):
        git.add(found, plan, admin_name="side")

    assert branches(repo) == {"main", "side"}
    assert not plan.path.exists()
    assert entries(repo) == []


def test_a_folder_that_another_process_created_meanwhile_is_left_alone(repo: Path, trees: Path) -> None:
    found = git.discover(repo)
    plan = git.plan(found, "side", path=trees / "side")
    plan.path.mkdir(parents=True)
    (plan.path / "mine.txt").write_text("x")

    with pytest.raises(Refused, match="already exists"):
        git.add(found, plan, admin_name="side")

    assert (plan.path / "mine.txt").exists()
    assert branches(repo) == {"main"}


def test_a_folder_that_cannot_be_made_is_one_line(repo: Path, trees: Path) -> None:
    trees.write_text("a file")
    found = git.discover(repo)

    with pytest.raises(FleetError, match="cannot create the folder"):
        git.add(found, git.WorktreePlan("x", found.head, trees / "x", True), admin_name="x")

    assert branches(repo) == {"main"}


def test_a_lock_that_is_held_for_a_moment_is_waited_for(repo: Path, trees: Path) -> None:
    found = git.discover(repo)
    plan = git.plan(found, "side", path=trees / "side")
    lock = repo / ".git" / "refs" / "heads" / "side.lock"
    lock.touch()

    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(git.add, found, plan, admin_name="side")
        wait_until(lambda: plan.path.exists() or adding.done())
        wait_until(lambda: not plan.path.exists() or adding.done())
        lock.unlink()
        adding.result()

    assert call(plan.path, "symbolic-ref", "--short", "HEAD") == "side"


@pytest.mark.slow
def test_twenty_worktrees_can_be_made_at_once_also_from_a_remote_base(repo: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    call(repo, "clone", "--quiet", str(repo), str(clone))
    script = (
        "import sys; from pathlib import Path; from fleet_tui import git\n"
        "repo, name, path = git.discover(Path(sys.argv[1])), sys.argv[2], Path(sys.argv[3])\n"
        "git.add(repo, git.plan(repo, name, base='origin/main', path=path), admin_name=path.name)\n"
    )
    # One folder of branches for all: they compete for creating and removing it.
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(clone), f"job/{number}", str(tmp_path / f"tree-{number}")],
            stderr=subprocess.PIPE,
        )
        for number in range(20)
    ]
    failures = [process.communicate()[1] for process in started]

    assert [process.returncode for process in started] == [0] * 20, failures
    assert len(entries(clone)) == 20
    for number in range(20):
        assert call(tmp_path / f"tree-{number}", "status", "--porcelain", "--branch") == f"## job/{number}"


# ── rolling back a creation that was killed ──


def roll_back(repo: Path, plan: git.WorktreePlan, *, seconds: float = 10.0) -> None:
    git.roll_back_add(
        repo,
        path=plan.path,
        branch=plan.branch,
        makes_branch=plan.makes_branch,
        base=plan.base,
        seconds=seconds,
    )


@pytest.fixture
def planned(repo: Path, trees: Path) -> git.WorktreePlan:
    return git.plan(git.discover(repo), "side", path=trees / "side")


def test_rolling_back_what_never_began_is_harmless(repo: Path, planned: git.WorktreePlan) -> None:
    roll_back(repo, planned)
    roll_back(repo, planned)

    assert_nothing_left(repo, planned.path)


def test_a_branch_without_a_worktree_is_rolled_back(repo: Path, planned: git.WorktreePlan) -> None:
    planned.path.mkdir(parents=True)
    call(repo, "branch", "side")

    roll_back(repo, planned)

    assert_nothing_left(repo, planned.path)


def test_a_lock_that_a_killed_git_left_on_the_branch_is_rolled_back(
    repo: Path, planned: git.WorktreePlan
) -> None:
    (repo / ".git" / "refs" / "heads" / "side.lock").touch()

    roll_back(repo, planned)

    assert_nothing_left(repo, planned.path)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"locked": "initializing\n"},
        {"locked": "initializing\n", "gitdir": ""},
        {"locked": "initializing\n", "gitdir": "{path}/.git\n"},
        {"locked": "initializing\n", "gitdir": "{path}/.git\n", "HEAD": "{base}\n", "commondir": ""},
        {"locked": "initializing\n", "gitdir": "{path}/.git\n", "HEAD": "{base}\n", "commondir": "../..\n"},
    ],
)
def test_an_entry_that_is_only_begun_is_rolled_back(
    repo: Path, planned: git.WorktreePlan, files: dict[str, str]
) -> None:
    entry = repo / ".git" / "worktrees" / "side"
    entry.mkdir(parents=True)
    for name, text in files.items():
        (entry / name).write_text(text.format(path=planned.path, base=planned.base))
    planned.path.mkdir(parents=True)
    if "gitdir" in files:
        (planned.path / ".git").write_text(f"gitdir: {entry}\n")
    call(repo, "branch", "side")

    roll_back(repo, planned)

    assert_nothing_left(repo, planned.path)


def test_a_finished_worktree_is_rolled_back_with_the_branch_it_made(
    repo: Path, planned: git.WorktreePlan
) -> None:
    git.add(git.discover(repo), planned, admin_name="agent", lock_reason="alive")

    roll_back(repo, planned)

    assert_nothing_left(repo, planned.path)


def test_a_branch_that_was_there_before_is_kept(repo: Path, trees: Path) -> None:
    call(repo, "branch", "old")
    found = git.discover(repo)
    plan = git.plan(found, "old", existing=True, path=trees / "old")
    git.add(found, plan, admin_name="old")

    roll_back(repo, plan)

    assert branches(repo) == {"main", "old"}
    assert entries(repo) == []


def test_a_branch_that_has_moved_on_is_kept(repo: Path, planned: git.WorktreePlan) -> None:
    call(repo, "branch", "side", commit(repo, {"new.txt": "x"}))

    roll_back(repo, planned)

    assert branches(repo) == {"main", "side"}


@pytest.mark.parametrize("name", ["new.txt", "key.secret", "build/out.o", "a.txt", "src/empty"])
def test_a_folder_with_work_in_it_is_kept_whole(repo: Path, planned: git.WorktreePlan, name: str) -> None:
    git.add(git.discover(repo), planned, admin_name="side")
    (planned.path / name).parent.mkdir(exist_ok=True)
    (planned.path / name).write_text("" if name == "src/empty" else "work\n")

    with pytest.raises(Refused, match=name):
        roll_back(repo, planned)

    assert (planned.path / name).exists()
    assert (planned.path / "src" / "b.py").exists()
    assert branches(repo) == {"main", "side"}
    assert entries(repo) == ["side"]


def test_a_folder_with_commits_of_its_own_is_kept(repo: Path, planned: git.WorktreePlan) -> None:
    git.add(git.discover(repo), planned, admin_name="side")
    commit(planned.path, {"a.txt": "work\n"})

    with pytest.raises(Refused, match="commits of its own"):
        roll_back(repo, planned)

    assert branches(repo) == {"main", "side"}


def test_copies_of_files_that_the_main_tree_has_do_not_keep_a_folder(
    repo: Path, planned: git.WorktreePlan
) -> None:
    (repo / "key.secret").write_text("password\n")
    git.add(git.discover(repo), planned, admin_name="side")
    (planned.path / "key.secret").write_text("pass")

    roll_back(repo, planned)

    assert_nothing_left(repo, planned.path)


def test_a_file_that_was_cut_off_while_it_was_written_does_not_keep_a_folder(
    repo: Path, planned: git.WorktreePlan
) -> None:
    git.add(git.discover(repo), planned, admin_name="side")
    (planned.path / "a.txt").write_text("one\ntw")
    (planned.path / "src" / "b.py").unlink()

    roll_back(repo, planned)

    assert_nothing_left(repo, planned.path)


def test_a_link_in_the_place_of_the_folder_is_not_followed(
    repo: Path, planned: git.WorktreePlan, tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    planned.path.parent.mkdir()
    planned.path.symlink_to(tmp_path / "precious")

    with pytest.raises(Refused):
        roll_back(repo, planned)

    assert (tmp_path / "precious").is_dir()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose checkout takes git a while."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("large")
        repositories.isolate(folder / "home", patch)
        repo = folder / "project"
        repo.mkdir()
        call(repo, "init", "--quiet")
        commit(repo, {f"{number % 40}/{number}.txt": f"{number}\n" * 200 for number in range(1500)})
    return repo


@pytest.mark.parametrize(
    "files", [1, 700, *(pytest.param(files, marks=pytest.mark.slow) for files in (0, 150, 1400))]
)
def test_a_git_that_is_killed_while_it_checks_out_leaves_nothing_that_stays(
    large: Path, tmp_path: Path, files: int
) -> None:
    found = git.discover(large)
    plan = git.plan(found, "side", path=tmp_path / "side")
    plan.path.mkdir()
    command = [
        "git",
        "-C",
        str(large),
        "worktree",
        "add",
        "--no-track",
        "-b",
        "side",
        str(plan.path),
        plan.base,
    ]
    adding = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, process_group=0)

    def written() -> int:
        return sum(len(names) for _, _, names in os.walk(plan.path)) - 1

    wait_until(lambda: written() >= files)
    os.killpg(adding.pid, signal.SIGKILL)
    adding.wait()

    roll_back(large, plan)

    assert_nothing_left(large, plan.path)
    assert git.plan(found, "side", path=plan.path) == plan


@pytest.mark.slow
def test_a_checkout_that_outlives_its_launcher_is_waited_for(large: Path, tmp_path: Path) -> None:
    """The launcher is killed and git goes on: a rollback must not delete files under it."""
    script = (
        "import sys; from pathlib import Path; from fleet_tui import git\n"
        "repo = git.discover(Path(sys.argv[1]))\n"
        "git.add(repo, git.plan(repo, 'side', path=Path(sys.argv[2])), admin_name='side')\n"
    )
    plan = git.plan(git.discover(large), "side", path=tmp_path / "side")
    launcher = subprocess.Popen([sys.executable, "-c", script, str(large), str(plan.path)])
    wait_until(lambda: (plan.path / "0").exists())
    launcher.kill()
    launcher.wait()

    roll_back(large, plan)

    assert_nothing_left(large, plan.path)


def test_a_folder_that_git_does_not_stop_writing_to_is_kept(repo: Path, planned: git.WorktreePlan) -> None:
    git.add(git.discover(repo), planned, admin_name="side")
    writer = subprocess.Popen(["flock", str(planned.path), "cat"], stdin=subprocess.PIPE)
    try:
        wait_until(
            lambda: subprocess.run(["flock", "-n", str(planned.path), "true"], check=False).returncode == 1
        )
        with pytest.raises(Refused, match="still writing"):
            roll_back(repo, planned, seconds=0.1)
    finally:
        writer.communicate()

    assert planned.path.is_dir()


# ── locks, lists, pruning and repairing ──


def test_a_locked_worktree_survives_pruning_until_it_is_unlocked(repo: Path, trees: Path) -> None:
    place = worktree(repo, "side", trees / "side")
    found = git.discover(repo)
    git.lock(repo / ".git", place, "an agent is alive")
    assert git.worktrees(found)[1].lock_reason == "an agent is alive"
    place.rename(trees / "hidden")

    assert git.prune(found, dry_run=False) == []
    assert entries(repo) == ["side"]

    (trees / "hidden").rename(place)
    git.unlock(repo / ".git", place)
    git.unlock(repo / ".git", place)
    assert not git.worktrees(found)[1].is_locked


def test_pruning_says_what_is_gone_before_it_forgets_it(repo: Path, trees: Path) -> None:
    place = worktree(repo, "side", trees / "side")
    place.rename(trees / "elsewhere")
    found = git.discover(repo)

    assert "worktrees/side" in git.prune(found, dry_run=True)[0]
    assert entries(repo) == ["side"]
    assert "worktrees/side" in git.prune(found, dry_run=False)[0]
    assert entries(repo) == []


def test_only_a_linked_worktree_can_be_locked(repo: Path) -> None:
    with pytest.raises(NotFound):
        git.lock(repo / ".git", repo, "x")


def test_a_worktree_that_was_moved_is_connected_again(repo: Path, trees: Path) -> None:
    place = worktree(repo, "side", trees / "side")
    moved = place.rename(trees / "moved")

    git.repair(git.discover(repo), [moved])

    assert git.worktrees(git.discover(repo))[1].path == moved


def test_a_repository_that_was_moved_finds_its_worktrees_again(
    repo: Path, trees: Path, tmp_path: Path
) -> None:
    place = worktree(repo, "side", trees / "side")
    moved = repo.rename(tmp_path / "renamed")
    with pytest.raises(NoRepository):
        git.discover(place)

    git.repair(git.discover(moved))

    assert git.discover(place).root == moved


def test_a_folder_that_cannot_be_connected_is_reported(repo: Path, trees: Path) -> None:
    stray = trees / "stray"
    stray.mkdir(parents=True)
    (stray / ".git").write_text(f"gitdir: {trees}\n")

    assert any(line.startswith("not repaired: ") for line in git.repair(git.discover(repo), [stray]))


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.001)


def test_the_first_commit_is_empty_and_leaves_alone_what_was_staged(tmp_path: Path) -> None:
    call(tmp_path, "init", "--quiet")
    (tmp_path / "mine.txt").write_text("not ready yet\n")
    call(tmp_path, "add", "mine.txt")

    git.ensure_repository(tmp_path)

    assert call(tmp_path, "ls-tree", "-r", "HEAD") == ""
    assert call(tmp_path, "status", "--porcelain", "mine.txt").startswith("A ")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "error: unable to create file a: No space left on device\n"
            "error: unable to create file b: No space left on device\n"
            "fatal: Could not reset index file to revision 'HEAD'.\n",
            "unable to create file a: No space left on device",
        ),
        (
            "error: unable to write file b\nfatal: Could not reset index file to revision 'HEAD'.\n",
            "unable to write file b",
        ),
        (
            "fatal: cannot create directory at 'x': Permission denied\nfatal: it did not work\n",
            "cannot create directory at 'x': Permission denied",
        ),
        (
            "warning: unable to access '.gitconfig': Permission denied\nfatal: bad object HEAD\n",
            "bad object HEAD",
        ),
        (
            "fatal: Could not reset index file to revision 'HEAD'.\n",
            "Could not reset index file to revision 'HEAD'.",
        ),
    ],
)
def test_the_reason_is_the_line_that_names_the_cause(said: str, reason: str) -> None:
    assert program.reason(subprocess.CompletedProcess([], 128, "", said)) == reason
