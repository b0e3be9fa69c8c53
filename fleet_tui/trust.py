"""Show what a project's files ask for before any of it happens, and record what the user has trusted.

`asked` reads the files once; what it returns is what a face shows, and exactly that is recorded by `accept`. A file
that changes in between does not match the record, and is asked about again.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleet_tui import config, git, setup_files, trust_store
from fleet_tui.errors import FleetError, Refused
from fleet_tui.models import Asked, AskedLine

CONFIG_FILE = ".aifleet/config.toml"
SEARCH_SECONDS = 2.0
"""How long it is looked for what all patterns would copy; the same again for what of it git ignores."""
MAX_VALUES = 500
"""That can be trusted at once."""
NO_FLAGS = "no flags"
NAMED_FILES = 3
"""How many files that a pattern matches are named."""

_DOWNLOADS = re.compile(r"\b(?:curl|wget|fetch|aria2c?|http)\b")
_SHELL = re.compile(r"(?:\||<\(|\$\(|`|-c\b|\beval\b|\bsource\b|&&|;)")
_INTERPRETER = re.compile(r"\b(?:\w*sh|python[\d.]*|perl|ruby|node|php|eval|source)\b")
_UNSAFE_FLAG = re.compile(r"dangerous|skip-permission|bypass|yolo|full-auto|allow-all|trust", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:_BASE_URL|_API_BASE|_ENDPOINT|_HOST|_URL|_PROXY)$", re.IGNORECASE)
_LOADER = re.compile(
    r"^(?:LD_|DYLD_|PYTHON|NODE_OPTIONS|NODE_PATH|PERL|RUBY|GIT_|BASH_ENV|ENV|ZDOTDIR|PATH|HOME|SHELL|XDG_|IFS)"
    r"|(?:COMMAND|EDITOR|PAGER|BROWSER)$"
)
_HEADER = re.compile(r"[ \t]{0,20}\[\[?([^\[\]]{1,100})\]")
_ASSIGNED = re.compile(r"""[ \t]{0,20}([\w"' .-]{1,100})=""")
_ITEM_KEYS = frozenset({"setup.commands", "setup.credential_files", config.INCLUDE_FILE})


class Untrusted(Refused):
    """A project's files ask for something that the user has not trusted."""


def asked(project: Path) -> Asked | None:
    """What waits for the user's trust; None where nothing does."""
    own = config.asked_by(project)
    if not trust_store.missing(project, own.parts):
        return None
    record = trust_store.recorded(project)
    before = record.parts if record is not None else {}
    wanted = sorted(trust_store.plain(own.parts).items(), key=_harm)
    count = sum(len(_items(key, value)) for key, value in wanted)
    if count > MAX_VALUES:
        raise Refused(
            f"this project's files ask for {count} things, too many to look through",
            hint="go on with your own settings: --ignore-project-config",
        )
    finder = _Finder(own.text)
    files = _Files(project, own)
    lines: list[AskedLine] = []
    same = 0
    for key, value in wanted:
        old = _items(key, before[key]) if key in before else []
        new = _items(key, value)
        for item in new:
            if item in old:
                same += 1
                continue
            means, is_alarming = _judged(key, item, files)
            mark = "+" if record is not None else ""
            lines.append(AskedLine(_verb(key), shown(item), means, is_alarming, finder.line(key, item), mark))
        lines += [AskedLine(_verb(key), shown(item), change="−") for item in old if item not in new]
    restrictions = [rule for rule in _rules(own.settings.get("approve.rules")) if rule.decision != "allow"]
    return Asked(
        project=str(project),
        name=shown(project.name),
        file=_files_of(own.parts),
        lines=tuple(lines),
        count=count,
        same=same,
        restrictions=tuple(
            (rule.decision, shown(" ".join(_rule_text(rule.to_plain()).split()))) for rule in restrictions
        ),
        refused=tuple((shown(key), finder.line(key)) for key in own.refused),
        digest=trust_store.digest(own.parts),
        parts=own.parts,
        text=_whole(own),
    )


def _files_of(parts: Mapping[str, Any]) -> str:
    included = [config.INCLUDE_FILE] if config.INCLUDE_FILE in parts else []
    return " and ".join([CONFIG_FILE] * (len(parts) > len(included)) + included)


def accept(asked: Asked) -> None:
    """Trust exactly what was shown."""
    refuse_agents()
    trust_store.put(Path(asked.project), asked.parts)


def refuse_agents() -> None:
    """What an agent may do is not for the agent to say."""
    if trust_store.is_agent():
        raise Refused("an agent cannot trust a project", hint="run fleet trust outside of it")


def untrusted(parts: Mapping[str, Any]) -> Untrusted:
    """The error of a command that would need trust."""
    keys = [shown(key) for key, _ in sorted(parts.items(), key=_harm)]
    more = f" and {len(keys) - 4} more" if len(keys) > 5 else ""
    named = ", ".join(keys[:4] if more else keys)
    return Untrusted(
        f"you have not trusted what this project's files ask for: {named}{more}",
        hint="look at it with: fleet trust; or go on with your own settings: --ignore-project-config",
    )


def accept_edit(project: Path, before: str | None, after: str | None) -> None:
    """Trust what the user has changed in an editor, unless it was there before and was not trusted then."""
    if before is None or after is None:
        return
    try:
        old, new = (
            config.own_files(project, {}, [], include=False, text=text).parts for text in (before, after)
        )
    except FleetError:
        # What cannot be read is no part of any configuration, and what it was before is not known.
        return
    changed = {
        key: value
        for key, value in new.items()
        if old.get(key) != value and (key not in old or not trust_store.missing(project, {key: old[key]}))
    }
    trust_store.add(project, changed)


# ── one value ───────────────────────────────────────────────────────────────────────────────────────────────────


def _verb(key: str) -> str:
    if key == config.INCLUDE_FILE:
        return config.COPY.verb
    return config.KEYS["env" if key.startswith("env.") else key].scope.verb


def _harm(part: tuple[str, Any]) -> int:
    return list(config.VERBS).index(_verb(part[0]))


def _items(key: str, value: Any) -> list[str]:
    """A part as the values that are shown for it."""
    if key == "approve.rules":
        return [_rule_text(rule) for rule in value if rule.get("decision") == "allow"]
    if key.startswith("env."):
        return [f"{key.removeprefix('env.')}={value}"]
    if key in _ITEM_KEYS:
        return [str(item) for item in value]
    if isinstance(value, list):
        value = shlex.join(map(str, value))
    if key == "agent.claude_flags" and not value.strip():
        return [NO_FLAGS]
    return [f"{key} = {value}"] if _verb(key) == "allow" else [str(value)]


def _rule_text(rule: Mapping[str, Any]) -> str:
    return "  ".join(
        [str(rule.get("tool", "*")), *(str(rule[name]) for name in ("command", "path") if name in rule)]
    )


def _rules(rules: Any) -> Sequence[Any]:
    return rules or ()


def _judged(key: str, item: str, files: _Files) -> tuple[str, bool]:
    """What a value means beyond what it says, and whether it is to be looked at twice."""
    if key == "setup.commands":
        downloads = _DOWNLOADS.search(item) and _SHELL.search(item) and _INTERPRETER.search(item)
        if downloads:
            return "runs what it downloads", True
        return ("runs as root", True) if re.search(r"\b(?:sudo|doas)\b", item) else ("", False)
    if key.startswith("env."):
        name = key.removeprefix("env.")
        if _ADDRESS.search(name):
            return "your key and code go there", True
        return ("changes which programs run", True) if _LOADER.search(name) else ("", False)
    if _verb(key) == "copy":
        return files.meaning(key, item)
    if key == "approve.rules":
        return _judged_rule(item)
    if key == "agent.claude_flags" and item == NO_FLAGS:
        return "yours for claude are left out", True
    return {
        "agent.default": ("a file of this repository" if "/" in item else "", False),
        "agent.claude_flags": ("flags of claude", bool(_UNSAFE_FLAG.search(item))),
        "agent.permission_mode": (
            ("everything, without a question", True) if item.endswith("all") else ("changes to files", False)
        ),
        "approve.mode": (
            ("puts the allowing rules in force", False)
            if item.endswith("on")
            else ("your own rules do not count", True)
        ),
    }.get(key, ("", False))


def _judged_rule(item: str) -> tuple[str, bool]:
    tool, _, rest = item.partition("  ")
    if rest.strip("* ") == "":
        return (
            "anything" if tool.strip("*") == "" else f"any {'command' if tool == 'Bash' else 'use of it'}"
        ), True
    return "", False


class _Files:
    """What would be copied now, and which of it git ignores."""

    def __init__(self, project: Path, own: config.OwnFiles) -> None:
        self._project = project
        self._deadline = time.monotonic() + SEARCH_SECONDS
        self._unknown: set[str] = set()
        """What was not found in time."""
        named = own.parts.get("setup.credential_files", ())
        self._by_item: dict[str, list[str]] = {item: self._chosen([item], []) for item in map(str, named)}
        included = self._chosen([], own.include)
        for line in own.include:
            self._by_item[line] = setup_files.matched(line, included)
        self._private = _ignored(project, [name for names in self._by_item.values() for name in names])

    def _chosen(self, patterns: Sequence[str], include: Sequence[str]) -> list[str]:
        left = max(0.0, self._deadline - time.monotonic())
        found = setup_files.chosen(self._project, patterns, include, seconds=left)
        if not found and time.monotonic() > self._deadline:
            self._unknown |= {*patterns, *include}
        return found

    def meaning(self, key: str, item: str) -> tuple[str, bool]:
        found = self._by_item.get(item, [])
        if key == config.INCLUDE_FILE and item.startswith("!"):
            return "but not these", False
        if item in self._unknown:
            return "not known what it matches: looking takes too long", True
        if not found:
            return "nothing there now", False
        is_private = any(name in self._private for name in found)
        said = "ignored by git, so private" if is_private else ""
        if found != [item]:
            more = f" and {len(found) - NAMED_FILES} more" if len(found) > NAMED_FILES else ""
            listed = f"now {', '.join(map(shown, found[:NAMED_FILES]))}{more}"
            said = f"{listed}; {said}" if said else listed
        return said, is_private


def _ignored(project: Path, names: Sequence[str]) -> set[str]:
    """Those that git ignores; all of them where git does not get through, as with a pipe for a .gitignore."""
    if not names:
        return set()
    try:
        place = git.place_at(project)
    except FleetError:
        return set()
    try:
        return git.ignored(place, names, seconds=SEARCH_SECONDS)
    except FleetError:
        return set(names)


# ── the text ────────────────────────────────────────────────────────────────────────────────────────────────────


def shown(text: str) -> str:
    """The text on one line, with every character that is not seen made visible: ␛, U+202E."""
    return "".join(char if char.isprintable() else _visible(ord(char)) for char in text)


def _visible(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"U+{code:04X}"


def _whole(own: config.OwnFiles) -> str:
    included = "\n".join(["", f"# {config.INCLUDE_FILE}", *own.include]) if own.include else ""
    return "\n".join(shown(line.expandtabs(4)) for line in f"{own.text.rstrip()}\n{included}".split("\n"))


class _Finder:
    """Where in the file a value is written, as far as reading it line by line tells."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts: dict[str, int] = {}
        table = ""
        for number, line in enumerate(self._lines, 1):
            if header := _HEADER.match(line):
                table = re.sub(r"[\"'\s]", "", header[1])
                self._starts.setdefault(table, number)
            elif assigned := _ASSIGNED.match(line):
                key = re.sub(r"[\"'\s]", "", assigned[1])
                self._starts.setdefault(f"{table}.{key}" if table else key, number)

    def line(self, key: str, item: str = "") -> int:
        """The first line of a value, counted from 1; 0 where it is written in an unusual way."""
        start = self._starts.get(key, 0)
        if not start or not item or key not in (*_ITEM_KEYS, "approve.rules"):
            return start
        wanted = item.rpartition("  ")[2]
        escaped = wanted.replace("\\", "\\\\").replace('"', '\\"')
        for number, line in enumerate(self._lines[start - 1 :], start):
            if f'"{escaped}"' in line or f"'{wanted}'" in line:
                return number
        return start
