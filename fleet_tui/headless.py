"""Runs an agent's program in its headless mode, and is what a person sees of it in the terminal.

Run as a program of its own: `python -P -m fleet_tui.headless STREAM [--stdin PROMPT] -- COMMAND…`. Starts the
command without a shell, reads its JSON events, prints them as words, reports states the way interactive programs do
(OSC 7501), and leaves what was spent and the conversation's id in the run's folder. Ends as the command ends. What
events mean is in `streams`. Imports nothing once it runs: it may outlive the installed package.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from fleet_tui import streams
from fleet_tui.holder import Conversation, read_record, write_record
from fleet_tui.streams import Denied, Memory, Result, Said, Session, State, Step, Style, Usage
from fleet_tui.text import pictured

READ_SIZE = 65536
LINE_LIMIT = 128 << 20
"""Bytes of one event; a longer one is passed over."""
SHOWN_LIMIT = 4000
"""Characters of a line that is no event."""
MESSAGE_LIMIT = 1000
"""Bytes of a state's text: a whole report may have 4096."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
NOT_FOUND, NOT_EXECUTABLE = 127, 126

SGR: dict[Style, str] = {"plain": "", "dim": "\x1b[2m", "command": "\x1b[1m", "error": "\x1b[31m"}


class Lines:
    """Whole lines from pieces; what a line costs does not grow with the number of its pieces."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._add(line)
            yield self.take()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > LINE_LIMIT:
            self._pieces[:] = [b"(a line of over 128 MB was passed over)"]
        elif piece:
            self._pieces.append(piece)

    def take(self) -> bytes:
        """The line so far; the next one begins."""
        line = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        return line


class Terminal:
    """Where words and reports go. One that has gone is no reason to stop working."""

    def __init__(self, descriptor: int, app: str) -> None:
        self._descriptor = descriptor
        self._app = app
        self._is_line_open = False
        self._state = ""

    def say(self, said: Said) -> None:
        text = pictured(said.text)
        if not said.is_open:
            self.end_line()
        before = SGR[said.style]
        self._write(f"{before}{text}\x1b[0m" if before else text)
        if text:
            self._is_line_open = not text.endswith("\n") or bool(before)
        if not said.is_open:
            self.end_line()

    def end_line(self) -> None:
        if self._is_line_open:
            self._write("\n")
            self._is_line_open = False

    def report(self, state: str, text: str = "") -> None:
        """Tell a state to whoever holds the terminal, once."""
        report = f"state={state}:app={self._app}"
        if text:
            message = text.encode("utf-8", "replace")[:MESSAGE_LIMIT].decode("utf-8", "ignore").encode()
            report += f":msg={base64.b64encode(message).decode()}"
        if report != self._state:
            self._state = report
            self._write(f"\x1b]7501;{report}\x07")

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._descriptor, data) :]


class Account:
    """What the run's folder is told: spending.json and session.json."""

    def __init__(self, folder: Path | None, *, is_cumulative: bool) -> None:
        self._folder = folder
        self._is_cumulative = is_cumulative
        self._before = Usage()
        self._session = ""
        self.usage = Usage()

    def note_session(self, session: str) -> None:
        if session == self._session:
            return
        self._session = session
        if self._folder is not None:
            self._keep("session.json", Conversation(session))
            if self._is_cumulative:
                self._before = _spent_earlier(self._folder, session)

    def note_usage(self, usage: Usage | Step) -> None:
        if isinstance(usage, Usage):
            usage = streams.less(usage, self._before)
        self.usage = streams.total(self.usage, usage)
        self._keep("spending.json", self.usage)

    def _keep(self, name: str, record: object) -> None:
        if self._folder is not None:
            # A full disk is no reason to stop the work.
            with contextlib.suppress(OSError):
                write_record(self._folder / name, record)


def _spent_earlier(folder: Path, session: str) -> Usage:
    """What the earlier runs of an agent have taken for the same conversation."""
    spent = Usage()
    for earlier in range(1, int(folder.name) if folder.name.isdigit() else 1):
        place = folder.with_name(str(earlier))
        if read_record(place / "session.json", Conversation) == Conversation(session):
            usage = read_record(place / "spending.json", Usage)
            spent = streams.total(spent, Step(usage)) if usage is not None else spent
    return spent


class Headless:
    """What has become of one headless run, event by event."""

    def __init__(self, stream: str, terminal: Terminal, account: Account, folder: str) -> None:
        self._stream = stream
        self._read = streams.READERS[stream]
        self._memory = Memory(folder)
        self._terminal = terminal
        self._account = account
        self._began = time.monotonic()
        self._denied: list[str] = []
        self._result: Result | None = None
        self._last_complaint = ""

    def line(self, line: bytes) -> None:
        """One line of standard output: an event, or whatever else the program prints there."""
        if not line.strip():
            return
        try:
            event = json.loads(line.decode("utf-8", "replace"))
            items = list(self._read(event, self._memory)) if isinstance(event, dict) else None
        except (ValueError, RecursionError):
            items = None
        except Exception as error:  # noqa: BLE001 - an event that nobody has foreseen must not end the work
            items = [Said(f"(an event could not be read: {error!r})", "dim")]
        if items is None:
            self._terminal.say(Said(line[:SHOWN_LIMIT].decode("utf-8", "replace").strip("\r")))
        for item in items or ():
            self._take(item)

    def complaint(self, line: bytes) -> None:
        """One line of standard error."""
        text = _plain(line[:SHOWN_LIMIT].decode("utf-8", "replace")).rstrip()
        if text:
            self._last_complaint = text
            self._terminal.say(Said(text, "dim"))
        for item in streams.complaint(self._stream, text):
            self._take(item)

    def _take(self, item: streams.Item) -> None:
        match item:
            case Said():
                self._terminal.say(item)
            case State(state, text):
                self._terminal.report(state, text)
            case Usage() | Step():
                self._account.note_usage(item)
            case Session(session):
                self._account.note_session(session)
            case Denied(what):
                self._denied.append(what)
            case Result():
                self._result = item

    def ended(self, code: int) -> int:
        """The last words and the last state; the code to exit with."""
        for what in self._denied:
            self._terminal.say(Said(f"not permitted: {what}", "error"))
        result = self._result or Result(code != 0, self._last_complaint if code else "")
        failed = result.is_error or code != 0
        reason = result.text or (f"exit code {code}" if code else "")
        if self._denied and not failed:
            # The program counts it as success: it has answered, though not done what it was asked.
            failed, reason = True, self._refusal()
        first = f"failed: {reason}" if failed else "done"
        self._terminal.say(Said(" · ".join([first, *self._numbers(result)]), "error" if failed else "dim"))
        if failed:
            self._terminal.report("limited" if result.is_limited else "error", reason)
        else:
            self._terminal.report("done")
        return code or int(failed)

    def _refusal(self) -> str:
        count = len(self._denied)
        return f"not permitted: {count} request{'s' if count > 1 else ''} denied: {', '.join(self._denied)}"

    def _numbers(self, result: Result) -> Iterator[str]:
        usage = self._account.usage
        if result.turns:
            yield f"{result.turns} turn" + ("s" if result.turns > 1 else "")
        if usage.input_tokens is not None and usage.output_tokens is not None:
            cached = usage.cached_tokens or 0
            part = f" ({_short(cached)} cached)" if cached else ""
            yield f"{_short(usage.input_tokens + cached)} in{part}, {_short(usage.output_tokens)} out"
        if usage.cost is not None:
            yield f"${usage.cost:.2f}" if usage.cost >= 1 else f"${usage.cost:.4f}"
        yield f"{time.monotonic() - self._began:.0f} s"


def _short(number: int) -> str:
    return (
        str(number)
        if number < 1000
        else f"{number / 1000:.1f}k"
        if number < 1_000_000
        else f"{number / 1e6:.1f}M"
    )


def _plain(text: str) -> str:
    """Without the colours that some programs send to standard error whatever it is."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# ── the process ─────────────────────────────────────────────────────────────────────────────────────────────────


class Process:
    """The program in a process group of its own, with its output in pipes; what hits us is passed on to it."""

    def __init__(self, argv: Sequence[str], prompt: str | None) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._waiting: list[int] = []
        self._woken, waker = socket.socketpair()
        for end in (self._woken, waker):
            end.setblocking(False)
        self._waker = waker
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in PASSED_ON:
            signal.signal(number, self._pass_on)
        with _input(prompt) as stdin:
            self._child = subprocess.Popen(
                argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
            )
        for waiting in self._waiting:
            self._pass_on(waiting, None)
        # Not earlier: the program would inherit it.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        _to_front(self._child.pid)

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        if self._child is None:
            self._waiting.append(number)
        elif self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)

    def follow(self, run: Headless) -> int:
        """Read what it says until it has ended; a child of its own that lives on keeps nobody waiting."""
        child = self._child
        if child is None or child.stdout is None or child.stderr is None:
            raise RuntimeError("the program was not started")
        takers = {child.stdout.fileno(): (Lines(), run.line), child.stderr.fileno(): (Lines(), run.complaint)}
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            for descriptor in takers:
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ)
            while child.poll() is None:
                for key, _ in selector.select():
                    if key.fileobj is self._woken:
                        self._woken.recv(READ_SIZE)
                    elif not _read(key.fd, *takers[key.fd]):
                        selector.unregister(key.fd)
        _to_front(os.getpgrp())
        for descriptor, (lines, take) in takers.items():
            while _read(descriptor, lines, take, is_last=True):
                pass
            take(lines.take())
        code = child.returncode
        return 128 - code if code < 0 else code


def _to_front(group: int) -> None:
    """Whoever types an interrupt means the program, and after its end us."""
    with contextlib.suppress(OSError):
        os.tcsetpgrp(0, group)


def _read(descriptor: int, lines: Lines, take: Callable[[bytes], None], *, is_last: bool = False) -> bool:
    """Pass on what has come; False at the end, and where nothing has while this is the last look."""
    try:
        data = os.read(descriptor, READ_SIZE)
    except BlockingIOError:
        return not is_last
    for line in lines.feed(data):
        take(line)
    return bool(data)


@contextlib.contextmanager
def _input(prompt: str | None) -> Iterator[int]:
    """Standard input: nothing, or the prompt as a file that has no name."""
    with tempfile.TemporaryFile() if prompt is not None else Path(os.devnull).open("rb") as file:
        if prompt is not None:
            file.write(os.fsencode(prompt))
            file.seek(0)
        yield file.fileno()


def _started(argv: Sequence[str], prompt: str | None, terminal: Terminal) -> Process | int:
    try:
        return Process(argv, prompt)
    except OSError as error:
        text = f"{argv[0]}: {error.strerror}"
        terminal.say(Said(text, "error"))
        terminal.report("error", text)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def main(arguments: Sequence[str]) -> int:
    prompt = None
    stream, *rest = arguments
    if rest[:1] == ["--stdin"]:
        prompt, rest = rest[1], rest[2:]
    if stream not in streams.READERS or rest[:1] != ["--"] or not rest[1:]:
        os.write(2, b"usage: fleet_tui.headless STREAM [--stdin PROMPT] -- COMMAND...\n")
        return 2
    terminal = Terminal(1, stream)
    terminal.report("working")
    process = _started(rest[1:], prompt, terminal)
    if isinstance(process, int):
        return process
    folder = os.environ.get("FLEET_FOLDER", "")
    account = Account(Path(folder) if folder else None, is_cumulative=stream in streams.CUMULATIVE)
    run = Headless(stream, terminal, account, str(Path.cwd()))
    return run.ended(process.follow(run))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
