"""Merge commits in memory: which pairs merge, into which tree, and what conflicts. No work tree is touched.

Git gets none of the repository's configuration (see `plain`), so no merge driver or filter of it is run: a file that wants
a configured driver counts as a conflict. Attributes are those of the base alone, so that `merge=union` is seen; git reads
them from a folder that holds nothing else.
"""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.plain import GitPlaces, merge_drivers, run_plain
from fleet_tui.git.program import GitFailed, ask, output, reason

SECONDS = 120.0
NEEDED = (2, 39)
"""The git that can merge many pairs in memory, with one process."""
OLD_GIT = "this git cannot merge in memory; 2.39 can"


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The outcome of merging two commits."""

    tree: str
    """The merged tree; empty if they conflict."""
    paths: tuple[str, ...] = ()
    """The files that conflict."""

    @property
    def is_clean(self) -> bool:
        return bool(self.tree)


@functools.cache
def can_merge_in_memory() -> bool:
    """Whether git is new enough. Asked once per process."""
    found = re.search(r"(\d+)\.(\d+)", output(Path("/"), "version"))
    return found is not None and (int(found[1]), int(found[2])) >= NEEDED


def merge_pairs(
    git_dir: Path,
    pairs: Sequence[tuple[str, str]],
    *,
    base: str,
    objects: Mapping[str, str] | None = None,
) -> list[MergeResult]:
    """Merge pairs of commits, given by full ids, with the attributes of a commit `base`; all in one process.

    Objects go to the repository, or where `objects` says. Raises GitFailed if git is older than 2.39.
    """
    done = run_merge(
        git_dir,
        base,
        *("merge-tree", "--write-tree", "--stdin", "--name-only", "--no-messages"),
        objects=objects,
        stdin="".join(f"{one} {other}\n" for one, other in pairs),
    )
    found = list(_results(done.stdout))
    if done.returncode or len(found) != len(pairs):
        raise GitFailed(
            reason(done) if done.stderr else "git merge-tree stopped half-way", hint="git 2.39 can"
        )
    return found


def _results(text: str) -> Iterator[MergeResult]:
    fields = iter(text.split("\0"))
    for state in fields:
        if not state:
            continue
        tree = next(fields, "")
        paths = tuple(iter(lambda: next(fields, ""), ""))
        # With --stdin, 1 is clean and 0 a conflict; the exit code says nothing.
        yield MergeResult(tree if state == "1" else "", paths)


def run_merge(
    git_dir: Path, base: str, *arguments: str, objects: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a git command that merges in memory, with the attributes of `base` and without the repository's configuration."""
    with tempfile.TemporaryDirectory(prefix="fleet-merge-") as folder:
        rules = _attributes(git_dir, base)
        Path(folder, ".gitattributes").write_text(rules, encoding="utf-8", errors="surrogateescape")
        place = GitPlaces(git_dir, git_dir, Path(folder))
        # What a configured driver would do is not known: it fails, which counts as a conflict.
        drivers_off = [part for key in merge_drivers(place) for part in ("-c", f"{key}=false")]
        options = ("-c", "merge.default=text", *drivers_off)
        return run_plain(place, *options, *arguments, variables=objects, stdin=stdin, seconds=SECONDS)


@functools.lru_cache(maxsize=64)
def _attributes(git_dir: Path, commit: str) -> str:
    """The attributes of a commit, which never change."""
    return ask(git_dir, "cat-file", "blob", f"{commit}:.gitattributes").stdout
