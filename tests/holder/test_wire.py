"""Messages between holders and clients, with any cuts of the stream and any input from the other end."""

from __future__ import annotations

import random
import struct

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.holder import wire

pytestmark = pytest.mark.pure


def length(number: int) -> bytes:
    return struct.pack(">I", number)


def packed(body: object) -> bytes:
    data: bytes = msgpack.packb(body)
    return length(len(data)) + data


@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "b"]), st.binary() | st.text() | st.integers(0, 9))),
    st.data(),
)
def test_messages_survive_any_cut_of_the_stream(bodies: list[dict[str, object]], data: st.DataObject) -> None:
    stream = b"".join(wire.pack("x", **body) for body in bodies)
    unpacker = wire.Unpacker()
    received: list[wire.Message] = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        received += unpacker.feed(stream[:cut])
        stream = stream[cut:]

    assert received == [{**body, "t": "x"} for body in bodies]


def test_bytes_that_are_no_text_survive_in_a_text_field() -> None:
    text = b"caf\xe9 \xff".decode("utf-8", "surrogateescape")

    (message,) = wire.Unpacker().feed(wire.pack("paste", text=text))

    assert message["text"] == text


def test_half_a_message_is_not_a_message_yet() -> None:
    whole = wire.pack("ping", id=1)
    unpacker = wire.Unpacker()

    assert list(unpacker.feed(whole[:-1])) == []
    assert list(unpacker.feed(whole[-1:])) == [{"t": "ping", "id": 1}]


def test_a_message_over_the_limit_is_neither_sent_nor_waited_for() -> None:
    with pytest.raises(wire.WireError, match="over the limit"):
        wire.pack("text", data=b"x" * (wire.LIMIT + 1))
    with pytest.raises(wire.WireError, match="claims"):
        list(wire.Unpacker().feed(length(wire.LIMIT + 1)))


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(length(4) + b"\xc1\xc1\xc1\xc1", id="not msgpack"),
        pytest.param(packed([1, 2]), id="not a map"),
        pytest.param(packed({"v": 1}), id="no kind"),
        pytest.param(packed({"t": 5}), id="a kind that is no text"),
        pytest.param(length(3) + b"\x81\x90\x01", id="a list as a key"),
        pytest.param(length(5) + b"\xdd\xff\xff\xff\xff", id="a list of four billion"),
        pytest.param(length(2000) + b"\x91" * 2000, id="nested too deep"),
        pytest.param(length(6) + b"\xd6\xff\x00\x00\x00\x00", id="a timestamp"),
        pytest.param(length(0), id="nothing"),
        pytest.param(length(9) + packed({"t": "ping"})[4:] + b"\xc1", id="ends in garbage"),
    ],
)
def test_malformed_messages_raise_a_wire_error_and_nothing_else(garbage: bytes) -> None:
    with pytest.raises(wire.WireError):
        list(wire.Unpacker().feed(garbage))


def test_random_bytes_never_raise_anything_but_a_wire_error() -> None:
    chance = random.Random(7)
    for _ in range(1000):
        body = chance.randbytes(chance.randrange(1, 60))
        try:
            list(wire.Unpacker().feed(length(len(body)) + body))
        except wire.WireError:
            continue


def test_fields_and_kinds_of_a_later_version_pass_through_unharmed() -> None:
    stream = wire.pack("hello", v=9, kind="pane", color="deep") + wire.pack("hologram", depth=3)

    assert [message["t"] for message in wire.Unpacker().feed(stream)] == ["hello", "hologram"]
