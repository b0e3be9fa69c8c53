"""Changes and diff statistics, by libgit2 and by the git program."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.fast_dataclasses import replace
from fleet_tui.git import FileChange, changes
from tests.git import repositories
from tests.git.repositories import call, commit, make, worktree


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worktree beside its repository, on branch `side`."""
    repositories.isolate(tmp_path / "home", monkeypatch)
    return worktree(make(tmp_path / "project"), "side", tmp_path / "side")


def seen(place: Path) -> git.GitPlaces:
    """The worktree's places, as git itself finds them."""
    return git.place_at(place)


def make_a_mess(place: Path) -> None:
    """Committed, staged, unstaged, deleted, untracked and ignored, some in one file."""
    commit(place, {"a.txt": "one\ntwo\ncommitted\n", "c.txt": "c\n"})
    (place / "a.txt").write_text("one\ntwo\ncommitted\nstaged\n")
    call(place, "add", "a.txt")
    (place / "a.txt").write_text("one\ntwo\ncommitted\nstaged\nunstaged\n")
    (place / "src" / "b.py").unlink()
    (place / "new").mkdir()
    (place / "new" / "x.txt").write_text("1\n2\n3")
    (place / "new" / "y.bin").write_bytes(b"\0" * 100)
    (place / "key.secret").write_text("ignored\n" * 50)


def test_a_fresh_worktree_has_no_changes(place: Path) -> None:
    assert git.diff_stat(seen(place), "main") == git.DiffStat(0, 0, 0, 0, False, 0, 0)
    assert git.status(seen(place)) == []


def test_a_diff_stat_counts_from_the_base_to_the_files_as_they_are(place: Path) -> None:
    make_a_mess(place)

    expected = git.DiffStat(
        added=3 + 1 + 3, removed=1, files=3, untracked=2, is_dirty=True, ahead=1, behind=0
    )
    assert git.diff_stat(seen(place), "main") == expected


def test_both_ways_of_counting_agree(place: Path, tmp_path: Path) -> None:
    make_a_mess(place)
    commit(tmp_path / "project", {"a.txt": "upstream\n"})

    by_libgit2 = changes._with_libgit2(seen(place), "main")

    assert by_libgit2 is not None
    assert by_libgit2 == changes._with_git(seen(place), "main")
    assert (by_libgit2.ahead, by_libgit2.behind) == (1, 1)


def test_what_others_committed_to_the_base_is_not_counted(place: Path, tmp_path: Path) -> None:
    commit(tmp_path / "project", {"a.txt": "upstream\n" * 40})

    assert git.diff_stat(seen(place), "main") == git.DiffStat(0, 0, 0, 0, False, 0, 1)


def test_a_committed_worktree_is_clean_and_ahead(place: Path) -> None:
    commit(place, {"a.txt": "one\n"})

    assert git.diff_stat(seen(place), "main") == git.DiffStat(0, 1, 1, 0, False, 1, 0)


def test_uncommitted_lines_of_a_filtered_file_are_not_counted(place: Path) -> None:
    call(place, "config", "filter.shout.smudge", "tr a-z A-Z")
    call(place, "config", "filter.shout.clean", "tr A-Z a-z")
    commit(place, {".gitattributes": "*.loud filter=shout\n", "x.loud": "hey\nyou\n"})
    (place / "x.loud").write_text("HEY\nYOU\nTHERE\n")

    # Only the filter knows how many there are, and reading runs no filter.
    assert git.diff_stat(seen(place), "HEAD") == git.DiffStat(0, 0, 1, 0, True, 0, 0)


def test_a_branch_without_a_commit_is_still_counted(place: Path) -> None:
    call(place, "checkout", "--quiet", "--orphan", "fresh")

    assert git.diff_stat(seen(place), "main").files == 0


def test_a_base_that_is_gone_is_an_error_and_not_zero(place: Path) -> None:
    with pytest.raises(git.GitFailed):
        git.diff_stat(seen(place), "no-such-base")


def test_a_worktree_that_is_gone_is_an_error_and_not_clean(place: Path) -> None:
    with pytest.raises(git.GitFailed):
        git.status(replace(seen(place), work_tree=place / "nowhere"))
    with pytest.raises(git.GitFailed):
        git.status(seen(place / "nowhere"))


def test_status_names_every_file_once_with_what_happened_to_it(place: Path) -> None:
    commit(place, {"old name.txt": "long enough to be found again\n" * 5, "t": "x"})
    make_a_mess(place)
    call(place, "mv", "old name.txt", "new name.txt")
    (place / "t").unlink()
    (place / "t").symlink_to("a.txt")
    (place / "ü.txt").write_text("")

    found = {change.path: change for change in git.status(seen(place))}

    assert found == {
        "a.txt": FileChange("a.txt", "modified"),
        "src/b.py": FileChange("src/b.py", "deleted"),
        "new name.txt": FileChange("new name.txt", "renamed"),
        "t": FileChange("t", "type changed"),
        "new/x.txt": FileChange("new/x.txt", "untracked"),
        "new/y.bin": FileChange("new/y.bin", "untracked"),
        "ü.txt": FileChange("ü.txt", "untracked"),
    }


def test_a_conflict_is_reported_as_one(place: Path, tmp_path: Path) -> None:
    commit(tmp_path / "project", {"a.txt": "theirs\n"})
    commit(place, {"a.txt": "ours\n"})
    repositories.attempt(place, "merge", "main")

    assert git.status(seen(place)) == [FileChange("a.txt", "conflicted")]
    assert git.diff_stat(seen(place), "main").is_dirty


def test_reading_takes_no_lock_that_an_agent_could_run_into(place: Path) -> None:
    entry = Path(call(place, "rev-parse", "--absolute-git-dir"))
    (place / "a.txt").touch()
    before = (entry / "index").stat().st_mtime_ns

    git.status(seen(place))
    git.diff_stat(seen(place), "main")

    assert (entry / "index").stat().st_mtime_ns == before
