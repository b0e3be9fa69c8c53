"""The base branch of a repository: what its main work tree has checked out, and what agents' work usually goes into."""

from __future__ import annotations

from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.plain import file_stamp
from fleet_tui.git.program import COMMIT, ask, lines

_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class BaseBranch:
    """A branch and its newest commit."""

    name: str
    """Empty while no branch is checked out."""
    commit: str


def base_branch(git_dir: Path) -> BaseBranch | None:
    """What the main work tree has checked out, or HEAD of a bare repository; None before the first commit."""
    found = lines(ask(git_dir, "rev-parse", "-q", "--verify", "HEAD").stdout)
    if not found or not COMMIT.fullmatch(found[0]):
        return None
    name = ask(git_dir, "symbolic-ref", "-q", "HEAD").stdout.strip()
    return BaseBranch(name.removeprefix(_HEADS), found[0])


def base_stamp(git_dir: Path, base: BaseBranch | None) -> tuple[object, ...]:
    """Differs once `base_branch` may answer something else; as cheap as a few calls of stat."""
    name = base.name if base is not None else ""
    files = ("HEAD", "packed-refs", "reftable/tables.list", *([f"{_HEADS}{name}"] if name else ["logs/HEAD"]))
    return tuple(map(file_stamp, (git_dir / file for file in files)))
