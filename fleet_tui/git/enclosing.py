"""The function or class around a line, found by its text alone, as git does for the heading of a hunk.

Pure. Covers the usual languages by how their definitions begin; elsewhere it finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORDS = "def|class|func|function|fn|sub|module|interface|struct|enum|trait|impl|type|namespace|proc|macro"
_MODIFIERS = (
    "pub|pub\\(crate\\)|public|private|protected|internal|static|final|abstract|async|export|default|unsafe"
    "|extern|const|override|virtual|inline|open|sealed|data"
)
_NAMED = re.compile(
    rf"(?:(?:{_MODIFIERS})\s+)*(?P<word>{_WORDS})\b\*?\s*(?:\([^)]*\)\s*)?(?:<[^>]*>\s*)?(?P<name>[A-Za-z_$][\w.$]*(?:::\w+)*)"
)
_BRACED = re.compile(r"[A-Za-z_][\w\s*&<>,:\[\]]*?(?P<name>[~A-Za-z_$][\w$]*)\s*\([^;]*\)[^;=]*\{\s*$")
_NO_FUNCTION = {
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "else",
    "do",
    "match",
    "with",
    "synchronized",
}
_CALLED = {"def", "func", "function", "fn", "sub", "proc", "macro"}
MOST = 2000
"""Lines that are looked at above the one that is asked about."""


def enclosing_function(lines: Sequence[str], index: int) -> str:
    """The name of the definition around a line, with `()` behind a function's; empty if there is none."""
    if not lines:
        return ""
    index = min(index, len(lines) - 1)
    limit = _indent(lines[index]) if lines[index].strip() else None
    own = _name(lines[index])
    if own:
        return own
    for line in reversed(lines[max(0, index - MOST) : index]):
        if not line.strip():
            continue
        indent = _indent(line)
        if limit is None:
            limit = indent + 1
        if indent < limit:
            found = _name(line)
            if found:
                return found
            # A closing bracket ends a list of parameters, whose definition is on the same level.
            limit = indent + (line.lstrip()[:1] in ")]}")
    return ""


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _name(line: str) -> str:
    text = line.strip()
    found = _NAMED.match(text)
    if found:
        return found["name"] + ("()" if found["word"] in _CALLED else "")
    found = _BRACED.match(text)
    first = re.match(r"\w*", text)
    if found and found["name"] not in _NO_FUNCTION and (first is None or first[0] not in _NO_FUNCTION):
        return found["name"] + "()"
    return ""
