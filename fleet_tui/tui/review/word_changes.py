"""Find the words that differ between two versions of a line."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache

Span = tuple[int, int]
"""The first character that differs, and the one after the last."""

LEAST_ALIKE = 0.3
"""Below this share of common text, marking words would mark nearly all of them."""
MOST_WORDS = 400
"""Comparing longer lines word by word takes too long."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@lru_cache(maxsize=4096)
def changed_words(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """The differing spans of the old and of the new line; none where the lines have little in common."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if len(before) + len(after) > MOST_WORDS:
        return _between_common_ends(old, new)
    same = 0
    left: list[Span] = []
    right: list[Span] = []
    at_old = at_new = 0
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old_length = sum(map(len, before[i1:i2]))
        new_length = sum(map(len, after[j1:j2]))
        if tag == "equal":
            same += sum(len(word) for word in before[i1:i2] if not word.isspace())
        else:
            _add(left, at_old, old_length)
            _add(right, at_new, new_length)
        at_old += old_length
        at_new += new_length
    total = len("".join(old.split())) + len("".join(new.split()))
    if total and 2 * same / total < LEAST_ALIKE:
        return (), ()
    return tuple(left), tuple(right)


def _add(spans: list[Span], start: int, length: int) -> None:
    if not length:
        return
    if spans and spans[-1][1] == start:
        spans[-1] = (spans[-1][0], start + length)
    else:
        spans.append((start, start + length))


def _between_common_ends(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    room = shorter - head
    tail = next((at for at in range(room) if old[-1 - at] != new[-1 - at]), room)
    if head + tail < LEAST_ALIKE * max(len(old), len(new)):
        return (), ()
    left = ((head, len(old) - tail),) if head < len(old) - tail else ()
    right = ((head, len(new) - tail),) if head < len(new) - tail else ()
    return left, right
