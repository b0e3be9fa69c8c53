"""What conflicts between two commits, and where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.work import ConflictingFile
from tests.git.landing_cases import repo
from tests.git.repositories import call, commit, make

__all__ = ["repo"]

SOURCE = """import os


class Session:
    def issue(self, user):
        sid = new_id()
        return sid

    def load(self, sid):
        return self.store[sid]
"""


def conflict(
    repo: Path, ours: Callable[[Path], object], theirs: Callable[[Path], object]
) -> dict[str, ConflictingFile]:
    """Change a commit in two ways; what conflicts, by path."""
    base = call(repo, "rev-parse", "HEAD")
    tips = []
    for name, change in (("ours", ours), ("theirs", theirs)):
        call(repo, "checkout", "-q", "-B", name, base)
        change(repo)
        tips.append(commit(repo, {}))
    found = git.conflicting_files(repo / ".git", *tips, base=base, names={tips[0]: "A", tips[1]: "main"})
    return {one.path: one for one in found}


def writes(name: str, content: str | bytes) -> Callable[[Path], object]:
    def change(where: Path) -> None:
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return change


def moves(old: str, new: str) -> Callable[[Path], object]:
    return lambda where: call(where, "mv", old, new)


def removes(name: str) -> Callable[[Path], object]:
    return lambda where: (where / name).unlink()


def test_lines_function_and_both_sides_of_each_place(repo: Path) -> None:
    commit(repo, {"auth.py": SOURCE})

    [found] = conflict(
        repo,
        writes(
            "auth.py", SOURCE.replace("new_id()", "token()").replace("import os\n", "import os\nimport re\n")
        ),
        writes(
            "auth.py", SOURCE.replace("new_id()", "uuid4()").replace("self.store[sid]", "self.store.get(sid)")
        ),
    ).values()

    assert (found.path, found.kind) == ("auth.py", "both changed")
    [place] = found.places
    assert (place.first, place.last, place.function) == (7, 7, "issue")
    assert (place.before, place.ours, place.theirs) == (
        ("        sid = new_id()",), ("        sid = token()",), ("        sid = uuid4()",),
    )  # fmt: skip
    assert found.message == "CONFLICT (content): Merge conflict in auth.py"


@pytest.mark.parametrize(
    ("ours", "theirs", "kinds"),
    [
        (writes("new", "a\n"), writes("new", "b\n"), {"new": "both added"}),
        (removes("a.txt"), writes("a.txt", "b\n"), {"a.txt": "deleted here"}),
        (writes("a.txt", "b\n"), removes("a.txt"), {"a.txt": "deleted there"}),
        (writes("a.txt", b"\0a"), writes("a.txt", b"\0b"), {"a.txt": "binary"}),
        (moves("a.txt", "x.txt"), removes("a.txt"), {"x.txt": "deleted there"}),
        (removes("a.txt"), moves("a.txt", "x.txt"), {"x.txt": "deleted here"}),
    ],
    ids=[
        "both added",
        "deleted here",
        "deleted there",
        "binary",
        "renamed, deleted there",
        "deleted here, renamed",
    ],
)
def test_kinds(
    repo: Path, ours: Callable[[Path], object], theirs: Callable[[Path], object], kinds: dict[str, str]
) -> None:
    assert {path: one.kind for path, one in conflict(repo, ours, theirs).items()} == kinds


def test_renamed_both_ways(repo: Path) -> None:
    found = conflict(repo, moves("a.txt", "x.txt"), moves("a.txt", "y.txt"))

    assert {one.kind for one in found.values()} == {"renamed both ways"}
    assert "in A" in next(iter(found.values())).message


def test_a_file_and_a_folder(repo: Path) -> None:
    found = conflict(repo, writes("thing", "a file\n"), writes("thing/inside", "x\n"))

    assert [one.kind for one in found.values()] == ["file and folder"]


def test_submodules(repo: Path, tmp_path: Path) -> None:
    modules = [make(tmp_path / name) for name in ("one", "two")]
    commit(modules[1], {"x": "y"})
    base = call(repo, "rev-parse", "HEAD")

    def points(at: Path) -> Callable[[Path], object]:
        commit_id = call(at, "rev-parse", "HEAD")
        return lambda where: call(where, "update-index", "--add", "--cacheinfo", f"160000,{commit_id},sub")

    tips = []
    for name, module in zip(("ours", "theirs"), modules, strict=True):
        call(repo, "checkout", "-q", "-B", name, base)
        points(module)(repo)
        call(repo, "commit", "-q", "-m", name)
        tips.append(call(repo, "rev-parse", "HEAD"))
        call(repo, "rm", "-q", "--cached", "sub")

    assert [one.kind for one in git.conflicting_files(repo / ".git", *tips, base=base)] == ["submodule"]


def test_what_merges_has_no_conflicts(repo: Path) -> None:
    assert conflict(repo, writes("one", "a\n"), writes("two", "b\n")) == {}
