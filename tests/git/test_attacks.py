"""Reading a repository runs none of the programs that an agent could have planted in it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.errors import FleetError, NoRepository, Refused
from fleet_tui.git import changes, entries, plain, program
from fleet_tui.git.program import GitFailed
from fleet_tui.lifecycle import profile_check
from fleet_tui.tui.demo import tour
from tests.git import repositories, traps
from tests.git.repositories import call, commit, make, worktree
from tests.git.traps import PLANTS, Trap

QUICK = frozenset({"fsmonitor", "clean", "external"})
"""Keys that would affect one of our own commands; the rest are rarer variants."""


def each_key(*names: str) -> list[object]:
    return [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow, id=name)
        for name in names or PLANTS
    ]


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repositories.isolate(tmp_path / "home", monkeypatch)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return traps.lay(tmp_path / "trap")


@pytest.fixture
def place(place: Path) -> Path:
    """The worktree with work in it: staged, unstaged and untracked."""
    (place / "a.txt").write_text("one\nTWO\n")
    (place / "src" / "b.py").write_text("print(1)\n")
    call(place, "add", "src/b.py")
    (place / "new.txt").write_text("new\n")
    return place


def attributes(place: Path, text: str) -> None:
    if text:
        (place / ".gitattributes").write_text(text)


def look_everywhere(repo: Path, place: Path) -> None:
    """Everything that the dashboard and read-only commands do with git, including errors."""
    for start in (repo, place, place / "src"):
        attempt(git.discover, start)
    attempt(lambda: look_at(git.place_at(repo)))
    attempt(lambda: look_at(git.place_at(place)))
    attempt(lambda: look_at(git.place_of(repo / ".git", place)))
    found = git.Repository(repo, repo / ".git", "project", is_bare=False, head="HEAD", head_branch="main")
    for look in (git.worktrees, git.start_points, git.start_point):
        attempt(look, found)
    attempt(git.branch_names, found, "*")
    for name in ("HEAD", traps.NO_OBJECT):
        attempt(git.start_point, found, name)
        attempt(git.tree_size, found, name)
        attempt(git.plan, found, "next", base=name, path=place.parent / "next")
    attempt(git.prune, found, dry_run=True)
    attempt(git.repair, found, [place])


def look_at(place: git.GitPlaces) -> None:
    git.status(place)
    git.diff_stat(place, "main")
    changes._with_git(place, "main")
    attempt(git.diff_stat, place, traps.NO_OBJECT)
    review(place)


def review(place: git.GitPlaces) -> None:
    """Everything that a review of a worktree does with git."""
    with git.scratch_objects(place.git_dir) as scratch:
        found = git.take_snapshot(place, scratch, "key")
        start = git.work_start(place.git_dir, found.head, found.head, "side")
        sides = (place.git_dir, start, found.tree)
        files = git.changed_files(*sides, objects=scratch.variables)
        for file in files:
            git.file_diff(*sides, file, context=-1, objects=scratch.variables)
            git.file_text(place.git_dir, found.tree, file.path, objects=scratch.variables)
            git.blob_text(place.git_dir, file.new_blob, limit=100, objects=scratch.variables)
        assert bool(git.patch(*sides, objects=scratch.variables)) == bool(files)
        assert bool(git.stat_text(*sides, width=80, objects=scratch.variables)) == bool(files)


def attempt(look: Callable[..., object], *arguments: object, **options: object) -> None:
    with contextlib.suppress(FleetError):
        look(*arguments, **options)


# ── the traps work ──


@pytest.mark.parametrize("key", each_key(*(name for name, plant in PLANTS.items() if plant.falls)))
def test_the_users_own_git_falls_for_it(repo: Path, place: Path, trap: Trap, key: str) -> None:
    attributes(place, PLANTS[key].attributes)
    traps.plant_in(repo / ".git" / "config", PLANTS[key], trap)

    traps.falls(place, PLANTS[key])

    assert trap.has_sprung


# ── read-only commands ──


@pytest.mark.parametrize("key", each_key())
def test_looking_runs_nothing_that_the_repository_configures(
    repo: Path, place: Path, trap: Trap, key: str
) -> None:
    attributes(place, PLANTS[key].attributes)
    traps.plant_in(repo / ".git" / "config", PLANTS[key], trap)

    look_everywhere(repo, place)

    assert not trap.has_sprung


@pytest.mark.parametrize("key", each_key())
def test_looking_runs_nothing_that_a_replaced_git_file_leads_to(
    repo: Path, place: Path, trap: Trap, key: str
) -> None:
    traps.replace_link(place, trap, PLANTS[key])
    attributes(place, PLANTS[key].attributes)

    look_everywhere(repo, place)
    attempt(git.discover, place / "planted.git")

    assert not trap.has_sprung


@pytest.mark.slow
@pytest.mark.parametrize("key", PLANTS)
@pytest.mark.parametrize("where", ["worktree", "global", "variables"])
def test_looking_runs_nothing_that_is_configured_elsewhere(
    repo: Path,
    place: Path,
    trap: Trap,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    where: str,
) -> None:
    plant = PLANTS[key]
    attributes(place, plant.attributes)
    if where == "worktree":
        call(repo, "config", "extensions.worktreeConfig", "true")
        traps.plant_in(repo / ".git" / "worktrees" / "side" / "config.worktree", plant, trap)
    elif where == "global":
        traps.plant_in(tmp_path / "home" / ".gitconfig", plant, trap)
    else:
        found = traps.settings(plant, trap)
        monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(found)))
        for number, (name, value) in enumerate(found):
            monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
            monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)

    look_everywhere(repo, place)

    assert not trap.has_sprung


def test_looking_runs_nothing_that_the_environment_names(
    repo: Path, place: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EXTERNAL_DIFF", "PAGER", "EDITOR", "SEQUENCE_EDITOR", "SSH", "SSH_COMMAND", "ASKPASS"):
        monkeypatch.setenv(f"GIT_{name}", str(trap.program))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={trap.program}'")

    look_everywhere(repo, place)

    assert not trap.has_sprung
    assert git.diff_stat(git.place_at(place), "main").files == 2


def test_looking_runs_no_hook_of_the_repository(repo: Path, place: Path, trap: Trap) -> None:
    hooks = repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in traps.HOOKS:
        (hooks / name).write_bytes(trap.program.read_bytes())
        (hooks / name).chmod(0o755)

    look_everywhere(repo, place)

    assert not trap.has_sprung


def test_looking_does_not_start_git_in_a_planted_submodule(repo: Path, place: Path, trap: Trap) -> None:
    inner = make(place / "sub")
    call(place, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
    traps.plant_in(inner / ".git" / "config", PLANTS["fsmonitor"], trap)
    (inner / "a.txt").write_text("changed\n")

    look_everywhere(repo, place)
    assert not trap.has_sprung

    traps.falls(place, PLANTS["fsmonitor"])
    assert trap.has_sprung


def test_a_planted_work_tree_does_not_change_what_is_counted(repo: Path, place: Path, trap: Trap) -> None:
    before = git.diff_stat(git.place_of(repo / ".git", place), "main")
    traps.plant_in(repo / ".git" / "config", PLANTS["work tree"], trap)

    seen = git.place_of(repo / ".git", place)

    assert git.diff_stat(seen, "main") == changes._with_git(seen, "main") == before


def test_a_git_file_that_is_swapped_after_the_check_does_not_matter(
    repo: Path, place: Path, trap: Trap
) -> None:
    seen = git.place_of(repo / ".git", place)
    before = git.diff_stat(seen, "main")
    planted = traps.replace_link(place, trap, PLANTS["fsmonitor"])
    planted.rename(repo / "planted.git")

    assert git.diff_stat(seen, "main") == changes._with_git(seen, "main") == before
    assert not trap.has_sprung


# ── what is reported ──


def test_a_changed_git_file_is_reported_and_git_is_not_run(repo: Path, place: Path, trap: Trap) -> None:
    traps.replace_link(place, trap, PLANTS["fsmonitor"])

    assert git.link_problem(repo / ".git", place) == "its .git was changed"
    with pytest.raises(git.WorktreeChanged, match=r"side: its \.git was changed") as caught:
        git.place_of(repo / ".git", place)
    assert caught.value.hint == "repair it with: fleet list --repair"


def test_every_kind_of_change_of_a_link_is_reported(repo: Path, place: Path) -> None:
    link, made = place / ".git", (place / ".git").read_text()
    git_dir = repo / ".git"

    assert git.link_problem(git_dir, place) == ""
    link.unlink()
    assert git.link_problem(git_dir, place) == "its .git is gone"
    link.symlink_to(git_dir)
    assert git.link_problem(git_dir, place) == "its .git was changed"
    link.unlink()
    os.mkfifo(link)
    assert git.link_problem(git_dir, place) == "its .git was changed"
    link.unlink()
    link.mkdir()
    assert git.link_problem(git_dir, place) == "its .git was replaced by a folder"
    link.rmdir()
    link.write_text(f"gitdir: {os.path.relpath(git_dir / 'worktrees' / 'side', place)}\n")
    assert git.link_problem(git_dir, place) == ""
    link.write_text(made)
    (git_dir / "worktrees" / "side" / "commondir").unlink()
    os.mkfifo(git_dir / "worktrees" / "side" / "commondir")
    assert git.link_problem(git_dir, place) == "its entry in the repository was changed"
    (git_dir / "worktrees" / "side" / "commondir").unlink()
    (git_dir / "worktrees" / "side" / "commondir").write_text("/elsewhere\n")
    assert git.link_problem(git_dir, place) == "its entry in the repository was changed"


def test_a_changed_link_is_put_right_with_all_work_kept(repo: Path, place: Path, trap: Trap) -> None:
    before = git.status(git.place_at(place))
    planted = traps.replace_link(place, trap, PLANTS["fsmonitor"])
    planted.rename(repo / "planted.git")

    assert git.relink(repo / ".git", place)

    assert git.link_problem(repo / ".git", place) == ""
    assert git.status(git.place_of(repo / ".git", place)) == before
    assert not trap.has_sprung


def test_a_bare_repository_inside_a_worktree_is_not_a_project(place: Path, trap: Trap) -> None:
    planted = place / "planted.git"
    call(place, "clone", "--quiet", "--bare", str(place), str(planted))
    traps.plant_in(planted / "config", PLANTS["fsmonitor"], trap)

    with pytest.raises(NoRepository, match="bare repository inside") as caught:
        git.discover(planted)

    assert caught.value.hint
    assert not trap.has_sprung


def test_a_bare_repository_that_the_git_file_beside_it_names_is_a_project(repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "thing" / ".bare"
    call(repo, "clone", "--quiet", "--bare", str(repo), str(bare))
    (tmp_path / "thing" / ".git").write_text("gitdir: ./.bare\n")

    assert git.discover(bare).git_dir == bare
    assert git.discover(tmp_path / "thing").git_dir == bare


# ── commands that change something ──


@pytest.mark.parametrize("key", each_key())
def test_the_trash_runs_nothing_that_the_repository_configures(
    repo: Path, place: Path, trap: Trap, tmp_path: Path, key: str
) -> None:
    attributes(place, PLANTS[key].attributes)
    traps.plant_in(repo / ".git" / "config", PLANTS[key], trap)

    discard(repo, place, tmp_path)
    [item] = git.trashed(tmp_path / "trash")
    git.from_trash(item.path)
    discard(repo, place, tmp_path)
    [item] = git.trashed(tmp_path / "trash")
    ref = git.empty_trashed(item)

    assert not trap.has_sprung
    (repo / ".git" / "config").write_text("[core]\n\tbare = false\n")
    assert call(repo, "show", f"{ref}:new.txt") == "new"
    assert call(repo, "show", f"{ref}:a.txt") == "one\nTWO"


@pytest.mark.parametrize("key", ["fsmonitor", *(pytest.param(key, marks=pytest.mark.slow) for key in PLANTS)])
def test_the_trash_takes_a_worktree_whose_git_file_was_replaced(
    repo: Path, place: Path, trap: Trap, tmp_path: Path, key: str
) -> None:
    traps.replace_link(place, trap, PLANTS[key])
    attributes(place, PLANTS[key].attributes)

    item = discard(repo, place, tmp_path)
    restored = git.from_trash(item.path)
    assert git.link_problem(repo / ".git", place) == ""
    assert (restored.branch, (place / "new.txt").read_text()) == ("side", "new\n")
    ref = git.empty_trashed(discard(repo, place, tmp_path))

    assert not trap.has_sprung
    assert call(repo, "show", f"{ref}:new.txt") == "new"


def discard(repo: Path, place: Path, tmp_path: Path) -> git.TrashedWorktree:
    return git.to_trash(
        place,
        tmp_path / "trash",
        stamp="s",
        delete_branch=True,
        branch="side",
        repo_root=repo,
        git_dir=repo / ".git",
    )


def test_bringing_back_a_deleted_folder_uses_the_users_repository_only(
    repo: Path, place: Path, trap: Trap, tmp_path: Path
) -> None:
    commit(place, {".gitattributes": traps.FILTERED})
    planted = tmp_path / "planted.git"
    call(repo, "clone", "--quiet", "--bare", str(repo), str(planted))
    for key in ("smudge", "fsmonitor", "hooksPath"):
        traps.plant_in(planted / "config", PLANTS[key], trap)
    (repo / ".git" / "worktrees" / "side" / "commondir").write_text(f"{planted}\n")
    shutil.rmtree(place)

    restored = git.from_trash(discard(repo, place, tmp_path).path)

    assert (restored.branch, (place / "new.txt").read_text()) == ("side", "new\n")
    assert not trap.has_sprung


def test_a_pipe_that_git_would_read_ends_the_look_with_a_reason(repo: Path, place: Path) -> None:
    (place / ".gitignore").unlink(missing_ok=True)
    os.mkfifo(place / ".gitignore")

    with pytest.raises(git.GitFailed, match="timed out"):
        plain.run_plain(git.place_of(repo / ".git", place), "status", "--porcelain", seconds=0.3)


def test_emptying_does_not_start_git_in_a_planted_submodule(
    repo: Path, place: Path, trap: Trap, tmp_path: Path
) -> None:
    inner = make(place / "sub")
    deeper = make(inner / "deeper")
    for outer, name in ((inner, "deeper"), (place, "sub")):
        call(outer, "-c", "advice.addEmbeddedRepo=false", "add", name)
    call(inner, "commit", "--quiet", "-m", "deeper")
    for planted in (inner, deeper):
        traps.plant_in(planted / ".git" / "config", PLANTS["fsmonitor"], trap)
    (deeper / "a.txt").write_text("work\n")

    with pytest.raises(Refused, match="another repository in sub"):
        git.empty_trashed(discard(repo, place, tmp_path))

    assert not trap.has_sprung


def test_rolling_back_a_creation_runs_nothing_that_is_configured(
    repo: Path, trap: Trap, tmp_path: Path
) -> None:
    found = git.discover(repo)
    plan = git.plan(found, "next", path=tmp_path / "trees" / "next")
    git.add(found, plan, admin_name="next")
    (plan.path / ".gitattributes").write_text(traps.FILTERED)
    for key in ("fsmonitor", "clean", "smudge", "hooksPath"):
        traps.plant_in(repo / ".git" / "config", PLANTS[key], trap)

    with pytest.raises(Refused, match="is not from its checkout"):
        git.roll_back_add(repo, path=plan.path, branch="next", makes_branch=True, base=plan.base)

    assert not trap.has_sprung


# ── the user's own filters ──


def with_filter(repo: Path) -> None:
    """A filter like that of Git LFS: git stores something else than the folder holds."""
    call(repo, "config", "filter.shout.smudge", "tr a-z A-Z")
    call(repo, "config", "filter.shout.clean", "tr A-Z a-z")
    commit(repo, {".gitattributes": "*.loud filter=shout\n", "x.loud": "hey\nyou\n"})


def test_making_a_worktree_still_uses_the_users_filters(repo: Path, tmp_path: Path) -> None:
    with_filter(repo)

    place = worktree(repo, "loud", tmp_path / "loud")

    assert (place / "x.loud").read_text() == "HEY\nYOU\n"


def test_a_filtered_file_as_it_was_checked_out_is_not_a_change(repo: Path, tmp_path: Path) -> None:
    with_filter(repo)
    seen = git.place_at(worktree(repo, "loud", tmp_path / "loud"))

    assert git.diff_stat(seen, "main") == changes._with_git(seen, "main")
    assert git.diff_stat(seen, "main") == git.DiffStat(0, 0, 0, 0, False, 0, 0)
    assert git.status(seen) == []


def test_a_filtered_file_with_new_times_counts_as_changed_without_lines(repo: Path, tmp_path: Path) -> None:
    with_filter(repo)
    place = worktree(repo, "loud", tmp_path / "loud")
    os.utime(place / "x.loud", (1, 1))

    assert git.diff_stat(git.place_at(place), "main") == git.DiffStat(0, 0, 1, 0, True, 0, 0)


def test_committed_lines_of_a_filtered_file_are_counted(repo: Path, tmp_path: Path) -> None:
    with_filter(repo)
    place = worktree(repo, "loud", tmp_path / "loud")
    commit(place, {"x.loud": "HEY\nYOU\nTHERE\n"})
    (place / "x.loud").write_text("HEY\nYOU\nTHERE\nAND\nHERE\n")

    assert git.diff_stat(git.place_at(place), "main") == git.DiffStat(1, 0, 1, 0, True, 1, 0)


def test_emptying_saves_a_changed_filtered_file_as_it_is_on_the_disk(repo: Path, tmp_path: Path) -> None:
    with_filter(repo)
    place = worktree(repo, "side", tmp_path / "trees" / "side")
    (place / "x.loud").write_text("Mixed\n")

    ref = git.empty_trashed(discard(repo, place, tmp_path))

    assert call(repo, "cat-file", "-p", f"{ref}:x.loud") == "Mixed"


def test_rolling_back_a_creation_removes_filtered_files_too(repo: Path, tmp_path: Path) -> None:
    with_filter(repo)
    found = git.discover(repo)
    plan = git.plan(found, "loud", path=tmp_path / "loud")
    git.add(found, plan, admin_name="loud")

    git.roll_back_add(repo, path=plan.path, branch="loud", makes_branch=True, base=plan.base)

    assert not plan.path.exists()


# ── repositories that we create ──


@pytest.mark.parametrize("make_own", [tour._repository, profile_check._repository])
def test_a_scratch_repository_is_made_where_it_belongs_whatever_a_hook_has_set(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_own: Callable[[Path], object]
) -> None:
    before = call(repo, "log", "--all", "--format=%H")
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    with monkeypatch.context() as hook:
        hook.setenv("GIT_DIR", str(repo / ".git"))
        hook.setenv("GIT_WORK_TREE", str(repo))
        make_own(scratch)

    assert (scratch / ".git").is_dir()
    assert call(repo, "log", "--all", "--format=%H") == before


# ── what an agent writes into its entry in the repository ──


@pytest.mark.parametrize("name", ["gitdir", "commondir", "HEAD"])
@pytest.mark.parametrize("content", [b"gitdir: /a\0b/worktrees/x\n", b"ref: refs/heads/\0\n", b"\0" * 9])
def test_a_zero_byte_in_an_entry_breaks_no_look(repo: Path, place: Path, name: str, content: bytes) -> None:
    """One such byte made every listing of all agents fail."""
    (repo / ".git" / "worktrees" / "side" / name).write_bytes(content)
    (place / ".git").write_bytes(content)

    assert entries.link_problem(repo / ".git", place) == "its .git was changed"
    assert not git.relink(repo / ".git", place / "missing")


def test_an_entry_with_a_huge_hole_is_not_read_into_memory(repo: Path, place: Path) -> None:
    for name in ("gitdir", "HEAD", "commondir"):
        os.truncate(repo / ".git" / "worktrees" / "side" / name, 40 << 30)

    assert entries.link_problem(repo / ".git", place) == "its entry in the repository was changed"
    assert git.to_trash(place, place.parent / ".trash", stamp="1", delete_branch=False).path.is_dir()


BROKEN_HEADS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "nothing": lambda head: None,
    "a link to a device": lambda head: head.symlink_to("/dev/zero"),
    "an option": lambda head: head.write_text("ref: --output=pwned\n"),
    "another file": lambda head: head.write_text("ref: /etc/passwd\n"),
    "a long name": lambda head: head.write_text("ref: refs/heads/" + "a" * 5000),
    "a zero byte": lambda head: head.write_bytes(b"ref: refs/heads/\0x\n"),
    "no commit": lambda head: head.write_text("hello\nworld\n"),
}


@pytest.mark.parametrize("what", BROKEN_HEADS)
def test_a_worktree_with_a_broken_head_is_trashed_restored_and_emptied(
    repo: Path, place: Path, what: str
) -> None:
    head = repo / ".git" / "worktrees" / "side" / "HEAD"
    head.unlink()
    BROKEN_HEADS[what](head)

    item = git.to_trash(place, place.parent / ".trash", stamp="1", delete_branch=False, branch="side")
    git.from_trash(item.path)
    assert call(place, "symbolic-ref", "HEAD") == "refs/heads/side"
    item = git.to_trash(place, place.parent / ".trash", stamp="2", delete_branch=False, branch="side")
    ref = git.empty_trashed(item)

    assert call(repo, "show", f"{ref}:new.txt") == "new"


@pytest.mark.parametrize("what", ["a pipe", "a folder", "a link to a device", "a huge hole"])
def test_what_is_put_in_place_of_the_index_neither_blocks_nor_fills_the_disk(
    repo: Path, place: Path, what: str
) -> None:
    index = repo / ".git" / "worktrees" / "side" / "index"
    index.unlink()
    if what == "a huge hole":
        index.touch()
        os.truncate(index, 40 << 30)
    else:
        BROKEN_HEADS[what](index)
    item = git.to_trash(place, place.parent / ".trash", stamp="1", delete_branch=False, branch="side")

    found = git.trash_contents(item)

    assert any(str(index) in message for message, _ in found.obstacles)
    with pytest.raises(Refused):
        git.empty_trashed(item)
    assert (item.path / "new.txt").exists()


def test_a_repository_that_blocks_git_ends_the_look_with_a_reason(
    repo: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "SECONDS", 0.5)
    head = repo / ".git" / "worktrees" / "side" / "HEAD"
    head.unlink()
    os.mkfifo(head)

    with pytest.raises(GitFailed, match="git timed out"):
        git.worktrees(git.discover(repo))


def test_names_that_differ_only_in_case_are_both_saved_whatever_the_repository_says(
    repo: Path, place: Path
) -> None:
    """With core.ignorecase, git takes them for one file and forgets the other."""
    call(repo, "config", "core.ignorecase", "true")
    (place / "A.TXT").write_text("another file\n")
    item = git.to_trash(place, place.parent / ".trash", stamp="1", delete_branch=False)

    ref = git.empty_trashed(item)

    assert call(repo, "show", f"{ref}:A.TXT") == "another file"
    assert call(repo, "show", f"{ref}:a.txt") == "one\nTWO"


def test_replaced_objects_do_not_hide_what_has_to_be_saved(repo: Path, place: Path) -> None:
    """With a replacement of HEAD that has the same files, the worktree looks as if it were committed."""
    head = call(place, "rev-parse", "HEAD")
    call(place, "add", "--all")
    same = call(place, "commit-tree", call(place, "write-tree"), "-m", "the same files")
    call(repo, "replace", head, same)
    item = git.to_trash(place, place.parent / ".trash", stamp="1", delete_branch=False)

    ref = git.empty_trashed(item)
    call(repo, "replace", "-d", head)

    assert call(repo, "show", f"{ref}:new.txt") == "new"


def test_saving_does_not_write_through_a_planted_symbolic_ref(repo: Path, place: Path) -> None:
    before = call(repo, "rev-parse", "main")
    call(repo, "symbolic-ref", "refs/fleet/trash/side/1", "refs/heads/main")
    item = git.to_trash(place, place.parent / ".trash", stamp="1", delete_branch=False)

    ref = git.empty_trashed(item)

    assert call(repo, "rev-parse", "main") == before
    assert call(repo, "show", f"{ref}:new.txt") == "new"


def test_deleting_a_branch_deletes_none_that_it_stands_for(repo: Path, place: Path) -> None:
    """`git update-ref -d` deletes what a symbolic ref leads to: the main branch, while it is checked out."""
    before = call(repo, "rev-parse", "main")
    call(repo, "symbolic-ref", "refs/heads/side", "refs/heads/main")

    item = git.to_trash(place, place.parent / ".trash", stamp="1", delete_branch=True, branch="side")
    assert call(repo, "rev-parse", "main") == before

    git.from_trash(item.path)
    assert call(place, "rev-parse", "HEAD") == before


def test_an_entry_that_names_another_folder_does_not_make_a_worktree_a_copy(repo: Path, place: Path) -> None:
    """The kill was refused with the advice to remove the worktree, the work in it included."""
    (place / "sub").mkdir()
    shutil.copy(place / ".git", place / "sub" / ".git")
    (repo / ".git" / "worktrees" / "side" / "gitdir").write_text(f"{place}/sub/.git\n")

    item = git.to_trash(
        place, place.parent / ".trash", stamp="1", delete_branch=False, git_dir=repo / ".git", mark="-id"
    )

    assert (item.path / "new.txt").exists()
    assert git.from_trash(item.path).branch == "side"
    assert git.status(git.place_of(repo / ".git", place))


@pytest.mark.parametrize("what", ["a file", "a link to another repository"])
def test_what_is_put_in_place_of_an_entry_is_neither_followed_nor_in_the_way(
    repo: Path, place: Path, tmp_path: Path, what: str
) -> None:
    """Through the link, a kill would have detached the HEAD of the other repository."""
    made, other = repo / ".git" / "worktrees" / "side", make(tmp_path / "other")
    worktree(repo, "next", tmp_path / "trees" / "next")
    made.rename(tmp_path / "moved")
    if what == "a file":
        made.write_text("in the way\n")
    else:
        made.symlink_to(other / ".git")
        assert git.link_problem(repo / ".git", place) == "its entry in the repository was changed"
        assert not git.relink(repo / ".git", place)
    bin_ = place.parent / ".trash"

    item = git.to_trash(
        place, bin_, stamp="1", delete_branch=False, branch="side", git_dir=repo / ".git", mark="side"
    )
    git.empty_trashed(git.to_trash(tmp_path / "trees" / "next", bin_, stamp="1", delete_branch=False))
    ref = git.empty_trashed(item)

    assert call(repo, "show", f"{ref}:new.txt") == "new"
    assert call(other, "symbolic-ref", "HEAD") == "refs/heads/main"
    git.prune(git.discover(repo), dry_run=False)
    assert call(other, "status", "--porcelain") == ""


def test_an_entry_that_becomes_a_link_in_the_trash_is_not_followed(
    repo: Path, place: Path, tmp_path: Path
) -> None:
    made, other = repo / ".git" / "worktrees" / "side", make(tmp_path / "other")
    item = git.to_trash(place, place.parent / ".trash", stamp="1", delete_branch=False, branch="side")
    shutil.rmtree(made)
    made.symlink_to(other / ".git")

    git.from_trash(item.path)

    assert call(other, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert (place / "new.txt").exists()
    assert git.status(git.place_of(repo / ".git", place))
