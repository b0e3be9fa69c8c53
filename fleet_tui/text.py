"""Make text from outside safe to show.

Names, prompts, branches, titles, paths, program output, configuration values and error texts are written by agents,
repositories and other people. A terminal acts on control characters, and bidirectional controls reorder what stands
around them, so every face passes such text through one of these functions before it reaches a screen:

- `one_line`: one line with blanks folded, for a name, a title, a cell of a table;
- `flat`: one line whose blanks stay as they are, for a line that is already laid out;
- `block`: several lines, for a command or program output;
- `in_sequence`: one line for the inside of a control sequence;
- `pictured`: several lines for an agent's own terminal, with control characters shown as pictures;
- `visible`: one line with every hidden character spelled out, for text that a user is asked to trust;
- `blanked`: cells of an emulated screen, whose widths are known and must not change;
- `to_json`: what `--json` prints.

`cut` limits the length of text that is safe already.

Markup is not handled here: widgets take plain text or `Content`, never a markup string.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache

TAB = 4
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_INVISIBLE = (0x200B, *range(0x2060, 0x2065), *range(0x206A, 0x2070), 0xFEFF)
_REORDERING = re.compile(f"[{''.join(map(chr, _BIDI))}]")
_PICTURES = {
    **{number: 0x2400 + number for number in range(32) if chr(number) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(
        (*range(0x80, 0xA0), 0x2028, 0x2029, *_BIDI, *_INVISIBLE, *range(0xD800, 0xE000)), 0xFFFD
    ),
}


@lru_cache(maxsize=4096)
def one_line(text: str) -> str:
    """Fold blanks and line breaks into single spaces, and make the rest safe."""
    return flat(" ".join(text.split()))


def flat(text: str) -> str:
    """Keep the text on one line: white space becomes spaces, control characters become a replacement character.

    Characters that only control drawing (joiners, direction marks, zero-width spaces) are dropped: terminals disagree
    about their width.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def block(text: str) -> str:
    """Keep line breaks, expand tabs, and make each line safe."""
    if text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(flat(line.expandtabs(TAB)) for line in lines)


def in_sequence(text: str) -> str:
    """Make text safe inside a control sequence, where a semicolon separates fields."""
    return one_line(text.replace(";", ","))


def pictured(text: str) -> str:
    """Show control characters as pictures of themselves; line breaks, tabs and joiners stay."""
    return text.replace("\r\n", "\n").translate(_PICTURES)


def visible(text: str) -> str:
    """Put text on one line and spell out every character that cannot be seen: ␛, U+202E."""
    return "".join(char if char.isprintable() else _spelled_out(ord(char)) for char in text)


def _spelled_out(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"U+{code:04X}"


def blanked(text: str) -> str:
    """Replace each control character by a space and drop direction controls, which take no cell."""
    return _REORDERING.sub("", _CONTROLS.sub(" ", text))


def cut(text: str, limit: int) -> str:
    """Cut the text to at most `limit` characters; an ellipsis shows that some are left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def to_json(value: object, *, indent: int | None = None) -> str:
    """ASCII only: every control character, and every character that a terminal may act on, is escaped."""
    # JSON allows a raw DEL, which json.dumps leaves as it is.
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    if char.isspace():
        return " "
    return "" if unicodedata.category(char) == "Cf" else REPLACEMENT
