"""What an agent could start from: the branches and tags of a repository, and how much a checkout of one would hold.

Only asks, and never the network.
"""

from __future__ import annotations

from fleet_tui.git.creation import resolve
from fleet_tui.git.program import lines, query, run
from fleet_tui.git.repository import Repository
from fleet_tui.models import Base

MOST = 500
"""Bases offered; the newest of them."""
_FIELDS = (
    *("refname", "refname:short"),
    *("objectname", "*objectname"),
    *("committerdate:unix", "*committerdate:unix"),
    *("contents:subject", "*contents:subject"),
)
"""Those with a star are of the commit that an annotated tag names. A short name is one that git takes for that ref alone."""
_PLACES = ("refs/heads/", "refs/remotes/", "refs/tags/")


def bases(repo: Repository) -> list[Base]:
    """Branches, remote branches and tags: the one that is checked out here, then those changed last."""
    form = "%00".join(f"%({field})" for field in _FIELDS)
    wanted = ["--sort=-creatordate", f"--count={MOST}", f"--format={form}", *_PLACES]
    found = [line.split("\0") for line in lines(query(repo.git_dir, "for-each-ref", *wanted))]
    # A remote's HEAD is only another name for one of its branches.
    named = [fields for fields in found if not fields[0].endswith("/HEAD")]
    named.sort(key=lambda fields: fields[0] != f"refs/heads/{repo.head_branch}")
    return [_base(fields) for fields in named]


def _base(fields: list[str]) -> Base:
    _, name, commit, tagged, at, tagged_at, subject, tagged_subject = fields
    return Base(name, tagged or commit, tagged_subject or subject, float(tagged_at or at or 0))


def base(repo: Repository, name: str = "") -> Base:
    """The commit that an agent would start from; NotFound where that is none."""
    commit, _ = resolve(repo, name, set())
    text = query(repo.git_dir, "log", "-1", "--no-show-signature", "--format=%ct%x00%s", commit, "--")
    at, _, subject = text.removesuffix("\n").partition("\0")
    return Base(name or repo.head_branch, commit, subject, float(at))


def tree_size(repo: Repository, commit: str) -> tuple[int, int] | None:
    """How many files a checkout of a commit has, and their bytes as git has them; None where git would have to fetch
    them to know."""
    if _is_partial(repo):
        return None
    found = query(repo.git_dir, "ls-tree", "-r", "-l", "-z", "--full-tree", commit).split("\0")
    sizes = [entry.split("\t", 1)[0].split()[-1] for entry in found if entry]
    return sum(size != "-" for size in sizes), sum(int(size) for size in sizes if size != "-")


def _is_partial(repo: Repository) -> bool:
    """Whether some of its objects are still with somebody else."""
    asked = r"^(extensions\.partialclone|remote\..*\.promisor)$"
    return run(repo.git_dir, "--git-dir", str(repo.git_dir), "config", "--get-regexp", asked).returncode == 0
