"""Where the work on a branch starts, after it took in commits of its base."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import git
from tests.git import traps
from tests.git.repositories import call, commit


def start(repo: Path, place: Path, recorded: str) -> str:
    return git.work_start(repo / ".git", recorded, call(place, "rev-parse", "HEAD"), "side")


@pytest.fixture
def recorded(place: Path) -> str:
    return call(place, "rev-parse", "HEAD")


def test_commits_of_both_sides_do_not_move_the_start(repo: Path, place: Path, recorded: str) -> None:
    assert start(repo, place, recorded) == recorded
    commit(place, {"mine": "x"})
    commit(repo, {"theirs": "x"})

    assert start(repo, place, recorded) == recorded


@pytest.mark.parametrize(
    "how",
    [["merge", "--quiet", "--no-edit"], ["rebase", "--quiet"], ["reset", "--quiet", "--hard"]],
    ids=lambda one: one[0],
)
@pytest.mark.parametrize("has_work", [True, False])
def test_what_was_taken_over_is_no_work(
    repo: Path, place: Path, recorded: str, how: list[str], has_work: bool
) -> None:
    if has_work:
        commit(place, {"mine": "x"})
    theirs = commit(repo, {"theirs": "x"})
    call(place, *how, call(repo, "symbolic-ref", "--short", "HEAD"))

    assert start(repo, place, recorded) == theirs
    commit(place, {"later": "x"})
    assert start(repo, place, recorded) == theirs


def test_work_that_the_base_has_by_now_is_still_work(repo: Path, place: Path, recorded: str) -> None:
    commit(place, {"mine": "x"})
    call(repo, "merge", "--quiet", "--ff-only", "side")
    assert start(repo, place, recorded) == recorded

    commit(place, {"more": "x"})
    assert start(repo, place, recorded) == recorded


def test_a_base_that_went_back_is_not_looked_at(repo: Path, place: Path, recorded: str) -> None:
    commit(place, {"mine": "x"})
    call(repo, "checkout", "--quiet", "--orphan", "other")
    commit(repo, {"unrelated": "x"})

    assert start(repo, place, recorded) == recorded


def test_without_a_log_the_recorded_start_is_kept(repo: Path, place: Path, recorded: str) -> None:
    commit(repo, {"theirs": "x"})
    call(place, "merge", "--quiet", call(repo, "symbolic-ref", "--short", "HEAD"))
    (repo / ".git/logs/refs/heads/side").unlink()

    assert start(repo, place, recorded) == recorded


def test_a_signed_commit_runs_no_program(repo: Path, place: Path, recorded: str, tmp_path: Path) -> None:
    trap = traps.lay(tmp_path / "trap")
    plain = call(repo, "cat-file", "commit", commit(repo, {"theirs": "x"}))
    head, _, message = plain.partition("\n\n")
    signed = tmp_path / "signed"
    signed.write_text(
        f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{message}\n"
    )
    theirs = call(repo, "hash-object", "-t", "commit", "-w", str(signed))
    call(repo, "reset", "--quiet", "--hard", theirs)
    call(place, "merge", "--quiet", theirs)
    traps.plant_in(repo / ".git" / "config", traps.PLANTS["gpg"], trap)
    call(repo, "log", "-1")
    assert trap.has_sprung, "the user's own git falls for it"
    trap.canary.unlink()

    assert start(repo, place, recorded) == theirs
    assert not trap.has_sprung
