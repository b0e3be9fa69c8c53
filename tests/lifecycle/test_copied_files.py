"""Copying ignored files into a worktree: what is copied, what is refused, and that nothing is overwritten."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.config.files import read_include
from fleet_tui.errors import FleetError
from fleet_tui.lifecycle import copied_files
from fleet_tui.lifecycle.copied_files import Copied, chosen, copy


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    folder = tmp_path / "worktree"
    folder.mkdir()
    return folder


def put(root: Path, name: str, text: str = "", mode: int = 0o644) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text or f"content of {name}")
    file.chmod(mode)
    return file


def files_in(root: Path) -> set[str]:
    return {
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_symlink() or path.is_file()
    }


def test_named_files_are_copied_with_their_mode(project: Path, worktree: Path) -> None:
    put(project, ".env", "A=1", 0o600)
    put(project, "config/master.key", "key", 0o400)
    (project / "config").chmod(0o700)

    result = copy(project, worktree, [".env", "config/master.key"])

    assert result == Copied(copied=[".env", "config/master.key"])
    assert (worktree / ".env").read_text() == "A=1"
    assert stat.S_IMODE((worktree / ".env").stat().st_mode) == 0o600
    assert stat.S_IMODE((worktree / "config/master.key").stat().st_mode) == 0o400
    assert stat.S_IMODE((worktree / "config").stat().st_mode) == 0o700


def test_missing_files_are_named_and_the_others_still_copied(project: Path, worktree: Path) -> None:
    put(project, ".env")

    result = copy(project, worktree, ["nowhere.key", ".env", "*.pem"])

    assert result == Copied(copied=[".env"], missing=["nowhere.key", "*.pem"])


def test_what_the_worktree_has_is_never_overwritten(project: Path, worktree: Path) -> None:
    put(project, ".env", "project")
    put(worktree, ".env", "worktree")
    (worktree / "dangling").symlink_to("nowhere")
    put(project, "dangling")

    assert copy(project, worktree, [".env", "dangling"]) == Copied()
    assert (worktree / ".env").read_text() == "worktree"
    assert not (worktree / "nowhere").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../secret", "'..'"),
        ("a/../../secret", "'..'"),
        ("/etc/passwd", "outside the repository"),
        (".git/config", "belongs to git"),
        (".git", "belongs to git"),
        (".", "whole repository"),
        ("", "not a path"),
        ("nul\0", "not a path"),
        ("out", "leads outside the repository"),
        ("outfolder/secret", "leads outside the repository"),
        ("loop", ""),
        ("nothing", "link to nothing"),
        ("pipe", "not a regular file"),
    ],
)
def test_paths_outside_the_repository_are_refused_with_a_reason(
    project: Path, worktree: Path, name: str, reason: str
) -> None:
    put(project.parent, "secret")
    put(project, ".git/config")
    (project / "out").symlink_to("../secret")
    (project / "outfolder").symlink_to("..")
    (project / "loop").symlink_to("loop")
    (project / "nothing").symlink_to("nowhere")
    os.mkfifo(project / "pipe")

    result = copy(project, worktree, [name])

    assert [path for path, _ in result.refused] == [name]
    assert reason in result.refused[0][1]
    assert (result.copied, result.missing, files_in(worktree)) == ([], [], set())


def test_an_absolute_path_inside_the_repository_is_taken(project: Path, worktree: Path) -> None:
    put(project, ".env")
    assert copy(project, worktree, [str(project / ".env")]).copied == [".env"]


def test_a_link_in_the_worktree_cannot_lead_a_copy_outside(project: Path, worktree: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    put(project, "config/key")
    (worktree / "config").symlink_to(outside)

    result = copy(project, worktree, ["config/key"])

    assert result.refused == [("config/key", "a link in the worktree leads outside it")]
    assert files_in(outside) == set()


def test_a_link_inside_the_repository_becomes_a_file_of_its_own(project: Path, worktree: Path) -> None:
    put(project, "shared/env", "A=1")
    (project / ".env").symlink_to(project / "shared/env")

    assert copy(project, worktree, [".env"]).copied == [".env"]
    (worktree / ".env").write_text("changed by the agent")

    assert not (worktree / ".env").is_symlink()
    assert (project / "shared/env").read_text() == "A=1"


def test_a_folder_is_copied_whole_with_links_that_stay_in_it(project: Path, worktree: Path) -> None:
    put(project, "deps/pkg/cli.js", "cli", 0o755)
    (project / "deps/.bin").mkdir()
    (project / "deps/.bin/cli").symlink_to("../pkg/cli.js")
    (project / "deps/.bin/python").symlink_to("/usr/bin/env")
    put(project, ".env")
    (project / "deps/env").symlink_to("../.env")
    (project / "deps/empty").mkdir()

    result = copy(project, worktree, ["deps"])

    assert result.copied == ["deps/"]
    assert result.refused == [("deps/.bin/python", "leads outside the repository")]
    assert files_in(worktree) == {"deps/pkg/cli.js", "deps/.bin/cli", "deps/env"}
    assert (worktree / "deps/.bin/cli").readlink() == Path("../pkg/cli.js")
    assert not (worktree / "deps/env").is_symlink()
    assert (worktree / "deps/empty").is_dir()


def test_a_folder_that_exists_gets_only_what_it_lacks(project: Path, worktree: Path) -> None:
    put(project, "config/a", "project")
    put(project, "config/b", "project")
    put(worktree, "config/a", "worktree")

    assert copy(project, worktree, ["config"]).copied == ["config/"]
    assert (worktree / "config/a").read_text() == "worktree"
    assert (worktree / "config/b").read_text() == "project"
    assert copy(project, worktree, ["config"]).copied == []


def test_a_folder_beyond_the_cap_is_refused_whole(
    project: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_files, "MAX_FILES", 3)
    for number in range(4):
        put(project, f"many/{number}")
    monkeypatch.setattr(copied_files, "MAX_BYTES", 50)
    put(project, "big/file", "x" * 51)

    result = copy(project, worktree, ["many", "big", "big/file"])

    assert [name for name, _ in result.refused] == ["many", "big", "big/file"]
    assert not list(worktree.iterdir())


def test_a_worktree_inside_the_project_is_not_copied_into_itself(project: Path) -> None:
    worktree = project / ".aifleet/worktrees/one"
    worktree.mkdir(parents=True)
    put(worktree, ".git", "gitdir: elsewhere")
    put(worktree, "local.env")
    put(project, ".aifleet/worktrees/two/.git", "gitdir: elsewhere")

    result = copy(project, worktree, [".aifleet", ".aifleet/worktrees/two"], ["*.env"])

    assert result.refused == [
        (".aifleet", "contains the worktree itself"),
        (".aifleet/worktrees/two", "is a repository of its own"),
    ]
    assert result.copied == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_refused(project: Path, worktree: Path) -> None:
    put(project, ".env", mode=0o000)
    assert copy(project, worktree, [".env"]).refused == [(".env", "Permission denied")]


def test_a_file_in_the_way_of_a_folder_is_refused(project: Path, worktree: Path) -> None:
    put(project, "config/key")
    put(worktree, "config", "a file")
    (refused,) = copy(project, worktree, ["config/key"]).refused
    assert refused[0] == "config/key"
    assert (worktree / "config").read_text() == "a file"


# ── the include file ──

TREE = (
    ".env", ".env.local", "app/.env", "app/deep/.env", "secrets/a.pem", "secrets/b.pem", "secrets/README", "a.pem",
    "build/out.js", "app/build/out.js", "node_modules/dep/.env", "docs/a/b/c.txt", "x[1].txt", "#hash", "with space",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", set()),
        ("# a comment\n\n   \n", set()),
        (".env", {".env", "app/.env", "app/deep/.env"}),
        ("/.env", {".env"}),
        (".env*", {".env", ".env.local", "app/.env", "app/deep/.env"}),
        ("*.pem\n!b.pem", {"a.pem", "secrets/a.pem"}),
        ("secrets/*.pem", {"secrets/a.pem", "secrets/b.pem"}),
        ("secrets/", {"secrets/a.pem", "secrets/b.pem", "secrets/README"}),
        ("build/", {"build/out.js", "app/build/out.js"}),
        ("/build", {"build/out.js"}),
        ("README/", set()),
        ("docs/**/c.txt", {"docs/a/b/c.txt"}),
        ("docs/**", {"docs/a/b/c.txt"}),
        ("**/deep/.env", {"app/deep/.env"}),
        ("?.pem", {"a.pem", "secrets/a.pem", "secrets/b.pem"}),
        ("[!b].pem", {"a.pem", "secrets/a.pem"}),
        ("[z-a].pem", set()),
        ("x\\[1\\].txt", {"x[1].txt"}),
        ("\\#hash", {"#hash"}),
        ("with space", {"with space"}),
        ("/node_modules/dep/.env", {"node_modules/dep/.env"}),
        ("/node_modules/dep/.env\n?.pem\n!b.pem", {"node_modules/dep/.env", "a.pem", "secrets/a.pem"}),
        ("node_modules", {"node_modules/dep/.env"}),
        ("/no/such/file\nnothing*", set()),
        ("!", set()),
        ("/", set()),
    ],
)
def test_the_include_file_reads_like_a_gitignore(
    project: Path, worktree: Path, lines: str, expected: set[str]
) -> None:
    for name in TREE:
        put(project, name)
    put(project, ".worktreeinclude", lines + "\n")

    result = copy(project, worktree, [], read_include(project))

    assert files_in(worktree) == expected
    assert (result.missing, result.refused) == ([], [])


def test_a_named_pattern_is_anchored_at_the_root(project: Path, worktree: Path) -> None:
    for name in TREE:
        put(project, name)
    assert copy(project, worktree, ["*.pem", "x[1].txt"]).copied == ["a.pem", "x[1].txt"]


def test_the_include_file_cannot_reach_outside(project: Path, worktree: Path) -> None:
    put(project.parent, "secret")
    (project / "link").symlink_to("../secret")

    result = copy(project, worktree, [], ["../secret", "link", "/link"])

    assert files_in(worktree) == set()
    assert ("../secret", "contains '..'") in result.refused
    assert ("link", "leads outside the repository") in result.refused


def test_an_include_file_that_cannot_be_read_is_named(project: Path) -> None:
    (project / ".worktreeinclude").write_bytes(b"\xff\xfe")
    with pytest.raises(FleetError, match=r"\.worktreeinclude: not valid UTF-8 at byte 0"):
        read_include(project)


def test_only_the_lines_passed_in_count(project: Path, worktree: Path) -> None:
    put(project, ".env")
    put(project, ".worktreeinclude", "*\n")
    assert copy(project, worktree, [], []) == Copied()


def test_what_would_be_copied_is_named_without_copying(project: Path) -> None:
    for name in TREE:
        put(project, name)
    assert chosen(project, [".env", "nothing", "../x"], ["/.env", "secrets/*.pem"]) == [
        ".env",
        "secrets/a.pem",
        "secrets/b.pem",
    ]


@pytest.mark.parametrize("bomb", ["*a" * 30 + "*b", "**/a/" * 30 + "b"])
def test_a_pattern_made_to_hang_is_matched_at_once(project: Path, worktree: Path, bomb: str) -> None:
    put(project, "a" * 200)
    put(project, "a/" * 60 + "c")
    began = time.monotonic()
    assert copy(project, worktree, [bomb], [bomb]).copied == []
    assert time.monotonic() - began < 2


def test_folders_nested_without_end_are_left_out_and_named(project: Path, worktree: Path) -> None:
    put(project, "a/" * 600 + "deep.env")
    put(project, "near.env")
    result = copy(project, worktree, ["a", "*.env"], ["*.env"])
    assert result.copied == ["near.env"]
    assert ("a", "is nested too deeply") in result.refused


def test_a_search_for_patterns_ends_in_time(project: Path, worktree: Path) -> None:
    put(project, "deep/a.env")
    result = copy(project, worktree, ["*.env"], ["*.env"], seconds=-1)
    assert [name for name, _ in result.refused] == ["*.env", ".worktreeinclude"]
    assert "takes too long" in result.refused[0][1]


@given(line=st.text(max_size=15), path=st.text("ab/.[]*", min_size=1, max_size=12))
def test_any_line_makes_a_rule(line: str, path: str) -> None:
    copied_files._IncludeRule.parse(line or "x").matches(path)
