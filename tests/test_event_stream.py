"""Events of a program's own port: heard over real sockets, whatever the server does, and what they say of it."""

from __future__ import annotations

import base64
import contextlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui import event_stream, profiles
from fleet_tui.event_stream import Chunks, Conversation, EventStream, Garbled, Lines
from fleet_tui.signals import in_values

SECONDS = 10.0
OPENCODE = profiles.load("opencode").stream
RULES = profiles.load("opencode").signals.event
RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "recordings" / "streams" / "opencode-events.jsonl")
    .read_text()
    .splitlines()
]
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

Script = Callable[[socket.socket, bytes], None]
"""What the server does with one connection, given the request that came over it."""


class Server:
    """Serves each connection by the next script, the last one for ever; keeps the requests."""

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
            stream = EventStream(port, "/event", *arguments, **options)  # type: ignore[arg-type] # as the test gives them
            stack.callback(stream.close)
            return stream

        yield open_stream


def heard(
    stream: EventStream, count: int = 1, until: Callable[[], bool] = lambda: True
) -> list[event_stream.Event]:
    """So many events, by a loop such as a screen server's: it registers once and sleeps until something is due."""
    events: list[event_stream.Event] = []
    deadline = time.monotonic() + SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(stream, stream.interest)
        while len(events) < count or not until():
            now = time.monotonic()
            assert now < deadline, f"only {events} came"
            selector.select(max(0.0, min(stream.due(now), deadline) - now))
            events += stream.step(time.monotonic())
    return events


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def told(**event: object) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def telling(*pieces: bytes, head: bytes = STREAM) -> Script:
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


def test_events_are_heard_as_they_are_told(opened: Callable[..., EventStream]) -> None:
    with Server(telling(chunk(told(type="one")), chunk(told(type="two")))) as server:
        assert heard(opened(server.port), 2) == [{"type": "one"}, {"type": "two"}]


def test_events_without_chunks_are_heard(opened: Callable[..., EventStream]) -> None:
    with Server(telling(told(type="one"), head=b"HTTP/1.0 200 OK\r\n\r\n")) as server:
        assert heard(opened(server.port)) == [{"type": "one"}]


def test_the_password_goes_along(opened: Callable[..., EventStream]) -> None:
    with Server(telling(chunk(told(type="one")))) as server:
        heard(opened(server.port, "secret word", user="opencode"))

    secret = base64.b64encode(b"opencode:secret word")
    assert b"GET /event HTTP/1.1\r\n" in server.requests[0]
    assert b"Authorization: Basic " + secret + b"\r\n" in server.requests[0]


def test_a_server_that_comes_up_later_is_found(opened: Callable[..., EventStream]) -> None:
    late = Server(telling(chunk(told(type="one"))))
    late._listener.close()
    stream = opened(late.port)
    begun = time.monotonic()
    while time.monotonic() - begun < 0.3:
        assert stream.step(time.monotonic()) == []
        assert not stream.is_open

    late._listener = socket.create_server(("127.0.0.1", late.port))
    with late:
        assert heard(stream) == [{"type": "one"}]
    assert stream.is_open


def test_it_does_not_knock_all_the_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    stream = EventStream(port, "/event")
    now, knocks = 100.0, 0
    while now < 110.0:
        stream.step(now)
        with selectors.DefaultSelector() as selector:
            selector.register(stream, stream.interest)
            selector.select(0.01)
        stream.step(now)
        knocks += 1
        now = max(stream.due(now), now + 0.01)
    stream.close()

    assert knocks < 20


@pytest.mark.slow
def test_a_server_that_goes_away_is_found_again(opened: Callable[..., EventStream]) -> None:
    with Server(
        leaving(STREAM, chunk(told(type="one")), chunk(b"data: {")),
        leaving(b""),
        leaving(STREAM + b"0\r\n\r\n"),
        telling(chunk(told(type="two"))),
    ) as server:
        assert heard(opened(server.port), 2) == [{"type": "one"}, {"type": "two"}]


def test_a_server_that_takes_the_request_and_never_answers_is_asked_again(
    opened: Callable[..., EventStream],
) -> None:
    with Server(telling(head=b""), telling(chunk(told(type="one")))) as server:
        stream = opened(server.port)
        stream.step(0.0)
        while not server.requests:
            stream.step(0.1)
        assert stream.step(event_stream.ANSWER_SECONDS - 0.1) == []
        assert len(server.requests) == 1

        stream.step(event_stream.ANSWER_SECONDS + 0.1)
        while not (events := stream.step(event_stream.ANSWER_SECONDS + 1.0)):
            pass
    assert events == [{"type": "one"}]


def test_a_stream_without_a_heartbeat_is_made_anew(opened: Callable[..., EventStream]) -> None:
    with Server(telling(chunk(told(type="one"))), telling(chunk(told(type="two")))) as server:
        stream = opened(server.port)
        while not stream.step(1.0):
            pass

        stream.step(1.1 + event_stream.SILENT_SECONDS)
        assert not stream.is_open
        while not (events := stream.step(3.0 + event_stream.SILENT_SECONDS)):
            pass
    assert events == [{"type": "two"}]


def test_a_refusal_is_known_and_tried_again(opened: Callable[..., EventStream]) -> None:
    refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
    with Server(leaving(refused), telling(chunk(told(type="one")))) as server:
        stream = opened(server.port)
        while not stream.refusal:
            stream.step(0.0)
        assert (stream.refusal, stream.is_open) == (401, False)

        while not stream.step(2.0):
            pass
    assert stream.refusal == 0


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
    with Server(leaving(garbage), telling(chunk(told(type="one")))) as server:
        assert heard(opened(server.port)) == [{"type": "one"}]


def test_a_giant_event_is_passed_over_and_the_next_one_heard(opened: Callable[..., EventStream]) -> None:
    giant = b"data: " + b"x" * (event_stream.EVENT_LIMIT * 3) + b"\n\n"
    with Server(telling(chunk(giant), chunk(told(type="one")))) as server:
        assert heard(opened(server.port)) == [{"type": "one"}]


# ── beside the stream ──


def by_path(answers: dict[bytes, bytes]) -> Script:
    def script(connection: socket.socket, request: bytes) -> None:
        path = request.split(b" ", 2)[1]
        if path == b"/event":
            telling(chunk(told(type="server.connected")))(connection, request)
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
        events = heard(opened(server.port, "secret", catch_up=OPENCODE.catch_up if OPENCODE else None), 3)

    assert {"type": "permission.asked", "properties": {"id": "per_1", "sessionID": "s"}} in events
    assert {
        "type": "session.status",
        "properties": {"sessionID": "s", "status": {"type": "busy"}},
    } in events
    assert all(b"Authorization" in request for request in server.requests)


def test_that_nothing_goes_on_is_told_too(opened: Callable[..., EventStream]) -> None:
    with Server(by_path({b"/session/status": b"{}"})) as server:
        events = heard(opened(server.port, catch_up={"/session/status": "session.status"}), 2)

    assert {"type": "session.status.none"} in events


def test_a_call_is_posted_and_its_outcome_told(opened: Callable[..., EventStream]) -> None:
    with Server(by_path({b"/permission/per_1/reply": b"true"})) as server:
        stream = opened(server.port)
        heard(stream, until=lambda: stream.is_open)
        number = stream.call("/permission/per_1/reply", {"reply": "once"}, time.monotonic())
        events = heard(stream)

    assert events == [
        {"type": "call.answered", "properties": {"number": number, "status": 200, "body": True}}
    ]
    assert server.requests[-1].startswith(b"POST /permission/per_1/reply HTTP/1.1\r\n")
    assert server.requests[-1].endswith(b'\r\n\r\n{"reply": "once"}')


def test_a_call_that_is_not_answered_is_told_so(opened: Callable[..., EventStream]) -> None:
    def script(connection: socket.socket, request: bytes) -> None:
        if request.startswith(b"GET"):
            telling(chunk(told(type="server.connected")))(connection, request)

    with Server(script) as server:
        stream = opened(server.port)
        heard(stream, until=lambda: stream.is_open)
        number = stream.call("/x", {}, time.monotonic())
        events = heard(stream)

    assert events[0]["properties"] == {"number": number, "status": 0, "body": None}


def test_a_path_cannot_smuggle_in_a_header(opened: Callable[..., EventStream]) -> None:
    with Server(leaving(b"HTTP/1.1 200 OK\r\n\r\n")) as server:
        stream = opened(server.port)
        stream.call("/x HTTP/1.1\r\nHost: elsewhere", {}, time.monotonic())
        heard(stream)

    assert any(
        request.startswith(b"POST /xHTTP/1.1Host:elsewhere HTTP/1.1\r\n") for request in server.requests
    )


# ── parts ──


@given(st.lists(st.text(max_size=40)), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.data())
def test_events_survive_any_cut_of_the_stream(texts: list[str], end: bytes, data: st.DataObject) -> None:
    events = [{"text": text} for text in texts]
    body = b"".join(
        b": a comment" + end + b"event: x" + end + b"data: " + json.dumps(event).encode() + end + end
        for event in events
    )
    stream = b"".join(chunk(body[at : at + 7]) for at in range(0, len(body), 7))
    chunks, lines = Chunks(), Lines()
    found = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += list(lines.feed(chunks.feed(stream[:cut])))
        stream = stream[cut:]

    assert found == events


def test_the_data_of_several_lines_is_one_event() -> None:
    assert list(Lines().feed(b'data: {"a":\ndata: 1}\n\n')) == [{"a": 1}]


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parts(data: bytes) -> None:
    with contextlib.suppress(Garbled):
        list(Lines().feed(Chunks().feed(data)))
    list(Lines().feed(data))


# ── what events mean ──


def statuses(events: list[event_stream.Event], folder: str = "/project/work") -> list[tuple[str, str, str]]:
    """As an engine would take them: each change once."""
    conversation, told_so_far = Conversation(folder), [("", "", "")]
    for event in events:
        owner, found = conversation.owner(event), in_values(RULES, event)
        if found is None or owner == "other" or (owner == "helper" and not found.rule.from_helpers):
            continue
        rule = found.rule
        told = (str(rule.status), rule.kind, found.text)
        if told_so_far[-1][0] not in rule.keeps and told_so_far[-1] != told:
            told_so_far.append(told)
    return told_so_far[1:]


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


def test_the_conversations_id_is_learnt() -> None:
    conversation = Conversation("/project/work")
    owners = {conversation.owner(event) for event in RECORDED}

    assert owners == {"own", "other"}
    assert conversation.session_id == "ses_e152c3bb8ffe0Xoiz4yC46Oan7"


def test_an_id_that_is_a_flood_is_nobodys() -> None:
    """It is told on and kept."""
    conversation = Conversation("/project/work")

    assert conversation.owner({"type": "x", "properties": {"sessionID": "s" * 100_000}}) == "other"
    assert conversation.session_id == ""


def test_a_conversation_in_another_folder_does_not_count() -> None:
    assert statuses(RECORDED, folder="/project/other") == []


def test_a_helpers_questions_count_and_its_turns_do_not() -> None:
    events: list[event_stream.Event] = [
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
def test_an_event_of_another_shape_matches_nothing(event: event_stream.Event) -> None:
    assert in_values(RULES, event) is None
    assert Conversation("/w").owner(event) == "other"
