"""What an agent can plant in its worktree and in the repository, against making and restoring checkpoints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleet_tui import git
from tests.git import traps
from tests.git.repositories import call, commit
from tests.git.test_attacks import BROKEN_HEADS, attributes, each_key
from tests.git.test_checkpoints import Saver
from tests.git.traps import PLANTS, Trap


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return traps.lay(tmp_path / "trap")


def make_and_restore(saver: Saver) -> None:
    (saver.folder / "a.txt").write_text("first\n")
    (saver.folder / "gone.txt").write_text("x\n")
    first = saver.save()
    (saver.folder / "a.txt").write_text("second\n")
    (saver.folder / "gone.txt").unlink()
    (saver.folder / "new.txt").write_text("x\n")
    second = saver.save()
    assert saver.in_the_way(first.tree) == []
    saver.bring(first.tree)
    assert (saver.folder / "a.txt").read_text() == "first\n"
    saver.bring(second.tree)
    git.drop_checkpoints(saver.git_dir, "0a1b2c", [1])


@pytest.mark.parametrize("key", each_key())
def test_checkpoints_run_nothing_that_the_repository_configures(
    repo: Path, place: Path, trap: Trap, key: str
) -> None:
    saver = Saver(place)
    attributes(place, PLANTS[key].attributes)
    traps.plant_in(repo / ".git" / "config", PLANTS[key], trap)

    make_and_restore(saver)

    assert not trap.has_sprung


def test_checkpoints_run_no_hook(repo: Path, place: Path, trap: Trap) -> None:
    hooks = repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in traps.HOOKS:
        (hooks / name).write_bytes(trap.program.read_bytes())
        (hooks / name).chmod(0o755)

    make_and_restore(Saver(place))

    assert not trap.has_sprung


def test_checkpoints_do_not_write_through_a_symbolic_ref(repo: Path, place: Path) -> None:
    before = call(repo, "rev-parse", "main")
    call(repo, "symbolic-ref", "refs/fleet/checkpoints/0a1b2c/1", "refs/heads/main")

    with pytest.raises(git.GitFailed):
        Saver(place).save()

    assert call(repo, "rev-parse", "main") == before


def test_a_link_in_place_of_a_folder_is_not_written_through(place: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("the user's own\n")
    saver = Saver(place)
    commit(place, {"src/b.py": "in the worktree\n"})
    made = saver.save()
    (place / "src/b.py").unlink()
    (place / "src").rmdir()
    (place / "src").symlink_to(outside)

    saver.bring(made.tree)

    assert (outside / "b.py").read_text() == "the user's own\n"
    assert not (place / "src").is_symlink()
    assert (place / "src/b.py").read_text() == "in the worktree\n"


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
    (place / "new").write_text("x")

    made = Saver(place).save()

    assert call(repo, "show", f"{made.commit}:new") == "x"
