"""Permission policy: decides whether a tool use is allowed, asked or denied, and says why.

The first rule that matches decides; what no rule matches is asked. Every doubt goes the same way: a rule allows only
what it certainly matches, and denies or asks as soon as it may match. The policy is plain data, so that it can be sent
to the holders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.permissions.matching import (
    PathResolver,
    Resolve,
    allows,
    catches,
    covers,
    is_of_tool,
    may_mean,
)
from fleet_tui.permissions.rules import MODES, DecisionKind, Malformed, Mode, PermissionRule, rules_of
from fleet_tui.permissions.shell import pieces, read
from fleet_tui.permissions.shell_words import ShellPart, Unreadable
from fleet_tui.permissions.tool_use import COMMAND_KEYS, PERSONAL, ToolUse, path_values, paths_of, texts_of
from fleet_tui.text import cut, flat

_UNSAFE_KEY = re.compile(r"dangerous|escalat|disable.?sandbox", re.IGNORECASE)
_SEVERITY = {"allow": 0, "ask": 1, "deny": 2}


class Decision(NamedTuple):
    decision: DecisionKind
    rule: str
    """The rule that decided, or the rules if parts of a command had different ones; empty if no rule matched."""
    why: str


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules, the project's first, and whether they are in force."""

    mode: Mode = "off"
    rules: tuple[PermissionRule, ...] = ()

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Policy:
        mode = plain.get("mode", "off")
        if mode not in MODES:
            raise Malformed(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        return cls(cast("Mode", mode), rules_of(plain.get("rules", ())))

    def to_plain(self) -> dict[str, Any]:
        return {"mode": self.mode, "rules": [rule.to_plain() for rule in self.rules]}

    def decide(self, request: ToolUse, *, resolve: Resolve = os.path.realpath) -> Decision:
        """Apply the rules to a tool use, whatever the mode."""
        resolver = PathResolver(request, resolve)
        command = request.command
        if command is None:
            outcome = self._of_paths(request, resolver)
        else:
            outcome = self._of_command(request, command, resolver)
        if outcome.decision == "allow" and (doubt := _doubt(request, resolver)):
            return Decision("ask", outcome.rule, doubt)
        return outcome

    # ── tools that run commands ─────────────────────────────────────────────────────────────────────────────────

    def _of_command(self, request: ToolUse, command: str | Sequence[str], resolver: PathResolver) -> Decision:
        """The strictest decision about any part."""
        try:
            parts = read(command)
        except Unreadable as error:
            return self._of_unreadable(request, command, resolver, str(error))
        outcomes = [self._of_part(request, part, resolver) for part in parts]
        strictest = max(outcomes, key=lambda outcome: _SEVERITY[outcome.decision])
        if strictest.decision != "allow":
            return strictest
        rules = list(dict.fromkeys(outcome.rule for outcome in outcomes))
        why = strictest.why if len(parts) == 1 else f"each of its {len(parts)} parts is allowed"
        return Decision("allow", "; ".join(rules), why)

    def _of_unreadable(
        self, request: ToolUse, command: str | Sequence[str], resolver: PathResolver, reason: str
    ) -> Decision:
        """Never allow; deny if a piece looks like something that is denied."""
        text = command if isinstance(command, str) else " ".join(command)
        found = pieces(text)
        for name, rule in self._for(request.tool):
            if rule.decision != "allow":
                hit = next((part for part in found if catches(rule, part, resolver) == "yes"), None)
                if hit is not None:
                    return Decision(rule.decision, name, f"a piece of it is `{cut(flat(hit.text), 80)}`")
        return Decision("ask", "", f"the command is not understood: {reason}")

    def _of_part(self, request: ToolUse, part: ShellPart, resolver: PathResolver) -> Decision:
        """The first rule that matches. After a rule that may match, nothing is allowed."""
        said = f"`{cut(flat(part.text), 80)}`"
        doubt = ""
        for name, rule in self._for(request.tool):
            if rule.decision == "allow":
                if not doubt and allows(rule, part):
                    return Decision("allow", name, f"{said} matches")
                continue
            certainty = catches(rule, part, resolver)
            if certainty == "yes":
                return Decision(rule.decision, name, f"{said} matches")
            doubt = doubt or (name if certainty == "maybe" else "")
        if doubt:
            return Decision("ask", doubt, f"{said} may match: what it runs is known only at run time")
        hidden = " (it runs something that the rules cannot see)" if part.is_opaque else ""
        return Decision("ask", "", f"no rule matches {said}{hidden}")

    # ── tools that touch paths, and all others ──────────────────────────────────────────────────────────────────

    def _of_paths(self, request: ToolUse, resolver: PathResolver) -> Decision:
        touched = [resolver.resolve(path) for path in paths_of(request)]
        mentioned = touched + [resolver.resolve(text) for text in texts_of(request.input)]
        for name, rule in self._for(request.tool):
            if rule.command:
                continue
            if rule.decision == "allow":
                if request.tool not in PERSONAL and (not rule.path or covers(rule.path, touched)):
                    return Decision("allow", name, "it matches")
            elif not rule.path or any(may_mean(rule.path, place) for place in mentioned):
                return Decision(rule.decision, name, "it matches")
        if request.tool in PERSONAL:
            return Decision("ask", "", "it is a question for the user")
        outside = next((place for place in touched if place.inside is None), None)
        if outside is not None:
            return Decision("ask", "", f"{cut(flat(outside.absolute), 80)} is outside the worktree")
        return Decision("ask", "", "no rule matches it")

    def _for(self, tool: str) -> Iterator[tuple[str, PermissionRule]]:
        """The rules for a tool, each with a name to show."""
        for number, rule in enumerate(self.rules, 1):
            if is_of_tool(rule, tool):
                yield f"rule {number}: {rule}", rule


def _doubt(request: ToolUse, resolver: PathResolver) -> str:
    """Why a tool use that the rules allow is asked anyway; empty if it is not."""
    if any(_UNSAFE_KEY.search(str(key)) and value for key, value in request.input.items()):
        return "it asks to leave its sandbox"
    if request.command is None:
        return ""
    if not resolver.is_at_home:
        return "the agent is outside its worktree"
    folders = {key: value for key, value in request.input.items() if key not in COMMAND_KEYS}
    if any(resolver.resolve(path).inside is None for path in path_values(folders)):
        return "it would run outside the worktree"
    return ""
