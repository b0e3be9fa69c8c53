"""Pushing an agent's branch to a real remote: what gets there, and what a user is told when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.errors import FleetError, Refused, TimedOut
from tests.git.repositories import call, commit


@pytest.fixture
def remote(repo: Path, tmp_path: Path) -> Path:
    """A bare repository on the disk, as `origin`."""
    path = tmp_path / "remote.git"
    call(repo, "clone", "--quiet", "--bare", "--single-branch", ".", str(path))
    call(repo, "remote", "add", "origin", f"file://{path}")
    return path


def hook(repository: Path, name: str, text: str) -> None:
    folder = Path(call(repository, "rev-parse", "--path-format=absolute", "--git-path", "hooks"))
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def push(place: Path, **more: float) -> git.Pushed:
    return git.push(git.place_at(place), "origin", "side", **more)


def test_a_branch_gets_to_the_remote_and_a_second_push_changes_nothing(place: Path, remote: Path) -> None:
    tip = commit(place, {"new.txt": "x\n"})

    assert push(place).has_changed
    assert call(remote, "rev-parse", "side") == tip
    assert not push(place).has_changed
    assert call(remote, "for-each-ref", "--format=%(refname)").splitlines()[1:] == ["refs/heads/side"]


def test_a_push_never_replaces_commits_of_others(place: Path, remote: Path) -> None:
    push(place)
    theirs = commit(place, {"theirs.txt": "x\n"})
    push(place)
    call(place, "reset", "--quiet", "--hard", "HEAD~1")
    commit(place, {"mine.txt": "x\n"})
    call(place, "config", "push.default", "matching")
    call(place, "config", "remote.origin.push", "+refs/heads/*:refs/heads/*")

    with pytest.raises(Refused, match=r"origin has commits on side that are not here.*git log origin/side"):
        push(place)
    assert call(remote, "rev-parse", "side") == theirs


def test_a_remote_that_refuses_is_quoted_on_one_line(place: Path, remote: Path) -> None:
    hook(remote, "pre-receive", "echo 'branches need a ticket'; echo 'see https://x:y@wiki/rules'; exit 1")
    commit(place, {"new.txt": "x\n"})

    with pytest.raises(Refused) as refused:
        push(place)

    assert refused.value.message == (
        "origin refuses side: [remote rejected] (pre-receive hook declined): branches need a ticket see https://wiki/rules"
    )


def test_a_pre_push_hook_runs_on_the_agents_files_and_may_refuse(place: Path, remote: Path) -> None:
    commit(place, {"new.txt": "x\n"})
    hook(place, "pre-push", "test -f new.txt && echo \"$1\" > seen && echo 'tests are red' >&2; exit 1")

    with pytest.raises(
        FleetError,
        match=r"side was not pushed to origin: tests are red \(try it by hand: git push origin side",
    ):
        push(place)
    assert (place / "seen").read_text() == "origin\n"
    assert "side" not in call(remote, "branch", "--list")


@pytest.mark.slow
def test_a_push_that_hangs_is_ended_with_its_hook(place: Path, remote: Path) -> None:
    commit(place, {"new.txt": "x\n"})
    hook(place, "pre-push", "read answer < /dev/tty; sleep 1000")

    with pytest.raises(TimedOut, match="took more than 1 seconds"):
        push(place, seconds=1.0)


@pytest.mark.usefixtures("remote")
def test_a_remote_that_is_gone_is_named_without_its_password(place: Path) -> None:
    call(place, "remote", "set-url", "origin", "https://me:s3cret@127.0.0.1:9/o/n.git")
    commit(place, {"new.txt": "x\n"})

    with pytest.raises(FleetError) as failed:
        push(place)

    assert "127.0.0.1" in failed.value.message
    assert "s3cret" not in str(failed.value)


@pytest.mark.usefixtures("remote")
def test_ssh_may_not_ask(place: Path, tmp_path: Path) -> None:
    commit(place, {"new.txt": "x\n"})
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\necho "$@" >&2\necho "git@host: Permission denied (publickey)." >&2\nexit 255\n'
    )
    program.chmod(0o755)
    call(place, "config", "core.sshCommand", str(program))
    call(place, "remote", "set-url", "origin", "git@host:o/n.git")

    with pytest.raises(
        FleetError, match=r"BatchMode=yes.*Permission denied \(publickey\)\. \(try it by hand"
    ):
        push(place)


@pytest.mark.usefixtures("remote")
def test_the_address_that_a_remote_prints_is_kept(place: Path, remote: Path) -> None:
    hook(remote, "post-receive", "echo 'Create a request:'; echo '  https://host/o/n/pull/new/side'")
    commit(place, {"new.txt": "x\n"})

    assert push(place).pages == ("https://host/o/n/pull/new/side",)


def test_a_branch_that_looks_like_an_option_is_pushed_as_a_branch(place: Path, remote: Path) -> None:
    tip = call(place, "rev-parse", "HEAD")
    call(place, "update-ref", "refs/heads/--delete", tip)

    git.push(git.place_at(place), "origin", "--delete")

    assert call(remote, "rev-parse", "refs/heads/--delete") == tip
