"""Writes the README's table of keys from the table of actions: python -m tests.readme"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from fleet_tui.tui import keys

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- keys: made by `make readme` -->\n", "<!-- /keys -->"


def key_table() -> str:
    rows = ["| where | keys | does |", "|---|---|---|"]
    for where, group in groupby(keys.table(keys.Keymap()), key=lambda row: row[0]):
        for _, chords, _, meaning in group:
            shown = " ".join(f"`{chord}`" for chord in chords.replace("|", "\\|").split())
            rows.append(f"| {where} | {shown} | {meaning} |")
    return "\n".join(rows) + "\n"


def with_keys(text: str) -> str:
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}{key_table()}{END}{after}"


if __name__ == "__main__":
    README.write_text(with_keys(README.read_text(encoding="utf-8")), encoding="utf-8")
