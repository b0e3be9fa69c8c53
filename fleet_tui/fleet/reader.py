"""Reads the fleet: agents, batches and output as recorded, and the project around the current folder.

Changes nothing. What it shows of agents is as of the last `Fleet.refresh`, by whichever process.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import paths, selection
from fleet_tui.errors import FleetError, NoRepository, NotFound, StoreDamaged, StoreUnwritable
from fleet_tui.fast_dataclasses import replace
from fleet_tui.lifecycle import reconcile
from fleet_tui.models import Activity, Agent, FleetState, StartPoint, Status, Usage
from fleet_tui.store import disk_reserve
from fleet_tui.store.database import Store
from fleet_tui.system.identity import here

if TYPE_CHECKING:
    from fleet_tui.activity.logs import Rest
    from fleet_tui.config.settings import Config
    from fleet_tui.fleet.worktrees import WorktreeVerbs
    from fleet_tui.git import Repository
    from fleet_tui.prompting.why import StatusExplanation
    from fleet_tui.system.usage import Sampler


class FleetReader:
    """The fleet of this user, seen from one folder, without the verbs that change it."""

    def __init__(self, start: Path | None = None, *, size: tuple[int, int] | None = None) -> None:
        self._start = start or Path.cwd()
        self._size = size or (100, 30)
        self._repository: Repository | None = None
        self.unwritable: StoreUnwritable | None = None
        """Why the last `refresh` recorded nothing; agents are then listed by their own files."""

    @functools.cached_property
    def store(self) -> Store:
        """Opened by the first verb that needs it: settings, trust and profiles work without one."""
        return Store(paths.store())

    def close(self) -> None:
        """Close the store, if it is open; the next verb that needs it opens it again."""
        if "store" in self.__dict__:
            self.__dict__.pop("store").close()

    @functools.cached_property
    def worktrees(self) -> WorktreeVerbs:
        from fleet_tui.fleet.worktrees import WorktreeVerbs

        return WorktreeVerbs(self)

    @property
    def repository(self) -> Repository:
        """The repository around the current folder; NoRepository if there is none."""
        if self._repository is None:
            from fleet_tui.fleet import project

            self._repository = project.discover(self._start, self.store, self.worktrees)
        return self._repository

    def reread_repository(self) -> None:
        """Forget where HEAD was: it moves while a dashboard is open."""
        self._repository = None

    def project(self) -> str | None:
        """The root of the current repository; None outside of any."""
        try:
            return str(self.repository.root)
        except NoRepository:
            return None

    def config(self, *, trusted: bool | None = None) -> Config:
        """The settings in effect here; with `trusted=False`, without those that need trust and without checking it."""
        from fleet_tui.config.load import load

        project = self.project()
        return load(Path(project) if project else None, trusted=trusted)

    def uncommitted(self) -> int:
        """The number of changed files in the current folder's work tree."""
        from fleet_tui import git
        from fleet_tui.fleet.worktrees import changed_files

        try:
            return changed_files(git.place_at(self._start))
        except FleetError:
            return 0

    def start_points(self) -> list[StartPoint]:
        """What agents can start from here: what is checked out first, then the newest."""
        from fleet_tui import git

        return git.start_points(self.repository)

    def start_point(self, name: str = "") -> tuple[StartPoint, int]:
        """A base by name, or the default one, with the size of a worktree of it in bytes, 0 if not known."""
        from fleet_tui import git

        found = git.start_point(self.repository, name)
        size = git.tree_size(self.repository, found.commit)
        return found, size[1] if size is not None else 0

    # ── the recorded fleet ──────────────────────────────────────────────────────────────────────────────────────────────

    def state(self) -> FleetState:
        """All agents and batches, as last recorded.

        On a full disk nothing is recorded, and the agents' own files tell which have ended.
        """
        found = self.store.state()
        if self.unwritable is None and not self.is_disk_full():
            return found
        return replace(found, agents=tuple(map(reconcile.as_found, found.agents)))

    def is_disk_full(self) -> bool:
        """Whether almost no space is left where the store and the agents' output are."""
        return disk_reserve.is_full(paths.state())

    def version(self) -> int:
        """A number that changes when another process has changed the store."""
        return self.store.db.version()

    def is_store_replaced(self) -> bool:
        """Whether another file has taken the place of the store."""
        return self.store.db.has_moved

    def moved_since(self, journal_id: int) -> frozenset[str]:
        """The agents whose status was recorded after that line of the journal."""
        return self.store.journal.agents_with_status_since(journal_id)

    def agents(self, *, everywhere: bool = False) -> list[Agent]:
        """The agents of the current project, or of all projects; outside a repository always all."""
        project = None if everywhere else self.project()
        return self._found(self.store.agents.all(project))

    def _found(self, agents: Sequence[Agent]) -> list[Agent]:
        return [reconcile.as_found(agent) for agent in agents] if self.unwritable else list(agents)

    def current(self, agent: Agent) -> Agent:
        """The agent as recorded now: the caller may hold an older copy."""
        return self._found([self.store.agents.get(agent.id)])[0]

    def with_ids(self, ids: Sequence[str]) -> list[Agent]:
        """The agents with these ids, in that order; NotFound for an id that is not recorded."""
        found = {agent.id: agent for agent in self.agents(everywhere=True)}
        return [found[one] if one in found else self.find(one) for one in ids]

    def find(self, name: str) -> Agent:
        """The agent of that name or id: one of this project first, and a living one first."""
        with self._naming_damaged([name]):
            return selection.one(name, self.agents(everywhere=True), self.project())

    def match(
        self,
        patterns: Sequence[str],
        *,
        batch: str | None = None,
        everywhere: bool = False,
        but_not: Sequence[Status] = (),
    ) -> list[Agent]:
        """The agents whose name or id matches one of the patterns, or all of a batch."""
        agents = [agent for agent in self.agents(everywhere=everywhere) if agent.status not in but_not]
        with self._naming_damaged(patterns):
            return selection.some(patterns, batch, agents, self.store.agents.all)

    @contextlib.contextmanager
    def _naming_damaged(self, wanted: Sequence[str]) -> Iterator[None]:
        """Turn NotFound into StoreDamaged for an agent whose record is damaged."""
        try:
            yield
        except NotFound:
            for name in self.store.agents.damaged():
                if name in wanted:
                    raise StoreDamaged(
                        f"the record of {name} is damaged", hint="run: fleet list --repair"
                    ) from None
            raise

    def batch_labels(self, agents: Sequence[Agent]) -> dict[tuple[str, str], str]:
        """The labels of these agents' batches, by project and id; batches of only killed agents are omitted."""
        return selection.batch_labels(agents)

    def damaged(self) -> list[str]:
        """The names of agents whose records cannot be read; `rebuild` restores them."""
        return self.store.agents.damaged()

    # ── status and output ───────────────────────────────────────────────────────────────────────────────────────────────

    def why(self, agent: Agent) -> StatusExplanation:
        """Explain an agent's status, with what each source reports."""
        from fleet_tui.prompting import why

        return why.why(self.current(agent))

    def peek(self, agent: Agent) -> list[str]:
        """An agent's screen as text; of an ended agent, its last screen."""
        from fleet_tui.activity import logs

        return logs.screen(self.current(agent))

    def logs(
        self, agent: Agent, count: int, unseen: Callable[[FleetError], None] = lambda _: None
    ) -> list[str]:
        """The last lines of an agent's output: what has scrolled away, then its screen.

        While its holder does not answer, the screen is missing and `unseen` is called with the reason.
        """
        from fleet_tui.activity import logs

        return logs.lines(self.store, agent, count, unseen)

    def follow(self, agent: Agent, last: int, rest: Rest = time.sleep) -> Iterator[str]:
        """The last lines of an agent's output, then new lines until it has ended."""
        from fleet_tui.activity import logs

        return logs.follow(self.store, agent, last, rest)

    def raw_output(self, agent: Agent, *, follow: bool = False, rest: Rest = time.sleep) -> Iterator[bytes]:
        """Every byte of an agent's output that is kept."""
        from fleet_tui.activity import logs

        return logs.raw(agent, follow=follow, rest=rest)

    def run_folder(self, agent: Agent) -> Path:
        """The folder of an agent's current run, in which its holder listens."""
        return paths.run(agent.id, agent.run)

    def lock_file(self, agent: Agent) -> Path:
        """The file that an agent's holder keeps locked while it lives."""
        return paths.lock(agent.id)

    def usage(self, agents: Sequence[Agent], sampler: Sampler) -> Mapping[str, Usage]:
        """CPU and memory of each living agent's process tree, from one pass over all processes."""
        place = here()
        roots = {
            agent.id: agent.keeper_pid
            for agent in agents
            if agent.keeper_pid and not agent.has_ended and agent.machine == place
        }
        return sampler.sample(roots) if roots else {}

    def recent_activity(self, agent: Agent, count: int) -> list[Activity]:
        """The last tool calls that an agent's program recorded, oldest first."""
        from fleet_tui.activity import recent

        return recent.latest(self.store, agent, count)
