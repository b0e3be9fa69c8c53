"""Start points of a repository: its branches and tags, and the size of their checkouts. Only reads, without network."""

from __future__ import annotations

from fleet_tui.git.creation import resolve
from fleet_tui.git.program import lines, query, run
from fleet_tui.git.repository import Repository
from fleet_tui.models import StartPoint

MOST = 500
"""How many start points are offered, the newest first."""
_FIELDS = (
    *("refname", "refname:short"),
    *("objectname", "*objectname"),
    *("committerdate:unix", "*committerdate:unix"),
    *("contents:subject", "*contents:subject"),
)
"""Fields with a star are about the commit of an annotated tag. A short name is unambiguous among all refs."""
_PLACES = ("refs/heads/", "refs/remotes/", "refs/tags/")


def start_points(repo: Repository) -> list[StartPoint]:
    """Branches, remote branches and tags: the checked-out branch first, then the most recently changed."""
    form = "%00".join(f"%({field})" for field in _FIELDS)
    wanted = ["--sort=-creatordate", f"--count={MOST}", f"--format={form}", *_PLACES]
    found = [line.split("\0") for line in lines(query(repo.git_dir, "for-each-ref", *wanted))]
    # A remote's HEAD is an alias of one of its branches.
    named = [fields for fields in found if not fields[0].endswith("/HEAD")]
    named.sort(key=lambda fields: fields[0] != f"refs/heads/{repo.head_branch}")
    return [_start_point(fields) for fields in named]


def _start_point(fields: list[str]) -> StartPoint:
    _, name, commit, tagged, at, tagged_at, subject, tagged_subject = fields
    return StartPoint(name, tagged or commit, tagged_subject or subject, float(tagged_at or at or 0))


def start_point(repo: Repository, name: str = "") -> StartPoint:
    """The commit that a name stands for, or HEAD. Raises NotFound if there is none."""
    commit, _ = resolve(repo, name, set())
    text = query(repo.git_dir, "log", "-1", "--no-show-signature", "--format=%ct%x00%s", commit, "--")
    at, _, subject = text.removesuffix("\n").partition("\0")
    return StartPoint(name or repo.head_branch, commit, subject, float(at))


def tree_size(repo: Repository, commit: str) -> tuple[int, int] | None:
    """The number of files in a commit and their size in bytes, before filters; None in a partial clone, where git would
    have to fetch them."""
    if _is_partial(repo):
        return None
    found = query(repo.git_dir, "ls-tree", "-r", "-l", "-z", "--full-tree", commit).split("\0")
    sizes = [entry.split("\t", 1)[0].split()[-1] for entry in found if entry]
    return sum(size != "-" for size in sizes), sum(int(size) for size in sizes if size != "-")


def _is_partial(repo: Repository) -> bool:
    """Whether it is a partial clone, with some objects only on a remote."""
    asked = r"^(extensions\.partialclone|remote\..*\.promisor)$"
    return run(repo.git_dir, "--git-dir", str(repo.git_dir), "config", "--get-regexp", asked).returncode == 0
