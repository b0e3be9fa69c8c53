"""The files that each of many branches has changed, from one git process: enough to see which branches touch the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fleet_tui.git.program import GitFailed, reason, run

MOST_KNOWN = 10_000

_known_trees: dict[str, str] = {}
"""The tree of each commit that was asked about: it never changes, and a process of git takes as long as the rest."""


def touched_files(
    git_dir: Path, pairs: Sequence[tuple[str, str]], *, objects: Mapping[str, str] | None = None
) -> list[frozenset[str]]:
    """The paths that differ between a commit and a tree, for each pair of full ids; of a renamed file both its paths."""
    if not pairs:
        return []
    trees = _trees(git_dir, sorted({commit for commit, _ in pairs}))
    heads = [f"{trees[commit]} {tree}\n" for commit, tree in pairs]
    done = run(
        git_dir,
        *("--git-dir", str(git_dir), "diff-tree", "--stdin", "-r", "-z", "--name-only", "--no-renames"),
        *("--no-ext-diff", "--no-textconv", "--ignore-submodules=none"),
        variables=objects,
        stdin="".join(heads),
    )
    if done.returncode:
        raise GitFailed(reason(done))
    found: list[frozenset[str]] = []
    text, at = done.stdout, 0
    for head, following in zip(heads, [*heads[1:], ""], strict=True):
        # Git repeats each pair on a line of its own, before its files.
        if not text.startswith(head, at):
            raise GitFailed("git diff-tree stopped half-way")
        at += len(head)
        paths: list[str] = []
        while at < len(text) and not (following and text.startswith(following, at)):
            end = text.index("\0", at)
            paths.append(text[at:end])
            at = end + 1
        found.append(frozenset(paths))
    return found


def _trees(git_dir: Path, commits: Sequence[str]) -> dict[str, str]:
    missing = [commit for commit in commits if commit not in _known_trees]
    if missing:
        asked = "".join(f"{commit}^{{tree}}\n" for commit in missing)
        done = run(git_dir, "--git-dir", str(git_dir), "cat-file", "--batch-check", stdin=asked)
        if len(_known_trees) > MOST_KNOWN:
            _known_trees.clear()
        for commit, line in zip(missing, done.stdout.splitlines(), strict=False):
            name, _, kind = line.partition(" ")
            if kind.startswith("tree "):
                _known_trees[commit] = name
        unknown = [commit for commit in missing if commit not in _known_trees]
        if unknown:
            raise GitFailed(f"the repository has no commit {unknown[0][:10]}")
    return {commit: _known_trees[commit] for commit in commits}
