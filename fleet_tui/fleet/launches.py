"""Turns what a caller wants started into one launch request: names, batch, settings, trust."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import names
from fleet_tui.errors import Refused, UsageError
from fleet_tui.models import Agent, Batch, Status
from fleet_tui.quantities import counted

if TYPE_CHECKING:
    from fleet_tui.config.settings import Config
    from fleet_tui.git import Repository
    from fleet_tui.lifecycle.request import AgentRequest
    from fleet_tui.lifecycle.start import OnProgress
    from fleet_tui.store.database import Store


class Launches:
    """Builds launch requests for one repository and passes them to `lifecycle.start`."""

    def __init__(self, store: Store, repository: Repository, start: Path, size: tuple[int, int]) -> None:
        self._store = store
        self._repository = repository
        self._start = start
        self._size = size

    def single(self) -> Batch:
        """The batch of the agents that were started one by one today."""
        return Batch(time.strftime("manual-%Y%m%d"), str(self._repository.root), time.time())

    def batch(self, prompt: str) -> Batch:
        """A new batch."""
        batch_id = names.batch_id(time.strftime("%y%m%d"), os.urandom)
        return Batch(batch_id, str(self._repository.root), time.time(), prompt)

    def free_names(self, prefix: str, count: int) -> list[str]:
        """PREFIX-A and so on, without the names of an earlier fan-out with this prefix."""
        from fleet_tui import git

        taken = git.branch_names(self._repository, f"{prefix}-*")
        taken |= {
            agent.name
            for agent in self._store.agents.all(str(self._repository.root))
            if agent.status is not Status.KILLED
        }
        suffixes = names.suffixes()
        chosen: list[str] = []
        while len(chosen) < count:
            name = f"{prefix}-{next(suffixes)}"
            if name not in taken:
                chosen.append(name)
        return chosen

    def start(
        self,
        wanted: Sequence[AgentRequest],
        batch: Batch,
        *,
        quick: bool = False,
        base: str = "",
        existing: bool = False,
        headless: bool = False,
        own_settings: bool = False,
        on_progress: OnProgress | None,
    ) -> list[Agent]:
        """Start all these agents, or none if something is wrong with the request."""
        from fleet_tui.lifecycle.request import LaunchRequest
        from fleet_tui.lifecycle.start import Starter

        for one in wanted:
            names.check_branch(one.name)
            if one.prompt:
                names.check_prompt(one.prompt)
            names.check_text(one.profile, "the agent's name")
        request = LaunchRequest(
            self._repository, self._settings(own_settings=own_settings), batch, tuple(wanted), self._start,
            self._size, quick=quick, base=base, existing=existing, headless=headless,
        )  # fmt: skip
        return Starter(self._store).create(request, on_progress=on_progress)

    def fan_out(
        self,
        count: int,
        prefix: str,
        prompt: str,
        programs: Sequence[str],
        *,
        quick: bool,
        base: str,
        headless: bool,
        own_settings: bool,
        on_progress: OnProgress | None,
    ) -> list[Agent]:
        """Start agents with the same prompt under free names."""
        from fleet_tui.lifecycle.request import AgentRequest

        batch = self.batch(prompt)
        while True:
            chosen = self.free_names(prefix, count)
            wanted = [AgentRequest(name, prompt, one) for name, one in zip(chosen, programs, strict=True)]
            try:
                return self.start(
                    wanted, batch, quick=quick, base=base, headless=headless, own_settings=own_settings,
                    on_progress=on_progress,
                )  # fmt: skip
            except Refused:
                # A concurrent fan-out may have taken these names: retry unless they are still free.
                if self.free_names(prefix, count) == chosen:
                    raise

    def _settings(self, *, own_settings: bool) -> Config:
        """The settings that agents start with; raises Untrusted while those of the project are not trusted."""
        from fleet_tui.config.load import load

        root = self._repository.root
        if own_settings:
            return load(root, trusted=False)
        found = load(root, include=True)
        if found.untrusted:
            from fleet_tui.lifecycle import trust

            raise trust.untrusted(found.untrusted)
        return found


def spread(count: int, profile: str, mix: Sequence[tuple[str, int]]) -> list[str]:
    """The program of each agent of a fan-out."""
    if not mix:
        return [profile] * count
    programs = [name for name, times in mix for _ in range(times)]
    if len(programs) != count:
        raise UsageError(
            f"--agents names {counted(len(programs), 'agent')}, but the count is {count}",
            hint="make them equal",
        )
    return programs
