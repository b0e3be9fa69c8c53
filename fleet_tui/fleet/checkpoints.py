"""`fleet.checkpoints`: saved states of agents' worktrees, to compare and to go back to."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from fleet_tui import names, paths
from fleet_tui.errors import FleetError, UsageError
from fleet_tui.models import Agent

if TYPE_CHECKING:
    from fleet_tui.config.settings import Config
    from fleet_tui.fleet import Fleet
    from fleet_tui.work import Checkpoint, Diff, FileDiff, RestoredFiles, Timeline

NOTE_MOST = 500
PRUNE_SECONDS = 86_400.0


class CheckpointVerbs:
    """Makes checkpoints of agents' files, and brings files back to them."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def make(self, agent: Agent, note: str = "") -> tuple[Checkpoint, bool]:
        """Save an agent's files as a checkpoint; the second value is False if the last one has them already.

        With a note, a checkpoint is made in any case.
        """
        from fleet_tui.review import checkpoints

        made = checkpoints.make(self._fleet.store, self._fleet.current(agent), _checked(note))
        self._prune_if_due()
        return made

    def make_after_turn(self, agent: Agent) -> Checkpoint | None:
        """Save what the turn that has just ended has changed; None if that is nothing, or if it is switched off."""
        from fleet_tui.review import checkpoints

        if not self._settings().checkpoint_automatic:
            return None
        # The receipts of its prompts, which name the turn.
        self._fleet.refresh()
        made = checkpoints.make_after_turn(self._fleet.store, self._fleet.current(agent))
        self._prune_if_due()
        return made

    def all(self, agent: Agent) -> list[Checkpoint]:
        """An agent's checkpoints, oldest first."""
        return self._fleet.store.checkpoints.of(agent.id)

    def start(self, agent: Agent) -> Checkpoint | None:
        """The commit that an agent started from, as checkpoint 0; None if the repository has lost it."""
        from fleet_tui.review import checkpoints

        return checkpoints.start(self._fleet.store, self._fleet.current(agent))

    def diff(self, agent: Agent, number: int, *, against: str = "") -> Diff:
        """What a checkpoint has changed since the one before it, another one by number, or the base.

        Against now: what has changed since the checkpoint.
        """
        from fleet_tui.review import checkpoints

        with checkpoints.compared(self._fleet.store, self._fleet.current(agent), number, against) as found:
            return found.diff

    def patch(self, agent: Agent, number: int, *, against: str = "") -> str:
        """The same as a patch that `git apply` takes."""
        from fleet_tui.review import checkpoints

        with checkpoints.compared(self._fleet.store, self._fleet.current(agent), number, against) as found:
            return found.patch()

    def lines(
        self, agent: Agent, number: int, *, against: str = "", most: int = 12
    ) -> tuple[Diff, tuple[FileDiff, ...]]:
        """The same as `diff`, with the changed lines of the first files."""
        from fleet_tui.review import checkpoints

        with checkpoints.compared(self._fleet.store, self._fleet.current(agent), number, against) as found:
            return found.diff, tuple(found.file_diff(one.path) for one in found.diff.files[:most])

    def timeline(self, agent: Agent) -> Timeline:
        """An agent's checkpoints, its files now, checks of each state, and how long checkpoints are kept."""
        from fleet_tui.review import checkpoints

        return checkpoints.timeline(
            self._fleet.store, self._fleet.current(agent), kept_days=self._settings().checkpoint_days
        )

    def restore(self, agent: Agent, number: int, *, force: bool = False) -> RestoredFiles:
        """Bring an agent's files back to a checkpoint, after saving them as they are in another one.

        Commits, index and ignored files stay. Refuses while a turn is running, unless forced.
        """
        from fleet_tui.review import checkpoints

        return checkpoints.restore(self._fleet.store, self._fleet.current(agent), number, force=force)

    def rename(self, agent: Agent, number: int, note: str) -> Checkpoint:
        """Name a checkpoint. A named one is kept as long as its agent."""
        from fleet_tui.review import checkpoints

        return checkpoints.rename(self._fleet.store, agent, number, _checked(note))

    def prune(self) -> int:
        """Delete the checkpoints of all agents that are over the limits in the settings; returns how many.

        Raises FleetError if the settings cannot be read: the user may have raised the limits.
        """
        from fleet_tui.review.checkpoint_limits import CheckpointLimits, prune

        config = self._fleet.settings.of_user()
        limits = CheckpointLimits(config.checkpoint_days, config.checkpoint_most)
        return prune(self._fleet.store, limits, now=time.time())

    def _prune_if_due(self) -> None:
        """Once a day."""
        stamp = paths.state() / "checkpoints-pruned"
        try:
            if time.time() - stamp.stat().st_mtime < PRUNE_SECONDS:
                return
        except OSError:
            pass
        stamp.touch(mode=0o600)
        # The checkpoint has been made all the same.
        with contextlib.suppress(FleetError):
            self.prune()

    def _settings(self) -> Config:
        """The user's own, or the defaults: a project does not decide what is kept of the user's work."""
        from fleet_tui.config.settings import Config

        try:
            return self._fleet.settings.of_user()
        except FleetError:
            return Config()


def _checked(note: str) -> str:
    note = names.check_text(note.strip(), "the name")
    if len(note) > NOTE_MOST:
        raise UsageError(f"the name is over {NOTE_MOST} characters", hint="choose a shorter one")
    return note
