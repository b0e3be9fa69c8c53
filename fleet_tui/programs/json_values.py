"""Typed access to JSON that other programs write, in which any field may be missing or of another type.

Each function returns an empty or unknown value for what it cannot use; none of them raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]

COUNT_LIMIT = 10**15
"""Larger numbers are no counts: JSON may hold any number, including infinity."""


def parsed(line: bytes | str) -> JsonObject:
    """Parse an object; anything else is an empty one."""
    try:
        return table(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def table(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def array(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    return value if isinstance(value, str) else ""


def decimal(value: object) -> float | None:
    """A number that something can have been counted or priced as; None if the value is not one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < COUNT_LIMIT:
        return float(value)
    return None


def integer(value: object) -> int | None:
    number = decimal(value)
    return None if number is None else int(number)


def count(value: object) -> int:
    """An integer, 0 if unknown."""
    return integer(value) or 0


def sum_of(*values: object) -> int | None:
    """The sum of the known values; None if none is known."""
    known = [number for number in map(integer, values) if number is not None]
    return sum(known) if known else None


def difference(whole: object, part: object) -> int | None:
    """A number without a part of it, never below 0; None if the whole is unknown."""
    number = integer(whole)
    return None if number is None else max(0, number - count(part))


def at_path(values: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, whose numbers are indexes of lists; None if there is none."""
    found: Any = values
    for part in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found
