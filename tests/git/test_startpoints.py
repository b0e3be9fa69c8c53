"""Start points of real repositories, read again when HEAD has moved."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fleet_tui.errors import NotFound
from fleet_tui.fleet import Fleet
from fleet_tui.tui.worker_client import WorkerClient
from tests.conftest import git
from tests.watched_fleet import WatchedFleet


def commit(folder: Path, name: str, text: str, said: str) -> str:
    (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", said)
    return git(folder, "rev-parse", "HEAD").strip()


def test_branches_and_tags_are_offered_with_their_commits(fleet: Fleet, repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "tag", "-a", "v1", "-m", "the first release")
    git(repository, "switch", "-q", "-c", "topic/ünïcode")
    second = commit(repository, "b.txt", "b\n", "Teach it b\twith a tab")

    found = {base.name: base for base in fleet.start_points()}

    assert found["v1"].commit == first, "a tag stands for the commit that it names"
    assert found["topic/ünïcode"].commit == second
    assert found["topic/ünïcode"].subject == "Teach it b\twith a tab"
    assert found["main"].at > 0
    git(repository, "switch", "-q", "main")
    fleet.reread_repository()
    assert next(base.name for base in fleet.start_points()) == "main", "what is checked out here comes first"


def test_a_remotes_head_is_not_offered_twice(fleet: Fleet, repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "far.git")
    git(repository, "remote", "add", "far", str(tmp_path / "far.git"))
    git(repository, "fetch", "-q", "far")
    git(repository, "remote", "set-head", "far", "main")
    assert {base.name for base in fleet.start_points()} == {"main", "far/main"}


def test_a_branch_and_a_tag_of_one_name_are_distinguished(fleet: Fleet, repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "branch", "v2")
    second = commit(repository, "b.txt", "b\n", "Teach it b")
    git(repository, "tag", "-a", "v2", "-m", "release", "HEAD")

    found = {base.name: base for base in fleet.start_points() if base.name.endswith("v2")}

    assert {base.commit for base in found.values()} == {first, second}
    for name, base in found.items():
        assert fleet.start_point(name)[0].commit == base.commit, name
    assert found["tags/v2"].subject == "Teach it b"


def test_the_size_of_what_would_have_to_be_fetched_is_not_known(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repository}", "partial")
    fleet = WatchedFleet(tmp_path / "partial")
    try:
        before = git(tmp_path / "partial", "rev-list", "--objects", "--missing=print", "HEAD").count("?")
        assert fleet.start_point()[1] == 0
        after = git(tmp_path / "partial", "rev-list", "--objects", "--missing=print", "HEAD").count("?")
    finally:
        fleet.close()
    assert before == after == 1, "nothing was fetched"


def test_a_base_is_described_with_the_size_of_its_worktree(fleet: Fleet, repository: Path) -> None:
    (repository / "deep").mkdir()
    commit(repository, "deep/a b.txt", "x" * 1000, "Add a thousand")
    fleet.reread_repository()
    base, size = fleet.start_point()
    assert (base.name, base.subject) == ("main", "Add a thousand")
    assert size == len("hello\n") + 1000
    older, size = fleet.start_point("main~1")
    assert (older.name, older.subject, size) == ("main~1", "first", len("hello\n"))


def test_bases_can_be_listed_after_one_was_asked_for(fleet: Fleet) -> None:
    assert fleet.start_point()[0] in fleet.start_points()


def test_only_a_commit_can_be_a_base(fleet: Fleet) -> None:
    for wrong in ("nowhere", "--all", "main:readme.txt", "one\ntwo"):
        with pytest.raises(NotFound):
            fleet.start_point(wrong)


@pytest.mark.slow
def test_a_dashboard_that_stays_open_starts_agents_from_where_head_is_now(
    fleet: Fleet, repository: Path
) -> None:
    async def go() -> tuple[str, str]:
        link = WorkerClient(repository)
        try:
            await asyncio.gather(*(link.call("project_info") for _ in range(8)))
            moved = commit(repository, "b.txt", "b\n", "Move on")
            made = await link.call("create", "late", profile="shell", prompt="exec cat")
            return moved, made.base
        finally:
            link.close()

    moved, base = asyncio.run(go())
    assert base == moved
