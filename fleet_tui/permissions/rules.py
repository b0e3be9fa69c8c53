"""Permission rules: one decision each for a tool, a command or a path, read from plain data and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fleet_tui.fast_dataclasses import dataclass, fields

DecisionKind = Literal["allow", "ask", "deny"]
Mode = Literal["off", "shadow", "on"]
DECISIONS: tuple[DecisionKind, ...] = ("allow", "ask", "deny")
MODES: tuple[Mode, ...] = ("off", "shadow", "on")


class Malformed(ValueError):
    """Plain data is not a policy. The text, if any, begins with the place, such as `[2].decision`."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """One rule of a policy. A part that is not given matches everything."""

    decision: DecisionKind
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
    def from_plain(cls, plain: Mapping[str, Any], place: str = "") -> PermissionRule:
        """Read a table of a file. A rule with an unknown key only asks, as the key may have limited it."""
        decision = plain.get("decision")
        if decision not in DECISIONS:
            raise Malformed(f'{place}.decision must be "allow", "ask" or "deny", not {decision!r}')
        texts = {name: plain[name] for name in ("tool", "command", "path") if name in plain}
        for name, text in texts.items():
            if not isinstance(text, str) or not text or "\0" in text:
                raise Malformed(f"{place}.{name} must be a pattern as a string, not {text!r:.60}")
        return cls("ask" if unknown_keys(plain) else decision, **texts)


_RULE_KEYS = tuple(field.name for field in fields(PermissionRule))


def unknown_keys(plain: Mapping[str, Any]) -> list[str]:
    """The keys that no rule has."""
    return [key for key in plain if key not in _RULE_KEYS]


def rules_of(plain: object) -> tuple[PermissionRule, ...]:
    """Read a list of tables; raises Malformed with what is wrong and where."""
    if not isinstance(plain, list | tuple) or not all(isinstance(one, Mapping) for one in plain):
        raise Malformed
    return tuple(PermissionRule.from_plain(one, f"[{number}]") for number, one in enumerate(plain, 1))


def problems(rules: Sequence[PermissionRule]) -> list[str]:
    """Messages about rules that never do what they seem to say."""
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
