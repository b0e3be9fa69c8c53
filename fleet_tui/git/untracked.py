"""Choose which untracked files a snapshot reads.

Forgotten build output can be hundreds of thousands of files, or gigabytes: reading it would take minutes, and nobody
reviews it. What is left out is named.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

LARGE = 50 << 20
"""Bytes of an untracked file that is left out: hashing one of 200 MB takes 20 seconds."""
MOST_BYTES = 500 << 20
"""Bytes of all untracked files; the largest are left out first."""
MOST_FILES = 20_000
"""Untracked files; whole folders are left out. Hashing 100,000 takes half a minute."""
TOP = "./"
"""Stands for the files at the top, which are in no folder that could be named."""


def readable_new(untracked: Sequence[str], folder: Path) -> tuple[list[str], list[str]]:
    """The untracked files that are read, and what is left out: other repositories, which git lists with a slash at the
    end, folders with too many files, and single files."""
    left_out = [name for name in untracked if name.endswith("/")]
    names = [name for name in untracked if not name.endswith("/")]
    while len(names) > MOST_FILES:
        crowded = _most_crowded(names)
        left_out.append(crowded or TOP)
        names = [name for name in names if (not name.startswith(crowded) if crowded else "/" in name)]
    sizes = {name: _size(folder / name) for name in names}
    spared = {name for name, size in sizes.items() if size is None or size > LARGE}
    readable = {name: size for name, size in sizes.items() if size is not None and name not in spared}
    total = sum(readable.values())
    for name in sorted(readable, key=lambda name: -readable[name]) if total > MOST_BYTES else ():
        if total <= MOST_BYTES:
            break
        spared.add(name)
        total -= readable[name]
    return [name for name in names if name not in spared], [*left_out, *sorted(spared)]


def is_readable(path: Path) -> bool:
    """Whether git can read it, or it is gone; False for a FIFO or device in place of a file."""
    return _size(path) is not None


def _size(path: Path) -> int | None:
    """The bytes that git would read; None if it cannot."""
    try:
        found = path.lstat()
    except OSError:
        return 0  # it is gone by now
    if stat.S_ISREG(found.st_mode):
        return found.st_size if os.access(path, os.R_OK) else None
    return 0 if stat.S_ISLNK(found.st_mode) or stat.S_ISDIR(found.st_mode) else None


def _most_crowded(names: Sequence[str]) -> str:
    """The folder that has most of these files: as deep as nine of ten of its files go. Empty if most are in none."""
    place, inside = "", names
    while True:
        counts = Counter(name[: name.find("/", len(place)) + 1] for name in inside)
        folder, count = counts.most_common(1)[0]
        if not folder or (place and count * 10 < len(inside) * 9):
            return place
        place, inside = folder, [name for name in inside if name.startswith(folder)]
