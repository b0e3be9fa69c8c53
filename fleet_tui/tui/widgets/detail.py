"""Everything about the selected agent: what it uses, where it works, why it has its status, its log."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fleet_tui.listing import age, dollars, memory, percent, tokens, word
from fleet_tui.models import Agent, Deed, Evidence, Spending
from fleet_tui.text import block
from fleet_tui.tui.exchange import Sights
from fleet_tui.tui.widgets.lines import Line, Lines, Part, clean, fit, length
from fleet_tui.tui.widgets.rows import says
from fleet_tui.tui.widgets.statuses import ROLES

BARS = "▁▂▃▄▅▆▇█"
FADED, FULL = 35, 100
"""Percent of strength: old samples fade, so that the eye lands on now."""
VALUE_WIDTH = 9
_SOURCES = {
    "osc7501": "its own report",
    "hook": "its hook",
    "event": "its events",
    "title": "its title",
    "screen": "its screen",
    "silence": "silence",
    "output": "output",
    "exit": "its exit",
    "launcher": "the launcher",
    "reconcile": "no holder",
}
_RULED = frozenset({"hook", "event", "title", "screen"})
"""Sources whose sign is worth naming: there are several, and one may be wrong."""


class Detail(Lines):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._agent: Agent | None = None
        self._sights = Sights()
        self._now = 0.0

    def show(self, agent: Agent | None, sights: Sights, now: float) -> None:
        self._agent, self._sights, self._now = agent, sights, now
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        agent = self._agent
        if agent is None:
            return [((" no agent is selected", "muted"),)]
        found = [
            *self._graphs(agent, width),
            *self._facts(agent, width, height),
            ((" ", ""), ("─" * (width - 2), "rule")),
        ]
        # One cell stays free at the right, as at the left.
        return [fit(line, width - 1) for line in [*found, *self._log(agent, height - len(found))]]

    def _graphs(self, agent: Agent, width: int) -> list[Line]:
        used = self._sights.usage.get(agent.id)
        cpu = used.cpu_history if used else ()
        ram = used.memory_history if used else ()
        out = self._sights.output if used else ()
        room = width - 7 - VALUE_WIDTH
        return [
            graph("cpu", cpu, max(100.0, *cpu, 0.0), f"{used.cpu:.0f}%" if used else "–", room),
            graph("ram", ram, max(ram, default=0) * 1.25 or 1.0, memory(used.memory) if used else "–", room),
            graph("out", out, max(out, default=0) or 1.0, speed(out[-1]) if out else "–", room),
            gauge("ctx", self._spent(agent), room),
        ]

    def _spent(self, agent: Agent) -> Spending:
        return self._sights.spending.get(agent.id, Spending())

    def _facts(self, agent: Agent, width: int, height: int) -> list[Line]:
        evidence = agent.evidence
        why: Line = ((" why     ", "muted"), (word(agent), ""))
        if evidence is not None:
            text = clean(evidence.text)
            when = age(max(0.0, self._now - evidence.at)) + " ago" if evidence.at else ""
            why = (
                (" why     ", "muted"),
                (f"{told_by(evidence)} ", ""),
                (f"{when}  {text}".strip(), "muted"),
            )
        lines: list[Line] = [
            ((" branch  ", "muted"), *self._branch(agent, width - 10)),
            why,
            ((" spent   ", "muted"), *spent(self._spent(agent))),
            ((" prompt  ", "muted"), (clean(agent.prompt) or "–", "")),
        ]
        if height >= 12:
            lines = [(), *lines]
        if height >= 20:
            lines.append(((" folder  ", "muted"), (clean(agent.worktree), "muted")))
        return lines

    def _branch(self, agent: Agent, room: int) -> Line:
        """How far the branch has come from where it began; the name is cut before the number of commits."""
        if problem := self._sights.link_problems.get(agent.id):
            return self._cut_name(agent, (f" ! {problem}", "warning"), room)
        owner, ahead = self._sights.log[0], self._sights.ahead if self._sights.ahead is not None else -1
        name, base = ((clean(agent.branch), ""),), agent.base[:7]
        if ahead < 0 or owner != agent.id:
            return (*name, (f" from {base}", "muted"))
        said = f" {ahead} ahead of {base}" if ahead else f" at {base}"
        if ahead and length(name) + len(said) > room:
            said = f" {ahead} ahead"
        return self._cut_name(agent, (said, "muted"), room)

    def _cut_name(self, agent: Agent, said: Part, room: int) -> Line:
        name: Line = ((clean(agent.branch), ""),)
        kept = fit(name, room - len(said[0])) if length(name) + len(said[0]) > room else name
        return (*kept, said)

    def _log(self, agent: Agent, room: int) -> list[Line]:
        """What it did, with the time of each; what it printed, where it does not tell what it does."""
        owner, lines = self._sights.log
        if owner == agent.id and self._sights.deeds and room > 0:
            return [deed_line(deed) for deed in self._sights.deeds[-room:]]
        kept = [clean_line(line) for line in lines if line.strip()] if owner == agent.id else []
        if not kept:
            said = says(agent, self._sights)
            kept = [said] if said else []
        return [((" ", ""), (line, "muted")) for line in kept[-max(0, room) :]] if room > 0 else []


def told_by(evidence: Evidence) -> str:
    """Who says so, in a word or two, and by which sign."""
    source = _SOURCES.get(evidence.source, evidence.source)
    return f"{source} {clean(evidence.rule)!r}" if evidence.rule and evidence.source in _RULED else source


def deed_line(deed: Deed) -> Line:
    """Time, verb and object; a status as a verb has its role."""
    at = time.strftime("%H:%M", time.localtime(deed.at))
    role = ROLES[deed.status] if deed.status is not None else ""
    return ((f" {at}  ", "muted"), (clean(deed.verb), role), (f" {clean(deed.object)}", "muted"))


def clean_line(line: str) -> str:
    """A line of output with its inner blanks kept and nothing that could move a cursor."""
    return block(line).rstrip()


def speed(rate: float) -> str:
    """Bytes a second, in few characters."""
    if rate < 0.5:
        return "0"
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.1f}{unit}/s"
    return f"{rate:.0f}/s"


def graph(name: str, samples: Sequence[float], top: float, value: str, room: int) -> Line:
    """A label, one bar per sample with the newest on the right, and the value now."""
    recent = list(samples)[-room:]
    head: Line = ((f" {name:<5}", "muted"), (" " * max(0, room - len(recent)), ""))
    bars = tuple(
        (BARS[min(len(BARS) - 1, int(sample / top * len(BARS)))], f"primary {_strength(place, len(recent))}%")
        for place, sample in enumerate(recent)
    )
    return (*head, *bars, (f"{value:>{VALUE_WIDTH}}", ""))


def gauge(name: str, spending: Spending, room: int) -> Line:
    """A label, how full the conversation is, and the number; only the label and a dash where it is not known."""
    context = spending.context
    if context is None:
        return graph(name, (), 1.0, "–", room)
    full = min(room, max(1, round(room * context / 100)))
    return (
        (f" {name:<5}", "muted"),
        ("━" * full, "primary"),
        ("━" * (room - full), "track"),
        (f"{percent(spending):>{VALUE_WIDTH}}", ""),
    )


def spent(spending: Spending) -> Line:
    """The cost if it is known, and the tokens behind it; a dash where nothing is."""
    cost = dollars(spending.cost)
    sent = spending.input_tokens + spending.cached_tokens
    if not sent and not spending.output_tokens:
        return ((cost or "–", ""),)
    used = f"{tokens(sent)} in, {tokens(spending.output_tokens)} out"
    return ((f"{cost} ", ""), (used, "muted")) if cost else ((used, ""),)


def _strength(place: int, count: int) -> int:
    """In steps, so that a graph has few styles."""
    return FADED + round((FULL - FADED) * (place + 1) / count / 5 * 5) if count else FULL
