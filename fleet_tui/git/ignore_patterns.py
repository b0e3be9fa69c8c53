"""Patterns of .gitignore, matched against paths in linear time.

A pattern comes from a repository, so it may be written to hang a matcher: `*a*a*a…b` makes a backtracking regular
expression take hours, and `**/a/**/a/…b` does the same to git 2.39. This matcher keeps all positions that it may have
reached in the pattern as the bits of one integer and advances them together, so it reads each character of the text
once. Matching is case-sensitive and counts characters, where git counts bytes.

Permission rules have path globs of their own, in `permissions.matching`: there a wildcard that allows never matches a
hidden name, `dir/**` also means `dir`, and a backslash is an ordinary character.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda char: char in " \t",
    "cntrl": lambda char: ord(char) < 32 or ord(char) == 127,
    "digit": str.isdigit,
    "graph": lambda char: char.isprintable() and not char.isspace(),
    "lower": str.islower,
    "print": str.isprintable,
    "punct": lambda char: char.isprintable() and not char.isalnum() and not char.isspace(),
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
}
_STARS = re.compile(r"\*+")
_NAMED = re.compile(r"\[:([^\]]*):\]")
_DEEP = re.compile(r"(?:\*{2,}/)+")


class IgnorePattern:
    """A pattern with its meaning in a .gitignore, anchored at both ends of a relative path."""

    def __init__(self, pattern: str) -> None:
        self._literals: dict[str, int] = {}
        self._any = self._stay_in_name = self._stay_deep = self._enter = 0
        self._classes: list[tuple[Callable[[str], bool], int]] = []
        self._accepts: dict[str, int] = {}
        self._is_broken = False
        self._end = 1
        """The bit of the next position; once the pattern is read, of the position after its end."""
        self._read(pattern)
        self._start = self._closed(1)

    def matches(self, path: str) -> bool:
        if self._is_broken:
            return False
        here = self._start
        for char in path:
            moved = (here & self._accepted(char)) << 1
            stays = here & self._stay_deep
            if char != "/":
                stays |= here & self._stay_in_name
            here = self._closed(moved | stays)
            if not here:
                return False
        return bool(here & self._end)

    # ── positions ───────────────────────────────────────────────────────────────────────────────────────────────

    def _closed(self, here: int) -> int:
        """These positions and all that are reached from them without a character."""
        while True:
            enter = here & self._enter
            more = here | (here & self._stay_in_name) << 1 | enter << 1 | enter << 2
            if more == here:
                return here
            here = more

    def _accepted(self, char: str) -> int:
        """The positions that this character advances by one."""
        found = self._accepts.get(char)
        if found is None:
            found = self._literals.get(char, 0)
            if char == "/":
                found |= self._stay_deep
            else:
                found |= self._any
                for holds, place in self._classes:
                    found |= place if holds(char) else 0
            self._accepts[char] = found
        return found

    # ── reading a pattern ───────────────────────────────────────────────────────────────────────────────────────

    def _read(self, pattern: str) -> None:
        at = 0
        while at < len(pattern):
            char = pattern[at]
            begins_name = at == 0 or pattern[at - 1] == "/"
            if begins_name and (deep := _DEEP.match(pattern, at)):
                # Any number of folders, also none: one position to choose, one to be inside them.
                self._enter |= self._next()
                self._stay_deep |= self._next()
                at = deep.end()
            elif char == "*":
                stars = _STARS.match(pattern, at)
                end = stars.end() if stars else at + 1
                if begins_name and end - at > 1 and end == len(pattern):
                    self._add_everything()
                else:
                    self._stay_in_name |= self._next()
                at = end
            elif char == "?":
                self._any |= self._next()
                at += 1
            elif char == "[":
                at = self._read_class(pattern, at + 1)
            else:
                if char == "\\":
                    at += 1
                    self._is_broken |= at == len(pattern)
                self._add_literal(pattern[at : at + 1])
                at += 1

    def _next(self) -> int:
        place, self._end = self._end, self._end << 1
        return place

    def _add_literal(self, char: str) -> None:
        self._literals[char] = self._literals.get(char, 0) | self._next()

    def _add_everything(self) -> None:
        """`**` at the end of a pattern: matches the whole rest of the path."""
        self._enter |= self._end
        self._next()
        place = self._next()
        # Stays here until the end; the position after it is reached without a character, through the entry.
        self._stay_deep |= place
        self._classes.append((lambda _char: True, place))

    def _read_class(self, pattern: str, at: int) -> int:
        """Read `[…]` from after its first bracket; returns where the pattern continues. Without an end it matches nothing."""
        is_negative = pattern[at : at + 1] in ("!", "^")
        at += is_negative
        chars: set[str] = set()
        ranges: list[tuple[str, str]] = []
        named: list[Callable[[str], bool]] = []
        first, previous = True, ""
        while at < len(pattern) and (first or pattern[at] != "]"):
            first, char = False, pattern[at]
            name = _NAMED.match(pattern, at)
            if name:
                holds = _CLASSES.get(name[1])
                self._is_broken |= holds is None
                named += [holds] if holds is not None else []
                at, previous = name.end(), ""
                continue
            if char == "-" and previous and pattern[at + 1 : at + 2] not in ("", "]"):
                at += 1
                at += pattern[at] == "\\"
                ranges.append((previous, pattern[at : at + 1]))
                at, previous = at + 1, ""
                continue
            at += char == "\\"
            previous = pattern[at : at + 1]
            chars.add(previous)
            at += 1
        self._is_broken |= at >= len(pattern)

        def holds_for(char: str) -> bool:
            found = (
                char in chars
                or any(low <= char <= high for low, high in ranges)
                or any(holds(char) for holds in named)
            )
            return found != is_negative

        self._classes.append((holds_for, self._next()))
        return at + 1
