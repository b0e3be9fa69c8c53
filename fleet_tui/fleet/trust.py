"""`fleet.trust`: show what a project's files ask for, trust it, and withdraw the trust."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui.errors import NotFound
from fleet_tui.models import Agent, TrustRequest

if TYPE_CHECKING:
    from fleet_tui.config.trust_store import TrustRecord
    from fleet_tui.fleet import Fleet


class TrustVerbs:
    """The user's trust in projects. An agent can grant none."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def asked(self, agent: Agent | None = None) -> TrustRequest | None:
        """What the files of this project, or of an agent's, ask for and the user has not trusted yet."""
        from fleet_tui.lifecycle import trust

        return trust.asked(self._fleet.repository.root if agent is None else Path(agent.project))

    def accept(self, asked: TrustRequest) -> None:
        """Trust exactly what was shown."""
        from fleet_tui.lifecycle import trust

        trust.accept(asked)

    def refuse_agents(self) -> None:
        """Raise Refused if this process was started by an agent."""
        from fleet_tui.lifecycle import trust

        trust.refuse_agents()

    def records(self) -> list[TrustRecord]:
        """The repositories that the user trusts, with what exactly."""
        from fleet_tui.config import trust_store

        return trust_store.everything()

    def withdraw(self, path: Path | None = None) -> Path:
        """Withdraw the trust in this project, or in the one at a path; returns its root."""
        from fleet_tui.config import trust_store

        root = path or self._fleet.repository.root
        if path and not trust_store.recorded(root) and root.is_dir():
            # The path may be a folder inside the repository, or one of its worktrees.
            with contextlib.closing(type(self._fleet)(root.absolute())) as there:
                root = there.repository.root
        if not trust_store.forget(root):
            raise NotFound(f"nothing in {root} is trusted", hint="see: fleet trust --list")
        return root
