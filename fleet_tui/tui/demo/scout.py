"""Reads every file, again and again, and keeps a map of what is where."""

from pathlib import Path

from fleet_tui.tui.demo.acting import DIM, GREEN, OFF, begin, lines, listen, pause, report, say, think, write

ROUNDS = 3


def main() -> None:
    begin("scout")
    found: list[str] = []
    for number in range(1, ROUNDS + 1):
        think(f"Walking through the tree, round {number} of {ROUNDS}", 2.0)
        files = sorted(file for file in Path().rglob("*") if file.is_file() and ".git" not in file.parts)
        found = []
        for file in files:
            count = len(file.read_text(encoding="utf-8", errors="replace").splitlines())
            report("working", text=f"reading {file}")
            say(f"{GREEN}●{OFF} {file} {DIM}{lines(count)}{OFF}", 0.15)
            found.append(f"| {file} | {count} |")
        pause(1.0)
    write("MAP.md", "# Where is what\n\n| file | lines |\n|---|---|\n" + "\n".join(found) + "\n")
    listen(f"{len(found)} files mapped in MAP.md")


if __name__ == "__main__":
    main()
