"""Records that agent programs keep of their conversations: what was read from each, and the reading that all share.

Where a program keeps its records and what a line of them means is in its own `records.py`. Records are read, never
written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from fleet_tui.fast_dataclasses import asdict, dataclass, field
from fleet_tui.programs.json_values import JsonObject, parsed

RECENT = 16
"""Messages remembered: programs write one message several times, not always in a row."""
HEAD = 1 << 17
LONGEST_LINE = 64 << 20
"""Bytes; anything longer is not read as a line."""


MALFORMED = (OSError, ValueError, TypeError, AttributeError, LookupError, OverflowError)
"""What reading a file can raise whose content another program decides."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a program."""

    id: str
    """Empty until the record says enough."""
    path: Path
    started_at: float
    is_main: bool = True
    """The user's own conversation, not one that the program started by itself, such as a sub-agent's."""


@dataclass(slots=True)
class Record:
    """What was read from one record, and the offset to continue from. The store keeps it as JSON: never rename a field."""

    path: str
    id: str = ""
    since: float = 0.0
    """Earlier messages belong to the conversation that this one was copied from."""
    is_main: bool = True
    read_to: int = 0
    models: dict[str, list[int]] = field(default_factory=dict)
    """Per model: input tokens without cached ones, cached tokens, output tokens."""
    told: float | None = None
    """The cost in US dollars that the program reported last."""
    untold: dict[str, list[int]] = field(default_factory=dict)
    """Per model: the tokens used since that report."""
    is_copy: bool = False
    """It has messages from before `since`: the reported cost includes those of another conversation."""
    context: int | None = None
    limit: int | None = None
    model: str = ""
    at: float = 0.0
    recent: dict[str, list[int]] = field(default_factory=dict)
    grew: bool = False
    """The last read found something new."""

    @classmethod
    def of(cls, values: JsonObject) -> Record:
        """Restore what `as_json` returned; raises ValueError or TypeError for anything else."""
        return cls(**values)

    def as_json(self) -> JsonObject:
        return asdict(self)

    def add(self, model: str, tokens: Iterable[int], message: str = "") -> None:
        """Count the tokens of a message. If the message was counted before, count only the increase."""
        now = [int(number) for number in tokens]
        before = self.recent.pop(message, [0, 0, 0]) if message else [0, 0, 0]
        if message:
            self.recent[message] = now
            for oldest in list(self.recent)[:-RECENT]:
                del self.recent[oldest]
        for counted in (self.models, self.untold):
            kept = counted.setdefault(model, [0, 0, 0])
            counted[model] = [old + new - known for old, new, known in zip(kept, now, before, strict=True)]

    def set_cost(self, cost: float) -> None:
        """The program reports the cost of the whole conversation so far."""
        self.told, self.untold = cost, {}

    def set_context(self, context: int, model: str, at: float) -> None:
        """Set how full the context is, unless a newer message has set it."""
        if at >= self.at:
            self.context, self.model, self.at = context, model, at


def parse_time(text: object) -> float:
    """Seconds since the epoch of an ISO 8601 time; 0 if the text is not one."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


def read_lines(record: Record, marks: Sequence[bytes], take: Callable[[Record, JsonObject], None]) -> None:
    """Take the lines appended since the last read. Lines without one of the marks are skipped without parsing them."""
    with Path(record.path).open("rb") as file:
        file.seek(record.read_to)
        while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
            record.read_to += len(line)
            record.grew = True
            if any(mark in line for mark in marks):
                take(record, parsed(line))


def conversations_in(
    files: Iterable[Path], since: float, conversation: Callable[[Path, JsonObject], Conversation | None]
) -> list[Conversation]:
    """The conversations of the files that were written to since a moment, oldest first, each by the file's first line."""
    found = (conversation(file, first_line(file)) for file in changed_since(files, since))
    return sorted((one for one in found if one is not None), key=lambda one: one.started_at)


def first_line(path: Path) -> JsonObject:
    try:
        with path.open("rb") as file:
            return parsed(file.readline(HEAD))
    except OSError:
        return {}


def folder_name(path: str) -> str:
    """A path as a folder name: a dash for each UTF-16 unit that is not an ASCII letter or digit, as JavaScript counts."""
    return re.sub(r"[^a-zA-Z0-9]", lambda other: "--" if ord(other[0]) > 0xFFFF else "-", path)


def changed_since(files: Iterable[Path], since: float) -> Iterator[Path]:
    """The files that were written to at or after a moment."""
    for file in files:
        try:
            if file.stat().st_mtime >= since:
                yield file
        except OSError:
            continue


def home(environment: Mapping[str, str], variable: str, folder: str) -> Path:
    """The folder that a variable names, or a folder in the user's home directory."""
    chosen = environment.get(variable, "")
    return Path(chosen) if chosen else Path(environment.get("HOME") or Path.home()) / folder
