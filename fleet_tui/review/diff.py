"""The diff of an agent's work: committed and uncommitted changes against its base, or against another agent.

Files are read where they are: in the worktree, for a killed agent in the trash, and after that from the ref or branch that
keeps its work. Hunks are read from the comparison that was made last, as long as the file has not changed since: a review
shows one file after the other, and comparing whole worktrees for each would take too long.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.models import Agent, Status
from fleet_tui.store.database import Store
from fleet_tui.work import ChangedFile, Diff, FileDiff, Side

KEPT_SECONDS = 60.0
"""How long hunks are read from a comparison; then it is made again, because base and branches move, too."""
SHOWN_SECONDS = 900.0
"""How long a comment is taken to be about the comparison that was made last: its writer is looking at that one."""
TICK_SECONDS = 0.5
"""Two changes of a file that are closer than this may have the same time."""
MOST_NAMED = 100_000
"""Characters of paths that git gets: a command line is limited."""
MOST_KEPT = 32
"""Comparisons that are remembered."""


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """Where an agent's files are."""

    git_dir: Path
    place: git.GitPlaces | None = None
    """Its work tree, also in the trash; None if only a commit has its work."""
    commit: str = ""
    """Without a work tree: the commit with its work."""


FindTrashed = Callable[[Agent], WorkPlace | None]
"""Finds the work of a killed agent."""


@dataclass(frozen=True, slots=True)
class OpenDiff:
    """The trees of a diff, for as long as their objects can be read."""

    diff: Diff
    git_dir: Path
    objects: Mapping[str, str]
    folders: tuple[Path, ...] = ()
    """The work trees that were read."""

    def patch(self, names: Sequence[str] = (), *, context: int = 3) -> str:
        if names and not (names := self._paths(names)):
            return ""
        diff = self.diff
        return git.patch(self.git_dir, diff.old, diff.new, names, context=context, objects=self.objects)

    def stat(self, width: int, names: Sequence[str] = ()) -> str:
        if names and not (names := self._paths(names)):
            return ""
        diff = self.diff
        return git.stat_text(self.git_dir, diff.old, diff.new, names, width=width, objects=self.objects)

    def selected(self, names: Sequence[str]) -> Diff:
        """The diff of some files and folders alone."""
        wanted = self._relative(names)
        return (
            replace(self.diff, files=tuple(one for one in self.diff.files if _is_in(one, wanted)))
            if names
            else self.diff
        )

    def _paths(self, names: Sequence[str]) -> Sequence[str]:
        """The paths of the selected files, also those before a rename; the names themselves if these are too many."""
        files = self.selected(names).files
        paths = [path for one in files for path in (one.old_path, one.path) if path]
        return paths if sum(map(len, paths)) <= MOST_NAMED else self._relative(names)

    def _relative(self, names: Sequence[str]) -> list[str]:
        """Paths from the top of the worktree, as git has them."""
        found = []
        for name in names:
            path = os.path.normpath(name)
            for folder in self.folders:
                if path.startswith(f"{folder}/") or path == str(folder):
                    path = os.path.relpath(path, folder)
            found.append(path)
        return found

    def file(self, path: str) -> ChangedFile:
        for one in self.diff.files:
            if one.path == path:
                return one
        raise NotFound(f"{path!r} has not changed", hint="fleet diff AGENT --name-only lists what has")

    def texts(self, wanted: Iterable[tuple[str, Side]]) -> dict[tuple[str, Side], str | None]:
        """The texts of files by path and side; None for one that is not there, or is no text."""
        renamed = {one.path: one.old_path for one in self.diff.files if one.old_path}
        found: dict[tuple[str, Side], str | None] = {}
        for path, side in wanted:
            tree, name = (self.diff.new, path) if side == "new" else (self.diff.old, renamed.get(path, path))
            found[path, side] = git.file_text(self.git_dir, tree, name, objects=self.objects)
        return found

    def file_diff(self, path: str, *, context: int = 3) -> FileDiff:
        diff = self.diff
        return git.file_diff(
            self.git_dir, diff.old, diff.new, self.file(path), context=context, objects=self.objects
        )


def _is_in(file: ChangedFile, names: Sequence[str]) -> bool:
    return any(
        name == "." or path == name or path.startswith(f"{name}/")
        for name in names
        for path in (file.path, file.old_path)
    )


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A diff that was made in this process."""

    diff: Diff
    git_dir: Path
    folders: tuple[Path, ...]
    """The work trees that were read."""
    at: float


_made: dict[tuple[str, str], _Comparison] = {}


@contextmanager
def opened(
    store: Store,
    agent: Agent,
    against: Agent | str = "",
    *,
    counts: bool = True,
    find_trashed: FindTrashed = lambda _: None,
) -> Iterator[OpenDiff]:
    """Compare an agent's files with its base, another agent's files, or a commit by name."""
    began = time.time()
    here = work_place(store, agent, find_trashed)
    git_dir = here.git_dir
    with git.scratch_objects(git_dir) as scratch:
        new, committed, left_out = _files(here, scratch, agent.id)
        folders = [here.place.work_tree] if here.place else []
        if isinstance(against, Agent):
            there = work_place(store, against, find_trashed)
            if os.path.realpath(there.git_dir) != os.path.realpath(git_dir):
                raise Refused(
                    f"{against.name} belongs to another repository",
                    hint=f"it is an agent of {against.project}",
                )
            old, label = _files(there, scratch, against.id)[0], against.name
            folders += [there.place.work_tree] if there.place else []
        else:
            old, label = _start(git_dir, agent, against, committed)
        files = git.changed_files(git_dir, old, new, counts=counts, objects=scratch.variables)
        unsaved = set()
        if here.place and committed:
            unsaved = {
                one.path
                for one in git.changed_files(git_dir, committed, new, counts=False, objects=scratch.variables)
            }
        marked = tuple(
            replace(one, is_uncommitted=True) if one.path in unsaved or not committed else one
            for one in files
        )
        diff = Diff(agent.id, label, old, new, marked, left_out)
        _keep(agent, against, _Comparison(diff, git_dir, tuple(folders), began))
        yield OpenDiff(diff, git_dir, scratch.variables, tuple(folders))


def file_diff(
    store: Store,
    agent: Agent,
    path: str,
    against: Agent | str = "",
    *,
    context: int = 3,
    find_trashed: FindTrashed = lambda _: None,
) -> FileDiff:
    """The changed lines of one file, from the last comparison if the file is as it was then."""
    known = _known(agent, against, [path])
    if known is not None and any(one.path == path for one in known.diff.files):
        # Its objects may be gone.
        with contextlib.suppress(git.GitFailed), _again(known) as found:
            return found.file_diff(path, context=context)
    with opened(store, agent, against, counts=False, find_trashed=find_trashed) as found:
        return found.file_diff(path, context=context)


def shown_text(
    store: Store,
    agent: Agent,
    path: str,
    side: Side,
    against: Agent | str = "",
    *,
    find_trashed: FindTrashed = lambda _: None,
) -> str | None:
    """The text of a file on one side, as of the comparison that was made last; None if there is none."""
    made = _made.get(_key(agent, against))
    if made is not None and 0 <= time.time() - made.at < SHOWN_SECONDS:
        with contextlib.suppress(git.GitFailed), _again(made) as found:
            return found.texts([(path, side)])[path, side]
    with opened(store, agent, against, counts=False, find_trashed=find_trashed) as found:
        return found.texts([(path, side)])[path, side]


def texts_now(
    store: Store,
    agent: Agent,
    wanted: Iterable[tuple[str, Side]],
    against: Agent | str = "",
    *,
    find_trashed: FindTrashed = lambda _: None,
) -> dict[tuple[str, Side], str | None]:
    """The texts of files by path and side, as they are now; None for one that is not there, or is no text."""
    names = list(wanted)
    known = _known(agent, against, [path for path, _ in names])
    if known is not None:
        with contextlib.suppress(git.GitFailed), _again(known) as found:
            return found.texts(names)
    with opened(store, agent, against, counts=False, find_trashed=find_trashed) as found:
        return found.texts(names)


# ── where the files are ──


def work_place(store: Store, agent: Agent, find_trashed: FindTrashed = lambda _: None) -> WorkPlace:
    """Where an agent's files are. Raises NotFound if nothing of its work is left, or there never was any."""
    git_dir = store.agents.git_dirs([agent]).get(agent.id)
    if git_dir is not None and agent.has_worktree and Path(agent.worktree).is_dir():
        return WorkPlace(git_dir, git.place_of(git_dir, Path(agent.worktree), agent.id))
    if git_dir is not None and agent.status is Status.KILLED:
        found = find_trashed(agent)
        if found is not None:
            return found
    if git_dir is not None and agent.status not in {Status.SETUP, Status.FAILED}:
        with contextlib.suppress(FleetError):
            return WorkPlace(git_dir, commit=git.commit_of(git_dir, f"refs/heads/{agent.branch}"))
    raise NotFound(
        f"{agent.name} has no worktree and no branch", hint="fleet trash lists what can be restored"
    )


def git_dir_of(store: Store, agent: Agent) -> Path:
    found = store.agents.git_dirs([agent]).get(agent.id)
    if found is None or not agent.has_worktree:
        raise NotFound(f"{agent.name} has no worktree", hint=f"fleet undo {agent.name} restores a killed one")
    return found


def _files(here: WorkPlace, scratch: git.ScratchObjects, key: str) -> tuple[str, str, tuple[str, ...]]:
    """The tree of an agent's files, its last commit, and what is left out of the tree."""
    if here.place is None:
        return here.commit, here.commit, ()
    now = git.take_snapshot(here.place, scratch, key)
    return now.tree, now.head, now.left_out


def _start(git_dir: Path, agent: Agent, against: str, committed: str) -> tuple[str, str]:
    """The commit that an agent is compared with, and its name: changes that the other side has made are not the agent's."""
    if not against:
        found = git.work_start(git_dir, agent.base, committed, agent.branch)
        return found, found[:10]
    start = git.commit_of(git_dir, against)
    return git.fork_point(git_dir, start, committed) or start, against


# ── what was compared last ──


@contextmanager
def _again(made: _Comparison) -> Iterator[OpenDiff]:
    with git.scratch_objects(made.git_dir) as scratch:
        yield OpenDiff(made.diff, made.git_dir, scratch.variables, made.folders)


def _key(agent: Agent, against: Agent | str) -> tuple[str, str]:
    return agent.id, f"agent {against.id}" if isinstance(against, Agent) else against


def _keep(agent: Agent, against: Agent | str, made: _Comparison) -> None:
    key = _key(agent, against)
    _made.pop(key, None)
    _made[key] = made
    while len(_made) > MOST_KEPT:
        # The worker answers several calls at once.
        _made.pop(next(iter(_made)), None)


def _known(agent: Agent, against: Agent | str, names: Sequence[str]) -> _Comparison | None:
    """The last comparison, unless it is old, or one of these files has changed since."""
    made = _made.get(_key(agent, against))
    if made is None or not 0 <= time.time() - made.at < KEPT_SECONDS:
        return None
    renamed = {one.path: one.old_path for one in made.diff.files if one.old_path}
    read = [path for name in names for path in (name, renamed.get(name, name))]
    latest = made.at - TICK_SECONDS
    is_same = all(_is_as_before(folder / name, latest) for folder in made.folders for name in read)
    return made if is_same else None


def _is_as_before(path: Path, latest: float) -> bool:
    """Whether nothing about a file has changed after a time; for one that is gone, whether its folder has not."""
    try:
        return path.lstat().st_ctime < latest
    except OSError:
        pass
    for folder in path.parents:
        with contextlib.suppress(OSError):
            return folder.lstat().st_ctime < latest
    return False
