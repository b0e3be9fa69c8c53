"""Names: slugs, ids, branch names and their suffixes. Pure text functions; callers pass the random source in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from fleet_tui.errors import UsageError

ID_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 10
MAX_NAME = 120
MAX_COUNT = 100
MAX_PROMPT_BYTES = 256 << 10

_SUFFIXED = re.compile(r"(.+)-([A-Z]{1,2})")
_NAMELESS = re.compile(rf"\d{{6}}-[{ID_ALPHABET}]{{4}}")
_DAY = re.compile(r"(manual)-\d{8}")
_JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))
"""Some scripts and emoji are not written without them."""
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]")


def slug(text: str, *, limit: int = 40) -> str:
    """A text as lower-case ASCII words joined by dashes; never empty."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")
    return words[:limit].rstrip("-") or "agent"


def prefix(prompt: str) -> str:
    """A branch prefix from the first three words of a prompt."""
    return slug(" ".join(prompt.split()[:3]), limit=30)


def new_id(random_bytes: Callable[[int], bytes]) -> str:
    """An agent id: short enough for a socket path, never a number, hard to mistype."""
    drawn = random_bytes(ID_LENGTH)
    letters = "abcdefghjkmnpqrstvwxyz"
    first = letters[drawn[0] % len(letters)]
    return first + "".join(ID_ALPHABET[byte % len(ID_ALPHABET)] for byte in drawn[1:])


def batch_id(day: str, random_bytes: Callable[[int], bytes]) -> str:
    """A readable batch id: the day as YYMMDD and four characters."""
    return f"{day}-" + "".join(ID_ALPHABET[byte % len(ID_ALPHABET)] for byte in random_bytes(4))


def batch_label(batch: str, agents: Sequence[str]) -> str:
    """The name of a batch: the common prefix of its agents' names, else its id without the date.

    A fan-out keeps its name if one of its agents is renamed or another one joins it.
    """
    found = [match[1] for match in map(_SUFFIXED.fullmatch, agents) if match is not None]
    are_all = len(found) == len(agents)
    if len(set(found)) == 1 and (are_all or (len(found) > 1 and _NAMELESS.fullmatch(batch))):
        return found[0]
    day = _DAY.fullmatch(batch)
    return day[1] if day else batch


def suffixes() -> Iterator[str]:
    """A … Z, AA … AZ, BA …"""
    number = 1
    while True:
        text, rest = "", number
        while rest:
            rest, letter = divmod(rest - 1, 26)
            text = chr(ord("A") + letter) + text
        yield text
        number += 1


def check_text(text: str, what: str) -> str:
    """Refuse text that is not Unicode: arguments and paths can contain other bytes, the store cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} is not valid UTF-8", hint="write it as UTF-8") from None
    return text


def check_prompt(text: str) -> str:
    """Refuse a prompt that is empty, too long or not Unicode. An agent may start without one, so callers skip "" then."""
    if not text.strip():
        raise UsageError("the prompt is empty", hint="write what the agent should do")
    if len(check_text(text, "the prompt").encode()) > MAX_PROMPT_BYTES:
        raise UsageError(
            f"the prompt is over {MAX_PROMPT_BYTES} bytes",
            hint="put it in a file and name the file in the prompt",
        )
    return text


def check_count(count: int) -> int:
    if not 1 <= count <= MAX_COUNT:
        raise UsageError(f"cannot start {count} agents at once", hint=f"choose a count from 1 to {MAX_COUNT}")
    return count


def check_branch(name: str, what: str = "a branch name") -> str:
    """Return a name that git accepts as a branch; raise an error that says what is wrong with any other.

    Names of agents follow the same rules, so that a name is valid wherever a branch is.
    """
    problem = _branch_problem(name)
    if problem:
        shown = name if len(name) <= 40 else name[:37] + "..."
        raise UsageError(f"{shown!r} cannot be {what}: it {problem}", hint=f"try {slug(name)!r}")
    return name


def _branch_problem(name: str) -> str:
    checks = (
        (not name, "is empty"),
        (
            len(name) > MAX_NAME or len(name.encode("utf-8", "surrogateescape")) > 200,
            f"is longer than {MAX_NAME} characters",
        ),
        (any(0xD800 <= ord(char) <= 0xDFFF for char in name), "is not valid UTF-8"),
        (name.startswith("-"), "starts with '-'"),
        (" " in name, "contains a space"),
        (bool(_FORBIDDEN.search(name)), "contains a character that git forbids"),
        # Faces leave such characters out, so that two names would look the same.
        (not name.translate(_JOINERS).isprintable(), "contains a character that cannot be seen"),
        (".." in name, "contains '..'"),
        ("@{" in name or name == "@", "contains '@{' or is '@'"),
        (name.startswith("/") or name.endswith("/") or "//" in name, "has an empty part beside a '/'"),
        (name.endswith("."), "ends with '.'"),
        (any(part.startswith(".") for part in name.split("/")), "has a part that starts with '.'"),
        (any(part.endswith(".lock") for part in name.split("/")), "has a part that ends with '.lock'"),
        (name == "HEAD", "is reserved by git"),
    )
    return next((text for failed, text in checks if failed), "")


def is_pattern(name: str) -> bool:
    """Whether a name is a glob."""
    return any(mark in name for mark in "*?[")
