"""Writes a section of documentation and finishes soon."""

from pathlib import Path

from fleet_tui.tui.demo.acting import begin, listen, read, say, think, write

SECTION = """
## Durations

Write them as people do: `1h30m`, `45s`, `2h`.

```python
from clockwork.durations import parse

parse("1h30m")  # 5400
```
"""


def main() -> None:
    begin("writer")
    read("README.md")
    think("Finding the words", 1.5)
    write("README.md", Path("README.md").read_text(encoding="utf-8") + SECTION)
    say()
    say("The README has a section about durations now.")
    listen("README.md has a section about durations")


if __name__ == "__main__":
    main()
