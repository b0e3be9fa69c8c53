"""Landing agents' work on a branch: what is found beforehand, what is done, what stops it, and taking it back."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import Refused
from fleet_tui.fleet import Fleet
from fleet_tui.landings import LandingProgress, LandingReport, LandingState
from fleet_tui.models import Agent, Status
from fleet_tui.work import CheckState
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.git.repositories import call, commit

__all__ = ["fleet", "module_pool", "pool", "project"]


@pytest.fixture(autouse=True)
def on_main(project: Path) -> None:
    """Each test begins with a clean main worktree without hooks or settings."""
    first = call(project, "rev-list", "--max-parents=0", "HEAD")
    call(project, "checkout", "-q", "-f", "-B", "main", first)
    call(project, "clean", "-q", "-f", "-d", "-x")
    shutil.rmtree(project / ".git/hooks", ignore_errors=True)
    configure("")


def take(pool: AgentPool, files: Mapping[str, str] = {}, *, message: str = "", on: str = "main") -> Agent:
    """An agent that starts from main as it is now, and has committed these files."""
    project, now = pool.project, tip(pool.project)
    # The pool starts several agents at once, and each test moves main: all start from its first commit.
    call(project, "update-ref", "refs/heads/main", call(project, "rev-list", "--max-parents=0", "main"))
    agent = pool.take()
    call(project, "update-ref", "refs/heads/main", now)
    call(Path(agent.worktree), "reset", "-q", "--hard", on)
    if files:
        commit(Path(agent.worktree), dict(files), message or f"Work of {agent.name}")
    return agent


def configure(text: str) -> None:
    """Add to the settings of the pool's user."""
    file = paths.user_config()
    usual = file.with_suffix(".usual")
    if not usual.exists():
        shutil.copy(file, usual)
    file.write_text(usual.read_text() + text)


def hook(project: Path, name: str, script: str) -> None:
    path = project / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def tip(project: Path, name: str = "main") -> str:
    return call(project, "rev-parse", name)


def stopped(fleet: Fleet, agent: Agent, **options: str) -> LandingReport:
    """Land an agent that cannot land; nothing of main may change."""
    repository = Path(agent.project)
    before = (tip(repository), call(repository, "status", "--porcelain"))
    report = fleet.landing.land([agent], **options)  # type: ignore[arg-type] # texts alone
    assert report.stopped is not None
    assert report.landings == ()
    assert before == (tip(repository), call(repository, "status", "--porcelain"))
    assert fleet.current(agent).status is not Status.KILLED
    assert leftovers(repository) == []
    return report


def leftovers(project: Path) -> list[str]:
    """Locks, notes and scratch worktrees that a landing may have left."""
    found = [
        str(one)
        for one in (project / ".git").rglob("*")
        if one.name.endswith(".lock") and one.name != "fleet-land.lock"
    ]
    return found + [str(one) for one in (project / ".git").glob("fleet-land.json*")] + [
        line for line in call(project, "worktree", "list").splitlines() if ".landing" in line
    ]  # fmt: skip


# ── what is done ──


def test_uncommitted_work_is_committed_merged_and_tidied_up(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"}, message="Add one")
    (Path(agent.worktree) / "two.py").write_text("b\n")
    (project / "mine.txt").write_text("mine\n")
    old = tip(project)
    seen: list[LandingProgress] = []

    [plan] = fleet.landing.preview([agent])
    report = fleet.landing.land([agent], on_progress=lambda _, progress: seen.append(progress))

    assert [step.kind for step in plan.steps] == ["commit", "build", "update", "tidy"]
    assert [(one.path, one.is_uncommitted) for one in plan.files] == [("one.py", False), ("two.py", True)]
    assert (plan.can_land, plan.into, plan.folder, plan.message_of) == (
        True, "main", str(project), "the commit of what is not committed",
    )  # fmt: skip
    assert report.stopped is None
    [landing] = report.landings
    assert (landing.old, landing.new, landing.into) == (old, tip(project), "main")
    assert call(project, "rev-parse", "main^1", "main^2").split() == [old, landing.head]
    assert call(project, "log", "-1", "--format=%s", "main^2") == "x"
    assert (
        call(project, "log", "-1", "--format=%(trailers:key=Fleet-Agent,valueonly)")
        == f"{agent.name} (echoer)"
    )
    assert (project / "two.py").read_text() == "b\n"
    assert call(project, "status", "--porcelain") == "?? mine.txt"
    assert fleet.current(agent).status is Status.KILLED
    assert agent.branch not in call(project, "branch", "--format=%(refname:short)").splitlines()
    assert [(one.step, one.state) for one in seen if one.state == "done"] == [
        ("commit", "done"), ("bring in", "done"), ("update", "done"), ("tidy", "done"),
    ]  # fmt: skip
    assert leftovers(project) == []


def test_squash_makes_one_commit_and_keeps_the_co_authors(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"}, message="Add one\n\nCo-authored-by: Ann <ann@example.org>")
    commit(Path(agent.worktree), {"two.py": "b\n"}, "Add two")
    old = tip(project)

    fleet.landing.land([agent], strategy="squash")

    assert call(project, "rev-parse", "main^@") == old
    assert call(project, "log", "-1", "--format=%B") == (
        f"x\n\n* Add one\n* Add two\n\nCo-authored-by: Ann <ann@example.org>\nFleet-Agent: {agent.name} (echoer)"
    )
    assert sorted(call(project, "diff", "--name-only", old, "main").split()) == ["one.py", "two.py"]


def test_rebase_keeps_commits_authors_and_dates(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool)
    place = Path(agent.worktree)
    commit(place, {"one.py": "a\n"}, "Add one")
    call(
        place,
        "commit",
        "-q",
        "--amend",
        "--no-edit",
        "--author=Ann <ann@example.org>",
        "--date=2020-01-02T03:04:05Z",
    )
    commit(place, {"two.py": "b\n"}, "Add two\n\nwith a body")
    moved = commit(project, {"main.py": "c\n"}, "Move main")

    report = fleet.landing.land([agent], strategy="rebase")

    assert report.stopped is None
    form = "--format=%s|%an|%aI"
    shown = call(project, "log", "-2", "--reverse", form).splitlines()
    assert shown[0] == "Add one|Ann|2020-01-02T03:04:05+00:00"
    assert shown[1].startswith("Add two|Test|")
    assert tip(project, "main~2") == moved
    assert call(project, "log", "-1", "--format=%b") == "with a body"


def test_a_base_that_moved_is_brought_in(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool, {"one.py": "a\n"})
    moved = commit(project, {"main.py": "c\n"}, "Move main")

    [plan] = fleet.landing.preview([agent])
    fleet.landing.land([agent])

    [step] = [step for step in plan.steps if step.kind == "bring in"]
    assert (step.title, step.note) == ("Bring in main", "moved by 1 since the branch")
    assert step.lines == (f"{moved[:7]} Move main", "✓ merges clean, tried in memory")
    assert (project / "one.py").exists()
    assert tip(project, "main^1") == moved


def test_a_message_is_that_of_the_commit(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool, {"one.py": "a\n"})

    fleet.landing.land([agent], strategy="squash", message="Say it\n\nlike this")

    assert call(project, "log", "-1", "--format=%B") == "Say it\n\nlike this"


@pytest.mark.slow
@pytest.mark.parametrize("has_hooks", [False, True], ids=["in memory", "by hand"])
def test_a_long_message_with_number_signs_stays_as_it_is(
    fleet: Fleet, pool: AgentPool, project: Path, has_hooks: bool
) -> None:
    if has_hooks:
        hook(project, "commit-msg", "exit 0")
    agent = take(pool, {"one.py": "a\n"})
    message = "Subject\n\n#12 is fixed\n" + "x" * 200_000

    report = fleet.landing.land([agent], strategy="squash", message=message)

    assert report.stopped is None
    assert call(project, "log", "-1", "--format=%B") == message


@pytest.mark.slow
def test_a_train_lands_each_on_top_of_the_last_and_stops_at_the_first_conflict(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    first, second, third = (take(pool) for _ in range(3))
    commit(Path(first.worktree), {"one.py": "a\n"})
    commit(Path(second.worktree), {"one.py": "b\n"})
    commit(Path(third.worktree), {"three.py": "c\n"})

    plans = fleet.landing.preview([first, second, third])
    report = fleet.landing.land([first, second, third])

    assert [plan.can_land for plan in plans] == [True, False, True]
    assert [one.agent for one in report.landings] == [first.id]
    assert (report.agent, report.untried) == (second.id, (third.id,))
    assert report.stopped is not None
    assert report.stopped.kind == "conflict"
    assert [one.kind for one in report.conflicts] == ["both added"]
    assert not (project / "three.py").exists()


def test_dirty_files_that_are_not_touched_stay(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    commit(project, {"mine.txt": "x\n"})
    agent = take(pool, {"one.py": "a\n"})
    (project / "mine.txt").write_text("changed\n")

    [plan] = fleet.landing.preview([agent])
    fleet.landing.land([agent])

    [step] = [step for step in plan.steps if step.kind == "update"]
    assert step.lines == ("✓ none of its changed files is touched", "mine.txt stays as it is")
    assert (project / "mine.txt").read_text() == "changed\n"
    assert (project / "one.py").exists()


@pytest.mark.slow
def test_other_agents_that_would_conflict_afterwards_are_named(fleet: Fleet, pool: AgentPool) -> None:
    one, other = take(pool, {"one.py": "a\n"}), take(pool)
    (Path(other.worktree) / "one.py").write_text("b\n")

    [plan] = fleet.landing.preview([one])

    assert [(found.other, found.files) for found in plan.others if found.other == other.id] == [
        (other.id, ("one.py",))
    ]


def test_a_detached_head_lands_what_is_checked_out(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool)
    call(Path(agent.worktree), "checkout", "-q", "--detach")
    commit(Path(agent.worktree), {"one.py": "a\n"})

    [plan] = fleet.landing.preview([agent])
    report = fleet.landing.land([agent])

    assert any("on no branch" in one for one in plan.warnings)
    assert report.stopped is None
    assert (project / "one.py").exists()
    assert agent.branch in call(project, "branch", "--format=%(refname:short)").splitlines()


def test_a_worktree_that_was_removed_by_hand_lands_its_branch(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    fleet.stop([agent])
    shutil.rmtree(agent.worktree)

    report = fleet.landing.land([fleet.current(agent)])

    assert report.stopped is None
    assert (project / "one.py").exists()


def test_another_branch_in_a_linked_worktree_and_one_checked_out_nowhere(
    fleet: Fleet, pool: AgentPool, project: Path, tmp_path: Path
) -> None:
    first, second = take(pool, {"one.py": "a\n"}), take(pool, {"two.py": "a\n"})
    call(project, "worktree", "add", "-q", "-b", f"linked-{first.id}", str(tmp_path / "linked"))
    call(project, "branch", f"nowhere-{first.id}")
    before = tip(project)

    [plan] = fleet.landing.preview([first], into=f"linked-{first.id}")
    fleet.landing.land([first], into=f"linked-{first.id}")
    fleet.landing.land([second], into=f"nowhere-{first.id}")

    assert plan.folder == str(tmp_path / "linked")
    assert (tmp_path / "linked/one.py").exists()
    assert call(project, "show", f"nowhere-{first.id}:two.py") == "a"
    assert tip(project) == before
    call(project, "worktree", "remove", "--force", str(tmp_path / "linked"))


# ── what stops it ──


def test_a_conflict_is_told_file_by_file_and_can_be_given_back(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    commit(project, {"both.py": "def f():\n    a = 1\n    return a\n", "gone.py": "x\n"})
    agent = take(pool, {"both.py": "def f():\n    a = 2\n    return a\n", "gone.py": "y\n"})
    commit(project, {"both.py": "def f():\n    a = 3\n    return a\n"})
    call(project, "rm", "-q", "gone.py")
    commit(project, {})

    [plan] = fleet.landing.preview([agent])
    report = stopped(fleet, agent)

    assert [(one.path, one.kind) for one in report.conflicts] == [
        ("both.py", "both changed"),
        ("gone.py", "deleted there"),
    ]
    assert [(place.first, place.function) for place in report.conflicts[0].places] == [(2, "f()")]
    assert report.conflicts == plan.conflicts
    assert "Resolve both.py (lines 2, in f()), gone.py (deleted there)." in report.give_back
    assert report.stopped is not None
    assert report.stopped.files == ("both.py", "gone.py")


@pytest.mark.parametrize("change", ["rename", "binary", "lfs pointer"])
def test_other_conflicts_change_nothing(fleet: Fleet, pool: AgentPool, project: Path, change: str) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1\n"
    texts = {"rename": "same\n" * 9, "binary": "\0one", "lfs pointer": pointer.format("0" * 64)}
    commit(project, {"file": texts[change]})
    agent = take(pool)
    if change == "rename":
        call(Path(agent.worktree), "mv", "file", "agents name")
        call(project, "mv", "file", "mains name")
        commit(Path(agent.worktree), {})
        commit(project, {})
    else:
        commit(Path(agent.worktree), {"file": texts[change].replace("0", "1").replace("one", "two")})
        commit(project, {"file": texts[change].replace("0", "2").replace("one", "three")})

    report = stopped(fleet, agent)

    assert report.stopped is not None
    assert report.stopped.kind == "conflict"
    kinds = {one.kind for one in report.conflicts}
    assert kinds == {
        {"rename": "renamed both ways", "binary": "binary", "lfs pointer": "both changed"}[change]
    }


def test_a_dirty_file_that_is_touched_stops_it_and_is_named(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    commit(project, {"both.txt": "x\n"})
    agent = take(pool, {"both.txt": "agents\n"})
    (project / "both.txt").write_text("mine\n")

    [plan] = fleet.landing.preview([agent])
    report = stopped(fleet, agent)

    assert report.stopped is not None
    assert (report.stopped.kind, report.stopped.files) == ("in the way", ("both.txt",))
    assert [step.is_blocked for step in plan.steps if step.kind == "update"] == [True]
    assert (project / "both.txt").read_text() == "mine\n"


def test_files_that_were_not_shown_are_not_landed(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool, {"a.txt": "shown\n"})
    seen = {plan.agent: plan.tree for plan in fleet.landing.preview([agent])}
    (Path(agent.worktree) / "later.txt").write_text("x\n")
    before = tip(project)

    report = fleet.landing.land([agent], seen=seen)

    assert report.stopped is not None
    assert report.stopped.message == f"the files of {agent.name} have changed since they were shown"
    assert tip(project) == before
    assert call(Path(agent.worktree), "status", "--porcelain") == "?? later.txt"

    seen = {plan.agent: plan.tree for plan in fleet.landing.preview([agent])}
    assert fleet.landing.land([agent], seen=seen).stopped is None
    assert call(project, "show", "main:later.txt") == "x"


def test_nothing_to_land_is_said(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent, same = take(pool), take(pool, {"one.py": "a\n"})
    commit(project, {"one.py": "a\n"})

    for one in (agent, same):
        report = stopped(fleet, one)
        assert report.stopped is not None
        assert report.stopped.kind == "nothing"


def test_a_merge_in_progress_in_the_agents_worktree_stops_it(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    commit(project, {"one.py": "b\n"})
    subprocess.run(["git", "-C", agent.worktree, "merge", "-q", "main"], capture_output=True, check=False)

    report = stopped(fleet, agent)

    assert report.stopped is not None
    assert "middle of a merge" in report.stopped.message


def test_another_landing_in_the_same_repository_is_refused(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    from fleet_tui.review.landing_session import landing_session

    agent = take(pool, {"one.py": "a\n"})

    with landing_session(project / ".git"), pytest.raises(Refused, match="another landing"):
        fleet.landing.land([agent])
    assert fleet.landing.stop_train(agent) is False


# ── hooks and signing ──


def test_hooks_run_on_real_files_as_by_hand(
    fleet: Fleet, pool: AgentPool, project: Path, tmp_path: Path
) -> None:
    log = tmp_path / "hooks"
    for name in ("pre-merge-commit", "commit-msg", "post-merge", "pre-commit"):
        hook(project, name, f'echo "{name} $(ls one.py 2>&1)" >> {log}')
    agent = take(pool)
    (Path(agent.worktree) / "one.py").write_text("a\n")

    [plan] = fleet.landing.preview([agent])
    report = fleet.landing.land([agent])

    assert plan.hooks == ("pre-merge-commit", "commit-msg")
    assert plan.steps[0].note == "hooks run: pre-commit, commit-msg"
    assert report.stopped is None
    assert log.read_text().splitlines() == [
        "pre-commit one.py", "commit-msg one.py", "pre-merge-commit one.py", "commit-msg one.py", "post-merge one.py",
    ]  # fmt: skip
    assert tip(project, "main^2") == report.landings[0].head
    assert leftovers(project) == []


@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        pytest.param("merge", "pre-merge-commit", marks=pytest.mark.slow),
        ("squash", "pre-commit"),
        pytest.param("rebase", "pre-rebase", marks=pytest.mark.slow),
    ],
)
def test_a_hook_that_refuses_stops_it_with_its_words(
    fleet: Fleet, pool: AgentPool, project: Path, strategy: str, name: str
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    commit(project, {"two.py": "a\n"})
    hook(project, name, 'echo "not on a Friday" >&2; exit 1')

    report = stopped(fleet, agent, strategy=strategy)

    assert report.stopped is not None
    assert report.stopped.kind == "hook"
    assert "not on a Friday" in report.stopped.message


def test_a_hook_that_refuses_uncommitted_work_leaves_the_index_as_it_was(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool)
    place = Path(agent.worktree)
    (place / "staged").write_text("a\n")
    call(place, "add", "staged")
    (place / "staged").write_text("later\n")
    (place / "untracked").write_text("b\n")
    before = (call(place, "status", "--porcelain"), call(place, "rev-parse", "HEAD"))
    hook(project, "pre-commit", 'echo "too long" >&2; exit 1')

    report = stopped(fleet, agent)

    assert report.stopped is not None
    assert report.stopped.message == "its work could not be committed: too long"
    assert before == (call(place, "status", "--porcelain"), call(place, "rev-parse", "HEAD"))


def test_commits_are_signed_where_the_users_are(
    fleet: Fleet, pool: AgentPool, project: Path, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    for name, value in (("gpg.format", "ssh"), ("user.signingKey", str(key)), ("commit.gpgSign", "true")):
        call(project, "config", name, value)
    agent = take(pool, {"one.py": "a\n"})

    try:
        fleet.landing.land([agent])
    finally:
        call(project, "config", "commit.gpgSign", "false")

    assert "gpgsig -----BEGIN SSH SIGNATURE-----" in call(project, "cat-file", "commit", "main")


# ── the check ──


def test_a_green_check_runs_on_the_merged_result(
    fleet: Fleet, pool: AgentPool, project: Path, tmp_path: Path
) -> None:
    configure(f'[land]\ncheck = "ls one.py two.py > {tmp_path}/seen && pwd >> {tmp_path}/seen"\n')
    agent = take(pool, {"one.py": "a\n"})
    commit(project, {"two.py": "a\n"})

    report = fleet.landing.land([agent])

    assert report.stopped is None
    one, two, where = (tmp_path / "seen").read_text().split()
    assert (one, two) == ("one.py", "two.py")
    assert ".landing" in where
    assert not Path(where).exists()
    assert leftovers(project) == []


def test_a_red_check_stops_it_and_can_be_left_out(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    configure('[land]\ncheck = "echo 3 failed; exit 3"\n')
    agent = take(pool, {"one.py": "a\n"})

    report = stopped(fleet, agent)
    later = fleet.landing.land([agent], check=False)

    assert report.stopped is not None
    assert (report.stopped.kind, report.check and report.check.state) == ("check", CheckState.FAILED)
    assert later.stopped is None
    assert (project / "one.py").exists()


@pytest.mark.slow
def test_a_check_that_hangs_is_ended_at_its_limit(
    fleet: Fleet, pool: AgentPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fleet_tui.review.checks import CheckSettings

    configure('[land]\ncheck = "sleep 600 & sleep 600"\n')
    agent = take(pool, {"one.py": "a\n"})
    monkeypatch.setattr(
        type(fleet.checks), "settings", lambda _, agent: CheckSettings("sleep 600 & sleep 600", minutes=0.01)
    )

    report = stopped(fleet, agent)

    assert report.check is not None
    assert report.check.state is CheckState.TIMED_OUT


@pytest.mark.slow
def test_setup_commands_run_before_the_check(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool, {"one.py": "a\n"})
    configure('[land]\ncheck = "test -f made"\n[setup]\ncommands = ["touch made"]\n')

    assert fleet.landing.land([agent]).stopped is None
    assert not (project / "made").exists()


def test_a_setup_command_may_end_in_a_comment_and_a_check_have_several_lines(
    fleet: Fleet, pool: AgentPool
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    configure(
        '[land]\ncheck = """false\ntrue"""\n[setup]\ncommands = ["true # as on the build machine", "exit 3"]\n'
    )

    report = stopped(fleet, agent)

    # The lines of a check are those of a shell script, but none of them runs after a setup command that failed.
    assert report.check is not None
    assert report.check.exit_code == 3


# ── taking it back ──


def test_undo_brings_back_branch_files_worktree_and_agent(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    (project / "mine.txt").write_text("mine\n")
    agent = take(pool)
    (Path(agent.worktree) / "one.py").write_text("a\n")
    old = tip(project)
    fleet.landing.land([agent])

    [(back, note)] = fleet.undo()

    assert (back.id, back.status, note) == (agent.id, Status.STOPPED, f"main is back at {old[:10]}")
    assert tip(project) == old
    assert not (project / "one.py").exists()
    assert (project / "mine.txt").read_text() == "mine\n"
    assert (Path(agent.worktree) / "one.py").read_text() == "a\n"
    assert call(Path(agent.worktree), "symbolic-ref", "--short", "HEAD") == agent.branch
    assert fleet.landing.landings()[-1].state is LandingState.UNDONE


def test_undo_after_later_work_reverts_and_keeps_it(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool, {"one.py": "a\n"})
    fleet.landing.land([agent])
    later = commit(project, {"later.py": "b\n"})

    with pytest.raises(Refused, match="has moved on since"):
        fleet.undo()
    [(_, note)] = fleet.undo([fleet.current(agent)])

    assert "has moved on" in note
    assert tip(project, "main^") == later
    assert (project / "later.py").exists()
    assert not (project / "one.py").exists()
    assert Path(agent.worktree).is_dir()


@pytest.mark.slow
def test_undo_is_refused_when_later_work_touched_the_same_lines(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    fleet.landing.land([agent])
    commit(project, {"one.py": "b\n"})

    with pytest.raises(Refused, match=r"later work on the same lines: one\.py"):
        fleet.undo([fleet.current(agent)])

    assert (project / "one.py").read_text() == "b\n"
    assert fleet.current(agent).status is Status.KILLED


def test_undo_restores_the_agent_alone_if_asked(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool, {"one.py": "a\n"})
    fleet.landing.land([agent])

    fleet.undo([fleet.current(agent)], unland=False)

    assert (project / "one.py").exists()
    assert Path(agent.worktree).is_dir()


@pytest.mark.slow
def test_undo_takes_a_later_kill_first(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    landed, killed = take(pool, {"one.py": "a\n"}), take(pool)
    fleet.landing.land([landed])
    fleet.kill([killed])

    assert [agent.id for agent, _ in fleet.undo()] == [killed.id]
    assert [agent.id for agent, _ in fleet.undo()] == [landed.id]
    assert not (project / "one.py").exists()


def test_without_tidying_the_agent_stays_and_undo_only_moves_the_branch_back(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    configure("[land]\ntidy = false\n")
    agent = take(pool, {"one.py": "a\n"})
    old = tip(project)

    fleet.landing.land([agent])

    assert fleet.current(agent).status is not Status.KILLED
    fleet.undo()
    assert tip(project) == old


def test_a_landing_that_was_killed_is_recorded_by_the_next_one(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    from fleet_tui.landings import Landing

    old = tip(project)
    new = call(project, "commit-tree", "-m", "never landed", "-p", "main", "main^{tree}")
    agent = take(pool, {"one.py": "a\n"})
    base = Landing("a", str(project), agent.id, "main", "merge", old, new, new, LandingState.BEGUN, 1.0)
    landed = Landing("b", str(project), agent.id, "main", "merge", old, old, old, LandingState.BEGUN, 2.0)
    with fleet.store.transaction():
        fleet.store.landings.add(base)
        fleet.store.landings.add(landed)

    fleet.landing.land([agent])

    states = {one.id: one.state for one in fleet.landing.landings()}
    assert (states["a"], states["b"]) == (LandingState.FAILED, LandingState.LANDED)


def test_undo_restores_the_agent_of_a_landing_that_was_taken_back_already(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"a.txt": "x\n"})
    before = tip(project)
    report = fleet.landing.land([agent])
    call(project, "reset", "-q", "--hard", before)

    restored, done = fleet.landing.undo(report.landings[0])

    assert done == f"main was back at {before[:10]} already"
    assert (Path(restored.worktree) / "a.txt").read_text() == "x\n"
    assert fleet.landing.of(agent) is None
    assert tip(project) == before
