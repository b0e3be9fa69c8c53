"""The detail of the selected agent: usage, branch, status and its evidence, log."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fleet_tui.faces.conflict_wording import details_of
from fleet_tui.faces.live import LiveData
from fleet_tui.faces.timeline import GLYPHS, checkpoint_title
from fleet_tui.faces.wording import percent, source_words, word
from fleet_tui.models import Activity, Agent, Evidence, Spending
from fleet_tui.quantities import age, dollars, memory, tokens
from fleet_tui.text import block
from fleet_tui.tui.widgets.conflict_lines import conflict_lines, shared_line
from fleet_tui.tui.widgets.lines import Line, LineView, TextPart, clean, fit, length
from fleet_tui.tui.widgets.row_lines import agent_text, request_parts
from fleet_tui.tui.widgets.statuses import ROLES
from fleet_tui.work import Checkpoint

BARS = "▁▂▃▄▅▆▇█"
FADED, FULL = 35, 100
"""Opacity in percent: old samples fade, so that the newest stand out."""
VALUE_WIDTH = 9
LOW, TALL = 13, 22
"""From these heights on, one checkpoint is shown, and three."""


class Detail(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._agent: Agent | None = None
        self._live = LiveData()
        self._now = 0.0
        self._agents: Sequence[Agent] = ()

    def show(self, agent: Agent | None, live: LiveData, now: float, agents: Sequence[Agent] = ()) -> None:
        """Show an agent; `agents` are all, whose names its conflicts need."""
        self._agent, self._live, self._now, self._agents = agent, live, now, agents
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        agent = self._agent
        if agent is None:
            return [((" no agent is selected", "muted"),)]
        conflicts = self._conflicts(agent, width, height)
        height -= len(conflicts)
        found = [
            *self._graphs(agent, width),
            *self._facts(agent, width, height),
            ((" ", ""), ("─" * (width - 2), "rule")),
        ]
        # One cell stays free at the right, as at the left.
        below = [*found, *self._log(agent, height - len(found))]
        return [fit(line, width - 1) for line in [*conflicts, *below]]

    def _conflicts(self, agent: Agent, width: int, height: int) -> list[Line]:
        """What does not merge, and a rule under it; at most half of the panel."""
        details = details_of(agent.id, self._live)
        found = conflict_lines(details, agent, self._agents, width - 1, height // 2)
        return [*found, ((" ", ""), ("─" * (width - 2), "rule"))] if found else []

    def _graphs(self, agent: Agent, width: int) -> list[Line]:
        used = self._live.usage.get(agent.id)
        cpu = used.cpu_history if used else ()
        ram = used.memory_history if used else ()
        out = self._live.output if used else ()
        room = width - 7 - VALUE_WIDTH
        return [
            graph("cpu", cpu, max(100.0, *cpu, 0.0), f"{used.cpu:.0f}%" if used else "–", room),
            graph("ram", ram, max(ram, default=0) * 1.25 or 1.0, memory(used.memory) if used else "–", room),
            graph("out", out, max(out, default=0) or 1.0, speed(out[-1]) if out else "–", room),
            gauge("ctx", self._spent(agent), room),
        ]

    def _spent(self, agent: Agent) -> Spending:
        return self._live.spending.get(agent.id, Spending())

    def _facts(self, agent: Agent, width: int, height: int) -> list[Line]:
        evidence = agent.evidence
        why: Line = ((" why     ", "muted"), (word(agent), ""))
        if evidence is not None:
            text = clean(evidence.text)
            when = age(max(0.0, self._now - evidence.at)) + " ago" if evidence.at else ""
            why = (
                (" why     ", "muted"),
                (f"{source_text(evidence)} ", ""),
                (f"{when}  {text}".strip(), "muted"),
            )
        lines: list[Line] = [
            ((" branch  ", "muted"), *self._branch(agent, width - 10)),
            why,
            ((" spent   ", "muted"), *spent(self._spent(agent))),
            ((" prompt  ", "muted"), (clean(agent.prompt) or "–", "")),
        ]
        if request := self._live.pull_requests.get(agent.id):
            first, *more = request_parts(request)
            page = (f"  {clean(request.note or request.url)}", "muted")
            lines.insert(3, ((" pull    ", "muted"), (first[0].strip(), ""), *more, page))
        shared = shared_line(self._live.conflict_details, agent, self._agents)
        if shared:
            lines.insert(1, shared)
        if height >= 12:
            lines = [(), *lines]
        if height >= LOW:
            lines += self._saved(agent, 1 if height < TALL else 3)
        if height >= 20:
            lines.append(((" folder  ", "muted"), (clean(agent.worktree), "muted")))
        return lines

    def _saved(self, agent: Agent, most: int) -> list[Line]:
        """Its last checkpoints, the newest first."""
        owner, found = self._live.checkpoints
        if owner != agent.id:
            return []
        return [
            ((" saved   " if not place else " " * 9, "muted"), *checkpoint_line(one))
            for place, one in enumerate(found[: -most - 1 : -1])
        ]

    def _branch(self, agent: Agent, room: int) -> Line:
        """The branch and its commits since the base; the name is cut before the number."""
        if problem := self._live.link_problems.get(agent.id):
            return self._cut_name(agent, (f" ! {problem}", "warning"), room)
        owner, ahead = self._live.log[0], self._live.ahead if self._live.ahead is not None else -1
        name, base = ((clean(agent.branch), ""),), agent.base[:7]
        if ahead < 0 or owner != agent.id:
            return (*name, (f" from {base}", "muted"))
        said = f" {ahead} ahead of {base}" if ahead else f" at {base}"
        if ahead and length(name) + len(said) > room:
            said = f" {ahead} ahead"
        return self._cut_name(agent, (said, "muted"), room)

    def _cut_name(self, agent: Agent, said: TextPart, room: int) -> Line:
        name: Line = ((clean(agent.branch), ""),)
        kept = fit(name, room - len(said[0])) if length(name) + len(said[0]) > room else name
        return (*kept, said)

    def _log(self, agent: Agent, room: int) -> list[Line]:
        """What the agent did, with times; its output if it reports no activity."""
        owner, lines = self._live.log
        if owner == agent.id and self._live.recent_activity and room > 0:
            return [activity_line(activity) for activity in self._live.recent_activity[-room:]]
        kept = [clean_line(line) for line in lines if line.strip()] if owner == agent.id else []
        if not kept:
            said = agent_text(agent, self._live)
            kept = [said] if said else []
        return [((" ", ""), (line, "muted")) for line in kept[-max(0, room) :]] if room > 0 else []


def source_text(evidence: Evidence) -> str:
    """The source of the status in a word or two, and its sign."""
    words = source_words(evidence.source)
    return f"{words.short} {clean(evidence.rule)!r}" if evidence.rule and words.is_ruled else words.short


def activity_line(activity: Activity) -> Line:
    """Time, verb and object; a status as a verb has its role."""
    at = time.strftime("%H:%M", time.localtime(activity.at))
    role = ROLES[activity.status] if activity.status is not None else ""
    return ((f" {at}  ", "muted"), (clean(activity.verb), role), (f" {clean(activity.object)}", "muted"))


def checkpoint_line(one: Checkpoint) -> Line:
    """Time, mark and title of a checkpoint, and how many lines it changed."""
    at = time.strftime("%H:%M", time.localtime(one.at))
    added: Line = ((f"  +{one.added}", "success"),) if one.added else ()
    removed: Line = ((f"  −{one.removed}", "error"),) if one.removed else ()
    return ((f"{at} {GLYPHS[one.kind]} ", "muted"), (checkpoint_title(one), ""), *added, *removed)


def clean_line(line: str) -> str:
    """A line of output, keeping its inner blanks, without control characters."""
    return block(line).rstrip()


def speed(rate: float) -> str:
    """A rate in bytes a second, abbreviated."""
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
    """A label, a bar of how full the conversation is, and the number; a dash if unknown."""
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
    """The cost if known, and the tokens; a dash if neither is known."""
    cost = dollars(spending.cost)
    sent = spending.input_tokens + spending.cached_tokens
    if not sent and not spending.output_tokens:
        return ((cost or "–", ""),)
    used = f"{tokens(sent)} in, {tokens(spending.output_tokens)} out"
    return ((f"{cost} ", ""), (used, "muted")) if cost else ((used, ""),)


def _strength(place: int, count: int) -> int:
    """Quantized, so that a graph has few styles."""
    return FADED + round((FULL - FADED) * (place + 1) / count / 5 * 5) if count else FULL
