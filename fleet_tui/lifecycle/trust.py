"""Ask for trust: describe what a project's files ask for, and record what the user accepts.

`asked` reads the files once. A face shows what it returns, and `accept` records exactly that: a file that changes in
between does not match the record, so the question is asked again.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleet_tui import git
from fleet_tui.config import trust_store
from fleet_tui.config.project_files import ProjectFiles, asked_by, read_project_files
from fleet_tui.config.settings import COPY, INCLUDE_FILE, KEYS, PART_EFFECTS
from fleet_tui.errors import FleetError, Refused, Untrusted
from fleet_tui.lifecycle import copied_files
from fleet_tui.models import TrustRequest, TrustRequestLine
from fleet_tui.text import visible

CONFIG_FILE = ".aifleet/config.toml"
SEARCH_SECONDS = 2.0
"""The limit for finding what the patterns match, and again for asking git which of it is ignored."""
MAX_VALUES = 500
"""The most values that a user can review at once."""
NO_FLAGS = "no flags"
NAMED_FILES = 3
"""How many of the files that match a pattern are named."""

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
_ITEM_KEYS = frozenset({"setup.commands", "setup.credential_files", INCLUDE_FILE})


def asked(project: Path, *, search_seconds: float = SEARCH_SECONDS) -> TrustRequest | None:
    """What needs the user's trust; None if nothing does."""
    project_files = asked_by(project)
    if not trust_store.missing(project, project_files.parts):
        return None
    record = trust_store.recorded(project)
    before = record.parts if record is not None else {}
    wanted = sorted(trust_store.plain(project_files.parts).items(), key=_harm)
    count = sum(len(_items(key, value)) for key, value in wanted)
    if count > MAX_VALUES:
        raise Refused(
            f"this project's files ask for {count} things, too many to review",
            hint="use your own settings instead: --ignore-project-config",
        )
    finder = _Finder(project_files.text)
    files = _MatchedFiles(project, project_files, search_seconds)
    lines: list[TrustRequestLine] = []
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
            lines.append(
                TrustRequestLine(_verb(key), visible(item), means, is_alarming, finder.line(key, item), mark)
            )
        lines += [TrustRequestLine(_verb(key), visible(item), change="−") for item in old if item not in new]
    restrictions = [
        rule for rule in _rules(project_files.settings.get("approve.rules")) if rule.decision != "allow"
    ]
    return TrustRequest(
        project=str(project),
        name=visible(project.name),
        file=_files_of(project_files.parts),
        lines=tuple(lines),
        count=count,
        same=same,
        restrictions=tuple(
            (rule.decision, visible(" ".join(_rule_text(rule.to_plain()).split()))) for rule in restrictions
        ),
        refused=tuple((visible(key), finder.line(key)) for key in project_files.refused),
        digest=trust_store.digest(project_files.parts),
        parts=project_files.parts,
        text=_whole(project_files),
    )


def _files_of(parts: Mapping[str, Any]) -> str:
    included = [INCLUDE_FILE] if INCLUDE_FILE in parts else []
    return " and ".join([CONFIG_FILE] * (len(parts) > len(included)) + included)


def accept(asked: TrustRequest) -> None:
    """Record that the user trusts exactly what was shown."""
    refuse_agents()
    trust_store.put(Path(asked.project), asked.parts)


def refuse_agents() -> None:
    """Refuse if an agent runs this process: it must not grant itself anything."""
    if trust_store.is_agent():
        raise Refused("an agent cannot trust a project", hint="run fleet trust outside the agent")


def untrusted(
    parts: Mapping[str, Any], *, instead: str = "use your own settings: --ignore-project-config"
) -> Untrusted:
    """The error of a command that needs trust; the hint names what to do `instead`."""
    keys = [visible(key) for key, _ in sorted(parts.items(), key=_harm)]
    more = f" and {len(keys) - 4} more" if len(keys) > 5 else ""
    named = ", ".join(keys[:4] if more else keys)
    return Untrusted(
        f"you have not trusted what this project's files ask for: {named}{more}",
        hint=f"review it with: fleet trust; or {instead}",
    )


def accept_edit(project: Path, before: str | None, after: str | None) -> None:
    """Trust what the user changed in an editor, except parts that were not trusted before."""
    if before is None or after is None:
        return
    try:
        old, new = (
            read_project_files(project, {}, [], include=False, text=text).parts for text in (before, after)
        )
    except FleetError:
        # An unreadable file sets nothing, and without both versions the change is unknown.
        return
    changed = {
        key: value
        for key, value in new.items()
        if old.get(key) != value and (key not in old or not trust_store.missing(project, {key: old[key]}))
    }
    trust_store.add(project, changed)


# ── one value ───────────────────────────────────────────────────────────────────────────────────────────────────


def _verb(key: str) -> str:
    if key == INCLUDE_FILE:
        return COPY.verb
    return KEYS["env" if key.startswith("env.") else key].authority.verb


def _harm(part: tuple[str, Any]) -> int:
    return list(PART_EFFECTS).index(_verb(part[0]))


def _items(key: str, value: Any) -> list[str]:
    """The values that are shown for a part, one per line."""
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


def _judged(key: str, item: str, files: _MatchedFiles) -> tuple[str, bool]:
    """What a value implies, and whether to highlight it as dangerous."""
    if key in ("setup.commands", "land.check"):
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
        return "removes your own flags for claude", True
    return {
        "agent.default": (files.whose_program(item), False),
        "agent.claude_flags": ("flags of claude", bool(_UNSAFE_FLAG.search(item))),
        "agent.permission_mode": (
            ("anything without asking", True) if item.endswith("all") else ("changes to files", False)
        ),
        "approve.mode": (
            ("turns the allow rules on", False) if item.endswith("on") else ("turns your own rules off", True)
        ),
    }.get(key, ("", False))


def _judged_rule(item: str) -> tuple[str, bool]:
    tool, _, rest = item.partition("  ")
    if rest.strip("* ") == "":
        return (
            "anything" if tool.strip("*") == "" else f"any {'command' if tool == 'Bash' else 'use of it'}"
        ), True
    return "", False


class _MatchedFiles:
    """What the patterns would copy now, and which of it git ignores."""

    def __init__(self, project: Path, project_files: ProjectFiles, seconds: float) -> None:
        self._project = project
        self._deadline = time.monotonic() + seconds
        self._unknown: set[str] = set()
        """Patterns whose search took too long."""
        named = project_files.parts.get("setup.credential_files", ())
        self._by_item: dict[str, list[str]] = {item: self._chosen([item], []) for item in map(str, named)}
        included = self._chosen([], project_files.include)
        for line in project_files.include:
            self._by_item[line] = copied_files.matched(line, included)
        found = [name for names in self._by_item.values() for name in names]
        self._private = _ignored(project, found, seconds)

    def _chosen(self, patterns: Sequence[str], include: Sequence[str]) -> list[str]:
        left = max(0.0, self._deadline - time.monotonic())
        found = copied_files.chosen(self._project, patterns, include, seconds=left)
        if not found and time.monotonic() > self._deadline:
            self._unknown |= {*patterns, *include}
        return found

    def whose_program(self, name: str) -> str:
        """What a program is called that is named by its path; empty for a profile."""
        if "/" not in name:
            return ""
        place = os.path.normpath(self._project / name)
        is_ours = not name.startswith("~") and Path(place).is_relative_to(self._project)
        return "a file of this repository" if is_ours else "a program by its path"

    def meaning(self, key: str, item: str) -> tuple[str, bool]:
        found = self._by_item.get(item, [])
        if key == INCLUDE_FILE and item.startswith("!"):
            return "but not these", False
        if item in self._unknown:
            return "unknown: the search takes too long", True
        if not found:
            return "matches nothing now", False
        is_private = any(name in self._private for name in found)
        text = "ignored by git, so private" if is_private else ""
        if found != [item]:
            more = f" and {len(found) - NAMED_FILES} more" if len(found) > NAMED_FILES else ""
            listed = f"now {', '.join(map(visible, found[:NAMED_FILES]))}{more}"
            text = f"{listed}; {text}" if text else listed
        return text, is_private


def _ignored(project: Path, names: Sequence[str], seconds: float) -> set[str]:
    """The names that git ignores; all of them if git fails or takes too long, as with a pipe for a .gitignore."""
    if not names:
        return set()
    try:
        place = git.place_at(project)
    except FleetError:
        return set()
    try:
        return git.ignored(place, names, seconds=seconds)
    except FleetError:
        return set(names)


# ── the text ────────────────────────────────────────────────────────────────────────────────────────────────────


def _whole(project_files: ProjectFiles) -> str:
    included = "\n".join(["", f"# {INCLUDE_FILE}", *project_files.include]) if project_files.include else ""
    return "\n".join(
        visible(line.expandtabs(4)) for line in f"{project_files.text.rstrip()}\n{included}".split("\n")
    )


class _Finder:
    """Finds the line of a value in the configuration by its text: tomllib reports no lines."""

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
        """The first line of a value, counted from 1; 0 if it is not found."""
        start = self._starts.get(key, 0)
        if not start or not item or key not in (*_ITEM_KEYS, "approve.rules"):
            return start
        wanted = item.rpartition("  ")[2]
        escaped = wanted.replace("\\", "\\\\").replace('"', '\\"')
        for number, line in enumerate(self._lines[start - 1 :], start):
            if f'"{escaped}"' in line or f"'{wanted}'" in line:
                return number
        return start
