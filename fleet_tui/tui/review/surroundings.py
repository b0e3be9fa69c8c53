"""What the review screen needs of the dashboard that opens it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from fleet_tui.faces.form_drafts import Values
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog
from fleet_tui.tui.widgets.lines import Line

DraftResult = TypeVar("DraftResult")


class KeptDrafts(Protocol):
    """Keeps what was typed into a dialog that was left."""

    def open(
        self, form: str, dialog: DraftDialog[DraftResult], on_result: Callable[[DraftResult], None]
    ) -> None: ...

    def keep(self, form: str, values: Values) -> None: ...

    def forget(self, form: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The dashboard, as far as a review knows it."""

    call: Callable[..., Awaitable[Any]]
    """Calls a verb in the worker."""
    start: Callable[[Coroutine[Any, Any, None]], None]
    """Runs work in the background and shows its failures."""
    drafts: KeptDrafts
    edit: Callable[[Agent, str, int], None]
    """Opens a file of an agent in the user's editor, at a line."""
    land: Callable[[Agent], None]
    """Opens the landing of an agent."""
    agents: Callable[[], Sequence[Agent]]
    """The agents that the list knows now."""
    into: Callable[[Agent], str]
    """The branch that the agent's work goes to; empty if it is not known."""
    conflicts: Callable[[Agent], Line]
    """Whether the agent's work merges, for the top line; empty if it is not known."""
    now: Callable[[], float]
