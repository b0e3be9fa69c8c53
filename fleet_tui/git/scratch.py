"""Objects that a repository must not keep: trees of worktrees that are only compared, and merges that are only tried.

Git writes them to a folder of ours in the cache, with the repository's own objects as alternates, so that a repository
does not grow by being looked at. The folder also has an index per worktree, in which git only updates what has changed.
Everything in it can be made again. It is emptied when it is over its limit, by whoever uses it alone at that moment.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path

from fleet_tui import paths
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.entries import read_line, remove_tree, write
from fleet_tui.git.program import GitFailed

MOST = 512 << 20
"""Bytes; above this, the folder is emptied when nobody else uses it."""
MEASURE_SECONDS = 60.0
"""How often the folder is measured, which takes a while with many objects; the time of the lock says when it was."""
_TRIED = "tried-"


@dataclass(frozen=True, slots=True)
class ScratchObjects:
    """An object folder of ours beside a repository's own."""

    folder: Path
    git_dir: Path
    generation: str = ""
    """Changes when the folder was emptied: objects and indexes of before are gone."""

    @property
    def variables(self) -> Mapping[str, str]:
        """What makes git write its objects here, and read those of the repository as well."""
        return _variables(self.folder / "objects", self.git_dir / "objects")

    def index(self, key: str) -> Path:
        """The index of the worktree with that key; it may not exist yet."""
        return self.folder / f"index-{key}"

    @contextlib.contextmanager
    def throwaway(self) -> Iterator[Mapping[str, str]]:
        """Variables for merges that are only tried: git reads these objects, and what it writes is removed afterwards."""
        import tempfile

        with tempfile.TemporaryDirectory(
            prefix=_TRIED, dir=self.folder, ignore_cleanup_errors=True
        ) as drafts:
            yield _variables(Path(drafts), self.folder / "objects", self.git_dir / "objects")

    def write_commit(self, tree: str, parent: str) -> str:
        """Write a commit that is the same for the same tree and parent; returns its id.

        Written without git, because starting it takes longer than everything else about a commit.
        """
        import hashlib
        import zlib

        lines = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
        lines += [f"{who} fleet-tui <fleet-tui@localhost> 0 +0000" for who in ("author", "committer")]
        body = "\n".join([*lines, "", "snapshot", ""]).encode()
        content = b"commit %d\0%s" % (len(body), body)
        # The length of an id says which hash the repository uses; no secret depends on it.
        digest = hashlib.sha1 if len(tree) == 40 else hashlib.sha256
        name = digest(content).hexdigest()
        path = self.folder / "objects" / name[:2] / name[2:]
        if not path.exists():
            paths.private(path.parent)
            draft = path.with_name(f"tmp_obj_{os.getpid()}-{os.urandom(4).hex()}")
            draft.write_bytes(zlib.compress(content))
            draft.replace(path)
        return name


@contextlib.contextmanager
def scratch_objects(git_dir: Path) -> Iterator[ScratchObjects]:
    """The scratch objects of a repository, which stay while this is open."""
    import hashlib

    digest = hashlib.sha256(os.fsencode(git_dir)).hexdigest()[:16]
    with contextlib.ExitStack() as opened:
        try:
            folder = paths.private(paths.cache() / "objects" / digest)
            held = opened.enter_context((folder / "lock").open("ab", buffering=0))
            _share(folder, held)
            found = ScratchObjects(folder, git_dir, _generation(folder))
        except OSError as error:
            raise cannot_write(error) from error
        yield found


def cannot_write(error: OSError) -> GitFailed:
    """The error for a cache that cannot be written."""
    return GitFailed(
        f"cannot write to {error.filename}: {error.strerror}",
        hint="free some space, or check its permissions",
    )


def _share(folder: Path, held: FileIO) -> None:
    """Take a share of the lock, after tidying the folder if nobody else uses it."""
    is_due = time.time() - os.fstat(held.fileno()).st_mtime > MEASURE_SECONDS or not held.tell()
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _tidy(folder, is_due=is_due)
        if is_due:
            held.truncate(0)
            held.write(b"measured\n")
    fcntl.flock(held, fcntl.LOCK_SH)
    paths.private(folder / "objects")


def _generation(folder: Path) -> str:
    """A random word that is made with the objects, and removed with them."""
    path = folder / "objects" / "generation"
    known = read_line(path)
    if known:
        return known
    with contextlib.suppress(FileExistsError):
        draft = path.with_name(f"{path.name}-{os.urandom(4).hex()}")
        write(draft, f"{os.urandom(8).hex()}\n")
        try:
            os.link(draft, path)
        finally:
            draft.unlink()
    return read_line(path)


def _tidy(folder: Path, *, is_due: bool) -> None:
    """Remove what killed processes have left, and everything if it is too much. Nobody else may use the folder."""
    for left in folder.glob(f"{_TRIED}*"):
        remove_tree(left)
    if is_due and _size(folder) > MOST:
        for index in folder.glob("index-*"):
            index.unlink(missing_ok=True)
        remove_tree(folder / "objects")


def _size(folder: Path) -> int:
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += (Path(parent) / name).lstat().st_size
    return size


def _variables(written: Path, *read: Path) -> Mapping[str, str]:
    return {
        "GIT_OBJECT_DIRECTORY": str(written),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(map(_quoted, read)),
    }


def _quoted(folder: Path) -> str:
    """Git separates these folders with colons, and reads one in quotes as a whole."""
    return '"{}"'.format(str(folder).replace("\\", "\\\\").replace('"', '\\"'))
