"""Random changes of a worktree: snapshots against git's own `add`, and patches that `git apply` turns back into files."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from fleet_tui import git
from tests.git.repositories import call, commit

NAMES = (
    "a.txt", "b", "dir/c.txt", "dir/deep/d", "e f", 'quo"te', "tab\there", "new\nline", "back\\slash", "ü", "odd\udce9", ".hidden",
    "-dash", "a", "a/inner", "dir", "File", "file", "*", "[x]", "x.secret", "build/out", "sub/.gitignore",
)  # fmt: skip
LINES = (
    "one",
    "two",
    "three",
    "",
    "\ttab",
    "caf\udce9",
    "end\r",
    "--- a/x",
    "+++ b/x",
    "@@ -1 +1 @@",
    "-- ",
    "\\ No newline",
    "\x0c",
    "#",
)
SEEDS = [
    *range(2),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 120)),
]


def change(folder: Path, chance: random.Random) -> None:
    """Do one thing to a file or folder of the worktree."""
    path = folder / chance.choice(NAMES)
    kind = chance.choice(
        ["write", "write", "edit", "edit", "delete", "mode", "link", "bytes", "move", "folder"]
    )
    if kind == "delete":
        clear(path)
    elif kind == "mode" and is_file(path):
        path.chmod(chance.choice([0o644, 0o755]))
    elif kind == "edit" and is_file(path):
        lines = path.read_bytes().split(b"\n")
        at = chance.randrange(len(lines) + 1)
        lines[at : at + chance.randrange(3)] = [text(chance) for _ in range(chance.randrange(3))]
        path.write_bytes(b"\n".join(lines))
    elif kind == "move" and is_file(path):
        content = path.read_bytes()
        clear(path)
        make_way(folder, other := folder / chance.choice(NAMES))
        other.write_bytes(content)
    elif kind in ("write", "bytes", "link"):
        make_way(folder, path)
        if kind == "link":
            path.symlink_to(chance.choice(["a.txt", "nowhere", "dir", "\udce9"]))
        elif kind == "bytes":
            path.write_bytes(chance.randbytes(chance.randrange(300)) + b"\0")
        else:
            path.write_bytes(b"\n".join(text(chance) for _ in range(chance.randrange(12))))


def text(chance: random.Random) -> bytes:
    return chance.choice(LINES).encode("utf-8", "surrogateescape")


def is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def make_way(folder: Path, path: Path) -> None:
    """Remove what is in the place of a file or of a folder above it."""
    for above in reversed(path.relative_to(folder).parents[:-1]):
        if (folder / above).is_symlink() or (folder / above).is_file():
            (folder / above).unlink()
        (folder / above).mkdir(exist_ok=True)
    clear(path)


def clear(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def added(place: Path) -> str:
    """The tree that git's own `add` makes of the files, by a copy of the index."""
    index = Path(call(place, "rev-parse", "--path-format=absolute", "--git-path", "index"))
    own = place.parent / "index of the test"
    shutil.copy2(index, own)
    variables = os.environ | {"GIT_INDEX_FILE": str(own)}
    for arguments in (["add", "--all"], ["write-tree"]):
        done = subprocess.run(
            ["git", "-C", str(place), *arguments], env=variables, capture_output=True, text=True, check=True
        )
    return done.stdout.strip()


def apply(repo: Path, folder: Path, tree: str, patch: str) -> str:
    """The tree after checking out a tree into an empty folder and applying a patch there."""
    variables = os.environ | {"GIT_INDEX_FILE": str(folder / "index"), "GIT_WORK_TREE": str(folder / "files")}
    (folder / "files").mkdir(parents=True)
    variables["GIT_DIR"] = str(repo / ".git")
    for arguments in (["read-tree", tree], ["checkout-index", "--all"], ["update-index", "-q", "--refresh"]):
        subprocess.run(["git", *arguments], cwd=folder / "files", env=variables, check=True)
    if patch:
        done = subprocess.run(
            ["git", "apply", "--index", "-"], cwd=folder / "files", env=variables, capture_output=True,
            input=patch.encode("utf-8", "surrogateescape"), check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode(errors="replace")
    made = subprocess.run(
        ["git", "write-tree"], cwd=folder / "files", env=variables, capture_output=True, text=True, check=True
    )
    return made.stdout.strip()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_snapshot_is_what_add_makes_and_its_patch_applies(
    repo: Path, place: Path, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    where = git.place_at(place)
    before = call(place, "rev-parse", "HEAD^{tree}")
    with git.scratch_objects(where.git_dir) as scratch:
        for number in range(6):
            for _ in range(chance.randrange(1, 8)):
                change(place, chance)
            what = chance.random()
            if what < 0.15:
                commit(place, {})
            elif what < 0.3:
                call(place, "add", "--all")
            elif what < 0.4:
                call(place, "add", "--intent-to-add", ".")
            found = git.take_snapshot(where, scratch, "key").tree
            assert found == added(place), f"step {number}"
            patch = git.patch(where.git_dir, before, found, objects=scratch.variables)
            assert apply(repo, tmp_path / f"{number}", before, patch) == found, f"step {number}"
            if chance.random() < 0.5:
                before = found
