"""Prints a file as fast as the terminal accepts it, on request.

Usage: print_file.py REQUESTS ANSWERS, both named pipes. A request is a line with the path of a file and how often to print
it. The answer is the seconds until the terminal has answered a query that was sent after the last byte.
"""

from __future__ import annotations

import os
import sys
import time
import tty
from pathlib import Path


def main(requests: str, answers: str) -> None:
    tty.setraw(0)
    while True:
        with open(requests, encoding="utf-8") as pipe:  # noqa: PTH123 - a pipe, opened again for each request
            path, _, times = pipe.readline().strip().rpartition(" ")
        if not path:
            return
        data = memoryview(Path(path).read_bytes())
        seconds = _print(data, int(times))
        with open(answers, "w", encoding="utf-8") as pipe:  # noqa: PTH123 - as above
            pipe.write(f"{seconds}\n")


def _print(data: memoryview, times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        rest = data
        while rest:
            rest = rest[os.write(1, rest[:65536]) :]
    os.write(1, b"\x1b[6n")
    reply = b""
    while not reply.endswith(b"R"):
        reply += os.read(0, 1)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main(*sys.argv[1:])
