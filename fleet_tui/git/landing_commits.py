"""Build the commit that lands, in memory: a merge, one commit of everything, a rebase, or the reverse of a landing.

Nothing is checked out, so no hook runs: `landing_hooks` says when the user's own git has to do it instead. Objects go to
the repository; until a branch names them, git's garbage collection removes them after a while.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.checkpoints import tree_of
from fleet_tui.git.merging import merge_pairs
from fleet_tui.git.program import ask, lines, output, query
from fleet_tui.landings import CommitLine

_HELPER = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "fleet"), ("EMAIL", "fleet@localhost"), ("DATE", "@0 +0000"))
}
_CO_AUTHORS = "%(trailers:key=Co-authored-by,valueonly)"
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S.*")


@dataclass(frozen=True, slots=True)
class BuiltCommit:
    """A commit that can land, or the commits that do not merge."""

    commit: str
    """Empty if there is a conflict."""
    ours: str = ""
    """For a conflict: the commits whose merge shows it."""
    theirs: str = ""
    subject: str = ""
    """For a conflict in a rebase: the commit that could not be picked."""


def commits_between(
    git_dir: Path, old: str, new: str, *, most: int = 200, objects: Mapping[str, str] | None = None
) -> list[CommitLine]:
    """The commits that `new` has and `old` has not, newest first."""
    options = ("--format=%H%x00%s%x00%an%x00%ct", f"--max-count={most}", "--no-show-signature")
    shown = output(git_dir, "--git-dir", str(git_dir), "log", *options, f"{old}..{new}", variables=objects)
    rows = lines(shown)
    found = [row.split("\0") for row in rows]
    return [CommitLine(row[0], row[1], row[2], float(row[3])) for row in found if len(row) == 4]


def has_commit(git_dir: Path, commit: str, inside: str) -> bool:
    """Whether a commit is part of the history of another."""
    return ask(git_dir, "merge-base", "--is-ancestor", commit, inside).returncode == 0


def is_signed(git_dir: Path) -> bool:
    """Whether the user's git signs every commit."""
    return ask(git_dir, "config", "--type=bool", "--get", "commit.gpgSign").stdout.strip() == "true"


def commit_tree(
    git_dir: Path,
    tree: str,
    parents: Sequence[str],
    message: str,
    *,
    signs: bool = False,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Make a commit with the user's own name."""
    options = [part for parent in parents for part in ("-p", parent)]
    return output(
        git_dir,
        *("--git-dir", str(git_dir), "commit-tree", tree, *options),
        *(["-S"] if signs else []),
        *("-F", "-"),
        stdin=message,
        variables=variables,
        # Only a trusted git runs the program that signs.
        trusted=signs,
    ).strip()


def merged(git_dir: Path, base: str, head: str, message: str, *, signs: bool) -> BuiltCommit:
    """A merge commit of a branch's tip and the work."""
    [result] = merge_pairs(git_dir, [(base, head)], base=base)
    if not result.is_clean:
        return BuiltCommit("", head, base)
    return BuiltCommit(commit_tree(git_dir, result.tree, [base, head], message, signs=signs))


def squashed(git_dir: Path, base: str, head: str, message: str, *, signs: bool) -> BuiltCommit:
    """One commit on a branch's tip with all of the work."""
    [result] = merge_pairs(git_dir, [(base, head)], base=base)
    if not result.is_clean:
        return BuiltCommit("", head, base)
    return BuiltCommit(commit_tree(git_dir, result.tree, [base], message, signs=signs))


def rebased(git_dir: Path, base: str, head: str, *, signs: bool) -> BuiltCommit:
    """The work's commits one by one on a branch's tip: authors, dates and messages stay, merges and empty ones go."""
    onto = base
    listed = lines(query(git_dir, "rev-list", "--reverse", "--topo-order", "--no-merges", f"{base}..{head}"))
    for commit in listed:
        onto_tree, tree = tree_of(git_dir, onto), tree_of(git_dir, commit)
        parent = ask(git_dir, "rev-parse", "-q", "--verify", f"{commit}^").stdout.strip()
        before = tree_of(git_dir, parent) if parent else query(git_dir, "mktree").strip()
        ours, theirs = _siblings(git_dir, before, tree, onto_tree)
        [result] = merge_pairs(git_dir, [(theirs, ours)], base=base)
        if not result.is_clean:
            return BuiltCommit("", ours, theirs, _format(git_dir, commit, "%s"))
        if result.tree == onto_tree and tree != before:
            continue
        onto = _picked(git_dir, commit, result.tree, onto, signs=signs)
    return BuiltCommit(onto)


def _siblings(git_dir: Path, before: str, *trees: str) -> list[str]:
    """Commits of trees whose common parent is a commit of another tree, so that git merges them with that as the base."""
    root = _helper(git_dir, before)
    return [_helper(git_dir, tree, root) for tree in trees]


def _helper(git_dir: Path, tree: str, *parents: str) -> str:
    return commit_tree(git_dir, tree, parents, "merge in memory\n", variables=_HELPER)


def snapshot_commit(git_dir: Path, tree: str, parents: Sequence[str], objects: Mapping[str, str]) -> str:
    """A commit of a tree that is only compared, the same for the same tree and parents."""
    return commit_tree(git_dir, tree, parents, "snapshot\n", variables={**_HELPER, **objects})


def _picked(git_dir: Path, commit: str, tree: str, onto: str, *, signs: bool) -> str:
    name, mail, date = _format(git_dir, commit, "%an%x00%ae%x00%ad", "--date=raw").split("\0")
    author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail, "GIT_AUTHOR_DATE": date}
    return commit_tree(git_dir, tree, [onto], _format(git_dir, commit, "%B"), signs=signs, variables=author)


def _format(git_dir: Path, commit: str, form: str, *options: str) -> str:
    shown = query(git_dir, "log", "-1", "--no-show-signature", f"--format={form}", *options, commit)
    return shown.removesuffix("\n")


def reverted(git_dir: Path, tip: str, old: str, new: str, message: str, *, signs: bool) -> BuiltCommit:
    """A commit on a branch's tip that takes back what was done from `old` to `new`."""
    trees = [tree_of(git_dir, one) for one in (new, tip, old)]
    ours, theirs = _siblings(git_dir, *trees)
    [result] = merge_pairs(git_dir, [(ours, theirs)], base=tip)
    if not result.is_clean:
        return BuiltCommit("", ours, theirs)
    return BuiltCommit(commit_tree(git_dir, result.tree, [tip], message, signs=signs))


def keep_undone(git_dir: Path, name: str, commit: str) -> None:
    """Keep what a landing had made under a hidden ref: merged files and what hooks have changed are nowhere else."""
    query(git_dir, "update-ref", "--no-deref", f"refs/fleet/undone/{name}", commit)


def with_trailers(message: str, trailers: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
    """A message that ends with these trailers, as far as it does not have them."""
    pairs = list(trailers.items()) if isinstance(trailers, Mapping) else list(trailers)
    text = message.strip()
    new = [f"{key}: {value}" for key, value in pairs if f"{key}: {value}" not in text.splitlines()]
    if not new:
        return f"{text}\n"
    last = text.rpartition("\n\n")[2].splitlines() if "\n\n" in text else []
    joint = "\n" if last and all(map(_TRAILER.fullmatch, last)) else "\n\n"
    return text + joint + "\n".join(new) + "\n"


def co_authors(git_dir: Path, base: str, head: str) -> list[str]:
    """Who the commits of the work name as co-authors."""
    said = query(git_dir, "log", "--no-show-signature", f"--format={_CO_AUTHORS}", f"{base}..{head}")
    return list(dict.fromkeys(line.strip() for line in lines(said) if line.strip()))


def message_of(git_dir: Path, commit: str) -> str:
    return _format(git_dir, commit, "%B").strip()
