"""Plan a launch: turn a request into rows and intents, and refuse everything that can be refused.

Writes nothing: a refusal here leaves no trace.
"""

from __future__ import annotations

import os
import time

from fleet_tui import git, names, paths
from fleet_tui.config.settings import worktrees
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.lifecycle.intent import Intent
from fleet_tui.lifecycle.request import AgentRequest, LaunchRequest
from fleet_tui.models import Agent, Status
from fleet_tui.programs import profiles
from fleet_tui.programs.command import LaunchCommand, launch_command, new_session
from fleet_tui.programs.profile import Profile
from fleet_tui.system.identity import boot_id, here

MAX_PARALLEL = 3


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """Agents that could be created at the time of planning."""

    rows: tuple[tuple[Agent, Intent], ...]
    parallel: int
    """How many worktrees are checked out at once."""


def plan_launch(request: LaunchRequest) -> LaunchPlan:
    """Plan all agents of a request, or raise the first reason why one of them cannot be created."""
    return _Planner(request).plan()


class _Planner:
    """The plan in the making: each profile is read once for all agents that run it."""

    def __init__(self, request: LaunchRequest) -> None:
        self._request = request
        self._repository, self._config = request.repository, request.settings
        self._profiles: dict[str, Profile] = {}

    def plan(self) -> LaunchPlan:
        wanted = self._request.agents
        folder = worktrees(self._config, self._repository.root)
        ids = [names.new_id(os.urandom) for _ in wanted]
        places = [folder / f"{names.slug(one.name)}-{agent}" for one, agent in zip(wanted, ids, strict=True)]
        commands = [
            self._command(one, agent, str(place))
            for one, agent, place in zip(wanted, ids, places, strict=True)
        ]
        if len(wanted) == 1:
            worktree_plans = [
                git.plan(
                    self._repository,
                    wanted[0].name,
                    base=self._request.base,
                    existing=self._request.existing,
                    path=places[0],
                )
            ]
        else:
            worktree_plans = git.plan_many(
                self._repository, [one.name for one in wanted], places, self._request.base
            )
        return LaunchPlan(
            tuple(
                self._row(one, agent, worktree, command)
                for one, agent, worktree, command in zip(wanted, ids, worktree_plans, commands, strict=True)
            ),
            self._config.parallel_checkouts or min(MAX_PARALLEL, os.cpu_count() or 1, len(wanted)),
        )

    def _profile(self, one: AgentRequest) -> Profile:
        name = self._program_of(one)
        if name not in self._profiles:
            self._profiles[name] = profiles.load(name)
        return self._profiles[name]

    def _program_of(self, one: AgentRequest) -> str:
        """The profile's or program's name, with a path made absolute: the launcher runs in another folder."""
        name, folder = (
            (one.profile, self._request.here)
            if one.profile
            else (self._config.agent_default, self._repository.root)
        )
        if "/" not in name:
            return name
        name = os.path.expanduser(name)  # noqa: PTH111 - Path.expanduser raises for an unknown user
        return os.path.abspath(folder / name)  # noqa: PTH100 - keeps links

    def _command(self, one: AgentRequest, agent: str, worktree: str) -> tuple[Profile, LaunchCommand, str]:
        profile = self._profile(one)
        session = new_session(profile)
        command = launch_command(
            profile,
            prompt=one.prompt,
            config=self._config,
            session_id=session,
            fork_of=one.fork_of,
            worktree=worktree,
            folder=str(paths.run(agent, 1)),
            headless=self._request.headless,
        )
        return profile, command, session

    def _row(
        self,
        one: AgentRequest,
        agent: str,
        worktree: git.WorktreePlan,
        planned: tuple[Profile, LaunchCommand, str],
    ) -> tuple[Agent, Intent]:
        profile, command, session = planned
        now = time.time()
        config = self._config
        skips_setup = self._request.quick or config.quick
        intent = Intent(
            repository=str(self._repository.root),
            git_dir=str(self._repository.git_dir),
            branch=worktree.branch,
            base=worktree.base,
            worktree=str(worktree.path),
            makes_worktree=True,
            makes_branch=worktree.makes_branch,
            profile=self._program_of(one),
            argv=command.argv,
            prompt=one.prompt,
            pasted_prompt=command.pasted_prompt,
            setup=() if skips_setup else config.setup_commands,
            credential_files=config.credential_files,
            include=config.include,
            settings=config.run,
            fork_of=one.fork_of,
            captures_since=now if profile.captures_session else 0.0,
            cols=self._request.size[0],
            rows=self._request.size[1],
            headless=self._request.headless,
        )
        return (
            Agent(
                id=agent,
                name=one.name,
                project=self._request.batch.project,
                branch=worktree.branch,
                base=worktree.base,
                worktree=str(worktree.path),
                batch=self._request.batch.id,
                profile=self._program_of(one),
                argv=command.argv,
                prompt=one.prompt,
                status=Status.SETUP,
                status_since=now,
                created_at=now,
                session_id=session,
                branch_made=worktree.makes_branch,
                machine=here(),
                boot_id=boot_id(),
            ),
            intent,
        )
