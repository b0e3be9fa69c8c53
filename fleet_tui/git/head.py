"""HEAD of a worktree: read and set it through the repository's entry, without git unless refs are in a reftable."""

from __future__ import annotations

import re

from fleet_tui.git.entries import WorktreeEntry, read_line, write
from fleet_tui.git.program import COMMIT, ask, lines, query, run

_REF = re.compile(r"ref: refs/[^\0-\x20\x7f~^:?*\[\\]{1,1000}")
PACKED_MOST = 256 << 20
"""A larger packed-refs file is left to git."""


def is_readable(admin: WorktreeEntry) -> bool:
    """Whether git can read HEAD, and does not take the entry for no repository at all."""
    text = "" if (admin.folder / "HEAD").is_symlink() else read_line(admin.folder / "HEAD")
    return bool(COMMIT.fullmatch(text) or (_REF.fullmatch(text) and ".." not in text))


def _uses_reftable(admin: WorktreeEntry) -> bool:
    return (admin.git_dir / "reftable").is_dir()


def read_head(admin: WorktreeEntry) -> tuple[str, str]:
    """The commit and the branch of HEAD; either may be empty."""
    if not is_readable(admin):
        return "", ""
    text = read_line(admin.folder / "HEAD")
    if _uses_reftable(admin):
        text = ask(admin.folder, "symbolic-ref", "-q", "HEAD").stdout.strip()
        text = f"ref: {text}" if text else query(admin.folder, "rev-parse", "HEAD").strip()
    if not text.startswith("ref: "):
        return text, ""
    ref = text.removeprefix("ref: ")
    return _commit_of(admin, ref), ref.removeprefix("refs/heads/")


def _commit_of(admin: WorktreeEntry, ref: str) -> str:
    try:
        loose = read_line(admin.git_dir / ref)
        packed = read_line(admin.git_dir / "packed-refs", PACKED_MOST) if not loose else ""
    except OSError:
        return ""
    if COMMIT.fullmatch(loose):
        return loose
    if not loose and not _uses_reftable(admin) and len(packed) < PACKED_MOST:
        return next((line.partition(" ")[0] for line in lines(packed) if line.endswith(f" {ref}")), "")
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
