"""Matching of permission rules against the parts of a command and against paths.

An allowing rule matches only what it certainly means; a rule that denies or asks matches as soon as it may mean it. Only
the targets of symbolic links are read from outside.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import os
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from fleet_tui.permissions.rules import PermissionRule
from fleet_tui.permissions.shell_words import ShellPart
from fleet_tui.permissions.tool_use import ToolUse
from fleet_tui.permissions.wrappers import forms_of

Certainty = Literal["yes", "maybe", "no"]
Resolve = Callable[[str], str]


# ── tools and commands ──


def is_of_tool(rule: PermissionRule, tool: str) -> bool:
    if rule.decision == "allow":
        return _pattern(rule.tool).fullmatch(tool) is not None
    return _pattern(rule.tool.casefold()).fullmatch(tool.casefold()) is not None


@functools.lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(glob), re.DOTALL)


def _is_like(glob: str, text: str) -> bool:
    """Match a glob. `npm test *` also matches `npm test`."""
    return _pattern(glob).fullmatch(text) is not None or (glob.endswith(" *") and _is_like(glob[:-2], text))


def allows(rule: PermissionRule, part: ShellPart) -> bool:
    """Whether an allowing rule matches the part, whatever the shell expands in it."""
    if rule.path:
        return False
    if rule.command in ("", "*"):
        return True
    if part.is_opaque:
        return False
    if part.is_fixed:
        return _is_like(rule.command, part.text)
    return rule.command.endswith("*") and _pattern(rule.command).fullmatch(part.known) is not None


def catches(rule: PermissionRule, part: ShellPart, resolver: PathResolver) -> Certainty:
    """Whether a rule that denies or asks matches the part."""
    found: list[Certainty] = []
    if rule.command:
        found.append(_catches_command(rule.command.casefold(), part))
    if rule.path:
        found.append(_catches_path(rule.path, part, resolver))
    if "no" in found:
        return "no"
    return "maybe" if "maybe" in found else "yes"


def _catches_command(glob: str, part: ShellPart) -> Certainty:
    forms = forms_of(part)
    if any(_is_like(glob, form.text.casefold()) for form in forms):
        return "yes"
    if part.is_opaque:
        return "maybe"
    start = re.split(r"[*?[]", glob, maxsplit=1)[0]
    for form in forms:
        known = form.known.casefold()
        if not form.is_fixed and (known.startswith(start) or start.startswith(known)):
            return "maybe"
    return "no"


def _catches_path(glob: str, part: ShellPart, resolver: PathResolver) -> Certainty:
    """Any word may be a file name, also after an equals sign."""
    for word in part.words:
        for text in {word.text, word.text.rpartition("=")[2].lstrip("@")}:
            if text and may_mean(glob, resolver.resolve(text)):
                return "yes"
    return "no" if part.is_fixed and not part.is_opaque else "maybe"


# ── paths ──


class ResolvedPath(NamedTuple):
    absolute: str
    inside: str | None
    """Relative to the worktree, links followed; None outside of it."""
    written: str | None
    """Relative to the worktree as written, links not followed."""


class PathResolver:
    """Resolves the paths of one tool use."""

    def __init__(self, request: ToolUse, resolve: Resolve) -> None:
        self._resolve = resolve
        self._cwd = request.cwd or request.worktree
        self._root = request.worktree or request.cwd
        self._real_root = self._real(self._root)

    def _real(self, path: str) -> str:
        try:
            return self._resolve(path)
        except (OSError, ValueError):
            return ""

    @property
    def is_at_home(self) -> bool:
        """Whether the agent's program is in its worktree."""
        return self.resolve(".").inside is not None

    def resolve(self, path: str) -> ResolvedPath:
        if "\0" in path or not self._cwd.startswith("/"):
            return ResolvedPath(path, None, None)
        with contextlib.suppress(ValueError):
            # It raises for some names of users.
            path = os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises for unknown users
        absolute = os.path.normpath(os.path.join(self._cwd, path))  # noqa: PTH118 - Path would tidy away what matters
        # Follow links before `..`, as the kernel does.
        real = self._real(os.path.join(self._cwd, path))  # noqa: PTH118 - Path would tidy away what matters
        return ResolvedPath(real or absolute, _within(real, self._real_root), _within(absolute, self._root))


def _within(path: str, root: str) -> str | None:
    root = root.rstrip("/")
    if path == root:
        return ""
    return path[len(root) + 1 :] if root and path.startswith(root + "/") else None


def covers(glob: str, places: Sequence[ResolvedPath]) -> bool:
    """Whether a glob certainly matches all of these paths, and there is at least one."""
    pattern = _path_pattern(glob, dots=False)
    return bool(places) and all(
        place.inside is not None and pattern.fullmatch(place.inside) for place in places
    )


def may_mean(glob: str, place: ResolvedPath) -> bool:
    """Whether a rule that denies or asks may mean this path, by any of its names."""
    glob = os.path.expanduser(glob)  # noqa: PTH111 - a pattern is no path
    pattern = _path_pattern(glob.casefold(), dots=True)
    names = (place.absolute,) if glob.startswith("/") else (place.inside, place.written)
    return any(name is not None and pattern.fullmatch(name.casefold()) for name in names)


@functools.lru_cache(maxsize=1024)
def _path_pattern(glob: str, *, dots: bool) -> re.Pattern[str]:
    """Compile a path glob: `*` within one name, `**` across names. Without `dots`, hidden names must be written out.

    A rule may come from an untrusted repository and must not hang the holder. So the text between two `*`, or between
    two `**`, is searched once, from the left, in an atomic group. The first match leaves the most for what follows, so
    no match is lost.
    """
    glob = glob.removeprefix("./")
    name = "[^/]*" if dots else r"(?!\.)[^/]*"
    several = f"(?:{name}/)*"
    if glob == "**":
        return re.compile(f"(?:{several}{name})?", re.DOTALL)
    is_folder = glob.endswith("/**")
    blocks: list[list[str]] = [[]]
    for step in (glob[:-3] if is_folder else glob).split("/"):
        if step == "**":
            blocks.append([])
        else:
            blocks[-1].append(f"{_step(step, dots=dots)}/")
    if blocks[-1]:
        blocks[-1][-1] = blocks[-1][-1].removesuffix("/")
    first, *middle = ["".join(block) for block in blocks]
    last = [f"{several}{middle.pop()}"] if middle else []
    regex = "".join([first, *(f"(?>{several}?{block})" for block in middle), *last])
    return re.compile(regex + (f"(?:/{several}{name})?" if is_folder else ""), re.DOTALL)


_GLOB_PIECE = re.compile(r"\*+|\?|\[(!?)(\]?[^\]]*)\]|.", re.DOTALL)
_RANGE = re.compile(r"(.)(?:-(.))?", re.DOTALL)


def _step(step: str, *, dots: bool) -> str:
    """The regular expression of one name of a path glob."""
    guard = r"(?!\.)" if not dots and step[:1] in ("*", "?", "[") else ""
    parts = [""]
    for found in _GLOB_PIECE.finditer(step):
        if found[0][0] == "*":
            parts.append("")
        else:
            parts[-1] += _piece(found)
    first, *middle = parts
    last = [f"[^/]*{middle.pop()}"] if middle else []
    return guard + "".join([first, *(f"(?>[^/]*?{part})" for part in middle), *last])


def _piece(found: re.Match[str]) -> str:
    text = found[0]
    if text == "?":
        return "[^/]"
    if found[2]:
        return f"(?!/){_character_class(found[2], is_negative=bool(found[1]))}"
    return re.escape(text)


def _character_class(inside: str, *, is_negative: bool) -> str:
    """`[…]` as a regular expression. A range that runs backwards holds no character, as in fnmatch."""
    parts = [
        f"{re.escape(low)}-{re.escape(high)}" if high else re.escape(low)
        for low, high in _RANGE.findall(inside)
        if not high or low <= high
    ]
    if not parts:
        return "." if is_negative else "(?!)"
    return f"[{'^' if is_negative else ''}{''.join(parts)}]"
