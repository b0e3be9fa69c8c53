"""How agents are printed: as a table for people, as JSON for programs. Text in, text out."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fleet_tui import choosing
from fleet_tui.models import Agent, InTrash, Prompted, Spending, Status, Trash, Usage
from fleet_tui.names import batch_label
from fleet_tui.text import flat, to_json
from fleet_tui.values import dataclass

GLYPHS = {
    Status.SETUP: "◌",
    Status.STARTING: "◌",
    Status.WORKING: "●",
    Status.BLOCKED: "◆",
    Status.DONE: "✓",
    Status.IDLE: "○",
    Status.LIMITED: "◔",
    Status.ERROR: "✗",
    Status.FAILED: "✗",
    Status.LOST: "◇",
    Status.INTERRUPTED: "◇",
    Status.EXITED: "□",
    Status.STOPPED: "□",
    Status.KILLED: "■",
    Status.UNKNOWN: "?",
}
COLORS = {
    Status.SETUP: "34",
    Status.STARTING: "34",
    Status.WORKING: "34",
    Status.BLOCKED: "1;33",
    Status.DONE: "32",
    Status.LIMITED: "35",
    Status.ERROR: "31",
    Status.FAILED: "31",
    Status.LOST: "33",
    Status.INTERRUPTED: "33",
}


MOST_NAMES = 8
"""Files that a line of the trash names."""


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[str, ...]
    color: str = ""


def word(agent: Agent) -> str:
    """The status as people read it."""
    if agent.status is Status.BLOCKED and agent.status_detail:
        return agent.status_detail
    if agent.status is Status.EXITED:
        return (
            f"exited {agent.exit_code}"
            if agent.exit_code is not None
            else f"exited, signal {agent.exit_signal}"
        )
    return str(agent.status)


def lost(agent: Agent) -> str:
    """What of its output is missing in its log, in words; empty where nothing is."""
    return f"! {memory(agent.lost_output)} of output not kept: no space" if agent.lost_output else ""


def age(seconds: float) -> str:
    """One unit, as short as possible: 40s 12m 3h 2d."""
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "m"), (86_400, 3600, "h")):
        if seconds < limit:
            return f"{max(0, int(seconds // size))}{unit}"
    return f"{int(seconds // 86_400)}d"


def memory(size: int) -> str:
    if size <= 0:
        return ""
    return f"{size / (1 << 30):.1f}G" if size >= 1 << 30 else f"{max(1, size >> 20)}M"


def tokens(count: int) -> str:
    """As short as possible: 840 12k 3.4M."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1e6:.1f}M"


def dollars(cost: float | None) -> str:
    """Empty where it is not known; cents, and less than one as such."""
    if cost is None:
        return ""
    return "<$0.01" if 0 < cost < 0.005 else f"${cost:.2f}"


def percent(spending: Spending) -> str:
    """How full the conversation is; empty where that is not known."""
    return f"{spending.context:.0f}%" if spending.context is not None else ""


def total(spent: Iterable[Spending]) -> Spending:
    """What several agents have spent; the cost is of those whose cost is known."""
    sent, cached, answered, costs = 0, 0, 0, []
    for one in spent:
        sent, cached, answered = (
            sent + one.input_tokens,
            cached + one.cached_tokens,
            answered + one.output_tokens,
        )
        costs += [one.cost] if one.cost is not None else []
    return Spending(sent, cached, answered, cost=sum(costs) if costs else None)


def as_json(
    agents: Sequence[Agent],
    usage: Mapping[str, Usage],
    spent: Mapping[str, Spending] | None = None,
    prompts: Mapping[str, Prompted] | None = None,
    problems: Mapping[str, str] | None = None,
) -> str:
    """`problems` are those of worktrees, by agent."""
    spent, prompts, problems = spent or {}, prompts or {}, problems or {}
    records = [
        {
            **_record(agent, usage.get(agent.id), spent.get(agent.id), prompts.get(agent.id, Prompted())),
            "worktree_problem": problems.get(agent.id, ""),
        }
        for agent in agents
    ]
    return to_json(records, indent=2)


def _record(agent: Agent, used: Usage | None, spent: Spending | None, prompts: Prompted) -> dict[str, Any]:
    evidence = agent.evidence
    context = spent.context if spent else None
    return {
        "id": agent.id,
        "name": agent.name,
        "project": agent.project,
        "branch": agent.branch,
        "base": agent.base,
        "worktree": agent.worktree,
        "batch": agent.batch,
        "profile": agent.profile,
        "status": str(agent.status),
        "status_detail": agent.status_detail,
        "status_source": evidence.source if evidence else "",
        "status_text": evidence.text if evidence else "",
        "choices": [list(choice) for choice in evidence.choices] if evidence else [],
        "prompts": {
            "queued": prompts.queued,
            "last": prompts.last,
            "reason": prompts.reason,
            "waits": prompts.waits,
        },
        "pid": agent.pid if not agent.has_ended else None,
        "cpu": round(used.cpu, 1) if used else 0.0,
        "memory": used.memory if used else 0,
        "processes": used.processes if used else 0,
        "tokens": _tokens(spent) if spent else None,
        "cost": spent.cost if spent else None,
        "context": round(context, 1) if context is not None else None,
        "created_at": _iso(agent.created_at),
        "started_at": _iso(agent.started_at),
        "ended_at": _iso(agent.ended_at),
        "prompt": agent.prompt,
        "exit_code": agent.exit_code,
        "exit_signal": agent.exit_signal,
        "title": agent.title,
        "run": agent.run,
        "port_base": agent.port_base,
        "trash": agent.trash,
        "lost_output": agent.lost_output,
    }


def _tokens(spent: Spending) -> dict[str, int]:
    return {"input": spent.input_tokens, "cached": spent.cached_tokens, "output": spent.output_tokens}


def _iso(moment: float | None) -> str | None:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)) if moment is not None else None


def table(
    agents: Sequence[Agent],
    usage: Mapping[str, Usage],
    *,
    now: float,
    width: int,
    color: bool,
    grouped: bool,
    projects: bool,
    spent: Mapping[str, Spending] | None = None,
    problems: Mapping[str, str] | None = None,
    prompts: Mapping[str, Prompted] | None = None,
) -> str:
    """The agents with their totals, as wide as the terminal; what matters least goes first where it is narrow."""
    problems = problems or {}
    left_out = {"BATCH"} if grouped else set()
    left_out |= set() if projects else {"PROJECT"}
    spent = spent or {}
    batches = choosing.batch_names(agents)
    cells = {
        agent.id: _cells(
            agent,
            batches[agent.project, agent.batch],
            usage.get(agent.id, Usage()),
            spent.get(agent.id, Spending()),
            now,
            problems.get(agent.id, ""),
            (prompts or {}).get(agent.id, Prompted()),
        )
        for agent in agents
    }
    left_out |= {name for name in ("CTX", "COST") if not any(row[name] for row in cells.values())}
    columns = _columns(list(cells.values()), left_out, width)
    rows = [Row(tuple(column for column in columns), "2")]
    for batch, members in _groups(agents, grouped=grouped):
        rows += [Row((_heading(batch, members, spent),), "1")] if batch else []
        rows += [
            Row(tuple(cells[agent.id][column] for column in columns), COLORS.get(agent.status, ""))
            for agent in members
        ]
    text = _aligned(rows, width, color=color)
    return "\n".join([*text, "", _cut(_totals(agents, usage, spent), width)])


def _heading(batch: str, members: Sequence[Agent], spent: Mapping[str, Spending]) -> str:
    """A batch by both of its names, how many are in it, and what they have spent together."""
    label = batch_label(batch, [agent.name for agent in members])
    name = batch if label == batch else f"{label} [{batch}]"
    parts = [flat(f"{name} ({len(members)})"), *_spent(members, spent)]
    return "  ".join(parts)


def _spent(agents: Sequence[Agent], spent: Mapping[str, Spending]) -> list[str]:
    of = [spent[agent.id] for agent in agents if agent.id in spent]
    if not of:
        return []
    sum_ = total(of)
    parts = [dollars(sum_.cost)] if sum_.cost is not None else []
    parts += [f"{tokens(sum_.input_tokens + sum_.cached_tokens)} in", f"{tokens(sum_.output_tokens)} out"]
    return [" · ".join(parts)]


def trash(found: Trash, archives: Sequence[tuple[Path, float]] = (), *, now: float) -> str:
    """Killed agents: where their worktrees wait, until when, what is in them and what keeps them there."""
    rows = [
        (
            item.agent.name,
            f"{age(now - (item.agent.ended_at or now))} ago",
            size(item.contents.size),
            _goes(item, now),
            item.agent.trash,
        )
        for item in found.items
    ]
    text: list[str] = []
    for line, item in zip(columns(rows), found.items, strict=True):
        text += [line, *(f"    {flat(detail)}" for detail in _details(item, now))]
    for archive, goes_at in archives:
        text.append(
            f"ignored files of an emptied worktree, deleted {_in(goes_at - now)}: {flat(str(archive))}"
        )
    total = f"{len(found.items)} in the trash"
    if not found.items:
        return "\n".join([*text, total])
    total += " (fleet undo brings back the last kill, fleet undo NAME one agent)"
    rule = "What leaves is saved under refs/fleet/trash, but not what is ignored."
    return "\n".join([*text, total, rule, *_over_limit(found)])


def _goes(item: InTrash, now: float) -> str:
    if item.contents.saved:
        return "half deleted"
    if item.contents.obstacles or not item.agent.trash:
        return "stays"
    return "leaves next" if item.is_over else f"leaves {_in(item.goes_at - now)}"


def _in(seconds: float) -> str:
    return f"in {age(seconds)}" if seconds > 0 else "next"


def _details(item: InTrash, now: float) -> Iterator[str]:
    contents = item.contents
    stays = contents.obstacles or not item.agent.trash
    if contents.saved:
        yield f"saved as {contents.saved}; fleet trash --empty deletes the rest"
    if contents.uncommitted:
        yield f"uncommitted: {_some(contents.uncommitted)}"
    if contents.kept:
        when = "" if stays else f", deleted {_in(item.goes_at - now)}"
        yield f"ignored{when}: {_some([f'{one.path} {size(one.size)}' for one in contents.kept])}"
    if contents.too_large:
        too_large = _some([f"{one.path} {size(one.size)}" for one in contents.too_large])
        yield f"ignored, deleted when it leaves: {too_large}"
    for text, hint in contents.obstacles:
        yield f"stays: {text}" + (f" ({hint})" if hint else "")


def _some(names: Sequence[str]) -> str:
    left = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {left} more" if left > 0 else "")


def _over_limit(found: Trash) -> list[str]:
    if found.size <= found.limit:
        return []
    return [
        f"The trash of all projects is over its limit: {size(found.size)} of {size(found.limit)} (fleet.trash_mb). "
        "The oldest leave with the next create; nothing leaves in its first day."
    ]


def trash_json(found: Trash) -> str:
    """The agents as elsewhere, each with what waits in the trash for it."""
    records = [
        _record(item.agent, None, None, Prompted())
        | {
            "size": item.contents.size,
            "uncommitted": list(item.contents.uncommitted),
            "ignored": [{"path": one.path, "size": one.size} for one in item.contents.ignored],
            "obstacles": [{"text": text, "hint": hint} for text, hint in item.contents.obstacles],
            "leaves_at": None if item.contents.obstacles else _iso(item.goes_at),
        }
        for item in found.items
    ]
    return to_json(records, indent=2)


def size(count: int) -> str:
    """Of files, as short as possible: 9B 12K 3M 1.4G."""
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if count >= unit:
            return f"{count / unit:.1f}G" if name == "G" else f"{count // unit}{name}"
    return f"{count}B"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their cells below each other, however wide."""
    safe = [[flat(cell) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*safe, strict=True)]
    return [
        "  ".join(_padded(cell, size) for cell, size in zip(row, widths, strict=True)).rstrip()
        for row in safe
    ]


def fitted(lines: Sequence[str], height: int) -> list[str]:
    """As many lines as a screen has; the totals at the end always, and how many are left out above them."""
    if len(lines) <= height or height < 3:
        return list(lines[: max(1, height)])
    shown = height - 2
    return [*lines[:shown], f"… {len(lines) - 2 - shown} more", lines[-1]]


def _groups(agents: Sequence[Agent], *, grouped: bool) -> list[tuple[str, list[Agent]]]:
    if not grouped:
        return [("", list(agents))]
    groups: dict[tuple[str, str], list[Agent]] = {}
    for agent in agents:
        groups.setdefault((agent.project, agent.batch), []).append(agent)
    return [(batch, members) for (_, batch), members in groups.items()]


COLUMNS = ("", "NAME", "PROJECT", "BATCH", "AGENT", "STATUS", "CPU%", "MEM", "CTX", "COST", "AGE", " ")
"""The first has the status as a glyph, the last what the agent was told or why it ended."""
MOST_SHOWN = 2000
"""Characters of a prompt: no terminal has room for more, and it may be megabytes long."""
LEAST_FIRST = ("BATCH", "COST", "CTX", "AGENT", "AGE", "CPU%", "MEM", "PROJECT")


def _cells(
    agent: Agent, batch: str, used: Usage, spent: Spending, now: float, problem: str, prompts: Prompted
) -> dict[str, str]:
    ended = agent.ended_at if agent.has_ended and agent.ended_at else now
    cells = (
        GLYPHS[agent.status],
        agent.name,
        agent.project.rstrip("/").rsplit("/", 1)[-1],
        batch,
        agent.profile.rsplit("/", 1)[-1],
        word(agent),
        f"{used.cpu:.0f}" if used.cpu >= 0.5 else "",
        memory(used.memory),
        percent(spent),
        dollars(spent.cost),
        age(ended - agent.created_at),
        " ".join(_last_cell(agent, problem, prompts).split()),
    )
    return {column: flat(cell) for column, cell in zip(COLUMNS, cells, strict=True)}


def _last_cell(agent: Agent, problem: str, prompts: Prompted) -> str:
    if problem:
        return f"! {problem} (fleet list --repair)"
    if agent.status in {Status.FAILED, Status.LOST, Status.INTERRUPTED}:
        return agent.status_detail
    hindrance = prompts.hindrance(agent.status)
    waits = f"{prompts.queued} queued: {hindrance}" if hindrance else ""
    return lost(agent) or waits or agent.prompt[:MOST_SHOWN]


def _columns(rows: Sequence[Mapping[str, str]], left_out: set[str], width: int) -> list[str]:
    """The columns that fit beside each other."""
    for least in ("", *LEAST_FIRST):
        left_out = left_out | ({least} - {""})
        columns = [column for column in COLUMNS if column not in left_out]
        sizes = [
            max(_width(column), *(_width(row[column]) for row in rows)) for column in columns if column != " "
        ]
        if sum(min(size, max(40, width // 3)) + 2 for size in sizes) <= width:
            break
    return columns


def _totals(agents: Sequence[Agent], usage: Mapping[str, Usage], spent: Mapping[str, Spending]) -> str:
    counts: dict[str, int] = {}
    for agent in agents:
        counts[str(agent.status)] = counts.get(str(agent.status), 0) + 1
    cpu = sum(used.cpu for used in usage.values())
    size = sum(used.memory for used in usage.values())
    parts = [f"{len(agents)} agent{'s' if len(agents) != 1 else ''}"]
    parts += [f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1])]
    if size:
        parts.append(f"{cpu / 100:.1f} cores, {memory(size)}")
    parts += _spent(agents, spent)
    return " · ".join(parts)


def _aligned(rows: Sequence[Row], width: int, *, color: bool) -> list[str]:
    """Rows with their cells below each other; a row of one cell is a heading."""
    most = max(40, width // 3)
    full = [row.cells[:-1] for row in rows if len(row.cells) > 1]
    widths = [min(most, max(map(_width, column))) for column in zip(*full, strict=True)]
    lines = []
    for row in rows:
        cells = row.cells
        if len(cells) > 1:
            cells = (*(_padded(cell, size) for cell, size in zip(cells, widths, strict=False)), cells[-1])
        text = _cut("  ".join(cells).rstrip(), width)
        lines.append(f"\x1b[{row.color}m{text}\x1b[0m" if color and row.color else text)
    return lines


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else int(not unicodedata.combining(char))
        for char in text
    )


def _padded(text: str, size: int) -> str:
    cut = _cut(text, size)
    return cut + " " * (size - _width(cut))


def _cut(text: str, size: int) -> str:
    if _width(text) <= size:
        return text
    kept = ""
    for char in text:
        if _width(kept + char) > size - 1:
            break
        kept += char
    return kept + "…" if size > 0 else ""
