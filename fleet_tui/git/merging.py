"""Merge commits in memory: which pairs merge, into which tree, and what conflicts. No work tree is touched.

No merge driver that a configuration names is run: a file that wants one counts as a conflict. Attributes are those of the
base alone, so that `merge=union` is seen; git reads them from a folder that holds nothing else.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.program import GitFailed, ask, reason, run


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
    with merge_environment(git_dir, base) as (rules, options):
        done = run(
            rules,
            *options,
            *("merge-tree", "--write-tree", "--stdin", "--name-only", "--no-messages"),
            variables=objects,
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


def _drivers_off(git_dir: Path) -> list[str]:
    """Options that make every configured merge driver fail, which counts as a conflict."""
    listed = ask(git_dir, "config", "--name-only", "--null", "--get-regexp", r"^merge\..*\.driver$").stdout
    return [part for key in sorted(set(listed.split("\0"))) if key for part in ("-c", f"{key}=false")]


@contextmanager
def merge_environment(git_dir: Path, base: str) -> Iterator[tuple[Path, list[str]]]:
    """A folder to merge in, and the options that give git the attributes of `base` and none of the configured programs."""
    with tempfile.TemporaryDirectory(prefix="fleet-merge-") as folder:
        rules = ask(git_dir, "cat-file", "blob", f"{base}:.gitattributes").stdout
        Path(folder, ".gitattributes").write_text(rules, encoding="utf-8", errors="surrogateescape")
        yield (
            Path(folder),
            [
                *("--git-dir", str(git_dir), "--work-tree", folder),
                # Renormalizing would run the filters that attributes and configuration name.
                *("-c", "merge.default=text", "-c", "merge.renormalize=false", *_drivers_off(git_dir)),
            ],
        )
