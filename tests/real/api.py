"""A loopback server that real programs use as their model's API, and a log of their requests.

Serves HTTP on 127.0.0.1 and keeps every request. It is also every program's proxy: a request to any other host arrives
here, is refused and recorded. `dialects` has the wire formats, `scenarios` the answers.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.real.dialects import Anthropic, Chat, Dialect, Gemini, Responses
from tests.real.scenarios import Refuse, Step, Turn, answer, say

SECONDS = 15.0
"""Seconds a program may take to send a request."""

_FOLDER = re.compile(r'/[^\s"\\<`]*/worktrees/[\w.-]+/[\w.-]+')
"""Finds an agent's worktree, which every program mentions to the model in its own words."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to the model."""

    at: float
    """Seconds since the epoch."""
    path: str
    body: dict[str, Any]
    turn: Turn
    is_aside: bool
    """The program asked on its own behalf, such as for a title."""
    status: int

    @property
    def prompt(self) -> str:
        """The user's newest text without the program's additions."""
        return self.turn.texts[-1] if self.turn.texts else ""


class Api:
    """The server; it runs inside `with Api() as api`."""

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []
        self.broken: list[ModelRequest] = []
        """Requests whose answer the program did not wait for."""
        self.outside: list[str] = []
        """Other hosts the programs tried to reach."""
        self.ending = threading.Event()
        self._changed = threading.Condition()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Api:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def note(self, log: list[Any], entry: object) -> None:
        with self._changed:
            log.append(entry)
            self._changed.notify_all()

    def prompts(self) -> list[ModelRequest]:
        """The requests with a user's prompt, without those that carry a tool's result."""
        return [asked for asked in self.asked if not asked.is_aside and not asked.turn.results]

    def wait_for(
        self, condition: Callable[[ModelRequest], bool], *, seconds: float = SECONDS, broken: bool = False
    ) -> ModelRequest:
        """Wait for the first request that satisfies the condition."""
        log = self.broken if broken else self.asked
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                found = next((asked for asked in log if not asked.is_aside and condition(asked)), None)
                if found is not None:
                    return found
                if not self._changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"no such request within {seconds} s; {self._shown()}")

    def wait_for_prompt(self, text: str, *, seconds: float = SECONDS) -> ModelRequest:
        """Wait for the request with exactly this prompt."""
        return self.wait_for(lambda asked: asked.prompt == text, seconds=seconds)

    def _shown(self) -> str:
        seen = [f"{asked.path} {asked.status} {asked.prompt[:80]!r}" for asked in self.asked]
        return f"seen were {seen}" if seen else "none has come"

    def same_turn(self, turn: Turn) -> int:
        """How often this was asked before."""
        same = (asked.turn for asked in self.asked if not asked.is_aside)
        return sum(one.said == turn.said and one.results == turn.results for one in same)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, api: Api) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A killed program drops its connections; any other error must be visible."""
        import sys

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """The log is `Api.asked`."""

    def do_CONNECT(self) -> None:
        self.server.api.note(self.server.api.outside, self.path)
        self._send_json(403, {"error": "there is nothing outside"})

    def do_HEAD(self) -> None:
        self._send_json(200, {})

    def do_GET(self) -> None:
        if self.path.startswith("http"):
            self.do_CONNECT()
        elif "/models" in self.path:
            self._send_json(200, {"object": "list", "models": [], "data": []})
        else:
            self._send_json(404, {"error": {"type": "not_found_error", "message": "not found"}})

    def do_POST(self) -> None:
        raw = self._read()
        path = self.path.partition("?")[0]
        if self.path.startswith("http"):
            self.do_CONNECT()
        elif path.endswith(("/count_tokens", ":countTokens")):
            self._send_json(200, {"input_tokens": len(raw) // 4, "totalTokens": len(raw) // 4})
        elif (dialect := _dialect(path)) is not None:
            self._answer(dialect, path, raw.decode())
        else:
            self._send_json(404, {"error": {"type": "not_found_error", "message": "not found"}})

    def _read(self) -> bytes:
        if self.headers.get("transfer-encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        pieces = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _answer(self, dialect: Dialect, path: str, raw: str) -> None:
        api = self.server.api
        body = json.loads(raw)
        turn = dialect.turn(body)
        aside = dialect.aside(body)
        folder = _FOLDER.search(raw)
        made: list[Step] | Refuse = [say(aside)]
        if not aside:
            made = answer(turn, folder[0] if folder else "", api.same_turn(turn))
        status = made.code if isinstance(made, Refuse) else 200
        asked = ModelRequest(time.time(), path, body, turn, bool(aside), status)
        api.note(api.asked, asked)
        try:
            self._send(dialect, body, made)
        except ConnectionError:
            api.note(api.broken, asked)
            self.close_connection = True

    def _send(self, dialect: Dialect, body: dict[str, Any], made: list[Step] | Refuse) -> None:
        if isinstance(made, Refuse):
            later = {} if made.retry_after is None else {"retry-after": str(made.retry_after)}
            self._send_json(made.code, dialect.refusal(made), **later, **made.headers)
        elif body.get("stream") or ":streamGenerateContent" in self.path:
            self._stream(dialect, body, made)
        else:
            self._send_json(200, dialect.whole(body, made))

    def _stream(self, dialect: Dialect, body: dict[str, Any], steps: list[Step]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for text, pause in dialect.stream(body, steps):
            data = text.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            if pause and self.server.api.ending.wait(pause):
                break
        self.wfile.write(b"0\r\n\r\n")

    def _send_json(self, status: int, body: dict[str, Any], **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _dialect(path: str) -> Dialect | None:
    ends: dict[str, Dialect] = {
        "/messages": Anthropic(),
        "/responses": Responses(),
        "/chat/completions": Chat(),
        ":generateContent": Gemini(),
        ":streamGenerateContent": Gemini(),
    }
    return next((dialect for end, dialect in ends.items() if path.endswith(end)), None)
