"""Writes the generated parts of the documents: python -m tests.generated_docs

The keys in the README and docs/keys.md come from the table of actions, the list of decisions from their pages, and the
imports between rooms from the code.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import grimp

from fleet_tui.tui import keys
from fleet_tui.tui.actions import ACTIONS, BY_ID, GROUPS, Action, Context
from fleet_tui.tui.review import keys as review_keys
from tests.places import REPOSITORY

README = REPOSITORY / "README.md"
KEYS = REPOSITORY / "docs" / "keys.md"
DECISIONS = REPOSITORY / "docs" / "decisions" / "README.md"
ARCHITECTURE = REPOSITORY / "docs" / "architecture.md"

MAIN_ACTIONS = (
    "type", "leave", "next-needing", "answer", "prompt", "why", "fan-out", "stop", "kill", "undo",
)  # fmt: skip
"""The keys that the README shows."""

_KEYS_PAGE = """\
# Keys

The keys of the dashboard, written by `make docs`. `?` shows them in the dashboard, `fleet keys` prints them, and
`fleet keys explain CHORD` says what a chord does.

To change a key, name its action in the `[keys]` table of the configuration:

```toml
[keys]
preset = "tmux"                 # ctrl+b opens the menu of further keys while typing
stop = "S"                      # another key
kill = ["X", "delete"]          # several keys
theme = ""                      # no key
```

A key that already belongs to another action is refused, and the error names both actions.
"""


def main_keys() -> str:
    keymap = keys.Keymap()
    rows = [(_shown(keymap, BY_ID[name]), BY_ID[name].says) for name in MAIN_ACTIONS]
    return _table(("key", "action"), rows)


def keys_page() -> str:
    keymap = keys.Keymap()
    sections: tuple[tuple[str, Context], ...] = (
        ("In the list", "list"),
        ("While typing to an agent", "typing"),
        (f"After {keymap.shown('leader')}", "leader"),
    )
    tables = [
        f"## {title}\n\n{_table(('key', 'action', 'what it does'), _rows(keymap, context))}"
        for title, context in sections
    ]
    review = [
        (" ".join(f"`{chord}`" for chord in chords.split()).replace("|", "\\|"), says)
        for _, entries in review_keys.groups()
        for chords, says in entries
    ]
    return "\n".join([_KEYS_PAGE, *tables, f"## In a review\n\n{_table(('key', 'what it does'), review)}"])


def _rows(keymap: keys.Keymap, context: Context) -> Iterator[Sequence[str]]:
    for group in GROUPS:
        for action in ACTIONS:
            if (action.group, action.context) == (group, context):
                yield _shown(keymap, action), f"`{action.id}`", action.says


def _shown(keymap: keys.Keymap, action: Action) -> str:
    chords = keys.short(keymap.of(action.id))
    return " ".join(f"`{keys.show(chord)}`" for chord in chords).replace("|", "\\|")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def decisions() -> str:
    """The list of all decisions, each by the title of its page."""
    rows = []
    for page in sorted(DECISIONS.parent.glob("[0-9]*.md")):
        title = page.read_text(encoding="utf-8").split("\n", 1)[0]
        number, _, words = title.removeprefix("# ").partition(". ")
        rows.append(f"{number}. [{words}]({page.name})\n")
    return "".join(rows)


def with_part(text: str, name: str, part: str) -> str:
    """The text with its generated part of that name replaced."""
    begin, end = f"<!-- {name}: written by `make docs` -->\n", f"<!-- /{name} -->"
    before, rest = text.split(begin, 1)
    _, after = rest.split(end, 1)
    return f"{before}{begin}{part}{end}{after}"


def layers() -> list[list[str]]:
    """The rooms of each layer, top first, as the contract in pyproject.toml has them; the last are the words."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [
        one for one in settings["tool"]["importlinter"]["contracts"] if one.get("containers") == ["fleet_tui"]
    ]
    return [
        [name.strip(" ()") for name in layer.replace(":", "|").split("|")] for layer in contract["layers"]
    ]


@functools.cache
def imports() -> Mapping[str, frozenset[str]]:
    """The rooms that each room imports, apart from the words and from imports for types."""
    graph = grimp.build_graph("fleet_tui", exclude_type_checking_imports=True, cache_dir=None)
    rooms = {room for layer in layers()[:-1] for room in layer}
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            above, below = _room(importer), _room(imported)
            if above in rooms and below in rooms and above != below:
                found[above].add(below)
    return {room: frozenset(below) for room, below in found.items()}


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def import_graph() -> str:
    """The imports between rooms, drawn as text."""
    order = [room for layer in layers() for room in layer]
    lines = []
    for number, layer in enumerate(layers()[:-1], start=1):
        for room in layer:
            below = " ".join(sorted(imports()[room], key=order.index)) or "(only the words)"
            lines.append(f"{number}  {room:<12} → {below}\n")
    return "".join(["```\n", *lines, "```\n"])


def _with_parts(file: Path, parts: Mapping[str, Callable[[], str]]) -> Callable[[], str]:
    def made() -> str:
        text = file.read_text(encoding="utf-8")
        for name, part in parts.items():
            text = with_part(text, name, part())
        return text

    return made


DOCUMENTS: Mapping[Path, Callable[[], str]] = {
    README: _with_parts(README, {"main keys": main_keys}),
    KEYS: keys_page,
    DECISIONS: _with_parts(DECISIONS, {"pages": decisions}),
    ARCHITECTURE: _with_parts(ARCHITECTURE, {"imports": import_graph}),
}
"""Each document with generated parts, and how it is made."""


if __name__ == "__main__":
    for file, made in DOCUMENTS.items():
        file.write_text(made(), encoding="utf-8")
