"""Sample output of programs from a fixed seed: log lines, colors, and partial redraws."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

SIZE = 8 << 20
COLS, ROWS = 120, 40
WORDS = [
    "build",
    "cache",
    "compile",
    "error",
    "failed",
    "fetch",
    "file",
    "handler",
    "import",
    "info",
    "module",
    "passed",
    "request",
    "test",
    "token",
    "warn",
]


def write_all(folder: Path) -> dict[str, Path]:
    """One file per kind of stream."""
    folder.mkdir(exist_ok=True)
    made = {}
    for name, part in KINDS.items():
        chance = random.Random(name)
        data = bytearray()
        while len(data) < SIZE:
            data += part(chance).encode()
        made[name] = folder / f"{name}.bytes"
        made[name].write_bytes(data[:SIZE])
    return made


def _text(chance: random.Random, length: int) -> str:
    text = ""
    while len(text) < length:
        text += f"{chance.choice(WORDS)} "
    return text[:length]


def _log_line(chance: random.Random) -> str:
    return f"12:{chance.randint(10, 59)}:07 [{chance.randint(1, 9999)}] {_text(chance, chance.randint(20, 100))}\r\n"


def _colors(chance: random.Random) -> str:
    """Colored lines as compilers and test runners print them, some in truecolor."""
    parts = []
    for _ in range(10):
        word = chance.choice(WORDS)
        kind = chance.random()
        if kind < 0.6:
            parts.append(f"\x1b[{chance.choice((1, 2, 31, 32, 33, 34, 36, 90))}m{word}\x1b[0m")
        elif kind < 0.85:
            parts.append(f"\x1b[38;5;{chance.randint(0, 255)}m{word}\x1b[39m")
        else:
            red, green, blue = (chance.randrange(0, 256, 32) for _ in range(3))
            parts.append(f"\x1b[38;2;{red};{green};{blue}m{word}\x1b[m")
    return " ".join(parts) + "\r\n"


def _redraw(chance: random.Random) -> str:
    """Redraws of the last lines in one synchronized update, as an agent's interface does."""
    height = 16
    lines = [
        f"\x1b[38;2;153;153;153m│\x1b[39m \x1b[1m{_text(chance, 24)}\x1b[22m \x1b[38;5;246m{_text(chance, 40)}\x1b[39m │"
        for _ in range(height)
    ]
    up = "\x1b[2K\x1b[1A" * (height - 1) + "\x1b[2K\x1b[G"
    return f"\x1b[?2026h{up}" + "\r\n".join(lines) + "\x1b[?2026l"


KINDS: dict[str, Callable[[random.Random], str]] = {
    "log lines": _log_line,
    "colors": _colors,
    "redraws": _redraw,
}
