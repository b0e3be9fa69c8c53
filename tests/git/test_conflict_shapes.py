"""Every shape of a conflict on real repositories: the radar's merge agrees with `git merge`, and names kind and place."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.git.enclosing import enclosing_function
from fleet_tui.work import ConflictingFile
from tests.git import repositories, traps
from tests.git.repositories import call

Change = Callable[[Path], None]

CODE = """class Session:
    def load(self, sid):
        return sid

    def issue(self, user):
        a = 1
        b = 2
        c = 3
        return a + b + c


def other():
    pass
"""


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repositories.isolate(tmp_path / "home", monkeypatch)


def writes(files: dict[str, str]) -> Change:
    def change(place: Path) -> None:
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, newline="")

    return change


def runs(*commands: str) -> Change:
    def change(place: Path) -> None:
        for command in commands:
            subprocess.run(["sh", "-ec", command], cwd=place, check=True)

    return change


def linked_commit(name: str, number: int) -> Change:
    """A submodule at a made-up commit."""
    return runs(f"git update-index --add --cacheinfo 160000,{str(number) * 40},{name}")


@dataclass(frozen=True, slots=True)
class Shape:
    start: Change
    ours: Change
    theirs: Change
    kinds: dict[str, str]
    """Empty if the two merge."""


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 3\n"
SHAPES = {
    "content": Shape(
        writes({"f": "a\nb\n"}), writes({"f": "1\nb\n"}), writes({"f": "2\nb\n"}), {"f": "both changed"}
    ),
    "two ends": Shape(
        writes({"f": "a\nb\nc\nd\ne\n"}),
        writes({"f": "1\nb\nc\nd\ne\n"}),
        writes({"f": "a\nb\nc\nd\n2\n"}),
        {},
    ),
    "add/add": Shape(writes({}), writes({"n": "1\n"}), writes({"n": "2\n"}), {"n": "both added"}),
    "the same": Shape(writes({}), writes({"n": "1\n"}), writes({"n": "1\n"}), {}),
    "binary": Shape(writes({"f": "\0a"}), writes({"f": "\0b"}), writes({"f": "\0c"}), {"f": "binary"}),
    "line ends": Shape(
        writes({"f": "a\nb\n"}), writes({"f": "a\r\nb\r\n"}), writes({"f": "a\nB\n"}), {"f": "both changed"}
    ),
    "LFS pointer": Shape(
        writes({"f": LFS.format("0" * 64)}),
        writes({"f": LFS.format("1" * 64)}),
        writes({"f": LFS.format("2" * 64)}),
        {"f": "both changed"},
    ),
    "deleted there": Shape(writes({"f": "a\n"}), writes({"f": "b\n"}), runs("rm f"), {"f": "deleted there"}),
    "deleted here": Shape(writes({"f": "a\n"}), runs("rm f"), writes({"f": "b\n"}), {"f": "deleted here"}),
    "file to symlink": Shape(
        writes({"f": "a\n"}), runs("ln -sf x f"), writes({"f": "b\n"}), {"f": "mode", "f~": "mode"}
    ),
    "file and folder": Shape(
        writes({}), writes({"d": "1\n"}), writes({"d/x": "2\n"}), {"d~": "file and folder"}
    ),
    "rename both ways": Shape(
        writes({"f": "a\nb\nc\n"}), runs("mv f g"), runs("mv f h"), {"f": "renamed both ways"}
    ),
    "rename to one name": Shape(
        writes({"f": "a\nb\nc\nd\n", "g": "1\n2\n3\n4\n"}),
        runs("mv f n"),
        runs("mv g n"),
        {"n": "both added"},
    ),
    "rename and delete": Shape(
        writes({"f": "a\nb\nc\n"}), runs("mv f g"), runs("rm f"), {"g": "deleted there"}
    ),
    "rename and edit": Shape(
        writes({"f": "a\nb\nc\nd\ne\n"}), runs("mv f g"), writes({"f": "a\nb\nc\nd\nE\n"}), {}
    ),
    "mode and edit": Shape(writes({"f": "a\n"}), runs("chmod +x f"), writes({"f": "b\n"}), {}),
    "submodule both": Shape(
        linked_commit("s", 1), linked_commit("s", 2), linked_commit("s", 3), {"s": "submodule"}
    ),
    "submodule one side": Shape(linked_commit("s", 1), linked_commit("s", 2), writes({"f": "a\n"}), {}),
    "union": Shape(
        writes({".gitattributes": "f merge=union\n", "f": "a\n"}),
        writes({"f": "1\n"}),
        writes({"f": "2\n"}),
        {},
    ),
    "folder renamed, file added": Shape(
        writes({f"d/{n}": f"{n}\n{n}\n" for n in range(4)}),
        runs("mv d e"),
        writes({"d/new": "x\n"}),
        {"e/new": "other"},
    ),
    "upper and lower case": Shape(writes({}), writes({"Readme": "1\n"}), writes({"README": "2\n"}), {}),
}


def built(repo: Path, shape: Shape) -> tuple[str, str, str]:
    """The base, ours and theirs."""
    made: list[str] = []
    for branch, change in (("", shape.start), ("ours", shape.ours), ("theirs", shape.theirs)):
        if branch:
            call(repo, "checkout", "-q", "-f", "-B", branch, made[0])
        change(repo)
        index = call(repo, "diff", "--cached", "--name-only")
        if not index:
            call(repo, "add", "--all")
        call(repo, "commit", "-q", "--allow-empty", "-m", branch or "base")
        made.append(call(repo, "rev-parse", "HEAD"))
    base, ours, theirs = made
    return base, ours, theirs


def by_path(found: tuple[ConflictingFile, ...]) -> dict[str, str]:
    """Kinds by path; git's own names for what it sets aside end with a commit."""
    return {one.path.partition("~")[0] + ("~" if "~" in one.path else ""): one.kind for one in found}


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_of_a_conflict_is_found_and_named(repo: Path, name: str) -> None:
    shape = SHAPES[name]
    base, ours, theirs = built(repo, shape)
    call(repo, "checkout", "-q", "-f", "ours")

    [merged] = git.merge_pairs(repo / ".git", [(ours, theirs)], base=base)
    found = git.conflicting_files(repo / ".git", ours, theirs, base=base)

    merges = repositories.attempt(repo, "merge", "-q", "--no-edit", "theirs")
    assert merged.is_clean == merges
    assert by_path(found) == shape.kinds
    assert all(one.message for one in found)
    assert {one.path for one in found} <= set(merged.paths) or name in (
        "folder renamed, file added",
        "rename both ways",
    )


def test_the_places_are_lines_of_our_own_file_with_their_function(repo: Path) -> None:
    # Theirs also adds lines above, which shift the merged file and not ours.
    mine = CODE.replace("b = 2", "b = 20").replace("    pass", "    return 1")
    yours = "import one\nimport two\n\n" + CODE.replace("b = 2", "b = 200").replace(
        "    pass", "    return 2"
    )
    base, ours, theirs = built(
        repo, Shape(writes({"s.py": CODE}), writes({"s.py": mine}), writes({"s.py": yours}), {})
    )

    [found] = git.conflicting_files(repo / ".git", ours, theirs, base=base)

    assert [(one.first, one.last, one.function) for one in found.places] == [
        (7, 7, "issue()"),
        (13, 13, "other()"),
    ]
    assert found.places[0].before == ("        b = 2",)
    assert found.places[0].ours == ("        b = 20",)
    assert found.places[0].theirs == ("        b = 200",)
    [back] = git.conflicting_files(repo / ".git", theirs, ours, base=base)
    assert [one.first for one in back.places] == [10, 16]


def test_lines_that_look_like_markers_are_text(repo: Path) -> None:
    text = "<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> them\n"
    base, ours, theirs = built(
        repo, Shape(writes({"f": text + "a\n"}), writes({"f": text + "b\n"}), writes({"f": text + "c\n"}), {})
    )

    [found] = git.conflicting_files(repo / ".git", ours, theirs, base=base)

    assert [(one.first, one.ours) for one in found.places] == [(6, ("b",))]


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        (CODE, 2, "load()"),
        (CODE, 0, "Session"),
        ("int main(int n)\n{\n  x;\n}\nstatic int go(char *p) {\n  y;\n}\n", 5, "go()"),
        ("func (s *Server) Run(ctx context.Context) error {\n\treturn nil\n}\n", 1, "Run()"),
        ("impl Thing {\n    pub fn new() -> Self {\n        1\n    }\n}\n", 2, "new()"),
        ("export default async function load(a) {\n  b\n}\n", 1, "load()"),
        ("def many(\n    a,\n    b,\n):\n    if a:\n        c\n", 5, "many()"),
        ("a\nb\n", 1, ""),
        ("", 0, ""),
    ],
)
@pytest.mark.pure
def test_the_function_around_a_line_is_found_by_the_text(text: str, line: int, name: str) -> None:
    assert enclosing_function(text.split("\n"), line) == name


@pytest.mark.parametrize("attribute", ["merge=trap", "filter=trap", "merge=a=b"])
def test_a_merge_in_memory_runs_no_program_that_a_configuration_names(
    repo: Path, tmp_path: Path, attribute: str
) -> None:
    trap = traps.lay(tmp_path / "trap")
    base, ours, theirs = built(
        repo,
        Shape(
            writes({".gitattributes": f"* {attribute}\n", "f": "a\n", "g": "x\n"}),
            writes({"f": "1\n", "g": "y\n"}),
            writes({"f": "2\n"}),
            {},
        ),
    )
    for key in (
        "merge.trap.driver",
        "merge.a=b.driver",
        "filter.trap.clean",
        "filter.trap.smudge",
        "core.fsmonitor",
    ):
        call(repo, "config", key, str(trap.program))
    call(repo, "config", "merge.renormalize", "true")
    (repo / ".git" / "info" / "attributes").write_text(f"* {attribute}\n")

    [merged] = git.merge_pairs(repo / ".git", [(ours, theirs)], base=base)
    found = git.conflicting_files(repo / ".git", ours, theirs, base=base)

    assert not trap.has_sprung
    assert merged.paths == ("f",)
    assert [one.path for one in found] == ["f"]


def test_scratch_objects_outlive_kills_and_are_emptied_when_they_are_too_many(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fleet_tui.git import scratch

    tree = call(repo, "rev-parse", "HEAD^{tree}")
    with git.scratch_objects(repo / ".git") as first, first.throwaway() as drafts:
        left = Path(drafts["GIT_OBJECT_DIRECTORY"])
        name = first.write_commit(tree, call(repo, "rev-parse", "HEAD"))
        shutil.copytree(left, left.with_name("tried-of-a-killed-process"))
        with git.scratch_objects(repo / ".git") as second:
            assert second.generation == first.generation
            assert left.exists(), "somebody else uses it"
    kinds = subprocess.run(
        ["git", "-C", str(repo), "cat-file", "-t", name], env={**os.environ, **first.variables},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert kinds.stdout.strip() == "commit"

    monkeypatch.setattr(scratch, "MOST", 10)
    monkeypatch.setattr(scratch, "MEASURE_SECONDS", 0.0)
    with git.scratch_objects(repo / ".git") as third:
        assert third.generation != first.generation
        assert not list(third.folder.glob("tried-*"))
        assert [one.name for one in (third.folder / "objects").iterdir()] == ["generation"]


@pytest.mark.parametrize("options", [(), ("--object-format=sha256",)], ids=["SHA-1", "SHA-256"])
def test_a_snapshot_as_a_commit_merges_like_one_that_git_has_made(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    repo = repositories.make(tmp_path / "project of many", *options)
    place = repositories.worktree(repo, "side", tmp_path / "side")
    base = call(repo, "rev-parse", "HEAD")
    (place / "a.txt").write_text("theirs\n")
    (repo / "a.txt").write_text("ours\n")
    call(repo, "commit", "-q", "-a", "-m", "ours")
    tip = call(repo, "rev-parse", "HEAD")
    where = git.place_at(place)
    with git.scratch_objects(where.git_dir) as scratch:
        shot = git.take_snapshot(where, scratch, "key")
        made = scratch.write_commit(shot.tree, shot.head)
        assert made == scratch.write_commit(shot.tree, shot.head)
        [merged] = git.merge_pairs(where.git_dir, [(made, tip)], base=tip, objects=scratch.variables)
        [touched] = git.touched_files(where.git_dir, [(base, shot.tree)], objects=scratch.variables)

    assert shot.head == base
    assert merged.paths == ("a.txt",)
    assert touched == {"a.txt"}
