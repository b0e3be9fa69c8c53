"""Host bytes to keys, mouse, pastes, focus and replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.terminal import host_input
from fleet_tui.terminal.host_input import Focus, HostKey, HostReply, Mouse, Paste, Token, Tokenizer
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent

pytestmark = pytest.mark.pure


def tokens_of(data: bytes) -> list[Token]:
    """All of them, the host being silent afterwards for as long as it takes."""
    tokenizer = Tokenizer()
    found = tokenizer.feed(data)
    while tokenizer.pending:
        found += tokenizer.flush()
    return found


def only(data: bytes) -> Token:
    (token,) = tokens_of(data)
    assert token.raw == data
    return token


def key(name: str, text: str = "", held: str = "", base: str = "") -> KeyEvent:
    """`held` has a letter for each modifier: s, a, c, u for shift, alt, ctrl, super."""
    return KeyEvent(name, text, "s" in held, "a" in held, "c" in held, "u" in held, base=base)


KEYS = {
    # Text.
    b"a": key("a", "a"),
    b"A": key("a", "A", "s"),
    b"!": key("!", "!"),
    b" ": key("space", " "),
    "é".encode(): key("é", "é"),
    "Ж".encode(): key("ж", "Ж", "s"),
    "🚀".encode(): key("🚀", "🚀"),
    "你".encode(): key("你", "你"),
    b"hello": key("", "hello"),
    "привет".encode(): key("", "привет"),
    "👨‍👩‍👧".encode(): key("", "👨‍👩‍👧"),
    # Control characters.
    b"\x00": key("space", held="c"),
    b"\x01": key("a", held="c"),
    b"\x08": key("h", held="c"),
    b"\x09": key("tab"),
    b"\x0a": key("j", held="c"),
    b"\x0d": key("enter"),
    b"\x11": key("q", held="c"),
    b"\x1b": key("escape"),
    b"\x1c": key("\\", held="c"),
    b"\x1d": key("]", held="c"),
    b"\x1e": key("^", held="c"),
    b"\x1f": key("_", held="c"),
    b"\x7f": key("backspace"),
    # Alt.
    b"\x1b\r": key("enter", held="a"),
    b"\x1b\x7f": key("backspace", held="a"),
    b"\x1b\t": key("tab", held="a"),
    b"\x1b\x08": key("h", held="ac"),
    b"\x1b\x00": key("space", held="ac"),
    b"\x1bx": key("x", "x", "a"),
    b"\x1bX": key("x", "X", "as"),
    b"\x1b1": key("1", "1", "a"),
    b"\x1b.": key(".", ".", "a"),
    b"\x1b[": key("[", "[", "a"),
    b"\x1b]": key("]", "]", "a"),
    b"\x1bO": key("o", "O", "as"),
    b"\x1bP": key("p", "P", "as"),
    b"\x1b_": key("_", "_", "a"),
    "\x1bé".encode(): key("é", "é", "a"),
    "\x1b你".encode(): key("你", "你", "a"),
    # xterm.
    b"\x1b[A": key("up"),
    b"\x1bOA": key("up"),
    b"\x1b[1;5D": key("left", held="c"),
    b"\x1b[1;2A": key("up", held="s"),
    b"\x1b[1;8C": key("right", held="sac"),
    b"\x1b[H": key("home"),
    b"\x1b[4~": key("end"),
    b"\x1b[2~": key("insert"),
    b"\x1b[3;5~": key("delete", held="c"),
    b"\x1b[5~": key("pageup"),
    b"\x1b[Z": key("tab", held="s"),
    b"\x1b[E": key("kp_begin"),
    b"\x1bOP": key("f1"),
    b"\x1b[1;2R": key("f3", held="s"),
    b"\x1b[13~": key("f3"),
    b"\x1b[15~": key("f5"),
    b"\x1b[24~": key("f12"),
    b"\x1b[24;6~": key("f12", held="cs"),
    b"\x1b[25~": key("f13"),
    b"\x1bO5P": key("f1", held="c"),
    b"\x1bO1;2S": key("f4", held="s"),
    # The keypad in application mode.
    b"\x1bOM": key("kp_enter"),
    b"\x1bOu": key("kp_5", "5"),
    b"\x1bOk": key("kp_add", "+"),
    # modifyOtherKeys.
    b"\x1b[27;2;13~": key("enter", held="s"),
    b"\x1b[27;5;105~": key("i", held="c"),
    b"\x1b[27;6;65~": key("a", held="cs"),
    b"\x1b[27;5;127~": key("backspace", held="c"),
    # rxvt and the Linux console.
    b"\x1b\x1b[D": key("left", held="a"),
    b"\x1b\x1bOA": key("up", held="a"),
    b"\x1b[7$": key("home", held="s"),
    b"\x1b[7^": key("home", held="c"),
    b"\x1b[3@": key("delete", held="cs"),
    b"\x1b[a": key("up", held="s"),
    b"\x1bOd": key("left", held="c"),
    b"\x1b[[A": key("f1"),
    b"\x1b[[E": key("f5"),
    # kitty.
    b"\x1b[27u": key("escape"),
    b"\x1b[13;2u": key("enter", held="s"),
    b"\x1b[13;3u": key("enter", held="a"),
    b"\x1b[127;5u": key("backspace", held="c"),
    b"\x1b[32;2u": key("space", " ", "s"),
    b"\x1b[32;5u": key("space", held="c"),
    b"\x1b[99;5u": key("c", held="c"),
    b"\x1b[97;3u": key("a", "a", "a"),
    b"\x1b[97:65;4u": key("a", "A", "as"),
    b"\x1b[49:33;4u": key("1", "!", "as"),
    b"\x1b[97:65;6u": key("a", held="cs"),
    b"\x1b[1089::99;5u": key("с", held="c", base="c"),
    b"\x1b[1080::98;3u": key("и", "и", "a", base="b"),
    b"\x1b[99;9u": key("c", held="u"),
    b"\x1b[99;133u": key("c", held="c"),
    b"\x1b[99;69u": key("c", held="c"),
    b"\x1b[97;;229u": key("a", "å"),
    b"\x1b[0;;20320:22909u": key("", "你好"),
    b"\x1b[57376u": key("f13"),
    b"\x1b[57398u": key("f35"),
    b"\x1b[57404u": key("kp_5", "5"),
    b"\x1b[57404;5u": key("kp_5", held="c"),
    b"\x1b[57414u": key("kp_enter"),
    b"\x1b[57417u": key("kp_left"),
    b"\x1b[57363u": key("menu"),
    b"\x1b[P": key("f1"),
    b"\x1b[1;1:1A": key("up"),
}


@pytest.mark.parametrize("raw", KEYS, ids=ascii)
def test_a_key_is_read_with_all_that_is_held(raw: bytes) -> None:
    assert only(raw) == HostKey(KEYS[raw], raw)


@pytest.mark.parametrize("raw", KEYS, ids=ascii)
def test_a_key_cut_anywhere_is_the_same_key(raw: bytes) -> None:
    for cut in range(1, len(raw)):
        tokenizer = Tokenizer()
        found = tokenizer.feed(raw[:cut]) + tokenizer.feed(raw[cut:])
        while tokenizer.pending:
            found += tokenizer.flush()
        if KEYS[raw].key == "" and not raw.startswith(b"\x1b"):
            assert (
                "".join(token.event.text for token in found if isinstance(token, HostKey)) == KEYS[raw].text
            )
        else:
            assert found == [HostKey(KEYS[raw], raw)]


def test_repeats_and_releases_are_distinguished() -> None:
    actions = [
        token.event.action
        for raw in (b"\x1b[97;5:2u", b"\x1b[1;1:3A", b"\x1b[3;1:3~")
        if isinstance(token := only(raw), HostKey)
    ]

    assert actions == ["repeat", "release", "release"]


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        (b"\x1b\x1b", ["escape", "escape"]),
        (b"\x1b\x1b\x1b", ["escape", "escape", "escape"]),
        (b"\x1b\x1bx", ["escape", "x"]),
        (b"\x1b\x1b\x1b[A", ["escape", "up"]),
        (b"\x1d\x1d", ["]", "]"]),
        (b"a\x1b[Ab", ["a", "up", "b"]),
        (b"\x1b[A\x1b[B\r", ["up", "down", "enter"]),
        (b"\x1b]hello", ["]", ""]),
    ],
    ids=ascii,
)
def test_keys_in_one_read_are_kept_apart(raw: bytes, names: list[str]) -> None:
    found = tokens_of(raw)

    assert [token.event.key for token in found if isinstance(token, HostKey)] == names
    assert b"".join(token.raw for token in found) == raw


REPLIES = [
    b"\x1b[?62;22c",
    b"\x1b[>1;10;0c",
    b"\x1b[5;10R",
    b"\x1b[1;1R",
    b"\x1b[0n",
    b"\x1b[?2026;2$y",
    b"\x1b[12;2$y",
    b"\x1b[?5u",
    b"\x1b[8;24;80t",
    b"\x1b[48;24;80;480;640t",
    b"\x1b]11;rgb:0000/0000/0000\x1b\\",
    b"\x1b]10;rgb:ffff/ffff/ffff\x07",
    b"\x1b]52;c;aGVsbG8=\x1b\\",
    b"\x1bP>|xterm(380)\x1b\\",
    b"\x1bP1$r0m\x1b\\",
    b"\x1b_Gi=31;OK\x1b\\",
    b"\x1b[57441;2u",
    b"\x1b[57358u",
    b"\x1b[201~",
    b"\x1b[<128;3;4M",
    b"\x1b[99999999999999999999u",
    b"\xff",
    b"\xc3",
    b"\xf0\x9f\x9a",
    b"\xed\xa0\x80",
]


@pytest.mark.parametrize("raw", REPLIES, ids=ascii)
def test_replies_of_the_terminal_are_never_keys(raw: bytes) -> None:
    found = tokens_of(b"a" + raw + b"\rb")

    assert [token for token in found if not isinstance(token, HostReply)] == [
        HostKey(key("a", "a"), b"a"),
        HostKey(key("enter"), b"\r"),
        HostKey(key("b", "b"), b"b"),
    ]
    assert b"".join(token.raw for token in found if isinstance(token, HostReply)) == raw


def test_an_answer_that_comes_in_two_parts_is_waited_for() -> None:
    tokenizer = Tokenizer()

    assert tokenizer.feed(b"\x1b]11;rgb:00") == []
    assert tokenizer.flush() == []
    assert tokenizer.feed(b"00/0000/0000\x1b") == []
    assert tokenizer.feed(b"\\x") == [
        HostReply(b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
        HostKey(key("x", "x"), b"x"),
    ]


def test_an_answer_that_never_ends_does_not_keep_the_keyboard() -> None:
    tokenizer = Tokenizer()
    tokenizer.feed(b"\x1b]11;rgb:00")
    found: list[Token] = []
    for _ in range(host_input.SEQUENCE_FLUSHES):
        found += tokenizer.feed(b"k") + tokenizer.flush()

    assert not tokenizer.pending
    assert tokenizer.feed(b"x") == [HostKey(key("x", "x"), b"x")]
    assert [type(token) for token in found] == [HostReply]


def test_focus_is_reported() -> None:
    assert tokens_of(b"\x1b[I\x1b[O") == [Focus(True, b"\x1b[I"), Focus(False, b"\x1b[O")]


MICE = {
    b"\x1b[<0;5;3M": MouseEvent("press", 4, 2, "left"),
    b"\x1b[<0;5;3m": MouseEvent("release", 4, 2, "left"),
    b"\x1b[<1;1;1M": MouseEvent("press", 0, 0, "middle"),
    b"\x1b[<2;300;200M": MouseEvent("press", 299, 199, "right"),
    b"\x1b[<32;5;3M": MouseEvent("move", 4, 2, "left"),
    b"\x1b[<35;5;3M": MouseEvent("move", 4, 2),
    b"\x1b[<64;5;3M": MouseEvent("scroll_up", 4, 2),
    b"\x1b[<65;5;3M": MouseEvent("scroll_down", 4, 2),
    b"\x1b[<66;5;3M": MouseEvent("scroll_left", 4, 2),
    b"\x1b[<28;5;3M": MouseEvent("press", 4, 2, "left", shift=True, alt=True, ctrl=True),
    b"\x1b[M %#": MouseEvent("press", 4, 2, "left"),
    b"\x1b[M#%#": MouseEvent("release", 4, 2),
    b"\x1b[M`%#": MouseEvent("scroll_up", 4, 2),
    b"\x1b[M \xff\xff": MouseEvent("press", 222, 222, "left"),
    b"\x1b[32;5;3M": MouseEvent("press", 4, 2, "left"),
    b"\x1b[35;5;3M": MouseEvent("release", 4, 2),
}


@pytest.mark.parametrize("raw", MICE, ids=ascii)
def test_the_mouse_is_read_in_each_of_its_encodings(raw: bytes) -> None:
    assert only(raw) == Mouse(MICE[raw], raw)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", ""),
        (b"one line", "one line"),
        (b"a\rb\r\nc\nd", "a\nb\nc\nd"),
        (b"\x1b[31mred\x1b", "\x1b[31mred\x1b"),
        (b"\x11\x1b[200~\x1b]0;", "\x11\x1b[200~\x1b]0;"),
        ("ünï 你".encode(), "ünï 你"),
        (b"\xff", "\ufffd"),
    ],
    ids=ascii,
)
def test_a_paste_is_whole_with_any_content_and_any_cut(body: bytes, text: str) -> None:
    raw = b"\x1b[200~" + body + b"\x1b[201~"
    for cut in range(len(raw)):
        tokenizer = Tokenizer()
        found = tokenizer.feed(b"x" + raw[:cut]) + tokenizer.feed(raw[cut:] + b"y")

        assert found == [HostKey(key("x", "x"), b"x"), Paste(text, raw), HostKey(key("y", "y"), b"y")]


def test_a_paste_that_never_ends_is_given_out_in_time() -> None:
    tokenizer = Tokenizer()
    tokenizer.feed(b"\x1b[200~half")
    found = [token for _ in range(host_input.PASTE_FLUSHES) for token in tokenizer.flush()]

    assert found == [Paste("half", b"\x1b[200~half")]
    assert tokenizer.feed(b"x") == [HostKey(key("x", "x"), b"x")]


def test_a_paste_without_end_takes_no_memory_without_end() -> None:
    tokenizer = Tokenizer()
    chunk = b"x" * (1 << 20)
    found = tokenizer.feed(b"\x1b[200~")
    for _ in range(20):
        found += tokenizer.feed(chunk)
    found += tokenizer.feed(b"\x1b[201~y")

    pastes = [token for token in found if isinstance(token, Paste)]
    assert sum(len(paste.text) for paste in pastes) == 20 << 20
    assert max(len(paste.raw) for paste in pastes) <= host_input.PASTE_LIMIT
    assert found[-1] == HostKey(key("y", "y"), b"y")


PIECES = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [*KEYS, *REPLIES, *MICE, b"\x1b[200~", b"\x1b[201~", b"\x1b", b"\x1b[", b"\x1b[M", b"\x1b]1"]
    ),
)


@given(st.lists(st.tuples(PIECES, st.integers(0, 3)), max_size=30))
def test_every_byte_is_in_one_token_or_waiting(pieces: list[tuple[bytes, int]]) -> None:
    tokenizer = Tokenizer()
    fed = taken = b""
    for piece, silences in pieces:
        fed += piece
        found = tokenizer.feed(piece)
        for _ in range(silences):
            found += tokenizer.flush()
        taken += b"".join(token.raw for token in found)

        assert taken + tokenizer.waiting == fed
        assert tokenizer.pending == bool(tokenizer.waiting)
        assert all(token.raw for token in found)


@given(st.binary(max_size=200))
def test_every_key_can_travel_to_the_holder(data: bytes) -> None:
    for token in tokens_of(data):
        if isinstance(token, HostKey):
            token.event.text.encode()
            assert KeyEvent.from_wire(token.event.to_wire()) == token.event
        if isinstance(token, Mouse):
            assert MouseEvent.from_wire(token.event.to_wire()) == token.event
