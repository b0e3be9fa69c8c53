"""The keys of the review screen: bindings, footer and help are read from this table."""

from __future__ import annotations

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


def _key(
    chords: str, action: str, says: str, group: str, label: str = "", place: int = 0, shown: str = ""
) -> ReviewKey:
    return ReviewKey(tuple(chords.split()), action, says, group, label, place, shown)


KEYS: tuple[ReviewKey, ...] = (
    _key("j down", "line(1)", "next, previous line", "Move", "line", 1, "j k"),
    _key("k up", "line(-1)", "", "Move"),
    _key("n", "next(1)", "change, or place found", "Move", "change", 2, "n N"),
    _key("N", "next(-1)", "", "Move"),
    _key("J tab", "file(1)", "file", "Move", "file", 3, "J K"),
    _key("K shift+tab", "file(-1)", "", "Move"),
    _key("pagedown ctrl+d", "page(1)", "page", "Move", shown="pgdn pgup"),
    _key("pageup ctrl+u", "page(-1)", "", "Move"),
    _key("g home", "edge(-1)", "first, last line", "Move", shown="g G"),
    _key("G end", "edge(1)", "", "Move"),
    _key("]", "comment_at(1)", "comment", "Move", shown="] ["),
    _key("[", "comment_at(-1)", "", "Move"),
    _key("h", "side('old')", "old side, new side", "Move", shown="h l"),
    _key("l", "side('new')", "", "Move"),
    _key("left", "sideways(-1)", "scroll sideways", "Move", shown="← →"),
    _key("right", "sideways(1)", "", "Move"),
    _key("space", "mark", "mark read, next unread", "Review", "mark read", 4),
    _key("c", "comment", "comment on line or range", "Review", "comment", 5),
    _key("v", "choose", "begin a range of lines", "Review"),
    _key("enter", "enter", "edit comment; whole file", "Review"),
    _key("D", "delete", "delete the comment", "Review"),
    _key("C", "send", "send all comments", "Review", "send", 6),
    _key("u", "split", "unified, side by side", "Look", "unified", 7),
    _key("W", "whole", "whole file, changes only", "Look", "whole file", 8),
    _key("w", "wrap", "wrap long lines", "Look"),
    _key("/", "search", "search in this file", "Look", "search", 9),
    _key("=", "against", "compare with another", "Look"),
    _key("f", "files", "hide or show the files", "Look"),
    _key("o e", "edit", "open in your editor", "Look", "editor", 10, "o"),
    _key("escape q", "leave", "back to the list", "Look", "back", 11, "esc"),
    _key("?", "help", "these keys", "Look"),
)


def bound() -> list[tuple[str, str, str]]:
    """Every key as Textual names it, its action, and what that does."""
    return [(event_key(chord), one.action, one.says) for one in KEYS for chord in one.chords]


def footer_keys(labels: dict[str, str]) -> list[FooterKey]:
    """The entries of the footer, by importance; `labels` replaces those of some actions."""
    listed = sorted((one for one in KEYS if one.place), key=lambda one: one.place)
    return [
        FooterKey(one.shown or show(one.chords[0]), labels.get(one.action, one.label), (one.chords[0],))
        for one in listed
        if labels.get(one.action, one.label)
    ]


def groups() -> list[tuple[str, list[tuple[str, str]]]]:
    """The keys for help, by group; the second key of a pair is beside the first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in KEYS:
        if one.says:
            found.setdefault(one.group, []).append((one.shown or show(one.chords[0]), one.says))
    return list(found.items())
