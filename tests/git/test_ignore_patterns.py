"""Patterns mean what they mean to git, and none of them takes long."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fleet_tui.git import IgnorePattern
from tests.git import repositories

PIECES = (
    "a", "b", "c", "/", "*", "**", "**/", "***/", "/**", "?", ".", "-", "]", "[ab]", "[!a]", "[^a-c]", "[]a]", "[!]a]",
    "[a-", "[a-c]", "[b-a]", "[-a]", "[a-]", "[\\]]", "[a\\-c]", "[[:alpha:]]", "[[:foo:]]", "\\*", "\\a",
)  # fmt: skip
NAMES = st.lists(
    st.sampled_from(["a", "b", "c", "ab", "-", "]", "*", ".x", "[", "\\"]), min_size=1, max_size=3
)
PATHS = st.lists(NAMES.map("".join), min_size=1, max_size=4).map("/".join)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return repositories.make(tmp_path / "repository")


@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=6),
    paths=st.lists(PATHS, min_size=20, max_size=40, unique=True),
)
def test_patterns_match_what_git_ignores_by_them(
    repository: Path, pieces: list[str], paths: list[str]
) -> None:
    pattern = "".join(pieces).strip("/")
    assume(pattern and "//" not in pattern)
    # Here git 2.39 compares two pointers that have nothing to do with each other; its manual is clear.
    assume(not re.search(r"[^/*]\*{2,}(?:/|$)", pattern))
    (repository / ".gitignore").write_text(f"/{pattern}\n")
    glob = IgnorePattern(pattern)

    ours = {
        path
        for path in paths
        # To git a file is ignored with its folder.
        if any(glob.matches("/".join(path.split("/")[:depth])) for depth in range(1, path.count("/") + 2))
    }

    assert ours == _ignored(repository, paths)


def _ignored(repository: Path, paths: list[str]) -> set[str]:
    asked = ["git", "-C", str(repository), "check-ignore", "--no-index", "-z", "--stdin"]
    done = subprocess.run(asked, input="\0".join(paths), capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return set(filter(None, done.stdout.split("\0")))


@pytest.mark.pure
def test_asterisks_beside_other_characters_stay_within_a_name() -> None:
    assert IgnorePattern("a***/b").matches("axx/b")
    assert not any(IgnorePattern("a***/b").matches(path) for path in ("ab", "a/x/b", "ax/x/b"))


@pytest.mark.pure
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*a" * 60 + "*b", "a" * 200),
        ("**/a/" * 30 + "b", "a/" * 60 + "c"),
        ("**/*a*a*a*a/" * 8 + "b", ("a" * 30 + "/") * 24 + "c"),
        ("*a" * 2000, "a" * 4000 + "b"),
        ("**/" * 20_000 + "b", "a/" * 2000),
        ("[" * 60_000, "a"),
        ("?" * 60_000, "a" * 4000),
    ],
)
def test_no_pattern_takes_long(pattern: str, text: str) -> None:
    began = time.monotonic()
    assert not IgnorePattern(pattern).matches(text)
    assert time.monotonic() - began < 2


@pytest.mark.pure
@given(pattern=st.text("ab/.[]*?!^-\\:", max_size=15), text=st.text("ab/.[]*", max_size=12))
def test_any_pattern_can_be_read(pattern: str, text: str) -> None:
    IgnorePattern(pattern).matches(text)
