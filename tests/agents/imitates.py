"""Behaves like any agent program, as a test orders it to: orders come as JSON lines through a pipe, not its terminal.

Arguments: the pipe with orders, the file that receives every typed byte, the file with the number of orders done, and
the hook command. Tests start this program more often than any other, so slow imports are deferred.
Orders, each an object with one of these keys:

    report TEXT      report a status: OSC 7501;TEXT
    title TEXT       set the window title
    screen LINES     clear the screen and show these lines
    raw TEXT         print this text
    hook EVENT       run the hook command with this event and with "arguments"; a string is passed on unchanged
    hooks COUNT      leave that many copies of "event" at once, as that many hook commands would
    on_key ORDERS    do this when the next byte is typed
    on_enter ORDERS  do this whenever Enter is typed
    exit CODE
"""

from __future__ import annotations

import json
import os
import select
import sys
import tty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Program:
    def __init__(self, typed: str, done: str, hook: str) -> None:
        self._typed, self._done = _appending(typed), _appending(done)
        self._hook = hook
        self._on_key: list[dict[str, Any]] = []
        self._on_enter: list[dict[str, Any]] = []
        self._count = 0

    def ordered(self, line: bytes) -> None:
        self._do(json.loads(line))
        self._count += 1
        os.write(self._done, b"%d\n" % self._count)

    def _do(self, order: dict[str, Any]) -> None:
        what = next(iter(order))
        value = order[what]
        match what:
            case "report":
                _print(f"\x1b]7501;{value}\x1b\\")
            case "title":
                _print(f"\x1b]2;{value}\x07")
            case "screen":
                _print("\x1b[2J\x1b[H" + "\r\n".join(value))
            case "raw":
                _print(value)
            case "hook":
                _hook(self._hook, value, order.get("arguments", []))
            case "hooks":
                _hooks(value, order["event"])
            case "on_key":
                self._on_key = value
            case "on_enter":
                self._on_enter = value
            case "exit":
                sys.exit(value)

    def typed(self, data: bytes) -> None:
        os.write(self._typed, data)
        orders, self._on_key = self._on_key, []
        orders = [*orders, *self._on_enter * data.count(b"\r")]
        for order in orders:
            self._do(order)


def _print(text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    while data:
        data = data[os.write(1, data) :]


def _appending(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _hook(command: str, event: object, arguments: list[str]) -> None:
    import subprocess

    text = event if isinstance(event, str) else json.dumps(event)
    process = subprocess.Popen(["sh", command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(text.encode("utf-8", "surrogateescape"))
    process.stdin.close()
    if not arguments:
        process.wait()


def _hooks(count: int, event: dict[str, Any]) -> None:
    from pathlib import Path

    folder = Path(os.environ["FLEET_FOLDER"]) / "hooks"
    for number in range(count):
        part = folder / f"{900000 + number}.part"
        part.write_text(json.dumps(event | {"number": number}))
        part.rename(part.with_suffix(".json"))
    bell = os.open(folder / "bell", os.O_RDWR | os.O_NONBLOCK)
    os.write(bell, b"\n" * min(count, 4096))
    os.close(bell)


def main() -> None:
    tty.setraw(0)
    program = Program(*sys.argv[2:5])
    orders = os.open(sys.argv[1], os.O_RDWR)
    _print("\x1b[?2004hhere\r\n")
    waiting = b""
    while True:
        for ready in select.select([0, orders], [], [])[0]:
            data = os.read(ready, 65536)
            if ready == 0:
                program.typed(data)
                continue
            *lines, waiting = (waiting + data).split(b"\n")
            for line in lines:
                program.ordered(line)


if __name__ == "__main__":
    main()
