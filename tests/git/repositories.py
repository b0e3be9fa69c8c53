"""Real repositories for tests, created by git itself, without the user's own configuration."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from fleet_tui import git

CONFIG = """
[user]
    name = Tester
    email = tester@example.org
[init]
    defaultBranch = main
[core]
    fsync = none
[gc]
    auto = 0
[advice]
    detachedHead = false
"""


def isolate(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give git this home, and nothing else of the user."""
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(CONFIG)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def call(where: Path, *arguments: str) -> str:
    """Git's output; a failure fails the test with git's message."""
    done = subprocess.run(["git", "-C", str(where), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


def commit(where: Path, files: dict[str, str], message: str = "a change") -> str:
    for name, content in files.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(content)
    call(where, "add", "--all")
    call(where, "commit", "--quiet", "--allow-empty", "-m", message)
    return call(where, "rev-parse", "HEAD")


def make(path: Path, *options: str) -> Path:
    """A repository with one commit of a few files and two ignored patterns."""
    shutil.copytree(_template(options), path)
    call(path, "update-index", "--refresh")
    return path


@functools.cache
def _template(options: tuple[str, ...]) -> Path:
    path = Path(tempfile.mkdtemp(prefix="fleet-tests-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    call(path, "init", "--quiet", "--initial-branch=main", *options)
    commit(
        path, {"a.txt": "one\ntwo\n", "src/b.py": "print()\n", ".gitignore": "*.secret\nbuild/\n"}, "start"
    )
    return path


def worktree(repo: Path, branch: str, path: Path, base: str = "") -> Path:
    """A worktree created by the code under test."""
    found = git.discover(repo)
    git.add(found, git.plan(found, branch, base=base, path=path), admin_name=path.name)
    return path


def branches(repo: Path) -> set[str]:
    return set(call(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines())


def entries(repo: Path) -> list[str]:
    """The names of the repository's worktree entries."""
    common = Path(call(repo, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    folder = common / "worktrees"
    return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []


def attempt(where: Path, *arguments: str) -> bool:
    """Whether git succeeds."""
    return (
        subprocess.run(["git", "-C", str(where), *arguments], capture_output=True, check=False).returncode
        == 0
    )
