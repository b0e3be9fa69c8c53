"""The keys of the review screen: bindings, footer and help are read from this table. The timeline has one of its own."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.tui.keys import event_key, show
from fleet_tui.tui.widgets.footer import FooterKey


@dataclass(frozen=True, slots=True)
class ReviewKey:
    """One thing to do in a review, and its keys."""

    chords: tuple[str, ...]
    action: str
    """The method of the screen, with its arguments."""
    says: str
    group: str
    label: str = ""
    """For the footer; empty is not shown there."""
    place: int = 0
    """In the footer, 1 first."""
    shown: str = ""
    """The keys in footer and help, where one entry stands for a pair; the second one of a pair says nothing."""


def review_key(
    chords: str, action: str, says: str, group: str, label: str = "", place: int = 0, shown: str = ""
) -> ReviewKey:
    return ReviewKey(tuple(chords.split()), action, says, group, label, place, shown)


KEYS: tuple[ReviewKey, ...] = (
    review_key("j down", "line(1)", "next, previous line", "Move", "line", 1, "j k"),
    review_key("k up", "line(-1)", "", "Move"),
    review_key("n", "next(1)", "change, or place found", "Move", "change", 2, "n N"),
    review_key("N", "next(-1)", "", "Move"),
    review_key("J tab", "file(1)", "file", "Move", "file", 3, "J K"),
    review_key("K shift+tab", "file(-1)", "", "Move"),
    review_key("pagedown ctrl+d", "page(1)", "page", "Move", shown="pgdn pgup"),
    review_key("pageup ctrl+u", "page(-1)", "", "Move"),
    review_key("g home", "edge(-1)", "first, last line", "Move", shown="g G"),
    review_key("G end", "edge(1)", "", "Move"),
    review_key("]", "comment_at(1)", "comment", "Move", shown="] ["),
    review_key("[", "comment_at(-1)", "", "Move"),
    review_key("h", "side('old')", "old side, new side", "Move", shown="h l"),
    review_key("l", "side('new')", "", "Move"),
    review_key("left", "sideways(-1)", "scroll sideways", "Move", shown="← →"),
    review_key("right", "sideways(1)", "", "Move"),
    review_key("space", "mark", "mark read, next unread", "Review", "mark read", 4),
    review_key("c", "comment", "comment on line or range", "Review", "comment", 5),
    review_key("v", "choose", "begin a range of lines", "Review"),
    review_key("enter", "enter", "edit comment; whole file", "Review"),
    review_key("D", "delete", "delete the comment", "Review"),
    review_key("C", "send", "send all comments", "Review", "send", 6),
    review_key("m", "land", "land this work", "Review", "land", 8),
    review_key("u", "split", "unified, side by side", "Look", "unified", 7),
    review_key("W", "whole", "whole file, changes only", "Look", "whole file", 9),
    review_key("w", "wrap", "wrap long lines", "Look"),
    review_key("/", "search", "search in this file", "Look", "search", 10),
    review_key("=", "against", "compare with another", "Look"),
    review_key("f", "files", "hide or show the files", "Look"),
    review_key("o e", "edit", "open in your editor", "Look", "editor", 11, "o"),
    review_key("escape q", "leave", "back to the list", "Look", "back", 12, "esc"),
    review_key("?", "help", "these keys", "Look"),
)


def bound(table: Sequence[ReviewKey] = KEYS) -> list[tuple[str, str, str]]:
    """Every key as Textual names it, its action, and what that does."""
    return [(event_key(chord), one.action, one.says) for one in table for chord in one.chords]


def footer_keys(labels: dict[str, str], table: Sequence[ReviewKey] = KEYS) -> list[FooterKey]:
    """The entries of the footer, by importance; `labels` replaces those of some actions."""
    listed = sorted((one for one in table if one.place), key=lambda one: one.place)
    return [
        FooterKey(one.shown or show(one.chords[0]), labels.get(one.action, one.label), (one.chords[0],))
        for one in listed
        if labels.get(one.action, one.label)
    ]


def groups(table: Sequence[ReviewKey] = ()) -> list[tuple[str, list[tuple[str, str]]]]:
    """The keys for help, by group; the second key of a pair is beside the first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in table or KEYS:
        if one.says:
            found.setdefault(one.group, []).append((one.shown or show(one.chords[0]), one.says))
    return list(found.items())
