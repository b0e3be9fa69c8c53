"""HEAD of a worktree: read and set it through the repository's entry, without git unless refs are in a reftable."""

from __future__ import annotations

from fleet_tui.git.entries import WorktreeEntry, read_line, write
from fleet_tui.git.program import COMMIT, ask, lines, query, run


def _uses_reftable(admin: WorktreeEntry) -> bool:
    return (admin.git_dir / "reftable").is_dir()


def read_head(admin: WorktreeEntry) -> tuple[str, str]:
    """The commit and the branch of HEAD; either may be empty."""
    text = read_line(admin.folder / "HEAD")
    if _uses_reftable(admin):
        text = ask(admin.folder, "symbolic-ref", "-q", "HEAD").stdout.strip()
        text = f"ref: {text}" if text else query(admin.folder, "rev-parse", "HEAD").strip()
    if not text.startswith("ref: "):
        return text, ""
    ref = text.removeprefix("ref: ")
    return _commit_of(admin, ref), ref.removeprefix("refs/heads/")


def _commit_of(admin: WorktreeEntry, ref: str) -> str:
    loose = read_line(admin.git_dir / ref)
    if COMMIT.fullmatch(loose):
        return loose
    if not loose and not _uses_reftable(admin):
        packed = lines(read_line(admin.git_dir / "packed-refs"))
        return next((line.partition(" ")[0] for line in packed if line.endswith(f" {ref}")), "")
    return run(
        admin.folder, "--git-dir", str(admin.folder), "rev-parse", "-q", "--verify", ref
    ).stdout.strip()


def set_head(admin: WorktreeEntry, text: str) -> None:
    if not _uses_reftable(admin):
        write(admin.folder / "HEAD", f"{text}\n")
    elif text.startswith("ref: "):
        query(admin.folder, "symbolic-ref", "HEAD", text.removeprefix("ref: "))
    else:
        query(admin.folder, "update-ref", "--no-deref", "HEAD", text)
