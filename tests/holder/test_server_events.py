"""Events of a program's own port: read over real sockets from servers that misbehave, and mapped to statuses."""

from __future__ import annotations

import base64
import contextlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.holder import server_events
from fleet_tui.holder.http_exchange import Chunks, MalformedResponse
from fleet_tui.holder.server_events import RETRY_MOST, EventParser, EventStream
from fleet_tui.programs import profiles
from fleet_tui.programs.opencode.server_schema import ConversationFilter, as_events
from fleet_tui.programs.status_rules import in_values
from tests.places import RECORDINGS

SECONDS = 10.0
OPENCODE = profiles.load("opencode").event_port
RULES = profiles.load("opencode").rules.event
RECORDED = [
    json.loads(line) for line in (RECORDINGS / "streams" / "opencode-events.jsonl").read_text().splitlines()
]
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

Script = Callable[[socket.socket, bytes], None]
"""What the server does with one connection, given the request that came over it."""


class Server:
    """Serves each connection by the next script and repeats the last one; keeps the requests."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self.requests: list[bytes] = []
        self.ending = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []

    def __enter__(self) -> Server:
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _begin(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.ending.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._begin(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                piece = connection.recv(65536)
                if not piece:
                    return
                request += piece
            if b"Content-Length" in request and not request.partition(b"\r\n\r\n")[2]:
                request += connection.recv(65536)
            self.requests.append(request)
            script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
            script(connection, request)


@pytest.fixture
def opened() -> Iterator[Callable[..., EventStream]]:
    with contextlib.ExitStack() as stack:

        def open_stream(port: int, *arguments: str, **options: object) -> EventStream:
            stream = EventStream(port, "/event", *arguments, as_events=as_events, **options)  # type: ignore[arg-type] # as the test gives them
            stack.callback(stream.close)
            return stream

        yield open_stream


def received(
    stream: EventStream, count: int = 1, until: Callable[[], bool] = lambda: True
) -> list[server_events.ServerEvent]:
    """So many events, by a loop such as a screen server's: it registers once and sleeps until something is due."""
    events: list[server_events.ServerEvent] = []
    deadline = time.monotonic() + SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while len(events) < count or not until():
            now = time.monotonic()
            assert now < deadline, f"only {events} came"
            selector.select(max(0.0, min(stream.due(now), deadline) - now))
            events += stream.step(time.monotonic())
    return events


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event_data(**event: object) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def sending(*pieces: bytes, head: bytes = STREAM) -> Script:
    """Answers, sends these pieces, and stays until the client leaves."""

    def script(connection: socket.socket, _: bytes) -> None:
        for piece in (head, *pieces):
            connection.sendall(piece)
        connection.recv(1)

    return script


def leaving(*pieces: bytes) -> Script:
    def script(connection: socket.socket, _: bytes) -> None:
        for piece in pieces:
            connection.sendall(piece)

    return script


# ── connections ──


def test_events_are_read_in_the_order_they_are_sent(opened: Callable[..., EventStream]) -> None:
    with Server(sending(chunk(event_data(type="one")), chunk(event_data(type="two")))) as server:
        assert received(opened(server.port), 2) == [{"type": "one"}, {"type": "two"}]


def test_events_without_chunked_encoding_are_read(opened: Callable[..., EventStream]) -> None:
    with Server(sending(event_data(type="one"), head=b"HTTP/1.0 200 OK\r\n\r\n")) as server:
        assert received(opened(server.port)) == [{"type": "one"}]


def test_the_password_goes_along(opened: Callable[..., EventStream]) -> None:
    with Server(sending(chunk(event_data(type="one")))) as server:
        received(opened(server.port, "secret word", user="opencode"))

    secret = base64.b64encode(b"opencode:secret word")
    assert b"GET /event HTTP/1.1\r\n" in server.requests[0]
    assert b"Authorization: Basic " + secret + b"\r\n" in server.requests[0]


def test_a_server_that_comes_up_later_is_found(opened: Callable[..., EventStream]) -> None:
    late = Server(sending(chunk(event_data(type="one"))))
    late._listener.close()
    stream = opened(late.port)
    begun = time.monotonic()
    while time.monotonic() - begun < 0.3:
        assert stream.step(time.monotonic()) == []
        assert not stream.is_open

    late._listener = socket.create_server(("127.0.0.1", late.port))
    with late:
        assert received(stream) == [{"type": "one"}]
    assert stream.is_open


def test_connection_attempts_are_spaced() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    stream = EventStream(port, "/event")
    now, attempts = 100.0, 0
    while now < 110.0:
        stream.step(now)
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            selector.select(0.01)
        stream.step(now)
        attempts += 1
        now = max(stream.due(now), now + 0.01)
    stream.close()

    assert attempts < 20


@pytest.mark.slow
def test_a_server_that_goes_away_is_found_again(opened: Callable[..., EventStream]) -> None:
    with Server(
        leaving(STREAM, chunk(event_data(type="one")), chunk(b"data: {")),
        leaving(b""),
        leaving(STREAM + b"0\r\n\r\n"),
        sending(chunk(event_data(type="two"))),
    ) as server:
        assert received(opened(server.port), 2) == [{"type": "one"}, {"type": "two"}]


def test_a_server_that_takes_the_request_and_never_answers_is_asked_again(
    opened: Callable[..., EventStream],
) -> None:
    with Server(sending(head=b""), sending(chunk(event_data(type="one")))) as server:
        stream = opened(server.port)
        stream.step(0.0)
        while not server.requests:
            stream.step(0.1)
        assert stream.step(server_events.ANSWER_SECONDS - 0.1) == []
        assert len(server.requests) == 1

        stream.step(server_events.ANSWER_SECONDS + 0.1)
        while not (events := stream.step(server_events.ANSWER_SECONDS + 1.0)):
            pass
    assert events == [{"type": "one"}]


def test_a_stream_without_a_heartbeat_is_reopened(opened: Callable[..., EventStream]) -> None:
    with Server(sending(chunk(event_data(type="one"))), sending(chunk(event_data(type="two")))) as server:
        stream = opened(server.port)
        while not stream.step(1.0):
            pass

        stream.step(1.1 + server_events.SILENT_SECONDS)
        assert not stream.is_open
        while not (events := stream.step(3.0 + server_events.SILENT_SECONDS)):
            pass
    assert events == [{"type": "two"}]


def test_a_refusal_is_retried_later(opened: Callable[..., EventStream]) -> None:
    refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
    with Server(leaving(refused), sending(chunk(event_data(type="one")))) as server:
        stream = opened(server.port)
        while stream.due(0.0) != RETRY_MOST:
            stream.step(0.0)
        assert not stream.is_open

        while not stream.step(2.0):
            pass
    assert stream.is_open


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"\0" * 100_000,
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 10_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        STREAM + b"not a size\r\n",
        STREAM + b"f" * 100_000,
        STREAM
        + chunk(b"data: {]\n\n")
        + chunk(b"data: 7\n\ndata: " + b"[" * 100_000 + b"\n\n")
        + b"0\r\n\r\n",
        STREAM + chunk(b"\xff\xfe\r\r\r\n:\n\n\n") + b"-1\r\n",
    ],
)
def test_garbage_is_survived(garbage: bytes, opened: Callable[..., EventStream]) -> None:
    with Server(leaving(garbage), sending(chunk(event_data(type="one")))) as server:
        assert received(opened(server.port)) == [{"type": "one"}]


def test_a_giant_event_is_skipped_and_the_next_one_read(opened: Callable[..., EventStream]) -> None:
    giant = b"data: " + b"x" * (server_events.EVENT_LIMIT * 3) + b"\n\n"
    with Server(sending(chunk(giant), chunk(event_data(type="one")))) as server:
        assert received(opened(server.port)) == [{"type": "one"}]


# ── beside the stream ──


def by_path(answers: dict[bytes, bytes]) -> Script:
    def script(connection: socket.socket, request: bytes) -> None:
        path = request.split(b" ", 2)[1]
        if path == b"/event":
            sending(chunk(event_data(type="server.connected")))(connection, request)
            return
        body = answers[path]
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    return script


def test_what_was_asked_before_the_connection_is_caught_up_with(opened: Callable[..., EventStream]) -> None:
    answers = {
        b"/permission": b'[{"id": "per_1", "sessionID": "s"}, 7]',
        b"/session/status": b'{"s": {"type": "busy"}}',
        b"/question": b"not json",
    }
    with Server(by_path(answers)) as server:
        events = received(opened(server.port, "secret", catch_up=OPENCODE.catch_up if OPENCODE else None), 3)

    assert {"type": "permission.asked", "properties": {"id": "per_1", "sessionID": "s"}} in events
    assert {
        "type": "session.status",
        "properties": {"sessionID": "s", "status": {"type": "busy"}},
    } in events
    assert all(b"Authorization" in request for request in server.requests)


def test_an_empty_status_is_an_event_too(opened: Callable[..., EventStream]) -> None:
    with Server(by_path({b"/session/status": b"{}"})) as server:
        events = received(opened(server.port, catch_up={"/session/status": "session.status"}), 2)

    assert {"type": "session.status.none"} in events


def test_a_path_cannot_smuggle_in_a_header() -> None:
    with Server(leaving(b"HTTP/1.1 200 OK\r\n\r\n")) as server:
        stream = EventStream(server.port, "/x HTTP/1.1\r\nHost: elsewhere")
        while not server.requests:
            stream.step(0.0)
        stream.close()

    assert server.requests[0].startswith(b"GET /xHTTP/1.1Host:elsewhere HTTP/1.1\r\n")


# ── parts ──


@given(st.lists(st.text(max_size=40)), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.data())
def test_events_survive_any_cut_of_the_stream(texts: list[str], end: bytes, data: st.DataObject) -> None:
    events = [{"text": text} for text in texts]
    body = b"".join(
        b": a comment" + end + b"event: x" + end + b"data: " + json.dumps(event).encode() + end + end
        for event in events
    )
    stream = b"".join(chunk(body[at : at + 7]) for at in range(0, len(body), 7))
    chunks, lines = Chunks(), EventParser()
    found = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += list(lines.feed(chunks.feed(stream[:cut])))
        stream = stream[cut:]

    assert found == events


def test_the_data_of_several_lines_is_one_event() -> None:
    assert list(EventParser().feed(b'data: {"a":\ndata: 1}\n\n')) == [{"a": 1}]


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parts(data: bytes) -> None:
    with contextlib.suppress(MalformedResponse):
        list(EventParser().feed(Chunks().feed(data)))
    list(EventParser().feed(data))


# ── what events mean ──


def statuses(
    events: list[server_events.ServerEvent], folder: str = "/project/work"
) -> list[tuple[str, str, str]]:
    """The statuses that follow from the events, each change once."""
    conversation, reported_so_far = ConversationFilter(folder), [("", "", "")]
    for event in events:
        owner, found = conversation.owner(event), in_values(RULES, event)
        if found is None or owner == "other" or (owner == "helper" and not found.rule.from_helpers):
            continue
        rule = found.rule
        event_data = (str(rule.status), rule.kind, found.text)
        if reported_so_far[-1][0] not in rule.keeps and reported_so_far[-1] != event_data:
            reported_so_far.append(event_data)
    return reported_so_far[1:]


def test_a_recorded_session_reads_as_what_happened_in_it() -> None:
    limited = "This request would exceed your rate limit. · retry"
    assert statuses(RECORDED) == [
        ("working", "", ""),
        ("blocked", "permission", "bash: touch one.txt"),
        ("working", "", ""),
        ("done", "", ""),
        ("working", "", ""),
        ("blocked", "permission", "bash: touch two.txt"),
        ("working", "", ""),
        ("done", "", ""),
        ("working", "", ""),
        ("blocked", "question", "Which colour do you prefer?"),
        ("working", "", ""),
        ("done", "", ""),
        ("working", "", ""),
        ("limited", "", f"{limited} 1"),
        ("working", "", ""),
        ("limited", "", f"{limited} 2"),
        ("working", "", ""),
        ("done", "", ""),
        ("working", "", ""),
        ("error", "", "This request is refused on purpose."),
        ("working", "", ""),
        ("idle", "", ""),
    ]


def test_the_conversations_id_is_learned() -> None:
    conversation = ConversationFilter("/project/work")
    owners = {conversation.owner(event) for event in RECORDED}

    assert owners == {"own", "other"}
    assert conversation.session_id == "ses_e152c3bb8ffe0Xoiz4yC46Oan7"


def test_an_id_of_excessive_length_belongs_to_no_conversation() -> None:
    """The id is kept and sent to clients, so its length is limited."""
    conversation = ConversationFilter("/project/work")

    assert conversation.owner({"type": "x", "properties": {"sessionID": "s" * 100_000}}) == "other"
    assert conversation.session_id == ""


def test_a_conversation_in_another_folder_does_not_count() -> None:
    assert statuses(RECORDED, folder="/project/other") == []


def test_a_helpers_questions_count_and_its_turns_do_not() -> None:
    events: list[server_events.ServerEvent] = [
        {
            "type": "session.created",
            "properties": {"sessionID": "h", "info": {"id": "h", "directory": "/w", "parentID": "s"}},
        },
        {"type": "session.status", "properties": {"sessionID": "s", "status": {"type": "busy"}}},
        {
            "type": "permission.asked",
            "properties": {"sessionID": "h", "permission": "edit", "patterns": ["a", "b"]},
        },
        {"type": "permission.replied", "properties": {"sessionID": "h"}},
        {"type": "session.status", "properties": {"sessionID": "h", "status": {"type": "idle"}}},
    ]

    assert statuses(events, "/w") == [
        ("working", "", ""),
        ("blocked", "permission", "edit: a, b"),
        ("working", "", ""),
    ]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": None},
        {"type": ["session.status"]},
        {"type": "session.status"},
        {"type": "session.status", "properties": []},
        {"type": "session.status", "properties": {"status": "busy"}},
        {"type": "session.status", "properties": {"status": {"type": {}}}},
    ],
)
def test_an_event_of_another_shape_matches_nothing(event: server_events.ServerEvent) -> None:
    assert in_values(RULES, event) is None
    assert ConversationFilter("/w").owner(event) == "other"
