"""Rows and intents for agents that could be made: everything that can be refused is refused here, before a trace is left."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from fleet_tui import git, names, paths, profiles
from fleet_tui.config import Config, worktrees
from fleet_tui.intents import Intent
from fleet_tui.models import Agent, Batch, Status
from fleet_tui.processes import boot_id, here
from fleet_tui.values import dataclass

MAX_PARALLEL = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """One agent to be started."""

    name: str
    prompt: str
    profile: str
    fork_of: str = ""
    """The conversation that this one is to go on with a copy of."""


class Plans:
    """Rows and intents for agents that could be made when this was called; nothing is written yet."""

    def __init__(
        self,
        repository: git.Repository,
        config: Config,
        wanted: Sequence[Wanted],
        batch: Batch,
        *,
        here: Path,
        quick: bool,
        base: str,
        existing: bool,
        size: tuple[int, int],
        headless: bool = False,
    ) -> None:
        self._repository = repository
        self._config = config
        self._batch, self._quick, self._size = batch, quick, size
        self._here, self._headless = here, headless
        self._profiles: dict[str, profiles.Profile] = {}
        folder = worktrees(config, self._repository.root)
        ids = [names.new_id(os.urandom) for _ in wanted]
        places = [folder / f"{names.slug(one.name)}-{agent}" for one, agent in zip(wanted, ids, strict=True)]
        commands = [
            self._command(one, agent, str(place))
            for one, agent, place in zip(wanted, ids, places, strict=True)
        ]
        if len(wanted) == 1:
            plans = [git.plan(self._repository, wanted[0].name, base=base, existing=existing, path=places[0])]
        else:
            plans = git.plan_many(self._repository, [one.name for one in wanted], places, base)
        self.parallel = config.parallel_checkouts or min(MAX_PARALLEL, os.cpu_count() or 1, len(wanted))
        """How many worktrees are checked out at a time."""
        self.rows = [
            self._row(one, agent, plan, command)
            for one, agent, plan, command in zip(wanted, ids, plans, commands, strict=True)
        ]

    def _profile(self, one: Wanted) -> profiles.Profile:
        name = self._name_of(one)
        if name not in self._profiles:
            self._profiles[name] = profiles.load(name)
        return self._profiles[name]

    def _name_of(self, one: Wanted) -> str:
        """A program's path is meant from where it was said; whoever starts it is somewhere else."""
        name, said_at = (
            (one.profile, self._here) if one.profile else (self._config.agent_default, self._repository.root)
        )
        if "/" not in name:
            return name
        name = os.path.expanduser(name)  # noqa: PTH111 - Path.expanduser raises for an unknown user
        return os.path.abspath(said_at / name)  # noqa: PTH100 - links stay as they are

    def _command(
        self, one: Wanted, agent: str, worktree: str
    ) -> tuple[profiles.Profile, profiles.Command, str]:
        profile = self._profile(one)
        session = profiles.new_session(profile)
        command = profiles.command(
            profile,
            prompt=one.prompt,
            config=self._config,
            session_id=session,
            fork_of=one.fork_of,
            worktree=worktree,
            folder=str(paths.run(agent, 1)),
            headless=self._headless,
        )
        return profile, command, session

    def _row(
        self,
        one: Wanted,
        agent: str,
        plan: git.WorktreePlan,
        made: tuple[profiles.Profile, profiles.Command, str],
    ) -> tuple[Agent, Intent]:
        profile, command, session = made
        now = time.time()
        config = self._config
        skips_setup = self._quick or config.quick
        intent = Intent(
            repository=str(self._repository.root),
            git_dir=str(self._repository.git_dir),
            branch=plan.branch,
            base=plan.base,
            worktree=str(plan.path),
            makes_worktree=True,
            makes_branch=plan.makes_branch,
            profile=self._name_of(one),
            argv=command.argv,
            prompt=one.prompt,
            pasted_prompt=command.pasted_prompt,
            setup=() if skips_setup else config.setup_commands,
            credential_files=config.credential_files,
            include=config.include,
            env=dict(config.env),
            permission_mode=config.permission_mode,
            policy=config.policy,
            fork_of=one.fork_of,
            captures_since=now if profiles.captures(profile) else 0.0,
            cols=self._size[0],
            rows=self._size[1],
            scrollback=config.scrollback,
            transcript_cap=config.transcript_mb << 20,
            headless=self._headless,
        )
        return (
            Agent(
                id=agent,
                name=one.name,
                project=self._batch.project,
                branch=plan.branch,
                base=plan.base,
                worktree=str(plan.path),
                batch=self._batch.id,
                profile=self._name_of(one),
                argv=command.argv,
                prompt=one.prompt,
                status=Status.SETUP,
                status_since=now,
                created_at=now,
                session_id=session,
                branch_made=plan.makes_branch,
                machine=here(),
                boot_id=boot_id(),
            ),
            intent,
        )
