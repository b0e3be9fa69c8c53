"""A landing that is killed leaves the repository as before or as after, once it is healed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet_tui.git.landing import STEPS
from fleet_tui.git.landing_heal import heal
from tests.git.landing_cases import landed, locks, repo, state
from tests.git.repositories import call, commit

__all__ = ["repo"]

FILES = 120
OWN = {"tracked": "edited\n", "staged": "staged\n", "untracked": "x\n", "kept.secret": "ignored\n"}


@dataclass
class Case:
    repo: Path
    old: str
    new: str
    before: object
    after: object

    def command(self, verb: str, die_at: str = "", how: str = "") -> list[str]:
        place = [str(self.repo / ".git"), "main", self.old, self.new]
        return [sys.executable, "-m", "tests.git.landing_program", verb, *place, die_at, how]

    def end_up(self) -> str:
        """Age the locks of a killed git, heal, and check that nothing is between before and after."""
        age_locks(self.repo)
        heal(self.repo / ".git")
        found = state(self.repo)
        assert locks(self.repo) == []
        assert found in (self.before, self.after)
        call(self.repo, "fsck", "--no-dangling")
        return "after" if found == self.after else "before"

    def reset(self) -> None:
        """Back to the beginning, whatever it is now."""
        call(self.repo, "stash", "-q", "--include-untracked")
        call(self.repo, "reset", "-q", "--hard", self.old)
        call(self.repo, "stash", "pop", "-q", "--index")


def age_locks(repo: Path) -> None:
    """As if the landing had been killed a while ago, so that healing need not wait."""
    for lock in (repo / ".git/HEAD.lock", repo / ".git/refs/heads/main.lock"):
        if lock.exists():
            os.utime(lock, (time.time() - 10, time.time() - 10))


@pytest.fixture
def case(repo: Path, place: Path) -> Case:
    """A landing that changes, adds, deletes and renames many files beside what the user has changed."""
    files = {f"many/{number}.txt": f"{number}\n" * 40 for number in range(FILES)}
    commit(
        repo,
        {**files, "tracked": "x\n", "staged": "x\n", "was a folder/x": "x\n", "gone": "x\n", "a b\nc": "x\n"},
    )
    old, _ = landed(repo, place, {})
    call(place, "rm", "-q", "-r", "gone", "was a folder")
    new_files = {f"many/{number}.txt": f"new {number}\n" * 90 for number in range(0, FILES, 2)}
    added = {f"added/deep/{number}": "added\n" * 50 for number in range(FILES // 2)}
    new = commit(place, {**new_files, **added, "was a folder": "now a file\n", "a b\nc": "new\n"})
    (repo / "tracked").write_text(OWN["tracked"])
    (repo / "staged").write_text(OWN["staged"])
    call(repo, "add", "staged")
    (repo / "untracked").write_text(OWN["untracked"])
    (repo / "kept.secret").write_text(OWN["kept.secret"])
    before = state(repo)
    files_after = {
        name: (place / name).read_bytes() for name in call(place, "ls-files", "-z").split("\0") if name
    }
    own = {name: text.encode() for name, text in OWN.items()}
    return Case(repo, old, new, before, (new, before[1], files_after | own))


@pytest.mark.parametrize("how", ["alone", "group"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_a_step_it_is_before_or_after(case: Case, step: str, how: str) -> None:
    done = subprocess.run(
        case.command("move", step, how), start_new_session=True, capture_output=True, check=False
    )

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert case.end_up() == ("after" if step in STEPS[STEPS.index("ref") :] else "before")


def killed_at_random(case: Case, chance: random.Random, verb: str, longest: float) -> None:
    process = subprocess.Popen(case.command(verb), start_new_session=True, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(chance.uniform(0.0, longest))  # the moment of the kill is what the test is about
    if process.poll() is None:
        (os.killpg if chance.random() < 0.7 else os.kill)(process.pid, signal.SIGKILL)
    process.communicate()


def rounds(case: Case, count: int, seed: int) -> dict[str, int]:
    chance = random.Random(seed)
    ended = {"before": 0, "after": 0}
    for _ in range(count):
        killed_at_random(case, chance, "move", 0.25)
        if chance.random() < 0.4:
            age_locks(case.repo)
            killed_at_random(case, chance, "heal", 0.1)
        ended[case.end_up()] += 1
        case.reset()
    return ended


@pytest.mark.slow
def test_killed_at_random_moments_it_is_before_or_after(case: Case) -> None:
    rounds(case, 6, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_killed_hundreds_of_times_it_is_before_or_after(case: Case, seed: int) -> None:
    ended = rounds(case, 25, seed=seed)

    assert sum(ended.values()) == 25


@pytest.mark.parametrize("how", ["alone", "group"])
def test_what_the_user_wrote_after_the_kill_stays(case: Case, how: str) -> None:
    subprocess.run(
        case.command("move", "files", how), start_new_session=True, capture_output=True, check=False
    )
    (case.repo / "many/0.txt").write_text("written since\n")
    (case.repo / "added/deep/1").write_text("mine now\n")
    age_locks(case.repo)

    assert heal(case.repo / ".git") == "before"

    assert (case.repo / "many/0.txt").read_text() == "written since\n"
    assert (case.repo / "added/deep/1").read_text() == "mine now\n"
    assert (case.repo / "many/2.txt").read_text() == "2\n" * 40
    assert not (case.repo / "added/deep/2").exists()
    assert "many/0.txt" in call(case.repo, "diff", "--name-only").splitlines()
    assert "added/deep/1" in call(case.repo, "ls-files", "--others").splitlines()


def test_every_other_git_refuses_to_work_there_until_it_is_healed(case: Case) -> None:
    subprocess.run(
        case.command("move", "files", "group"), start_new_session=True, capture_output=True, check=False
    )

    refused = subprocess.run(
        ["git", "-C", str(case.repo), "add", "untracked"], capture_output=True, check=False
    )

    assert b"index.lock" in refused.stderr
    assert case.end_up() == "before"
