"""The keys of the compare screen: bindings, footer and help are read from this table."""

from __future__ import annotations

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.tui.keys import event_key, show
from fleet_tui.tui.widgets.footer import FooterKey


@dataclass(frozen=True, slots=True)
class CompareKey:
    """One thing to do in a comparison, and its keys."""

    chords: tuple[str, ...]
    action: str
    """The method of the screen, with its arguments."""
    says: str
    group: str
    label: str = ""
    """For the footer; {} stands for the selected agent. Empty is not shown there."""
    shown: str = ""
    """The keys in footer and help, where one entry stands for a pair; the second one of a pair says nothing."""


def _key(chords: str, action: str, says: str, group: str, label: str = "", shown: str = "") -> CompareKey:
    return CompareKey(tuple(chords.split()), action, says, group, label, shown)


KEYS: tuple[CompareKey, ...] = (
    _key("j down", "step(1)", "next, previous agent", "Move", "agent", "j k"),
    _key("k up", "step(-1)", "", "Move"),
    _key("g home", "edge(-1)", "first, last agent", "Move", shown="g G"),
    _key("G end", "edge(1)", "", "Move"),
    _key("d enter", "diff", "review what it changed", "Look", "diff"),
    _key("m", "land", "land its work", "Finish", "land {}"),
    _key("K", "keep", "keep it, trash the rest", "Finish", "keep {}, trash the rest"),
    _key("r", "check", "run the checks again", "Check", "run checks again"),
    _key("L", "output", "output of its check", "Check", "output"),
    _key("x", "cancel", "cancel running checks", "Check"),
    _key("space s", "mark", "mark two agents", "Look", "mark two"),
    _key("=", "diff_of_two", "diff of the two marked", "Look", "diff of two"),
    _key("o", "order", "next order", "Look", "order"),
    _key("tab", "side", "reasons or files (narrow)", "Look"),
    _key("escape q", "leave", "back to the list", "Move", "back", "esc"),
    _key("?", "help", "these keys", "Look"),
)
"""In the order of the footer."""
_SHORT = {"keep {}, trash the rest": "keep {}", "run checks again": "checks"}
"""Labels for a narrow footer."""


def bound() -> list[tuple[str, str, str]]:
    """Every key as Textual names it, its action, and what that does."""
    return [(event_key(chord), one.action, one.says) for one in KEYS for chord in one.chords]


def footer_keys(name: str, *, is_narrow: bool) -> list[FooterKey]:
    """The entries of the footer for the selected agent, by importance."""

    def label(one: CompareKey) -> str:
        return (_SHORT.get(one.label, one.label) if is_narrow else one.label).replace("{}", name)

    return [
        FooterKey(one.shown or show(one.chords[0]), label(one), (one.chords[0],)) for one in KEYS if one.label
    ]


def groups() -> list[tuple[str, list[tuple[str, str]]]]:
    """The keys for help, by group; the second key of a pair is beside the first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in KEYS:
        if one.says:
            found.setdefault(one.group, []).append((one.shown or show(one.chords[0]), one.says))
    return list(found.items())
