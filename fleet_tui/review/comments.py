"""Comments on an agent's work: find their lines as files change, and write the prompt of a round.

A comment is about lines that are quoted with it. They are found again by their text and by the lines around them; once
they are not, a comment that was sent counts as handled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fleet_tui.errors import NotFound, Refused, UsageError
from fleet_tui.fast_dataclasses import replace
from fleet_tui.names import MAX_PROMPT_BYTES, check_text
from fleet_tui.store.reviews import StoredComment
from fleet_tui.text import flat
from fleet_tui.work import ReviewComment, Side

AROUND = 3
"""Lines that are kept above and below the quoted ones."""
MOST_TEXT = 20_000
"""Characters of a comment."""
MOST_LINES = 400
"""Lines that one comment may be about."""
MOST_QUOTED = 12
"""Quoted lines of one comment in a prompt; the agent has the file."""
MOST_WIDTH = 400
"""Characters of a quoted line in a prompt."""

FileLines = Mapping[tuple[str, Side, str], Sequence[str] | None]
"""The lines of files by path, side and what is compared with; None for a file that is gone."""


def checked_text(text: str) -> str:
    """The text of a comment, or an error that says what is wrong with it."""
    text = check_text(text.strip(), "the comment").replace("\0", "")
    if not text:
        raise UsageError("the comment is empty", hint="write what should be different")
    if len(text) > MOST_TEXT:
        raise UsageError(
            f"the comment is over {MOST_TEXT} characters", hint="put it in a file and name the file"
        )
    return text


def quoted(new: ReviewComment, lines: Sequence[str]) -> StoredComment:
    """The comment with the lines that it is about. Raises UsageError if the file does not have them."""
    first, last = new.first, new.last
    if first < 1 or last < first:
        raise UsageError(f"{first}-{last} is no range of lines", hint="for example: 10 or 10-12")
    if last > len(lines):
        count = f"{len(lines)} line" + ("s" if len(lines) != 1 else "")
        raise UsageError(
            f"{flat(new.path)} has {count}, and no line {last}", hint="fleet diff AGENT shows the lines"
        )
    if last - first >= MOST_LINES:
        raise UsageError(f"a comment is about {MOST_LINES} lines at most", hint="name the first ones")
    begin = first - 1
    return StoredComment(
        replace(new, quoted=tuple(lines[begin:last])),
        tuple(lines[max(0, begin - AROUND) : begin]),
        tuple(lines[last : last + AROUND]),
    )


def lines_of(text: str) -> list[str]:
    """The lines of a file as git counts them, without their ends."""
    found = text.split("\n")
    if found[-1] == "":
        found.pop()
    return [line.removesuffix("\r") for line in found]


# ── finding lines again ──


def located(stored: Iterable[StoredComment], files: FileLines) -> list[ReviewComment]:
    """The comments with the numbers that their lines have now. A comment whose file is not given stays as it is."""
    found = []
    for one in stored:
        key = (one.comment.path, one.comment.side, one.comment.against)
        found.append(_located(one, files[key] or ()) if key in files else one.comment)
    return found


def _located(stored: StoredComment, lines: Sequence[str]) -> ReviewComment:
    comment, size = stored.comment, len(stored.comment.quoted)
    starts = [
        at
        for at, line in enumerate(lines)
        if line == comment.quoted[0] and tuple(lines[at : at + size]) == comment.quoted
    ]
    ranked = sorted((-_alike(stored, lines, at), abs(at + 1 - comment.first), at) for at in starts)
    is_telling = any(sum(map(str.isalnum, line)) > 3 for line in comment.quoted)
    if ranked and (ranked[0][0] < 0 or (is_telling and len(starts) == 1) or len(lines) == size):
        at = ranked[0][2]
        return replace(comment, first=at + 1, last=at + size)
    return replace(comment, is_changed=True)


def _alike(stored: StoredComment, lines: Sequence[str], at: int) -> int:
    """How many lines directly above and below a place are those of the comment."""
    end = at + len(stored.comment.quoted)
    above = zip(reversed(stored.before), reversed(lines[max(0, at - AROUND) : at]), strict=False)
    below = zip(stored.after, lines[end : end + AROUND], strict=False)
    at_edges = (not stored.before and at == 0) + (not stored.after and end == len(lines))
    return at_edges + sum(_first_same(pairs) for pairs in (above, below))


def _first_same(pairs: Iterable[tuple[str, str]]) -> int:
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count


# ── rounds ──


def unsent(comments: Iterable[ReviewComment]) -> list[ReviewComment]:
    """The comments of the next round, in the order of the files and of their lines."""
    return sorted(
        (one for one in comments if not one.is_sent), key=lambda one: (one.path, one.first, one.created_at)
    )


def next_round(comments: Iterable[ReviewComment]) -> int:
    return max((one.round for one in comments if one.is_sent), default=0) + 1


def check_unsent(comment: ReviewComment) -> None:
    if comment.is_sent:
        raise Refused("that comment is sent", hint="write another one")


def round_text(comments: Sequence[ReviewComment], number: int) -> str:
    """The prompt of a round: each place with its lines and the comment. Raises NotFound without a comment, and UsageError if it
    is too long for a prompt."""
    if not comments:
        raise NotFound(
            "there is no comment to send",
            hint='write one: fleet comment AGENT PATH:LINE "what should change"',
        )
    text = _round(comments, number)
    if len(text.encode("utf-8", "replace")) > MAX_PROMPT_BYTES:
        raise UsageError(
            f"these comments are over {MAX_PROMPT_BYTES} bytes",
            hint="shorten or delete some: fleet comments AGENT --delete ID",
        )
    return text


def _round(comments: Sequence[ReviewComment], number: int) -> str:
    count = "1 comment" if len(comments) == 1 else f"{len(comments)} comments"
    return "\n\n".join(
        [
            f"Review of your changes, round {number}, {count}. Please address each of them.",
            *map(_entry, comments),
        ]
    )


def place(comment: ReviewComment) -> str:
    """The place of a comment: path:line or path:first-last."""
    numbers = f"{comment.first}" if comment.first == comment.last else f"{comment.first}-{comment.last}"
    return f"{flat(comment.path)}:{numbers}"


def _entry(comment: ReviewComment) -> str:
    note = " (as it was before your change)" if comment.side == "old" else ""
    note += " (the line has changed since)" if comment.is_changed else ""
    rows = [f"> {flat(line.expandtabs(4))[:MOST_WIDTH]}".rstrip() for line in comment.quoted[:MOST_QUOTED]]
    if len(comment.quoted) > MOST_QUOTED:
        rows.append(f"> … {len(comment.quoted) - MOST_QUOTED} more lines")
    return "\n".join([f"{place(comment)}{note}", *rows, comment.text])
