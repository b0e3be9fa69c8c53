"""The diff of an agent's work: committed and uncommitted changes against its base, or against another agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import NotFound
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.models import Agent
from fleet_tui.store.database import Store
from fleet_tui.work import Diff

FORMATS = ("patch", "stat", "names")


@dataclass(frozen=True, slots=True)
class OpenDiff:
    """The trees of a diff, for as long as their objects can be read."""

    diff: Diff
    git_dir: Path
    objects: Mapping[str, str]

    def patch(self, names: Sequence[str] = (), *, context: int = 3) -> str:
        return git.patch(
            self.git_dir, self.diff.old, self.diff.new, names, context=context, objects=self.objects
        )

    def stat(self, width: int) -> str:
        return git.stat_text(self.git_dir, self.diff.old, self.diff.new, width=width, objects=self.objects)


@contextmanager
def opened(store: Store, agent: Agent, against: Agent | str = "") -> Iterator[OpenDiff]:
    """Compare an agent's files with its base, another agent's files, or a commit by name."""
    git_dir = git_dir_of(store, agent)
    place = git.place_of(git_dir, Path(agent.worktree), agent.id)
    with git.scratch_objects(git_dir) as scratch:
        now = git.take_snapshot(place, scratch, agent.id)
        committed = git.run_plain(place, "rev-parse", "HEAD").stdout.strip()
        if isinstance(against, Agent):
            other = git.place_of(git_dir_of(store, against), Path(against.worktree), against.id)
            old, label = git.take_snapshot(other, scratch, against.id).tree, against.name
        else:
            start = git.commit_of(git_dir, against or agent.base)
            old, label = git.fork_point(git_dir, start, committed) or start, against or agent.base[:10]
        files = git.changed_files(git_dir, old, now.tree, objects=scratch.variables)
        unsaved = {
            one.path for one in git.changed_files(git_dir, committed, now.tree, objects=scratch.variables)
        }
        marked = tuple(replace(one, is_uncommitted=one.path in unsaved) for one in files)
        diff = Diff(agent.id, label, old, now.tree, marked, now.left_out)
        yield OpenDiff(diff, git_dir, scratch.variables)


def git_dir_of(store: Store, agent: Agent) -> Path:
    found = store.agents.git_dirs([agent]).get(agent.id)
    if found is None or not agent.has_worktree:
        raise NotFound(f"{agent.name} has no worktree", hint=f"fleet undo {agent.name} restores a killed one")
    return found
