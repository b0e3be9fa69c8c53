"""Run an agent's program in its headless mode, and show its work in the terminal.

A program of its own: `python -P -m fleet_tui.holder.headless STREAM [--stdin PROMPT] -- COMMAND…`. Starts the command
without a shell, reads its JSON events, prints them as text, reports states as interactive programs do (OSC 7501), and
writes the tokens used and the conversation's id to the run's folder. Exits as the command exits. `programs` defines
what events mean. Imports nothing once it runs: it may outlive the installed package.

One file, because it is one small program: the process, its lines, the terminal and the state of the run.
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

from fleet_tui.holder.run_folder import (
    SESSION_FILE,
    SPENDING_FILE,
    HeadlessSession,
    read_record,
    write_record,
)
from fleet_tui.programs.event_readers import EVENT_READERS
from fleet_tui.programs.events import (
    DeniedCall,
    EventContext,
    EventItem,
    OutputText,
    SessionId,
    StateChange,
    StepUsage,
    TextStyle,
    TokenUsage,
    TurnEnd,
    usage_after,
    usage_since,
)
from fleet_tui.quantities import counted
from fleet_tui.text import pictured

READ_SIZE = 65536
LINE_LIMIT = 128 << 20
"""Bytes of one event; a longer one is skipped."""
SHOWN_LIMIT = 4000
"""Characters shown of a line that is not an event."""
MESSAGE_LIMIT = 1000
"""Bytes of a state's text: a whole report may have 4096."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
NOT_FOUND, NOT_EXECUTABLE = 127, 126

SGR: dict[TextStyle, str] = {"plain": "", "dim": "\x1b[2m", "command": "\x1b[1m", "error": "\x1b[31m"}


class LineSplitter:
    """Joins pieces into lines; the cost of a line does not grow with the number of its pieces."""

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
            self._pieces[:] = [b"(a line of over 128 MB was skipped)"]
        elif piece:
            self._pieces.append(piece)

    def take(self) -> bytes:
        """Take the line so far and begin the next one."""
        line = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        return line


class Terminal:
    """Writes text and reports; a terminal that is gone does not stop the work."""

    def __init__(self, descriptor: int, app: str) -> None:
        self._descriptor = descriptor
        self._app = app
        self._is_line_open = False
        self._state = ""

    def say(self, said: OutputText) -> None:
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
        """Report a state to the holder, if it has changed."""
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


class HeadlessReport:
    """Writes spending.json and session.json to the run's folder."""

    def __init__(self, folder: Path | None, *, is_cumulative: bool) -> None:
        self._folder = folder
        self._is_cumulative = is_cumulative
        self._before = TokenUsage()
        self._session = ""
        self.usage = TokenUsage()

    def note_session(self, session: str) -> None:
        if session == self._session:
            return
        self._session = session
        if self._folder is not None:
            self._keep(SESSION_FILE, HeadlessSession(session))
            if self._is_cumulative:
                self._before = _spent_earlier(self._folder, session)

    def note_usage(self, usage: TokenUsage | StepUsage) -> None:
        if isinstance(usage, TokenUsage):
            usage = usage_since(self._before, usage)
        self.usage = usage_after(self.usage, usage)
        self._keep(SPENDING_FILE, self.usage)

    def _keep(self, name: str, record: object) -> None:
        if self._folder is not None:
            # A full disk must not stop the work.
            with contextlib.suppress(OSError):
                write_record(self._folder / name, record)


def _spent_earlier(folder: Path, session: str) -> TokenUsage:
    """Usage of the agent's earlier runs in the same conversation."""
    spent = TokenUsage()
    for earlier in range(1, int(folder.name) if folder.name.isdecimal() else 1):
        place = folder.with_name(str(earlier))
        if read_record(place / SESSION_FILE, HeadlessSession) == HeadlessSession(session):
            usage = read_record(place / SPENDING_FILE, TokenUsage)
            spent = usage_after(spent, StepUsage(usage)) if usage is not None else spent
    return spent


class Headless:
    """The state of one headless run, updated event by event."""

    def __init__(self, stream: str, terminal: Terminal, account: HeadlessReport, folder: str) -> None:
        self._reader = EVENT_READERS[stream]
        self._context = EventContext(folder)
        self._terminal = terminal
        self._account = account
        self._began = time.monotonic()
        self._denied: list[str] = []
        self._result: TurnEnd | None = None
        self._last_complaint = ""

    def line(self, line: bytes) -> None:
        """A line of standard output: an event, or other text."""
        if not line.strip():
            return
        try:
            event = json.loads(line.decode("utf-8", "replace"))
            items = list(self._reader.read(event, self._context)) if isinstance(event, dict) else None
        except (ValueError, RecursionError):
            items = None
        except Exception as error:  # noqa: BLE001 - an unexpected event must not end the work
            items = [OutputText(f"(an event could not be read: {error!r})", "dim")]
        if items is None:
            self._terminal.say(OutputText(line[:SHOWN_LIMIT].decode("utf-8", "replace").strip("\r")))
        for item in items or ():
            self._take(item)

    def complaint(self, line: bytes) -> None:
        """A line of standard error."""
        text = _plain(line[:SHOWN_LIMIT].decode("utf-8", "replace")).rstrip()
        if text:
            self._last_complaint = text
            self._terminal.say(OutputText(text, "dim"))
        for item in self._reader.read_error(text):
            self._take(item)

    def _take(self, item: EventItem) -> None:
        match item:
            case OutputText():
                self._terminal.say(item)
            case StateChange(state, text):
                self._terminal.report(state, text)
            case TokenUsage() | StepUsage():
                self._account.note_usage(item)
            case SessionId(session):
                self._account.note_session(session)
            case DeniedCall(what):
                self._denied.append(what)
            case TurnEnd():
                self._result = item

    def ended(self, code: int) -> int:
        """Print the summary and report the last state; returns the exit code."""
        for what in self._denied:
            self._terminal.say(OutputText(f"not permitted: {what}", "error"))
        result = self._result or TurnEnd(code != 0, self._last_complaint if code else "")
        failed = result.is_error or code != 0
        reason = result.text or (f"exit code {code}" if code else "")
        if self._denied and not failed:
            # The program exits with success: it has answered, although it could not do what was asked.
            failed, reason = True, self._refusal()
        first = f"failed: {reason}" if failed else "done"
        self._terminal.say(
            OutputText(" · ".join([first, *self._numbers(result)]), "error" if failed else "dim")
        )
        if failed:
            self._terminal.report("limited" if result.is_limited else "error", reason)
        else:
            self._terminal.report("done")
        return code or int(failed)

    def _refusal(self) -> str:
        count = len(self._denied)
        return f"not permitted: {counted(count, 'request')} denied: {', '.join(self._denied)}"

    def _numbers(self, result: TurnEnd) -> Iterator[str]:
        usage = self._account.usage
        if result.turns:
            yield counted(result.turns, "turn")
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
    """Remove colors, which some programs send to standard error even if it is no terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# ── the process ─────────────────────────────────────────────────────────────────────────────────────────────────


class ProgramProcess:
    """The program in its own process group, with its output in pipes; signals are forwarded to it."""

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
        # After the spawn, as the program would inherit it.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        _to_front(self._child.pid)

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        if self._child is None:
            self._waiting.append(number)
        elif self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)

    def follow(self, run: Headless) -> int:
        """Read its output until it has ended, even if a child of its own keeps the pipes open."""
        child = self._child
        if child is None or child.stdout is None or child.stderr is None:
            raise RuntimeError("the program was not started")
        takers = {
            child.stdout.fileno(): (LineSplitter(), run.line),
            child.stderr.fileno(): (LineSplitter(), run.complaint),
        }
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
    """Put a process group in the foreground, so that an interrupt reaches it."""
    with contextlib.suppress(OSError):
        os.tcsetpgrp(0, group)


def _read(
    descriptor: int, lines: LineSplitter, take: Callable[[bytes], None], *, is_last: bool = False
) -> bool:
    """Pass on what has arrived; False at the end of the stream, or when the last read finds nothing."""
    try:
        data = os.read(descriptor, READ_SIZE)
    except BlockingIOError:
        return not is_last
    for line in lines.feed(data):
        take(line)
    return bool(data)


@contextlib.contextmanager
def _input(prompt: str | None) -> Iterator[int]:
    """Standard input: nothing, or the prompt in an unnamed file."""
    with tempfile.TemporaryFile() if prompt is not None else Path(os.devnull).open("rb") as file:
        if prompt is not None:
            file.write(os.fsencode(prompt))
            file.seek(0)
        yield file.fileno()


def _started(argv: Sequence[str], prompt: str | None, terminal: Terminal) -> ProgramProcess | int:
    try:
        return ProgramProcess(argv, prompt)
    except OSError as error:
        text = f"{argv[0]}: {error.strerror}"
        terminal.say(OutputText(text, "error"))
        terminal.report("error", text)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def main(arguments: Sequence[str]) -> int:
    prompt = None
    stream, *rest = arguments
    if rest[:1] == ["--stdin"]:
        prompt, rest = rest[1], rest[2:]
    if stream not in EVENT_READERS or rest[:1] != ["--"] or not rest[1:]:
        os.write(2, b"usage: fleet_tui.holder.headless STREAM [--stdin PROMPT] -- COMMAND...\n")
        return 2
    terminal = Terminal(1, stream)
    terminal.report("working")
    process = _started(rest[1:], prompt, terminal)
    if isinstance(process, int):
        return process
    folder = os.environ.get("FLEET_FOLDER", "")
    account = HeadlessReport(
        Path(folder) if folder else None, is_cumulative=EVENT_READERS[stream].is_cumulative
    )
    run = Headless(stream, terminal, account, str(Path.cwd()))
    return run.ended(process.follow(run))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
