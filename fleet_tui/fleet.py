"""Every verb a face may use, as one in-process class.

CLI, dashboard and servers each make a `Fleet` and add nothing of their own. What is true is in the store; who is
alive is known by their locks; a `Fleet` only brings the two together and may be thrown away at any moment.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_tui import choosing, names, paths, reconcile, reserve
from fleet_tui.errors import (
    FleetError,
    NoRepository,
    NotFound,
    Refused,
    StoreDamaged,
    StoreUnwritable,
    UsageError,
)
from fleet_tui.models import (
    Agent,
    Asked,
    Base,
    Batch,
    Deed,
    Evidence,
    FleetState,
    Prompted,
    Receipt,
    Spending,
    Status,
    Trash,
    Usage,
)
from fleet_tui.processes import here
from fleet_tui.store import Store
from fleet_tui.values import replace

if TYPE_CHECKING:
    from fleet_tui.config import Config
    from fleet_tui.doctor import Finding
    from fleet_tui.git import Place, Repository
    from fleet_tui.land import Kept
    from fleet_tui.output import Rest
    from fleet_tui.plans import Plans
    from fleet_tui.session import Session, View
    from fleet_tui.speaking import Why
    from fleet_tui.starting import OnProgress, Starter
    from fleet_tui.usage import Sampler

STOP_GRACE = 5.0
RECORD_SECONDS = 2.0
"""For what can be recorded later just as well, when another process keeps the store locked."""


class Fleet:
    """The fleet of this user, seen from one folder."""

    def __init__(self, start: Path | None = None, *, size: tuple[int, int] | None = None) -> None:
        self._start = start or Path.cwd()
        self._size = size or (100, 30)
        self._repository: Repository | None = None
        self.store = Store(paths.store())
        self.unwritable: StoreUnwritable | None = None
        """Why nothing could be recorded when it was last tried; what is shown is read from the agents' own files."""

    def close(self) -> None:
        self.store.close()

    # ── where we are ────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Make what a first agent needs here: a repository if there is none, and a commit to start from."""
        from fleet_tui import git

        if self._start.resolve() in (Path.home(), Path(self._start.anchor)):
            raise Refused(
                f"{self._start} is no place for a repository", hint="make a folder for it, and go there"
            )
        git.begin(self._start)

    @property
    def repository(self) -> Repository:
        """The repository around the current folder; NoRepository when there is none."""
        if self._repository is None:
            from fleet_tui import git

            found = git.discover(self._start)
            try:
                names.check_text(str(found.root), "")
            except UsageError:
                raise NoRepository(
                    f"the path {str(found.root)!a} is not valid UTF-8", hint="rename the folder"
                ) from None
            self._refuse_changed_link()
            self._repository = found
        return self._repository

    def _refuse_changed_link(self) -> None:
        """In a worktree whose `.git` was changed, git would find whatever repository it names now."""
        around = (self._start, *self._start.parents)
        # The folder's name ends with the id; its path may be another one by a link.
        agents = self.store.agents_at(
            {str(folder) for folder in around}, {folder.name.rpartition("-")[2] for folder in around}
        )
        for agent in agents:
            problem = self.link_problems([agent]).get(agent.id)
            if problem and self._start.resolve().is_relative_to(Path(agent.worktree).resolve()):
                raise NoRepository(
                    f"{agent.worktree} no longer leads to {agent.project}: {problem}",
                    hint=f"go to {agent.project} and run: fleet list --repair",
                )

    def look_again(self) -> None:
        """Forget where HEAD was: a fleet that lives as long as a dashboard sees it move."""
        self._repository = None

    def project(self) -> str | None:
        """The root of the current repository, or None outside of any."""
        try:
            return str(self.repository.root)
        except NoRepository:
            return None

    def config(self, *, trusted: bool | None = None) -> Config:
        """The settings here; with `trusted` false, without those that would need trust, and without looking it up."""
        from fleet_tui import config

        project = self.project()
        return config.load(Path(project) if project else None, trusted=trusted)

    def asked(self, agent: Agent | None = None) -> Asked | None:
        """What the files of this project, or of an agent's, ask for and the user has not trusted yet."""
        from fleet_tui import trust

        return trust.asked(self.repository.root if agent is None else Path(agent.project))

    def trust(self, asked: Asked) -> None:
        """Trust exactly what was shown."""
        from fleet_tui import trust

        trust.accept(asked)

    def _settings_to_start(self, *, own_settings: bool) -> Config:
        """The configuration that agents are started with; refused while the project's is not trusted."""
        from fleet_tui import config

        root = self.repository.root
        if own_settings:
            return config.load(root, trusted=False)
        found = config.load(root, include=True)
        if found.untrusted:
            from fleet_tui import trust

            raise trust.untrusted(found.untrusted)
        return found

    def uncommitted(self, agent: Agent | None = None) -> int:
        """How many files here, or of an agent, are not as HEAD has them, our own settings aside; none where is no
        work tree."""
        from fleet_tui import git

        try:
            changes = git.status(self._place(agent) if agent is not None else git.place_at(self._start))
        except FleetError:
            return 0
        return sum(not change.path.startswith(".aifleet/") for change in changes)

    def bases(self) -> list[Base]:
        """What agents could be started from here: what is checked out, then the newest."""
        from fleet_tui import git

        return git.bases(self.repository)

    def base(self, name: str = "") -> tuple[Base, int]:
        """What a base is, or the usual one, and how many bytes a worktree of it takes, 0 where that is not known;
        NotFound where it is none."""
        from fleet_tui import git

        found = git.base(self.repository, name)
        size = git.tree_size(self.repository, found.commit)
        return found, size[1] if size is not None else 0

    # ── what there is ───────────────────────────────────────────────────────────────────────────────────────────

    def state(self) -> FleetState:
        """All agents and batches as of now."""
        self._bring_up_to_date()
        found = self.store.state()
        return replace(found, agents=tuple(self._found(found.agents))) if self.unwritable else found

    def _bring_up_to_date(self) -> None:
        """Record what agents have done. Where that is not possible, they can still be listed and ended."""
        try:
            self.store.refuse_frozen()
            with self.store.waiting_at_most(RECORD_SECONDS):
                reconcile.reconcile(self.store)
        except StoreUnwritable as error:
            self.unwritable = error
        else:
            self.unwritable = None

    def is_disk_full(self) -> bool:
        """Whether next to nothing is left where the store and the agents' output are."""
        return reserve.is_full(paths.state())

    def _found(self, agents: Sequence[Agent]) -> list[Agent]:
        return [reconcile.as_found(agent) for agent in agents] if self.unwritable else list(agents)

    def snapshot(self) -> FleetState:
        """The store as it is, without looking after the agents: for a face whose worker does that.

        On a full disk the worker records nothing, and the agents' own files tell who has ended.
        """
        found = self.store.state()
        if not self.is_disk_full():
            return found
        return replace(found, agents=tuple(map(reconcile.as_found, found.agents)))

    def moved_since(self, journal_id: int) -> frozenset[str]:
        """The agents whose status was written after that line of the journal."""
        return self.store.moved_since(journal_id)

    def version(self) -> int:
        """Changes when another process has changed the store."""
        return self.store.version()

    def agents(self, *, everywhere: bool = False) -> list[Agent]:
        """The agents of the current project, or of all of them; outside a repository always all."""
        self._bring_up_to_date()
        project = None if everywhere else self.project()
        return self._found(self.store.agents(project))

    def find(self, name: str) -> Agent:
        """The agent of that name or id: of this project first, and a living one first."""
        with self._naming_damaged([name]):
            return choosing.one(name, self.agents(everywhere=True), self.project())

    @contextlib.contextmanager
    def _naming_damaged(self, wanted: Sequence[str]) -> Iterator[None]:
        """Say of an agent that is not found that its record is damaged, if it is."""
        try:
            yield
        except NotFound:
            for name in self.store.damaged():
                if name in wanted:
                    raise StoreDamaged(
                        f"the record of {name} is damaged", hint="run: fleet list --repair"
                    ) from None
            raise

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
            return choosing.some(patterns, batch, agents, self.store.agents)

    def batch_labels(self, agents: Sequence[Agent]) -> dict[tuple[str, str], str]:
        """What the batches of these agents are called, by project and id; those of killed agents are not listed."""
        return choosing.batch_labels(agents)

    # ── starting ────────────────────────────────────────────────────────────────────────────────────────────────

    def create(
        self,
        name: str,
        *,
        prompt: str = "",
        profile: str = "",
        quick: bool = False,
        base: str = "",
        existing: bool = False,
        headless: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Agent:
        """One agent on a branch of that name."""
        batch = Batch(time.strftime("manual-%Y%m%d"), str(self.repository.root), time.time())
        return self._launch(
            [(name, prompt, profile)],
            batch,
            quick=quick,
            base=base,
            existing=existing,
            headless=headless,
            own_settings=own_settings,
            on_progress=on_progress,
        )[0]

    def fanout(
        self,
        count: int,
        prefix: str = "",
        *,
        prompt: str,
        profile: str = "",
        mix: Sequence[tuple[str, int]] = (),
        quick: bool = False,
        base: str = "",
        headless: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> list[Agent]:
        """The same prompt to several agents, each on a branch of its own: PREFIX-A, PREFIX-B, …"""
        names.check_count(count)
        if not prompt.strip():
            raise UsageError("a fan-out needs a prompt", hint="give it with -p")
        programs = _spread(count, profile, mix)
        prefix = names.check_branch(prefix or names.prefix(prompt))
        batch = self._new_batch(prompt)
        while True:
            chosen = self._free_names(prefix, count)
            wanted = [(name, prompt, program) for name, program in zip(chosen, programs, strict=True)]
            try:
                return self._launch(
                    wanted, batch, quick=quick, base=base, headless=headless, own_settings=own_settings,
                    on_progress=on_progress,
                )  # fmt: skip
            except Refused:
                # Another fan-out of that prefix may have been quicker; if not, it is refused for good.
                if self._free_names(prefix, count) == chosen:
                    raise

    def multi(
        self,
        tasks: Sequence[tuple[str, str]],
        *,
        profile: str = "",
        quick: bool = False,
        base: str = "",
        headless: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> list[Agent]:
        """A prompt of its own to each of several agents."""
        names.check_count(len(tasks))
        wanted = [(name, prompt, profile) for name, prompt in tasks]
        return self._launch(
            wanted, self._new_batch(""), quick=quick, base=base, headless=headless, own_settings=own_settings,
            on_progress=on_progress,
        )  # fmt: skip

    def fork(
        self,
        name: str,
        new_name: str,
        *,
        prompt: str = "",
        own_settings: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Agent:
        """A new agent on a new branch from where that one's stands, going on with a copy of its conversation."""
        from fleet_tui import profiles, reviving

        source = self.find(name)
        if source.project != str(self.repository.root):
            raise Refused(f"{source.name} belongs to {source.project}", hint="go there")
        profiles.check_fork(profiles.load(source.profile))
        session = reviving.conversation_to_copy(self.store, source, new_name)
        batch = Batch(time.strftime("manual-%Y%m%d"), source.project, time.time())
        return self._launch(
            [(new_name, prompt, source.profile, session)],
            batch,
            quick=False,
            base=source.branch,
            own_settings=own_settings,
            on_progress=on_progress,
        )[0]

    def revive(
        self,
        name: str,
        *,
        prompt: str = "",
        on_progress: OnProgress | None = None,
        fresh: bool = False,
        own_settings: bool = False,
    ) -> Agent:
        """Start an ended agent's program again in its worktree, going on with its conversation if it can."""
        from fleet_tui import reviving

        names.check_text(prompt, "the prompt")

        agent = self.find(name)
        # Before anything is brought back from the trash.
        reviving.settings(agent, own_settings=own_settings)
        if agent.status is Status.KILLED:
            self.undo(agent.id)
        elif not agent.has_ended:
            raise Refused(f"{agent.name} is running", hint=f"fleet attach {agent.name}")
        return self._starter.make_again(
            agent,
            lambda found: reviving.intended(
                self.store, found, prompt, fresh=fresh, own_settings=own_settings, size=self._size
            ),
            on_progress=on_progress,
        )

    def _new_batch(self, prompt: str) -> Batch:
        return Batch(
            names.batch_id(time.strftime("%y%m%d"), os.urandom),
            str(self.repository.root),
            time.time(),
            prompt,
        )

    def _free_names(self, prefix: str, count: int) -> list[str]:
        """PREFIX-A and so on, passing over what an earlier fan-out of the same prefix has."""
        from fleet_tui import git

        taken = git.branch_names(self.repository, f"{prefix}-*")
        taken |= {
            agent.name
            for agent in self.store.agents(str(self.repository.root))
            if agent.status is not Status.KILLED
        }
        suffixes = names.suffixes()
        chosen: list[str] = []
        while len(chosen) < count:
            name = f"{prefix}-{next(suffixes)}"
            if name not in taken:
                chosen.append(name)
        return chosen

    def _launch(
        self,
        wanted: Sequence[tuple[str, str, str] | tuple[str, str, str, str]],
        batch: Batch,
        *,
        quick: bool,
        base: str,
        existing: bool = False,
        headless: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None,
    ) -> list[Agent]:
        """Agents given as name, prompt, profile and maybe the conversation to copy: all of them or, when something is wrong beforehand, none."""
        from fleet_tui.plans import Plans, Wanted

        for name, prompt, profile, *_ in wanted:
            names.check_branch(name)
            names.check_text(prompt, "the prompt")
            names.check_text(profile, "the agent's name")
        self._starter.refuse_taken(batch.project, [name for name, *_ in wanted])
        settings = self._settings_to_start(own_settings=own_settings)

        def plan() -> Plans:
            return Plans(
                self.repository, settings, [Wanted(*one) for one in wanted], batch,
                here=self._start, quick=quick, base=base, existing=existing, size=self._size, headless=headless,
            )  # fmt: skip

        return self._starter.make(plan, batch, project_name=self.repository.name, on_progress=on_progress)

    @property
    def _starter(self) -> Starter:
        from fleet_tui.starting import Starter

        return Starter(self.store)

    def wait_for_setup(self, agents: Sequence[Agent], on_progress: OnProgress | None = None) -> list[Agent]:
        """Until the setup commands of these agents are over, however they ended."""
        return self._starter.wait_for_setup(agents, on_progress)

    def _now(self, agents: Sequence[Agent]) -> list[Agent]:
        return self._found([self.store.agent(agent.id) for agent in agents])

    # ── ending ──────────────────────────────────────────────────────────────────────────────────────────────────

    def stop(self, agents: Sequence[Agent], *, grace: float | None = None) -> list[Agent]:
        """End the programs; worktrees, branches and records stay."""
        stuck = self._stop(agents, "stop", grace)
        if stuck:
            raise stuck[0]
        return self._now(agents)

    def _stop(self, agents: Sequence[Agent], cause: str, grace: float | None) -> list[FleetError]:
        """Returns what is to be said about those that could not be stopped."""
        from fleet_tui import land

        living = [agent for agent in agents if not agent.has_ended]
        stuck = land.stop(living, cause=cause, grace=self._grace() if grace is None else grace)
        self._bring_up_to_date()
        failures = [_not_stopped(agent) for agent in stuck]
        for agent in self._now(agents):
            if agent.status is Status.LOST and cause == "stop":
                try:
                    land.end_lost(self.store, agent)
                except FleetError as error:
                    failures.append(error)
        return failures

    def warnings_after_stop(self, stopped: Sequence[Agent]) -> list[str]:
        """What agents whose keeper was killed may have left running."""
        from fleet_tui import land

        lost = [agent for agent in stopped if land.was_lost(agent) and agent.machine == here()]
        return [_left_running(agent, left) for agent in lost if (left := land.suspects(agent))]

    def _grace(self) -> float:
        """A configuration that cannot be read must not keep anybody from stopping an agent."""
        try:
            return self.config().stop_grace
        except FleetError:
            return STOP_GRACE

    def kill(
        self, agents: Sequence[Agent], *, delete_branch: bool = False, grace: float | None = None
    ) -> list[Kept]:
        """End the programs and move the worktrees to the trash; `undo` brings them back."""
        from fleet_tui import land

        failures = self._stop(agents, "kill", grace)
        if self.unwritable:
            # Whatever filled the disk may have been ended just now: what is given up is not taken by it.
            reserve.give_up(paths.state())
            self._bring_up_to_date()
        now = time.time()
        kept: list[Kept] = []
        ended = [agent for agent in self._now(agents) if agent.has_ended]
        for index, agent in enumerate(ended):
            try:
                moved = land.to_trash(self.store, agent, delete_branch=delete_branch, now=now)
            except StoreUnwritable as error:
                # It would fail for the others as well, each after a long wait.
                failures.append(_unfinished(error, ended[index:]))
                break
            except FleetError as error:
                failures.append(_unfinished(error, [agent]) if self.unwritable else error)
            else:
                kept += [moved] if moved is not None else []
        # Only now: what stands in the way of one is no reason to leave the others half done.
        _complain(failures, "killed", [one.agent for one in kept])
        return kept

    def trash(self, *, everywhere: bool = False) -> list[Agent]:
        """Killed agents whose worktrees can be brought back, the newest last."""
        agents = self.agents(everywhere=everywhere)
        waiting = [
            agent
            for agent in agents
            if agent.status is Status.KILLED and (agent.trash or Path(agent.worktree).is_dir())
        ]
        return sorted(waiting, key=lambda agent: agent.ended_at or 0.0)

    def trash_report(self, agents: Sequence[Agent]) -> Trash:
        """What the worktrees of these agents in the trash hold, and when each leaves it."""
        from fleet_tui import tidy

        return tidy.report(self.store, list(agents), self._limits(), now=time.time())

    def kept_ignored(self, *, everywhere: bool = False) -> list[tuple[Path, float]]:
        """The archives of ignored files of worktrees that have left the trash, with when each is deleted."""
        from fleet_tui import tidy

        return tidy.archives(self.agents(everywhere=everywhere), self._limits())

    def idle_branches(self, *, everywhere: bool = False) -> list[Agent]:
        """Killed agents whose branches hold nothing that is not on another branch, tag or remote."""
        from fleet_tui import land

        return land.idle_branches(self.agents(everywhere=everywhere))

    def prune_branches(self, agents: Sequence[Agent]) -> Iterator[tuple[Agent, str]]:
        """Take these agents' branches out of git's list; yields the ref that keeps each for an undo."""
        from fleet_tui import land

        failures: list[FleetError] = []
        for agent in agents:
            try:
                yield agent, land.put_branch_aside(agent)
            except FleetError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def warnings_after_kill(self, killed: Sequence[Kept], *, seconds: float = 0.2) -> list[str]:
        """What a kill has left running, and that it has put the trash over its limit, if that is found out in time."""
        from fleet_tui import tidy

        # A keeper that was killed ended nothing; what cannot be proven to be the agent's is only named.
        warnings = [_left_running(kept.agent, kept.left) for kept in killed if kept.left]
        limits = self._limits()
        if tidy.is_over(self.store.agents(), [kept.agent for kept in killed], limits, seconds=seconds):
            warnings.append(
                f"the trash is over its limit of {limits.trash_mb} MB now: "
                "the oldest leave it after their first day (fleet trash)"
            )
        return warnings

    def _limits(self) -> Config:
        """The user's own settings: no project sets limits on what all projects share."""
        from fleet_tui import config

        try:
            return config.load(None)
        except FleetError:
            return config.Config()

    def undo(self, name: str = "", *, everywhere: bool = False) -> list[tuple[Agent, str]]:
        """Undo the last kill, or restore the named agent; each with a note on what is not as before.

        A name means an agent of this project, an id any; with `everywhere`, or outside a repository, both mean any.
        """
        from fleet_tui import land

        failures: list[FleetError] = []
        restored: list[tuple[Agent, str]] = []
        for agent in self._undoable(name, everywhere=everywhere):
            try:
                note = land.undo(self.store, agent, now=time.time())
            except FleetError as error:
                failures.append(error)
            else:
                restored.append((self.store.agent(agent.id), note))
        _complain(failures, "brought back", [agent for agent, _ in restored])
        return restored

    def _undoable(self, name: str, *, everywhere: bool) -> list[Agent]:
        waiting = self.trash(everywhere=True)
        if name:
            try:
                return [choosing.killed(name, waiting, None if everywhere else self.project())]
            except NotFound as missing:
                raise self._has_left(name, missing) from None
        found = self.trash(everywhere=everywhere)
        if not found:
            raise NotFound("the trash is empty", hint="fleet trash -a lists what is, of all projects")
        # A kill gives all of its agents one moment.
        return [agent for agent in waiting if agent.ended_at == found[-1].ended_at]

    def _has_left(self, name: str, missing: NotFound) -> NotFound:
        """How to get the work of an agent back whose worktree has left the trash, or else what is missing."""
        from fleet_tui import land

        emptied = [
            agent
            for agent in self.agents()
            if agent.status is Status.KILLED and not agent.trash and name in (agent.name, agent.id)
        ]
        return land.has_left(emptied[-1]) if emptied else missing

    def empty_trash(self, agents: Sequence[Agent]) -> Iterator[tuple[Agent, str]]:
        """Delete trashed worktrees; yields the ref that each one's work was saved under, empty if it was gone already.

        What keeps one from it is raised after the others are done.
        """
        from fleet_tui import land

        failures: list[FleetError] = []
        for agent in [agent for agent in agents if agent.trash]:
            try:
                yield agent, land.empty_trash(self.store, agent)
            except FleetError as error:
                failures.append(error)
        if len(failures) > 1:
            message = "; ".join(error.message for error in failures)
            raise Refused(f"{len(failures)} stay in the trash: {message}", hint="fleet trash says what to do")
        if failures:
            raise failures[0]

    # ── looking and speaking ────────────────────────────────────────────────────────────────────────────────────

    def session(
        self, agent: Agent, *, kind: str = "reader", cols: int = 0, rows: int = 0, rate: float = 30.0
    ) -> Session:
        from fleet_tui import speaking

        return speaking.open_session(agent, kind=kind, cols=cols, rows=rows, rate=rate)

    def prompt(self, name: str, text: str, *, now: bool = False, command: bool = False) -> Receipt:
        """Type a prompt into an agent as soon as it waits, or at once; returns its receipt.

        With `command`, a text such as `/compact` is run by the program instead of being sent to the model.
        """
        from fleet_tui import speaking

        return speaking.prompt(self.store, self.find(name), text, now=now, command=command)

    def broadcast(
        self, agents: Sequence[Agent], text: str, *, now: bool = False, command: bool = False
    ) -> list[Receipt]:
        """The same prompt to several agents, with a receipt each, also from those that cannot have it."""
        from fleet_tui import speaking

        return speaking.broadcast(self.store, agents, text, now=now, command=command)

    def receipt(self, receipt_id: str) -> Receipt:
        """How far a prompt has come by now."""
        self._bring_up_to_date()
        return self.store.receipt(receipt_id)

    def prompted(self) -> Mapping[str, Prompted]:
        """What became of the prompts of each living agent."""
        return self.store.prompted()

    def receipts(self, agent: Agent) -> list[Receipt]:
        """The prompts of an agent with how far each has come, oldest first."""
        self._bring_up_to_date()
        return self.store.receipts(agent.id)

    def wait_for_answer(
        self,
        receipt: Receipt,
        *,
        seconds: float | None = None,
        on_change: Callable[[Receipt], None] | None = None,
    ) -> Receipt:
        """Until a prompt's turn has ended, or the time is over; returns its receipt as it is then."""
        from fleet_tui import speaking

        deadline = None if seconds is None else time.monotonic() + seconds
        while not receipt.is_over and (deadline is None or time.monotonic() < deadline):
            time.sleep(speaking.WAIT_SECONDS)
            before, receipt = receipt, replace(self.receipt(receipt.id), note=receipt.note)
            if on_change is not None and (before.state, before.reason) != (receipt.state, receipt.reason):
                on_change(receipt)
        return receipt

    def queue(self, agent: Agent) -> list[dict[str, Any]]:
        """The prompts that wait for an agent, in order."""
        from fleet_tui import speaking

        return speaking.queue(agent)

    def reword(self, agent: Agent, which: str, text: str) -> None:
        """Other words for a prompt that waits, named by its place or id."""
        from fleet_tui import speaking

        speaking.reword(self.store, agent, which, text)

    def cancel(self, agent: Agent, which: str) -> None:
        """Take back a prompt that waits, named by its place or id."""
        from fleet_tui import speaking

        speaking.cancel(agent, which)

    def answer(self, name: str, choice: str, *, shown: Evidence | None = None) -> Agent:
        """Answer the question an agent waits with, by the number or the words of a choice; with what was shown to
        whoever answers, only that one."""
        from fleet_tui import speaking

        agent = self.find(name)
        speaking.answer(agent, choice, shown)
        self._bring_up_to_date()
        return self.store.agent(agent.id)

    def why(self, name: str) -> Why:
        """Why an agent has its status, with what every source says."""
        from fleet_tui import speaking

        return speaking.why(self.find(name))

    def report_wrong(self, name: str, right: str, kind: str = "") -> Path:
        """Save an agent's screen and signs with the status that would have been right."""
        from fleet_tui import speaking

        return speaking.report_wrong(self.find(name), right, kind)

    def peek(self, name: str) -> list[str]:
        """The screen as text; of an ended agent, as it was left."""
        from fleet_tui import output

        return output.screen(self.find(name))

    def final_view(self, agent: Agent) -> View | None:
        from fleet_tui.session import final_view

        return final_view(paths.run(agent.id, agent.run))

    def logs(
        self, name: str | Agent, count: int, unseen: Callable[[FleetError], None] = lambda _: None
    ) -> list[str]:
        """The last lines an agent printed: what has scrolled away, then what is on its screen; `unseen` is told why the
        screen is missing while its holder does not answer."""
        from fleet_tui import output

        agent = name if isinstance(name, Agent) else self.find(name)
        return output.lines(self.store, agent, count, unseen)

    def follow(self, agent: Agent, last: int, rest: Rest = time.sleep) -> Iterator[str]:
        """The last lines, then lines as they come, until the agent has ended."""
        from fleet_tui import output

        return output.follow(self.store, agent, last, rest)

    def raw_output(self, agent: Agent, *, follow: bool = False, rest: Rest = time.sleep) -> Iterator[bytes]:
        """Every byte that is kept of what an agent printed."""
        from fleet_tui import output

        return output.raw(agent, follow=follow, rest=rest)

    def run_folder(self, agent: Agent) -> Path:
        return paths.run(agent.id, agent.run)

    def lock_file(self, agent: Agent) -> Path:
        return paths.lock(agent.id)

    def usage(
        self, agents: Sequence[Agent], sampler: Sampler, *, at_least: float = 0.0
    ) -> Mapping[str, Usage]:
        """CPU and memory of each living agent's whole tree, in one pass over the processes."""
        place = here()
        roots = {
            agent.id: agent.keeper_pid
            for agent in agents
            if agent.keeper_pid and not agent.has_ended and agent.machine == place
        }
        return sampler.sample(roots) if roots else {}

    def spending(self, agents: Sequence[Agent]) -> Mapping[str, Spending]:
        """Tokens, cost and context of each agent of whom they are known, by its program's own records."""
        from fleet_tui import spending

        return spending.up_to_date(self.store, agents)

    def deeds(self, agent: Agent, count: int) -> list[Deed]:
        """What an agent has done of late, oldest first, as far as it tells."""
        from fleet_tui import deeds

        return deeds.latest(self.store, agent, count)

    def diff_stats(self, agents: Sequence[Agent]) -> dict[str, tuple[int, int, int]]:
        """Lines added and removed since the base, committed or not, and commits made; those without a worktree are left
        out."""
        from fleet_tui import git

        stats = {}
        for agent in agents:
            with contextlib.suppress(FleetError, OSError):
                found = git.diff_stat(self._place(agent), agent.base)
                stats[agent.id] = (found.added, found.removed, found.ahead)
        return stats

    def _place(self, agent: Agent) -> Place:
        """Where git looks for an agent's work, by the store alone; Changed if the worktree says otherwise."""
        from fleet_tui import git

        git_dir = self.store.git_dirs([agent]).get(agent.id)
        if git_dir is None:
            raise NotFound(f"{agent.name} has no worktree")
        return git.place_of(git_dir, Path(agent.worktree), agent.id)

    def link_problems(self, agents: Sequence[Agent]) -> dict[str, str]:
        """Of agents whose `.git` no longer leads to their repository: what was found. Git is not run for those."""
        from fleet_tui import git

        return git.link_problems(self.store.git_dirs(agents), agents)

    # ── small changes of the record ─────────────────────────────────────────────────────────────────────────────

    def see(self, agents: Sequence[Agent]) -> None:
        """Somebody has looked: what was done and not seen is idle now."""
        with self.store.transaction(uses_reserve=False):
            for agent in agents:
                self.store.change(agent.id, time.time(), only_from=[Status.DONE], status=Status.IDLE)

    def rename(self, name: str, new_name: str) -> Agent:
        """Another name for an agent; its branch keeps its own."""
        agent = self.find(name)
        names.check_branch(new_name, "an agent's name")
        with self.store.transaction():
            if self.store.taken_names(agent.project, [new_name]):
                raise Refused(f"there is already an agent {new_name!r}", hint="choose another name")
            self.store.change(agent.id, time.time(), name=new_name)
        return self.store.agent(agent.id)

    def move(self, agents: Sequence[Agent], batch: str) -> list[Agent]:
        """Put agents into a batch, which is made when there is none of that name."""
        names.check_branch(batch, "a batch's name")
        now = time.time()
        with self.store.transaction():
            for agent in agents:
                self.store.add_batch(Batch(batch, agent.project, now), Path(agent.project).name, [])
                self.store.change(agent.id, now, batch=batch)
        return [self.store.agent(agent.id) for agent in agents]

    # ── keeping house ───────────────────────────────────────────────────────────────────────────────────────────

    def examine(self) -> list[Finding]:
        """What is wrong and what was left behind; a finding knows how to mend itself."""
        from fleet_tui import doctor

        self._bring_up_to_date()
        return doctor.examine(self.store, Path(self.project() or "") if self.project() else None)

    @staticmethod
    def rebuild() -> list[str]:
        """Put a sound store in the place of a damaged one, before it is opened; says what was done, if anything."""
        from fleet_tui import rebuilding

        return rebuilding.rebuild(paths.store())

    def damaged(self) -> list[str]:
        """The agents whose records cannot be read, by name; `rebuild` restores them."""
        return self.store.damaged()

    def repair(self) -> list[str]:
        """Find again what the store has lost, and what was moved."""
        from fleet_tui import repairing

        return repairing.repair(self.store, self.repository if self.project() is not None else None)


def _complain(failures: Sequence[FleetError], done: str, others: Sequence[Agent]) -> None:
    """Raise the first of these, if there are any, with what was done all the same."""
    if failures:
        first = failures[0]
        if others:
            first.message += f"; {done}: {', '.join(agent.name for agent in others)}"
        raise first


def _left_running(agent: Agent, left: str) -> str:
    return f"{agent.name} may have left these running, they use its worktree: {left}"


def _not_stopped(agent: Agent) -> FleetError:
    if agent.machine != here():
        return FleetError(
            f"{agent.name} runs in another container and does not react", hint="stop it from there"
        )
    return FleetError(f"{agent.name} could not be stopped", hint="run: fleet doctor")


def _unfinished(error: FleetError, agents: Sequence[Agent]) -> FleetError:
    """What stands in the way of the trash once the programs have ended."""
    names = ", ".join(agent.name for agent in agents)
    have, are = ("has", "is") if len(agents) == 1 else ("have", "are")
    error.message = f"{names} {have} ended, but {are} not recorded in the trash: {error.message}"
    again = f"fleet kill {' '.join(agent.name for agent in agents)}"
    error.hint = f"{error.hint}, then: {again}" if error.hint else f"try again: {again}"
    return error


def _spread(count: int, profile: str, mix: Sequence[tuple[str, int]]) -> list[str]:
    """Which program each agent of a fan-out runs."""
    if not mix:
        return [profile] * count
    programs = [name for name, times in mix for _ in range(times)]
    if len(programs) != count:
        raise UsageError(
            f"--agents names {len(programs)} agents, but the count is {count}", hint="make them equal"
        )
    return programs
