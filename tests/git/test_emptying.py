"""Emptying the trash loses no ignored file or nested repository, and refuses what cannot be read or deleted."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui import git, trashed
from fleet_tui.errors import FleetError, Refused
from fleet_tui.git import survey
from tests.git import repositories
from tests.git.repositories import call, commit, make, worktree
from tests.other_user import NOBODY, as_nobody
from tests.system import small_disks


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repositories.isolate(tmp_path / "home", monkeypatch)


def discard(place: Path) -> git.TrashedWorktree:
    return git.to_trash(place, place.parent / ".trash", stamp="20260101-120000", delete_branch=False)


def packed(item: git.TrashedWorktree) -> dict[str, bytes]:
    """The files in the archive of an emptied worktree."""
    with tarfile.open(git.archive_of(item.path)) as archive:
        members = {member.name: archive.extractfile(member) for member in archive if member.isreg()}
        return {name: file.read() for name, file in members.items() if file is not None}


# ── ignored files ──


def test_ignored_files_are_kept_in_a_private_archive(place: Path) -> None:
    (place / "key.secret").write_text("password\n")
    (place / "build").mkdir()
    (place / "build" / "out").write_text("built\n")
    (place / b"na\xffme.secret".decode("utf-8", "surrogateescape")).write_text("odd name")
    item = discard(place)

    git.empty_trashed(item)

    assert packed(item) == {
        "key.secret": b"password\n",
        "build/out": b"built\n",
        b"na\xffme.secret".decode("utf-8", "surrogateescape"): b"odd name",
    }
    assert stat.S_IMODE(git.archive_of(item.path).stat().st_mode) == 0o600


def test_ignored_files_are_listed_once_wherever_they_are(place: Path) -> None:
    for name in (
        "new/key.secret",
        "new/deep/key.secret",
        "new/build/out",
        "only/deep/key.secret",
        "src/key.secret",
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("12345")
    (place / "new" / "file").write_text("untracked")
    item = discard(place)

    found = git.trash_contents(item)
    git.empty_trashed(item)

    assert sorted(one.path for one in found.ignored) == [
        "new/build/",
        "new/deep/key.secret",
        "new/key.secret",
        "only/deep/key.secret",
        "src/key.secret",
    ]
    assert {one.size for one in found.ignored} == {5}
    assert len(packed(item)) == 5


@pytest.mark.parametrize("name", [".gitignore", "deep/.gitattributes"])
def test_a_pipe_that_git_would_read_keeps_a_worktree_in_the_trash(place: Path, name: str) -> None:
    (place / "deep").mkdir()
    (place / name).unlink(missing_ok=True)
    os.mkfifo(place / name)
    item = discard(place)

    assert [text for text, _ in git.trash_contents(item).obstacles] == [
        f"{item.path / name} is not a regular file"
    ]
    with pytest.raises(Refused, match="is not a regular file"):
        git.empty_trashed(item)

    (item.path / name).unlink()
    assert git.empty_trashed(item)


def test_folders_nested_too_deeply_to_delete_keep_a_worktree_in_the_trash(place: Path) -> None:
    build = place / "build"
    build.mkdir()
    with contextlib.chdir(build):
        for _ in range(1500):
            os.mkdir("d")  # noqa: PTH102 - relative to a folder whose path is too long
            os.chdir("d")
    item = discard(place)

    with pytest.raises(Refused, match="nested too deeply"):
        git.empty_trashed(item)

    assert git.from_trash(item.path).branch == "side"
    subprocess.run(["rm", "-rf", str(build)], check=True)


def test_without_keeping_ignored_files_nothing_is_left(place: Path) -> None:
    (place / "key.secret").write_text("password\n")
    item = discard(place)

    git.empty_trashed(item, keep_ignored=False)

    assert list(item.path.parent.iterdir()) == []


def test_what_is_too_large_to_keep_is_named_before_it_goes(place: Path) -> None:
    (place / "key.secret").write_text("password\n")
    (place / "build").mkdir()
    with (place / "build" / "huge").open("wb") as file:
        file.truncate(trashed.KEPT_IGNORED)
    item = discard(place)

    found = git.trash_contents(item)
    assert [(one.path, one.size) for one in found.kept] == [("key.secret", 9)]
    assert [(one.path, one.size) for one in found.too_large] == [("build/", trashed.KEPT_IGNORED)]
    git.empty_trashed(item)

    assert packed(item) == {"key.secret": b"password\n"}


def test_many_small_files_count_by_what_they_take_in_the_archive(place: Path) -> None:
    (place / "build").mkdir()
    for number in range(30):
        (place / "build" / str(number)).write_text("x")
    (place / "key.secret").write_text("password\n")

    found = git.trash_contents(discard(place))

    assert [(one.path, one.size, one.packed) for one in found.ignored] == [
        ("key.secret", 9, 1024),
        ("build/", 30, 512 + 30 * 1024),
    ]
    many = trashed.TrashContents(ignored=(trashed.IgnoredFile("many/", 60_000, 60_000 * 1024),))
    assert many.too_large == many.ignored


def test_links_pipes_and_sockets_among_ignored_files_neither_hang_nor_lead_out_of_the_tree(
    place: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("not ours")
    build = place / "build"
    build.mkdir()
    (build / "link").symlink_to(outside)
    (build / "own").write_text("ours")
    os.mkfifo(build / "pipe")
    os.mkfifo(place / "untracked-pipe")
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(build):
        server.bind("socket")
    item = discard(place)

    git.empty_trashed(item)

    assert packed(item) == {"build/own": b"ours"}
    with tarfile.open(git.archive_of(item.path)) as archive:
        assert archive.getmember("build/link").issym()
        assert archive.getmember("build/pipe").isfifo()
    assert (outside / "file").read_text() == "not ours"


@pytest.mark.slow
def test_without_space_for_the_ignored_files_nothing_is_deleted(repo: Path, tmp_path: Path) -> None:
    with small_disks.small_disk(tmp_path / "disk", size="1m") as disk:
        place = worktree(repo, "side", disk / "side")
        (place / "build").mkdir()
        (place / "build" / "out").write_bytes(b"x" * 300_000)
        item = discard(place)
        filler = small_disks.fill(disk)
        # Room for the record and git's small files, but not for the archive.
        os.truncate(filler, filler.stat().st_size - 100_000)

        with pytest.raises(FleetError, match="No space left"):
            git.empty_trashed(item)

        assert not git.archive_of(item.path).with_name(f"{git.archive_of(item.path).name}.new").exists()
        filler.unlink()
        assert git.from_trash(item.path).branch == "side"
        assert (place / "build" / "out").stat().st_size == 300_000


@pytest.mark.slow
def test_ignored_files_of_a_submodule_are_kept_too(repo: Path, tmp_path: Path) -> None:
    outer = make(tmp_path / "outer")
    call(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "part")
    commit(outer, {})
    place = worktree(outer, "side", tmp_path / "trees" / "side")
    call(place, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    (place / "part" / "key.secret").write_text("password\n")
    item = discard(place)

    git.empty_trashed(item)

    assert packed(item) == {"part/key.secret": b"password\n"}


@pytest.mark.slow
@pytest.mark.parametrize("own", ["a stash", "a commit that only a tag names", "nothing"])
def test_a_submodule_whose_repository_lies_in_the_worktree_is_not_deleted_with_its_own_work(
    repo: Path, tmp_path: Path, own: str
) -> None:
    outer = make(tmp_path / "outer")
    place = worktree(outer, "side", tmp_path / "trees" / "side")
    # As after `git add` of a clone: its .git is a folder, outside the worktree's entry.
    part = place / "part"
    call(tmp_path, "clone", "--quiet", str(repo), str(part))
    call(place, "-c", "advice.addEmbeddedRepo=false", "add", "part")
    call(place, "commit", "--quiet", "-m", "a part")
    if own == "a stash":
        file = next(path for path in sorted(part.iterdir()) if path.is_file())
        file.write_text("only in the stash\n")
        call(part, "stash", "--quiet")
    elif own != "nothing":
        call(part, "tag", "mine", commit(part, {"own.txt": "own\n"}))
        call(part, "reset", "--quiet", "--hard", "HEAD~1")
    item = discard(place)

    if own == "nothing":
        assert git.empty_trashed(item)
    else:
        with pytest.raises(Refused, match="has work that exists nowhere else"):
            git.empty_trashed(item)
        assert (item.path / "part" / ".git").is_dir()


# ── killed at any step ──

EMPTIER = """
import sys
from pathlib import Path
from fleet_tui import git
(item,) = git.trashed(Path(sys.argv[1]))
git.trash_contents(item)  # loads all that emptying needs
print("ready", flush=True)
git.empty_trashed(item)
"""


@pytest.mark.slow
def test_an_emptying_killed_at_any_moment_leaves_its_worktree_whole_or_saved(
    repo: Path, tmp_path: Path
) -> None:
    chance = random.Random(1)
    outcomes = []
    span = 0.0
    for number in range(40):
        place = worktree(repo, f"try-{number}", tmp_path / f"trees-{number}" / "side")
        for name in [f"new/{index}" for index in range(50)] + [f"build/{index}" for index in range(50)]:
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(name)
        item = discard(place)
        with subprocess.Popen(
            [sys.executable, "-c", EMPTIER, str(item.path.parent)], stdout=subprocess.PIPE
        ) as emptier:
            assert emptier.stdout is not None
            assert emptier.stdout.readline() == b"ready\n"
            began = time.monotonic()
            with contextlib.suppress(subprocess.TimeoutExpired):
                # The first one is left alone: on a busy machine all moments are later.
                emptier.wait(chance.random() * span if span else 30.0)
            emptier.kill()
            span = span or time.monotonic() - began

        if not git.trashed(item.path.parent):
            outcomes.append("emptied")
        else:
            try:
                git.from_trash(item.path)
                outcomes.append("whole")
            except Refused:
                outcomes.append("saved")
        if outcomes[-1] == "whole":
            assert {path.name for path in (place / "build").iterdir()} == set(map(str, range(50)))
            assert {path.name for path in (place / "new").iterdir()} == set(map(str, range(50)))
            assert call(place, "branch", "--show-current") == f"try-{number}"
        else:
            ref = f"refs/fleet/trash/{item.admin_name}/{item.stamp}"
            assert len(call(repo, "ls-tree", "-r", "--name-only", ref, "new/").splitlines()) == 50
            assert len(packed(item)) == 50
    assert outcomes[0] == "emptied"
    assert "whole" in outcomes


# ── contents ──


def test_contents_name_uncommitted_files_and_change_nothing(place: Path) -> None:
    commit(place, {"c.txt": "c\n"})
    (place / "a.txt").write_text("changed\n")
    (place / "new").write_text("untracked\n")
    call(place, "update-index", "--assume-unchanged", "c.txt")
    (place / "c.txt").write_text("overlooked\n")
    (place / "key.secret").write_text("password\n")
    item = discard(place)
    before = call(item.path, "ls-files", "-v", "--stage")

    found = git.trash_contents(item)

    assert found.uncommitted == ("a.txt", "c.txt", "new")
    assert found.ignored == (trashed.IgnoredFile("key.secret", 9, packed=1024),)
    assert found.obstacles == ()
    assert found.size >= 9
    assert call(item.path, "ls-files", "-v", "--stage") == before


# ── nested repositories ──


@pytest.mark.parametrize(
    "kind", ["plain", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("bare", "worktree"))]
)
def test_an_ignored_repository_keeps_its_worktree_in_the_trash(
    place: Path, tmp_path: Path, kind: str
) -> None:
    inner = place / "build" / "inner"
    if kind == "worktree":
        worktree(make(tmp_path / "third"), "inner", inner)
        (inner / "a.txt").write_text("only here\n")
    else:
        make(inner)
    if kind == "bare":
        shutil.move(inner / ".git", place / "build" / "inner.git")
        shutil.rmtree(inner)
    item = discard(place)

    with pytest.raises(Refused, match="holds another repository in build/inner"):
        git.empty_trashed(item)

    assert git.trashed(item.path.parent) == [item]
    assert git.from_trash(item.path).branch == "side"


@pytest.mark.parametrize(
    "own",
    [
        "nothing",
        "commit",
        *(
            pytest.param(own, marks=pytest.mark.slow)
            for own in ("change", "file", "stash", "only a local remote")
        ),
    ],
)
def test_a_clone_keeps_its_worktree_in_the_trash_only_for_work_of_its_own(place: Path, own: str) -> None:
    clone = place / "build" / "dependency"
    make(clone)
    call(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
    remote = "/somewhere" if own == "only a local remote" else "https://example.org/dependency.git"
    call(clone, "remote", "add", "origin", remote)
    if own == "commit":
        commit(clone, {"own.txt": "own"})
    elif own == "change":
        (clone / "a.txt").write_text("changed and longer\n")
    elif own == "file":
        (clone / "new").write_text("new")
    elif own == "stash":
        (clone / "a.txt").write_text("changed and longer\n")
        call(clone, "stash", "--quiet")
    item = discard(place)

    assert [text.rpartition(" ")[2] for text, _ in git.trash_contents(item).obstacles] == (
        [] if own == "nothing" else ["build/dependency"]
    )


@pytest.mark.slow
def test_a_clone_does_not_count_as_ignored_because_an_ignored_file_has_a_similar_name(place: Path) -> None:
    (place / "key.secret").write_text("password")
    clone = place / "key.secretary"
    make(clone)
    call(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
    call(clone, "remote", "add", "origin", "https://example.org/dependency.git")

    assert ["key.secretary" in text for text, _ in git.trash_contents(discard(place)).obstacles] == [True]


def test_a_bare_repository_that_is_committed_is_saved_like_any_files(repo: Path, place: Path) -> None:
    make(place / "fixture")
    shutil.move(place / "fixture" / ".git", place / "fixture.git")
    commit(place, {})

    ref = git.empty_trashed(discard(place))

    assert call(repo, "show", f"{ref}:fixture.git/HEAD") == "ref: refs/heads/main"


# ── what cannot be read or deleted ──


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which an unprivileged user can work, with a worktree that the user owns."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    folder = Path(tempfile.mkdtemp(prefix="fleet-test-"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(folder / "gitconfig"))
    monkeypatch.setenv("HOME", str(folder))
    (folder / "gitconfig").write_text(repositories.CONFIG)
    place = worktree(make(folder / "project"), "side", folder / "trees" / "side")
    (place / "build" / "deep").mkdir(parents=True)
    (place / "build" / "deep" / "file").write_text("deep")
    (place / "new").mkdir()
    (place / "new" / "work").write_text("untracked")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(folder)], check=True)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("what", "mine"),
    [
        ("new", True),
        ("build/deep", False),
        *(
            pytest.param(what, mine, marks=pytest.mark.slow)
            for what, mine in [
                ("new", False),
                ("build/deep", True),
                ("new/work", True),
                ("new/work", False),
                ("build/deep/file", True),
                ("build/deep/file", False),
            ]
        ),
    ],
)
def test_what_cannot_be_read_keeps_the_worktree_whole_until_it_can(
    shared: Path, what: str, mine: bool
) -> None:
    place = shared / "trees" / "side"
    locked = place / what
    if not mine:
        os.chown(locked, 0, 0)
    locked.chmod(0)
    item = as_nobody_discarded(place)

    said = as_nobody(lambda: git.empty_trashed(item))

    assert f"{item.path / what} cannot be read: Permission denied" in said
    assert "chmod -R u+rwX" in said if mine else "belongs to root (run: sudo chown -R" in said
    assert sorted(entry.name for entry in item.path.parent.iterdir()) == [
        item.path.name,
        f"{item.path.name}.json",
    ]
    os.chown(item.path / what, NOBODY, NOBODY)
    (item.path / what).chmod(0o700)
    assert as_nobody(lambda: git.empty_trashed(item)) == ""
    ref = "refs/fleet/trash/side/20260101-120000"
    call(shared, "config", "--global", "--add", "safe.directory", "*")
    assert call(shared / "project", "show", f"{ref}:new/work") == "untracked"
    assert packed(item) == {"build/deep/file": b"deep"}


def test_a_folder_that_can_be_listed_but_not_entered_keeps_the_worktree_whole(shared: Path) -> None:
    place = shared / "trees" / "side"
    (place / "new").chmod(0o400)
    item = as_nobody_discarded(place)

    assert f"{item.path}/new cannot be read: Permission denied" in as_nobody(lambda: git.empty_trashed(item))
    assert as_nobody(lambda: git.from_trash(item.path)) == ""


def test_a_folder_of_another_user_that_cannot_be_deleted_keeps_the_worktree_whole(shared: Path) -> None:
    place = shared / "trees" / "side"
    os.chown(place / "build" / "deep", 0, 0)
    item = as_nobody_discarded(place)

    said = as_nobody(lambda: git.empty_trashed(item))

    assert f"nothing can be deleted from {item.path}/build/deep: it belongs to root" in said
    assert as_nobody(lambda: git.from_trash(item.path)) == ""
    assert (place / "build" / "deep" / "file").read_text() == "deep"
    assert (place / "new" / "work").read_text() == "untracked"


def as_nobody_discarded(place: Path) -> git.TrashedWorktree:
    assert as_nobody(lambda: discard(place)) == ""
    (item,) = git.trashed(place.parent / ".trash")
    return item


def test_folders_that_are_only_read_only_are_deleted(shared: Path) -> None:
    place = shared / "trees" / "side"
    (place / "build" / "deep").chmod(0o500)
    item = as_nobody_discarded(place)

    assert as_nobody(lambda: git.empty_trashed(item)) == ""
    assert list(item.path.parent.iterdir()) == [git.archive_of(item.path)]


def test_a_link_in_the_place_of_a_worktree_is_not_followed(place: Path, tmp_path: Path) -> None:
    elsewhere = place.rename(tmp_path / "elsewhere")
    place.symlink_to(elsewhere)
    item = discard(place)

    with pytest.raises(Refused, match="is a symbolic link"):
        git.empty_trashed(item)

    assert (elsewhere / "a.txt").exists()


def test_of_a_worktree_whose_repository_is_gone_that_is_what_keeps_it(repo: Path, place: Path) -> None:
    item = discard(place)
    repo.rename(repo.with_name("away"))

    ((text, hint),) = git.trash_contents(item).obstacles

    assert text == f"the repository {repo}/.git is gone"
    assert "git worktree repair" in hint


def test_git_that_looks_into_a_nested_repository_runs_no_program_of_it(place: Path, tmp_path: Path) -> None:
    clone = place / "build" / "dependency"
    make(clone)
    call(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
    call(clone, "remote", "add", "origin", "https://example.org/dependency.git")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\nexit 1\n")
    trap.chmod(0o755)
    (clone / ".gitattributes").write_text("* filter=trap\n")
    for key in (
        "core.fsmonitor",
        "filter.trap.clean",
        "filter.trap.process",
        "core.sshCommand",
        "core.pager",
    ):
        call(clone, "config", key, str(trap))
    call(clone, "config", "remote.origin.promisor", "true")
    call(clone, "config", "remote.origin.url", f"ssh://example.org/{trap}")
    call(clone, "config", "extensions.partialClone", "origin")
    tip = call(clone, "rev-parse", "HEAD")
    (clone / ".git" / "refs" / "remotes" / "origin" / "gone").write_text(f"{'1' * 40}\n")
    (clone / ".git" / "objects" / tip[:2] / tip[2:]).unlink(missing_ok=True)
    (tmp_path / "sprung").unlink(missing_ok=True)
    item = discard(place)

    assert len(git.trash_contents(item).obstacles) == 1
    assert not (tmp_path / "sprung").exists()


def test_looking_into_the_trash_runs_no_filter(repo: Path, place: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    commit(place, {".gitattributes": "* filter=a=b\n"})
    call(repo, "config", "filter.a=b.clean", str(trap))
    call(repo, "config", "filter.a=b.required", "true")
    call(repo, "config", "core.fsmonitor", str(trap))
    (place / "a.txt").write_text("x\n")
    os.utime(place / "src" / "b.py", (1, 1))
    item = discard(place)

    assert git.trash_contents(item).uncommitted == ("a.txt",)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.slow
def test_a_filesystem_that_is_mounted_in_a_worktree_is_not_emptied(place: Path) -> None:
    (place / "build").mkdir()
    with small_disks.small_disk(place / "build" / "disk") as disk:
        (disk / "file").write_text("on another disk")
        item = discard(place)

        with pytest.raises(Refused, match="another filesystem is mounted at"):
            git.empty_trashed(item)

        assert (item.path / "build" / "disk" / "file").read_text() == "on another disk"
        git.from_trash(item.path)


@pytest.mark.slow
def test_what_could_not_be_deleted_is_saved_and_deleted_later(repo: Path, shared: Path) -> None:
    place = shared / "trees" / "side"
    stuck = place / "build" / "deep" / "file"
    if subprocess.run(["chattr", "+i", str(stuck)], capture_output=True, check=False).returncode:
        pytest.skip("no immutable files here")
    item = discard(place)
    left = item.path.with_name(f"{item.path.name}.deleting") / "build" / "deep" / "file"
    call(shared, "config", "--global", "--add", "safe.directory", "*")
    try:
        with pytest.raises(OSError, match="not permitted"):
            git.empty_trashed(item)

        (kept,) = git.trashed(item.path.parent)
        assert git.trash_contents(kept).saved == kept.saved != ""
        assert call(shared / "project", "show", f"{kept.saved}:new/work") == "untracked"
        assert packed(item) == {"build/deep/file": b"deep"}
    finally:
        subprocess.run(["chattr", "-i", str(left)], check=True)
    assert git.empty_trashed(kept) == kept.saved
    assert list(item.path.parent.iterdir()) == [git.archive_of(item.path)]


@pytest.mark.parametrize("kind", ["pipe", "unreadable"])
def test_a_command_that_is_suggested_for_a_path_cannot_be_more_than_one(
    repo: Path, place: Path, kind: str
) -> None:
    folder = place / "x; touch pwned; #\n$(touch pwned)"
    folder.mkdir()
    if kind == "pipe":
        os.mkfifo(folder / ".gitignore")
        bad = folder / ".gitignore"
    else:
        bad = folder / "socket"
        bad.write_text("")
    found = survey.survey(place) if kind == "pipe" else None
    hint = found.obstacles[0].hint if found else survey._unreadable(str(bad), bad.lstat(), "why").hint

    assert shlex.split(hint.removeprefix("run: "))[-1] == str(bad)
