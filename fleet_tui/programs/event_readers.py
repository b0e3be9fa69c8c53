"""Registry of the programs whose headless mode prints events, by the name that a profile gives in `headless.stream`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.programs.claude import events as claude
from fleet_tui.programs.codex import events as codex
from fleet_tui.programs.events import EventItem, ReadEvent
from fleet_tui.programs.gemini import events as gemini
from fleet_tui.programs.opencode import events as opencode
from fleet_tui.programs.qwen import events as qwen


def _no_items(_line: str) -> Iterator[EventItem]:
    return iter(())


@dataclass(frozen=True, slots=True)
class EventReader:
    """How the output of one program's headless mode is read."""

    read: ReadEvent
    """Reads one event of standard output."""
    read_error: Callable[[str], Iterator[EventItem]] = _no_items
    """Reads one line of standard error, which is shown anyway."""
    is_cumulative: bool = False
    """The program counts earlier runs of the conversation in what it says was used."""


EVENT_READERS: Mapping[str, EventReader] = {
    "claude": EventReader(claude.read),
    "qwen": EventReader(qwen.read),
    "codex": EventReader(codex.read, is_cumulative=True),
    "gemini": EventReader(gemini.read, read_error=gemini.read_error),
    "opencode": EventReader(opencode.read),
}
