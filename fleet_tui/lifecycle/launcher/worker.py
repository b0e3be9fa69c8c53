"""The launcher's worker: make worktrees in parallel, have the forker start keepers, record the result in the store."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fleet_tui import paths
from fleet_tui.errors import FleetError, LaunchFailed
from fleet_tui.fast_dataclasses import asdict
from fleet_tui.holder.run_folder import EXIT_FILE, Exit, write_record
from fleet_tui.holder.stop_requests import StopRequests, read_stop
from fleet_tui.lifecycle.intent import Intent, roll_back
from fleet_tui.lifecycle.launcher.forker import LOCK_COMES
from fleet_tui.lifecycle.launcher.run_spec import run_spec
from fleet_tui.lifecycle.launcher.spare import hold_one
from fleet_tui.models import Agent, LaunchStage, Status

if TYPE_CHECKING:
    from fleet_tui import git
    from fleet_tui.git import HeldSpare
    from fleet_tui.holder.run_spec import RunSpec
    from fleet_tui.programs.profile import Profile
    from fleet_tui.store.database import Store

LOOK_SECONDS = 0.1
"""Between checks whether agents that wait for their worktree have been stopped."""
UNWANTED = "stopped during its creation"


class LaunchWorker:
    """Creates the agents of one order, whose locks it holds."""

    def __init__(
        self,
        locks: dict[str, int],
        parallel: int,
        forker: socket.socket,
        out: IO[str],
    ) -> None:
        from fleet_tui.store.database import Store

        self._locks = locks
        self._profiles: dict[str, Profile] = {}
        self._parallel = parallel
        self._forker = forker
        self._answers = forker.makefile("rb")
        self._out: IO[str] | None = out
        self._store: Store = Store(paths.store())
        self._requests: dict[str, StopRequests] = {}
        self._spare: HeldSpare | None = None
        self._spares: dict[str, HeldSpare] = {}
        """The spare worktree that an agent is to take, by its id."""
        self._unwanted: set[str] = set()
        """Agents that were stopped during their creation."""

    def run(self) -> None:
        jobs = [
            (self._store.agents.get(agent), Intent.read(self._store.agents.intent(agent)))
            for agent in self._locks
        ]
        self._requests = {agent.id: StopRequests(paths.lock(agent.id), agent.run) for agent, _ in jobs}
        self._allot_spare(jobs)
        for agent, intent, failure in self._worktrees(jobs):
            if failure:
                self._fail(agent, failure)
            else:
                self._start(agent, intent)
            # Only now: once the keeper has opened the pipe, requests in it are not lost.
            self._requests[agent.id].close()
            os.close(self._locks.pop(agent.id))
        if self._spare is not None:
            self._spare.close()
        self._hang_up()
        self._tidy([intent for _, intent in jobs if intent.makes_worktree])
        self._store.close()

    def _allot_spare(self, jobs: list[tuple[Agent, Intent]]) -> None:
        """Hold a spare of its project for the first new agent, if one is ready."""
        new = [(agent, intent) for agent, intent in jobs if intent.makes_branch and intent.makes_worktree]
        if not new:
            return
        agent, intent = new[0]
        self._spare = hold_one(self._store, intent.repository, Path(intent.git_dir))
        if self._spare is not None:
            self._spares[agent.id] = self._spare

    def _hang_up(self) -> None:
        """Let the caller go on: what follows does not concern it."""
        # A socket stays open until the files made of it are closed.
        self._answers.close()
        self._forker.close()
        if self._out is not None:
            self._out.close()
            self._out = None

    def _tidy(self, made: list[Intent]) -> None:
        from fleet_tui.config.load import load
        from fleet_tui.lifecycle import spares, tidy
        from fleet_tui.system import priority

        # Without the project's settings: the trash holds worktrees of all projects.
        config = load(None)
        tidy.tidy(self._store, config, now=time.time())
        if not made:
            return
        project, folder = Path(made[0].repository), Path(made[0].worktree).parent
        priority.lower(priority.LOWEST)
        try:
            spares.keep_ready(self._store, project, folder, config.spare_count)
        except (FleetError, OSError):
            # The next agent starts without one.
            log_exception()

    def _worktrees(self, jobs: list[tuple[Agent, Intent]]) -> Iterator[tuple[Agent, Intent, str]]:
        """Yield each job when its worktree is ready, or with the reason why it failed."""
        from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

        with ThreadPoolExecutor(self._parallel) as pool:
            futures = {pool.submit(self._make, agent, intent): (agent, intent) for agent, intent in jobs}
            self._load_profiles(jobs)
            while futures:
                for future in wait(futures, LOOK_SECONDS, FIRST_COMPLETED).done:
                    agent, intent = futures.pop(future)
                    yield agent, intent, future.result()
                # Jobs in progress check this themselves; queued ones may wait long for a slow checkout.
                for future, (agent, intent) in list(futures.items()):
                    if self._is_unwanted(agent) and future.cancel():
                        del futures[future]
                        yield agent, intent, UNWANTED

    def _is_unwanted(self, agent: Agent) -> bool:
        """Whether the agent was stopped during its creation."""
        if self._requests[agent.id].take() or read_stop(paths.run(agent.id, agent.run)) is not None:
            self._unwanted.add(agent.id)
        return agent.id in self._unwanted

    def _load_profiles(self, jobs: list[tuple[Agent, Intent]]) -> None:
        """Load profiles and modules while git checks out, before the first agent needs them."""
        from fleet_tui.lifecycle import copied_files  # noqa: F401 - preload
        from fleet_tui.programs import command, environment  # noqa: F401 - preload

        for profile in {intent.profile for _, intent in jobs}:
            # An error is reported for the agents of this profile when they start.
            with contextlib.suppress(FleetError):
                self._profile(profile)

    def _profile(self, name: str) -> Profile:
        """Read each profile once."""
        from fleet_tui.programs import profiles

        if name not in self._profiles:
            self._profiles[name] = profiles.load(name)
        return self._profiles[name]

    def _make(self, agent: Agent, intent: Intent) -> str:
        """Make the worktree and copy files into it; returns the reason of a failure, after rolling back."""
        if not intent.makes_worktree:
            self._lock_again(agent, intent)
            return ""
        if self._is_unwanted(agent):
            return UNWANTED
        from fleet_tui import git

        self._report(agent, "worktree")
        folder = Path(intent.worktree).parent
        try:
            paths.private(folder)
        except OSError as error:
            return f"cannot create the folder {folder}: {error.strerror}"
        try:
            repository = git.Repository(
                Path(intent.repository),
                Path(intent.git_dir),
                "",
                is_bare=False,
                head=intent.base,
                head_branch="",
            )
            plan = git.WorktreePlan(intent.branch, intent.base, Path(intent.worktree), intent.makes_branch)
            if not self._take_spare(agent, repository, plan):
                git.add(
                    repository,
                    plan,
                    admin_name=admin_name(agent),
                    lock_reason=lock_reason(agent),
                    # A git that outlives this process keeps the lock, so that nothing is cleaned up under it.
                    keep_open=[self._locks[agent.id]],
                    is_unwanted=lambda: self._is_unwanted(agent),
                )
        except git.GitCancelled:
            _roll_back(agent, intent)
            return UNWANTED
        except FleetError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - a failure must be shown and must not affect other agents
            log_exception()
            return f"internal error: {error!r}"
        return self._copy_files(agent, intent)

    def _take_spare(self, agent: Agent, repository: git.Repository, plan: git.WorktreePlan) -> bool:
        """Turn the spare worktree into the agent's own, if it is for this one; False if that is not surely right."""
        from fleet_tui import git

        spare = self._spares.get(agent.id)
        return spare is not None and git.take_spare(
            repository,
            spare,
            plan,
            admin_name=admin_name(agent),
            lock_reason=lock_reason(agent),
            keep_open=[self._locks[agent.id]],
        )

    def _lock_again(self, agent: Agent, intent: Intent) -> None:
        """Lock the worktree for git again: it was unlocked at the end of the last run, and git could prune it."""
        from fleet_tui import git

        # Git does not prune a worktree that it no longer knows.
        with contextlib.suppress(FleetError, OSError):
            git.lock(Path(intent.git_dir), Path(agent.worktree), lock_reason(agent), agent.id)

    def _copy_files(self, agent: Agent, intent: Intent) -> str:
        from fleet_tui.lifecycle import copied_files

        try:
            copied = copied_files.copy(
                Path(intent.repository), Path(intent.worktree), intent.credential_files, intent.include
            )
        except OSError as error:
            _roll_back(agent, intent)
            return f"copying files into the worktree: {error}"
        notes = [f"not found: {', '.join(copied.missing)}"] if copied.missing else []
        notes += [f"{path}: {reason}" for path, reason in copied.refused]
        if notes:
            self._report(agent, "files", "; ".join(notes))
        return ""

    def _start(self, agent: Agent, intent: Intent) -> None:
        """Start one agent's holder; a failure does not affect the other agents."""
        if self._is_unwanted(agent):
            self._fail_and_roll_back(agent, intent, UNWANTED)
            return
        try:
            self._start_holder(agent, intent)
        except FleetError as error:
            self._fail_and_roll_back(agent, intent, str(error))
        except OSError as error:
            log_exception()
            self._fail_and_roll_back(agent, intent, f"system error: {error}")

    def _fail_and_roll_back(self, agent: Agent, intent: Intent, reason: str) -> None:
        _roll_back(agent, intent)
        self._fail(agent, reason)

    def _start_holder(self, agent: Agent, intent: Intent) -> None:
        spec = run_spec(agent, intent, self._profile(intent.profile))
        answer = self._ask_forker(spec, self._locks[agent.id])
        if "error" in answer:
            raise LaunchFailed(
                f"{intent.argv[0]}: {answer['error']}",
                hint=f"check that {intent.argv[0]} starts in a terminal",
            )
        now = time.time()
        status = Status.SETUP if intent.setup else Status.STARTING
        with self._store.transaction():
            self._store.agents.change(
                agent.id,
                now,
                pid=answer["pid"],
                keeper_pid=answer["keeper_pid"],
                started_at=now,
                ended_at=None,
            )
            self._store.agents.change(
                agent.id, now, only_from=[Status.SETUP], status=status, status_detail=""
            )
        self._report(agent, "setup" if status is Status.SETUP else "starting")

    def _ask_forker(self, spec: RunSpec, lock: int) -> dict[str, Any]:
        try:
            socket.send_fds(self._forker, [LOCK_COMES], [lock])
            self._forker.sendall(json.dumps(asdict(spec)).encode() + b"\n")
            line = self._answers.readline()
        except OSError:
            line = b""
        if not line:
            # The forker is gone. Agents that it started keep their locks; reconciling rolls back the others.
            os._exit(1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _fail(self, agent: Agent, reason: str) -> None:
        from fleet_tui.lifecycle.reconcile import unlock_worktree

        now = time.time()
        folder = paths.private(paths.run(agent.id, agent.run))
        write_record(folder / EXIT_FILE, Exit("failed", now, reason=reason))
        with self._store.transaction():
            self._store.agents.change(agent.id, now, status=Status.FAILED, status_detail=reason, ended_at=now)
        unlock_worktree(self._store, agent)
        self._report(agent, "failed", reason)

    def _report(self, agent: Agent, step: LaunchStage, note: str = "") -> None:
        if self._out is None:
            return
        try:
            self._out.write(json.dumps({"agent": agent.id, "step": step, "note": note}) + "\n")
            self._out.flush()
        except OSError:
            self._out = None


def _roll_back(agent: Agent, intent: Intent) -> None:
    """Roll back one agent. A failure must not stop the others; fleet doctor reports what is left."""
    with contextlib.suppress(FleetError, OSError):
        roll_back(agent, intent)


def admin_name(agent: Agent) -> str:
    """The name of git's entry for the worktree."""
    return Path(agent.worktree).name


def lock_reason(agent: Agent) -> str:
    """The reason git gives for refusing to remove the worktree."""
    return f"fleet agent {agent.name}"


def log_exception() -> None:
    """Write the current exception to the launchers' log, which is standard error."""
    import traceback

    traceback.print_exc()
