"""What agents may do without asking a person: rules over tools, commands and paths.

`Policy.judge` says allow, ask or deny for one request of an agent, and why. The first rule that matches decides, and
what no rule matches is asked. Every doubt goes the same way: a rule allows only what it certainly matches, and denies
or asks already when it may. Plain data in and out, so that it can be sent to where agents are held; the only thing
outside that is looked at is where symbolic links lead.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from fleet_tui.commandline import Part, Unreadable, pieces, read
from fleet_tui.text import flat
from fleet_tui.values import dataclass, fields

Decision = Literal["allow", "ask", "deny"]
Mode = Literal["off", "shadow", "on"]
DECISIONS: tuple[Decision, ...] = ("allow", "ask", "deny")
MODES: tuple[Mode, ...] = ("off", "shadow", "on")

PERSONAL = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Requests that are questions to a person: nobody else can answer them."""
WHAT_LIMIT = 400

_PATCH = "apply_patch"
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*)$", re.MULTILINE)
_COMMAND_KEYS = ("command", "cmd")
_PATH_KEY = re.compile(r"(?:path|file|dir|directory|folder|cwd|root)s?$", re.IGNORECASE)
_TEXT_KEYS = frozenset(
    {"content", "old_string", "new_string", "new_source", "description", "prompt", "query", "url", "text"}
)
_UNSAFE_KEY = re.compile(r"dangerous|escalat|disable.?sandbox", re.IGNORECASE)
_SEVERITY = {"allow": 0, "ask": 1, "deny": 2}

Certainty = Literal["yes", "maybe", "no"]


class Malformed(ValueError):
    """Plain data that is no policy; the text, if any, begins with where in it, such as `[2].decision`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the policy. A part that is not given matches everything."""

    decision: Decision
    tool: str = "*"
    command: str = ""
    path: str = ""

    def __str__(self) -> str:
        tool = self.tool if self.tool != "*" else "any tool"
        return " ".join(filter(None, (self.decision, tool, self.command and f"`{self.command}`", self.path)))

    def to_plain(self) -> dict[str, str]:
        given = {
            name: str(getattr(self, name)) for name in ("tool", "command", "path") if getattr(self, name)
        }
        return {"decision": self.decision, **{name: text for name, text in given.items() if text != "*"}}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], place: str = "") -> Rule:
        """Of a table as a file has it. One with a key that nobody knows only ever asks: it may have meant less."""
        decision = plain.get("decision")
        if decision not in DECISIONS:
            raise Malformed(f'{place}.decision must be "allow", "ask" or "deny", not {decision!r}')
        texts = {name: plain[name] for name in ("tool", "command", "path") if name in plain}
        for name, text in texts.items():
            if not isinstance(text, str) or not text or "\0" in text:
                raise Malformed(f"{place}.{name} must be a pattern as a string, not {text!r:.60}")
        return cls("ask" if unknown_keys(plain) else decision, **texts)


_RULE_KEYS = tuple(field.name for field in fields(Rule))


def unknown_keys(plain: Mapping[str, Any]) -> list[str]:
    """The keys of a rule that mean nothing."""
    return [key for key in plain if key not in _RULE_KEYS]


def rules_of(plain: object) -> tuple[Rule, ...]:
    """A list of tables as rules; Malformed says what is wrong and where."""
    if not isinstance(plain, list | tuple) or not all(isinstance(one, Mapping) for one in plain):
        raise Malformed
    return tuple(Rule.from_plain(one, f"[{number}]") for number, one in enumerate(plain, 1))


@dataclass(frozen=True, slots=True)
class Request:
    """What an agent wants to do, as its permission hook tells it."""

    tool: str
    input: Mapping[str, Any]
    cwd: str
    """Where the agent's program is now; it may have wandered off."""
    worktree: str = ""
    """Where it belongs; its current folder unless given."""

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], worktree: str = "") -> Request:
        """Of the JSON that claude and codex give to a PermissionRequest hook."""
        tool, given, cwd = payload.get("tool_name"), payload.get("tool_input"), payload.get("cwd")
        return cls(
            tool if isinstance(tool, str) else "",
            given if isinstance(given, Mapping) else {},
            cwd if isinstance(cwd, str) and cwd else worktree,
            worktree,
        )

    @property
    def command(self) -> str | tuple[str, ...] | None:
        """The command line, or program and arguments; None for tools that run none."""
        if self.tool == _PATCH:
            return None
        for key in _COMMAND_KEYS:
            found = self.input.get(key)
            if isinstance(found, str):
                return found
            if isinstance(found, list | tuple) and found and all(isinstance(one, str) for one in found):
                return tuple(found)
        return None

    @property
    def what(self) -> str:
        """One line for people: the command, or the paths, or whatever there is."""
        command = self.command
        if command is not None:
            text = command if isinstance(command, str) else " ".join(command)
        else:
            paths = list(_paths(self))
            text = (
                " ".join(paths) if paths else ", ".join(f"{key}={value}" for key, value in self.input.items())
            )
        return flat(text)[:WHAT_LIMIT]


class Verdict(NamedTuple):
    decision: Decision
    rule: str
    """The rule that decided, or the rules where parts of a command had their own; empty where none did."""
    why: str


Resolve = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules, those of the project first, and whether they are in force."""

    mode: Mode = "off"
    rules: tuple[Rule, ...] = ()

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Policy:
        mode = plain.get("mode", "off")
        if mode not in MODES:
            raise Malformed(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        return cls(cast("Mode", mode), rules_of(plain.get("rules", ())))

    def to_plain(self) -> dict[str, Any]:
        return {"mode": self.mode, "rules": [rule.to_plain() for rule in self.rules]}

    def judge(self, request: Request, *, resolve: Resolve = os.path.realpath) -> Verdict:
        """What the rules say of a request, whatever the mode."""
        ground = _Ground(request, resolve)
        command = request.command
        if command is None:
            verdict = self._of_paths(request, ground)
        else:
            verdict = self._of_command(request, command, ground)
        if verdict.decision == "allow" and (doubt := _doubt(request, ground)):
            return Verdict("ask", verdict.rule, doubt)
        return verdict

    # ── tools that run commands ─────────────────────────────────────────────────────────────────────────────────

    def _of_command(self, request: Request, command: str | Sequence[str], ground: _Ground) -> Verdict:
        """The strictest of what is said of each part."""
        try:
            parts = read(command)
        except Unreadable as error:
            return self._of_unreadable(request, command, ground, str(error))
        verdicts = [self._of_part(request, part, ground) for part in parts]
        worst = max(verdicts, key=lambda verdict: _SEVERITY[verdict.decision])
        if worst.decision != "allow":
            return worst
        rules = list(dict.fromkeys(verdict.rule for verdict in verdicts))
        why = worst.why if len(parts) == 1 else f"each of its {len(parts)} parts is allowed"
        return Verdict("allow", "; ".join(rules), why)

    def _of_unreadable(
        self, request: Request, command: str | Sequence[str], ground: _Ground, reason: str
    ) -> Verdict:
        """Never allowed; denied where a piece of it looks like something that is denied."""
        text = command if isinstance(command, str) else " ".join(command)
        found = pieces(text)
        for name, rule in self._for(request.tool):
            if rule.decision != "allow":
                hit = next((part for part in found if _catches(rule, part, ground) == "yes"), None)
                if hit is not None:
                    return Verdict(rule.decision, name, f"a piece of it is `{_short(hit.text)}`")
        return Verdict("ask", "", f"it cannot be read for certain: {reason}")

    def _of_part(self, request: Request, part: Part, ground: _Ground) -> Verdict:
        """The first rule that matches; once one may have matched, nothing is allowed any more."""
        said = f"`{_short(part.text)}`"
        doubt = ""
        for name, rule in self._for(request.tool):
            if rule.decision == "allow":
                if not doubt and _allows(rule, part):
                    return Verdict("allow", name, f"{said} matches")
                continue
            certainty = _catches(rule, part, ground)
            if certainty == "yes":
                return Verdict(rule.decision, name, f"{said} matches")
            doubt = doubt or (name if certainty == "maybe" else "")
        if doubt:
            return Verdict("ask", doubt, f"{said} may match: what it runs is known only when it runs")
        hidden = " (it runs something that cannot be seen from here)" if part.is_opaque else ""
        return Verdict("ask", "", f"no rule is for {said}{hidden}")

    # ── tools that touch paths, and all others ──────────────────────────────────────────────────────────────────

    def _of_paths(self, request: Request, ground: _Ground) -> Verdict:
        touched = [ground.place(path) for path in _paths(request)]
        mentioned = touched + [ground.place(text) for text in _leaves(request.input)]
        for name, rule in self._for(request.tool):
            if rule.command:
                continue
            if rule.decision == "allow":
                if request.tool not in PERSONAL and (not rule.path or _covers(rule.path, touched)):
                    return Verdict("allow", name, "it matches")
            elif not rule.path or any(_is_meant(rule.path, place) for place in mentioned):
                return Verdict(rule.decision, name, "it matches")
        if request.tool in PERSONAL:
            return Verdict("ask", "", "it is a question to a person")
        outside = next((place for place in touched if place.inside is None), None)
        if outside is not None:
            return Verdict("ask", "", f"{_short(outside.absolute)} is outside the worktree")
        return Verdict("ask", "", "no rule is for it")

    def _for(self, tool: str) -> Iterator[tuple[str, Rule]]:
        """The rules about a tool, each with its name for people."""
        for number, rule in enumerate(self.rules, 1):
            if _is_of_tool(rule, tool):
                yield f"rule {number}: {rule}", rule


def problems(rules: Sequence[Rule]) -> list[str]:
    """Rules that can never do what they seem to say, in words."""
    found = []
    for number, rule in enumerate(rules, 1):
        where = f"approve.rules[{number}]"
        if rule.decision != "allow" or not rule.path:
            continue
        if rule.command:
            found.append(
                f"{where}: path and command together never allow: what a command touches is not known"
            )
        elif rule.path.startswith(("/", "~")) or ".." in rule.path.split("/"):
            found.append(f"{where}: {rule.path} leaves the worktree, and nothing there is ever allowed")
    return found


# ── matching ────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_of_tool(rule: Rule, tool: str) -> bool:
    if rule.decision == "allow":
        return _pattern(rule.tool).fullmatch(tool) is not None
    return _pattern(rule.tool.casefold()).fullmatch(tool.casefold()) is not None


@functools.lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(glob), re.DOTALL)


def _is_like(glob: str, text: str) -> bool:
    """`npm test *` also means `npm test` alone."""
    return _pattern(glob).fullmatch(text) is not None or (glob.endswith(" *") and _is_like(glob[:-2], text))


def _allows(rule: Rule, part: Part) -> bool:
    """Whether the rule matches the part whatever the shell makes of it."""
    if rule.path:
        return False
    if rule.command in ("", "*"):
        return True
    if part.is_opaque:
        return False
    if part.is_fixed:
        return _is_like(rule.command, part.text)
    return rule.command.endswith("*") and _pattern(rule.command).fullmatch(part.known) is not None


def _catches(rule: Rule, part: Part, ground: _Ground) -> Certainty:
    """Whether a rule that forbids or asks is about the part."""
    found: list[Certainty] = []
    if rule.command:
        found.append(_catches_command(rule.command.casefold(), part))
    if rule.path:
        found.append(_catches_path(rule.path, part, ground))
    if "no" in found:
        return "no"
    return "maybe" if "maybe" in found else "yes"


def _catches_command(glob: str, part: Part) -> Certainty:
    guises = part.guises()
    if any(_is_like(glob, guise.text.casefold()) for guise in guises):
        return "yes"
    if part.is_opaque:
        return "maybe"
    start = re.split(r"[*?[]", glob, maxsplit=1)[0]
    for guise in guises:
        known = guise.known.casefold()
        if not guise.is_fixed and (known.startswith(start) or start.startswith(known)):
            return "maybe"
    return "no"


def _catches_path(glob: str, part: Part, ground: _Ground) -> Certainty:
    """Any word may be the name of a file, also behind an equals sign."""
    for word in part.words:
        for text in {word.text, word.text.rpartition("=")[2].lstrip("@")}:
            if text and _is_meant(glob, ground.place(text)):
                return "yes"
    return "no" if part.is_fixed and not part.is_opaque else "maybe"


class _Place(NamedTuple):
    absolute: str
    inside: str | None
    """Relative to the worktree, links followed; None outside of it."""
    written: str | None
    """The same as it was written, links not followed."""


class _Ground:
    """Where a request's paths lead."""

    def __init__(self, request: Request, resolve: Resolve) -> None:
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
        return self.place(".").inside is not None

    def place(self, path: str) -> _Place:
        if "\0" in path or not self._cwd.startswith("/"):
            return _Place(path, None, None)
        with contextlib.suppress(ValueError):
            # It refuses the name of a user that no file system could write.
            path = os.path.expanduser(path)  # noqa: PTH111 - as text, for the same reason
        absolute = os.path.normpath(os.path.join(self._cwd, path))  # noqa: PTH118 - Path would tidy away what matters
        # Links first and .. after them, as the system does it.
        real = self._real(os.path.join(self._cwd, path))  # noqa: PTH118 - Path would tidy away what matters
        return _Place(real or absolute, _within(real, self._real_root), _within(absolute, self._root))


def _within(path: str, root: str) -> str | None:
    root = root.rstrip("/")
    if path == root:
        return ""
    return path[len(root) + 1 :] if root and path.startswith(root + "/") else None


def _covers(glob: str, places: Sequence[_Place]) -> bool:
    """Whether an allow is certainly about all of these paths, and there is one."""
    pattern = _path_pattern(glob, dots=False)
    return bool(places) and all(
        place.inside is not None and pattern.fullmatch(place.inside) for place in places
    )


def _is_meant(glob: str, place: _Place) -> bool:
    """Whether a rule that forbids or asks may be about this path, by any of its names."""
    glob = os.path.expanduser(glob)  # noqa: PTH111 - a pattern is no path
    pattern = _path_pattern(glob.casefold(), dots=True)
    names = (place.absolute,) if glob.startswith("/") else (place.inside, place.written)
    return any(name is not None and pattern.fullmatch(name.casefold()) for name in names)


@functools.lru_cache(maxsize=1024)
def _path_pattern(glob: str, *, dots: bool) -> re.Pattern[str]:
    """`*` within one name, `**` across them. Without dots, a name that begins with one has to be written out.

    A rule may come from a stranger's repository and must not hang the holder that asks it: what stands between two
    `*`, or between two `**`, is looked for once and from the left, and never again (an atomic group). The first place
    where it fits leaves the most to what follows.
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


def _step(step: str, *, dots: bool) -> str:
    """One name of a path pattern."""
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
        inside = re.sub(r"([\\\]\[^&~|])", r"\\\1", found[2])
        return f"(?!/)[{'^' if found[1] else ''}{inside}]"
    return re.escape(text)


# ── what a request is about ─────────────────────────────────────────────────────────────────────────────────────


def _paths(request: Request) -> Iterator[str]:
    """Every path that the tool says it touches, and what looks like one where nobody knows its keys."""
    if request.tool == _PATCH:
        yield from _patched(request.input)
        return
    yield from _path_values(request.input)
    pattern = request.input.get("pattern")
    if request.tool == "Glob" and isinstance(pattern, str):
        yield pattern
    if request.tool in ("Glob", "Grep", "LS") and "path" not in request.input:
        yield "."


def _patched(given: Mapping[str, Any]) -> Iterator[str]:
    for text in _strings(given):
        yield from (path.strip() for path in _PATCHED.findall(text))


def _path_values(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        is_elsewhere = value.startswith(("/", "~")) or ".." in value.split("/")
        if _PATH_KEY.search(key) or (is_elsewhere and "\n" not in value and key not in _TEXT_KEYS):
            yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _path_values(one, str(name))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _path_values(one, key)


def _leaves(value: object) -> list[str]:
    """Every text that could be a path, under whatever key."""
    return [text for text in _strings(value) if text and len(text) < 4096 and "\n" not in text]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)


def _doubt(request: Request, ground: _Ground) -> str:
    """What keeps even an allowed request from being allowed; empty when nothing does."""
    if any(_UNSAFE_KEY.search(str(key)) and value for key, value in request.input.items()):
        return "it asks to leave its sandbox"
    if request.command is None:
        return ""
    if not ground.is_at_home:
        return "the agent is outside its worktree"
    folders = {key: value for key, value in request.input.items() if key not in _COMMAND_KEYS}
    if any(ground.place(path).inside is None for path in _path_values(folders)):
        return "it would run outside the worktree"
    return ""


def _short(text: str) -> str:
    line = flat(text)
    return line if len(line) <= 80 else line[:79] + "…"
