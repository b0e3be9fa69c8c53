"""Bring a landing that was interrupted to before or after: files, index and locks fit the branch again.

The branch decides. It is committed last, so a branch that has moved has its files and index already. Otherwise the
files that the landing wrote are put back. A file with any other content is the user's, who changed it since, and stays.
Healing can be killed as well, and repeated.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fleet_tui.git.entries import is_work_tree_of
from fleet_tui.git.landing_checks import LandingFiles, landing_files
from fleet_tui.git.landing_note import (
    INDEX,
    MARK,
    NOTE,
    LandingNote,
    drop_note,
    exclusive,
    has_note,
    read_note,
)
from fleet_tui.git.plain import GitPlaces
from fleet_tui.git.program import COMMIT, GitFailed, ask, reason, run
from fleet_tui.system import files

REF_LOCK_SECONDS = 2.0
"""Git holds the lock of a ref for milliseconds: an older one is of a git that was killed."""
_NONE = "000000"
_LINK, _SUBMODULE = "120000", "160000"
Git = Callable[..., str]


def heal(git_dir: Path) -> str:
    """Bring an interrupted landing to before or after, which is returned; empty if there was none."""
    if not has_note(git_dir):
        return ""
    with exclusive(git_dir) as descriptor:
        return heal_locked(git_dir, descriptor)


def heal_locked(git_dir: Path, descriptor: int) -> str:
    """As `heal`, for a caller that holds the landing lock."""
    for draft in git_dir.glob(f".{NOTE}.*.new"):
        draft.unlink(missing_ok=True)
    note = read_note(git_dir)
    if note is None or not _is_plausible(git_dir, note):
        drop_note(git_dir)
        return ""
    _drop_ref_locks(git_dir, note)
    tip = ask(git_dir, "rev-parse", "-q", "--verify", f"refs/heads/{note.branch}").stdout.strip()
    # Without our lock it was never taken, or the user has deleted it and may have worked since.
    if tip == note.old and _is_ours(note):
        roll_back(git_dir, note, descriptor)
    release(git_dir, note)
    return "after" if tip == note.new else "before"


def _is_plausible(git_dir: Path, note: LandingNote) -> bool:
    """Whether a landing could have written a note: others can write there, too, and must not choose what is changed."""
    own, folder = Path(note.own), Path(note.folder)
    if not (COMMIT.fullmatch(note.old) and COMMIT.fullmatch(note.new) and own.is_dir()):
        return False
    is_name = ask(git_dir, "check-ref-format", f"refs/heads/{note.branch}").returncode == 0
    return is_name and (is_work_tree_of(git_dir, own, folder) or not os.path.lexists(folder))


def release(git_dir: Path, note: LandingNote) -> None:
    """Remove what a landing holds: its index, git's lock, and the note at last."""
    own = Path(note.own)
    for name in (INDEX, f"{INDEX}.lock"):
        (own / name).unlink(missing_ok=True)
    if _is_ours(note):
        (own / "index.lock").unlink(missing_ok=True)
    drop_note(git_dir)


def _is_ours(note: LandingNote) -> bool:
    try:
        return files.read(Path(note.own) / "index.lock", limit=len(MARK)) == MARK
    except OSError:
        return False


def _drop_ref_locks(git_dir: Path, note: LandingNote) -> None:
    """Remove the locks of an update-ref that was killed: they hold the new commit or nothing, and are no longer written."""
    for lock in (git_dir / f"refs/heads/{note.branch}.lock", Path(note.own) / "HEAD.lock"):
        with contextlib.suppress(OSError):
            if files.read(lock, limit=256).decode("ascii", "replace").strip() not in ("", note.new):
                continue
            time.sleep(max(0.0, min(REF_LOCK_SECONDS, REF_LOCK_SECONDS - time.time() + lock.stat().st_mtime)))
            lock.unlink()


# ── back to before ──


def roll_back(git_dir: Path, note: LandingNote, descriptor: int) -> None:
    """Put the old files and index entries back wherever the landing has written new ones. Needs git's index.lock."""
    place = note.place(git_dir)
    touched = landing_files(git_dir, note.old, note.new)

    def git(*arguments: str, stdin: str = "") -> str:
        done = run(
            place.work_tree, "-c", "core.fsmonitor=false", *arguments, stdin=stdin,
            variables={
                "GIT_DIR": str(place.own), "GIT_COMMON_DIR": str(git_dir), "GIT_WORK_TREE": str(place.work_tree),
                "GIT_INDEX_FILE": str(place.own / INDEX),
            },
            keep_open=(descriptor,), trusted=True,
        )  # fmt: skip
        if done.returncode:
            raise GitFailed(
                f"an interrupted landing could not be healed: {reason(done)}", hint="run: fleet doctor"
            )
        return done.stdout

    if place.work_tree.is_dir():
        _restore_files(place, note, touched, git)
    _restore_index(place, touched, git)


def _restore_files(place: GitPlaces, note: LandingNote, touched: LandingFiles, git: Git) -> None:
    _fresh_index(place)
    git("read-tree", note.old)
    kept = set(_changed_since(place, note, touched, git))
    for path in sorted(touched.added, reverse=True):
        if path not in kept:
            _remove(place.work_tree, path, is_submodule=touched.modes[path][1] == _SUBMODULE)
    back = [
        path
        for path, (mode, _) in touched.modes.items()
        if mode not in (_NONE, _SUBMODULE) and path not in kept and _has_room(place.work_tree, path)
    ]
    # Attributes first: they decide how the others are written.
    rules = [path for path in back if path.rpartition("/")[2] == ".gitattributes"]
    for some in (rules, back):
        if some:
            git("checkout-index", "-f", "-q", "-z", "--stdin", stdin="\0".join(some) + "\0")


def _fresh_index(place: GitPlaces) -> None:
    for name in (INDEX, f"{INDEX}.lock"):
        (place.own / name).unlink(missing_ok=True)


def _changed_since(place: GitPlaces, note: LandingNote, touched: LandingFiles, git: Git) -> Iterable[str]:
    """Files whose content the landing has neither found nor written, not even a part of it."""
    folder = place.work_tree
    regular = [path for path in touched.modes if _is_regular(folder / path)]
    hashes = dict(zip(regular, _hashes(regular, git), strict=True))
    for path, blobs in touched.blobs.items():
        whole = folder / path
        if whole.is_symlink():
            hashes[path] = git("hash-object", "--stdin", stdin=str(whole.readlink())).strip()
        if path in hashes and hashes[path] not in blobs and not _is_begun(whole, note, path, touched, git):
            yield path


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _hashes(paths: Sequence[str], git: Git) -> list[str]:
    """The objects that git would store for these files, with their filters."""
    if any("\n" in path or path.startswith('"') for path in paths):
        return [git("hash-object", "--", path).strip() for path in paths]
    return git("hash-object", "--stdin-paths", stdin="".join(f"{path}\n" for path in paths)).split()


def _is_begun(file: Path, note: LandingNote, path: str, touched: LandingFiles, git: Git) -> bool:
    """Whether a file holds the beginning of what git was writing when it was killed."""
    if not _is_regular(file) or touched.modes[path][1] in (_NONE, _LINK, _SUBMODULE):
        return False
    content = file.read_bytes()
    written = git("cat-file", "--filters", f"{note.new}:{path}").encode("utf-8", "surrogateescape")
    return len(content) < len(written) and written.startswith(content)


def _remove(folder: Path, path: str, *, is_submodule: bool) -> None:
    """Delete a file that the landing added, and the folders that are empty then."""
    with contextlib.suppress(OSError):
        if not is_submodule and not (folder / path).is_dir():
            (folder / path).unlink()
        elif is_submodule:
            (folder / path).rmdir()
    parent = os.path.dirname(path)  # noqa: PTH120 - paths of a repository, not of this system
    with contextlib.suppress(OSError):
        while parent:
            (folder / parent).rmdir()
            parent = os.path.dirname(parent)  # noqa: PTH120 - as above


def _has_room(folder: Path, path: str) -> bool:
    """Whether a file can be written without removing anything else: git would delete a whole folder in its place."""
    whole = folder / path
    if whole.is_dir() and not whole.is_symlink():
        return False
    parents = list(whole.relative_to(folder).parents)[:-1]
    return not any((folder / one).is_symlink() or (folder / one).is_file() for one in parents)


def _restore_index(place: GitPlaces, touched: LandingFiles, git: Git) -> None:
    index = place.own / "index"
    _fresh_index(place)
    if not index.exists():
        return
    # With its time: git checks the content of files that are not older than the index.
    shutil.copy2(index, place.own / INDEX)
    rows = [row.partition("\t") for row in git("ls-files", "-s", "-z").split("\0") if row]
    found = {path: tuple(facts.split(" ")[:2]) for facts, _, path in rows if path in touched.modes}
    new = {path: (mode, touched.blobs[path][1]) for path, (_, mode) in touched.modes.items() if mode != _NONE}
    if found == new:
        lines = [
            f"{'0' if mode == _NONE else mode} {touched.blobs[path][0]}\t{path}"
            for path, (mode, _) in touched.modes.items()
        ]
        # Removals first: a path may be a file before and a folder after.
        lines.sort(key=lambda line: not line.startswith("0 "))
        git("update-index", "-z", "--index-info", stdin="\0".join(lines) + "\0")
    run(
        place.work_tree, "-c", "core.fsmonitor=false", "update-index", "-q", "--refresh",
        variables={
            "GIT_DIR": str(place.own), "GIT_COMMON_DIR": str(place.git_dir),
            "GIT_WORK_TREE": str(place.work_tree), "GIT_INDEX_FILE": str(place.own / INDEX),
        },
        trusted=True,
    )  # fmt: skip
    (place.own / INDEX).replace(index)
