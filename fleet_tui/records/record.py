"""One conversation as far as it was read, and the few things that reading any program's records takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from fleet_tui.values import asdict, dataclass, field

Entry = dict[str, Any]
"""One line of a record: somebody else's JSON, in which anything may be missing or of another type."""

RECENT = 16
"""How many of the latest messages are remembered: one message is written several times, and not always in a row."""
HEAD = 1 << 17
LONGEST_LINE = 64 << 20
"""Bytes; what goes on for longer is not a line."""


MALFORMED = (OSError, ValueError, TypeError, AttributeError, LookupError, OverflowError)
"""What reading files can raise that somebody else writes as they like."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a program."""

    id: str
    """Empty while its record does not say enough yet."""
    path: Path
    started_at: float
    is_main: bool = True
    """A person's own, not one that the program holds with itself."""


@dataclass(slots=True)
class Record:
    """What one record says so far, and where to read on. Sent to the store as JSON."""

    path: str
    id: str = ""
    since: float = 0.0
    """What was said before belongs to the conversation that this one is a copy of."""
    is_main: bool = True
    read_to: int = 0
    models: dict[str, list[int]] = field(default_factory=dict)
    """Per model: tokens sent, of these not counted but found in the cache, and answered."""
    told: float | None = None
    """The cost in US dollars as the program itself told it last."""
    untold: dict[str, list[int]] = field(default_factory=dict)
    """The tokens that have been used since."""
    is_copy: bool = False
    """It has messages from before `since`, so that what the program tells of its cost is not of this one alone."""
    context: int | None = None
    limit: int | None = None
    model: str = ""
    at: float = 0.0
    recent: dict[str, list[int]] = field(default_factory=dict)
    grew: bool = False
    """There was something new when it was last read."""

    @classmethod
    def of(cls, values: Entry) -> Record:
        """What `as_json` gave; ValueError or TypeError when it is something else."""
        return cls(**values)

    def as_json(self) -> Entry:
        return asdict(self)

    def add(self, model: str, tokens: Iterable[int], message: str = "") -> None:
        """Count tokens; those of a message that was counted before only as far as there are more of them by now."""
        now = [int(number) for number in tokens]
        before = self.recent.pop(message, [0, 0, 0]) if message else [0, 0, 0]
        if message:
            self.recent[message] = now
            for oldest in list(self.recent)[:-RECENT]:
                del self.recent[oldest]
        for counted in (self.models, self.untold):
            kept = counted.setdefault(model, [0, 0, 0])
            counted[model] = [old + new - known for old, new, known in zip(kept, now, before, strict=True)]

    def tell(self, cost: float) -> None:
        """The program says what all of it has cost."""
        self.told, self.untold = cost, {}

    def uses(self, context: int, model: str, at: float) -> None:
        """How full the conversation is by its newest message."""
        if at >= self.at:
            self.context, self.model, self.at = context, model, at


def moment(text: object) -> float:
    """Seconds since the epoch of a time as programs write it; 0 where it is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


def number(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def table(value: object) -> Entry:
    return value if isinstance(value, dict) else {}


def parsed(line: bytes) -> Entry:
    """A line as an object; an empty one where it is none."""
    try:
        return table(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def read_lines(record: Record, marks: Sequence[bytes], take: Callable[[Record, Entry], None]) -> None:
    """Take the lines that were appended; those without a mark say nothing that counts, and are not parsed."""
    with Path(record.path).open("rb") as file:
        file.seek(record.read_to)
        while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
            record.read_to += len(line)
            record.grew = True
            if any(mark in line for mark in marks):
                take(record, parsed(line))


def head(path: Path) -> Entry:
    """The first line of a record."""
    try:
        with path.open("rb") as file:
            return parsed(file.readline(HEAD))
    except OSError:
        return {}


def folder_name(path: str) -> str:
    """A path as the name of a folder: a dash for whatever is no letter or digit, counted as JavaScript counts."""
    return re.sub(r"[^a-zA-Z0-9]", lambda other: "--" if ord(other[0]) > 0xFFFF else "-", path)


def changed_since(files: Iterable[Path], since: float) -> Iterator[Path]:
    """Those that were written to after a moment."""
    for file in files:
        try:
            if file.stat().st_mtime >= since:
                yield file
        except OSError:
            continue


def home(environment: Mapping[str, str], variable: str, folder: str) -> Path:
    """The folder that a variable names, or one in the user's home."""
    chosen = environment.get(variable, "")
    return Path(chosen) if chosen else Path(environment.get("HOME") or Path.home()) / folder
