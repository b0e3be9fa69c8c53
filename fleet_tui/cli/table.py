"""Lay out agents and other rows as aligned text for a terminal of a given width."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from fleet_tui import selection
from fleet_tui.faces.plain import AgentDetails
from fleet_tui.faces.wording import STATUS_LOOKS, ColorRole, lost_output, percent, request_text, word
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent, Spending, Status, Usage
from fleet_tui.names import batch_label
from fleet_tui.quantities import age, counted, dollars, memory, tokens
from fleet_tui.text import flat

ROLE_COLORS: Mapping[ColorRole, str] = {
    "primary": "34",
    "bold warning": "1;33",
    "success": "32",
    "muted": "",
    "secondary": "35",
    "error": "31",
    "warning": "33",
}
"""The parameters of the SGR sequence for each role; the terminal's default color where there are none."""
FAINT, BOLD = "2", "1"

PROMPT_CHARACTERS = 2000
"""A prompt may be megabytes long, and no terminal has room for more than this."""
LEAST_CELL_LIMIT = 40
"""Cells of a column are never cut below this width."""


# ── columns ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class AgentLine:
    """What the cells of one agent are made of."""

    details: AgentDetails
    batch: str
    """The name of the agent's batch."""
    now: float

    @property
    def agent(self) -> Agent:
        return self.details.agent

    @property
    def usage(self) -> Usage:
        return self.details.usage or Usage()

    @property
    def spending(self) -> Spending:
        return self.details.spending or Spending()


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the list of agents."""

    name: str
    cell: Callable[[AgentLine], str]
    rank: int = 0
    """Columns leave a narrow terminal in this order, 1 first; a column of rank 0 stays."""
    is_optional: bool = False
    """Shown only if a cell has text."""


def _glyph(line: AgentLine) -> str:
    return STATUS_LOOKS[line.agent.status].glyph


def _project(line: AgentLine) -> str:
    return line.agent.project.rstrip("/").rsplit("/", 1)[-1]


def _profile(line: AgentLine) -> str:
    return line.agent.profile.rsplit("/", 1)[-1]


def _cpu(line: AgentLine) -> str:
    return f"{line.usage.cpu:.0f}" if line.usage.cpu >= 0.5 else ""


def _request(line: AgentLine) -> str:
    return request_text(line.details.pull_request) if line.details.pull_request else ""


def _age(line: AgentLine) -> str:
    agent = line.agent
    end = agent.ended_at if agent.has_ended and agent.ended_at else line.now
    return age(end - agent.created_at)


def _note(line: AgentLine) -> str:
    """What is wrong, else what holds up its prompts, else its first prompt."""
    agent, details = line.agent, line.details
    if details.worktree_problem:
        note = f"! {details.worktree_problem} (fleet list --repair)"
    elif agent.status in {Status.FAILED, Status.LOST, Status.INTERRUPTED}:
        note = agent.status_detail
    else:
        unstated_wait = details.prompts.unstated_wait(agent.status)
        waits = f"{details.prompts.queued} queued: {unstated_wait}" if unstated_wait else ""
        note = lost_output(agent) or waits or agent.prompt[:PROMPT_CHARACTERS]
    return " ".join(note.split())


COLUMNS = (
    Column("", _glyph),
    Column("NAME", lambda line: line.agent.name),
    Column("PROJECT", _project, rank=9),
    Column("BATCH", lambda line: line.batch, rank=1),
    Column("PROFILE", _profile, rank=4),
    Column("STATUS", lambda line: word(line.agent)),
    Column("CPU%", _cpu, rank=6),
    Column("MEM", lambda line: memory(line.usage.memory), rank=7),
    Column("CTX", lambda line: percent(line.spending), rank=3, is_optional=True),
    Column("COST", lambda line: dollars(line.spending.cost), rank=2, is_optional=True),
    Column("PR", _request, rank=8, is_optional=True),
    Column("AGE", _age, rank=5),
    Column(" ", _note),
)
"""The last one takes the width that is left."""


# ── the list of agents ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of cells, or a heading if it has only one."""

    cells: tuple[str, ...]
    color: str = ""


def agent_table(listed: Sequence[AgentDetails], *, now: float, width: int, color: bool, grouped: bool) -> str:
    """The agents with their totals, in the given width; the least important columns leave first."""
    agents = [details.agent for details in listed]
    batches = selection.batch_names(agents)
    lines = [
        AgentLine(details, batches[details.agent.project, details.agent.batch], now) for details in listed
    ]
    hidden = {"BATCH"} if grouped else set()
    if len({agent.project for agent in agents}) < 2:
        hidden.add("PROJECT")
    cells = {line.agent.id: {column.name: flat(column.cell(line)) for column in COLUMNS} for line in lines}
    hidden |= {
        column.name
        for column in COLUMNS
        if column.is_optional and not any(row[column.name] for row in cells.values())
    }
    names = _fitting(list(cells.values()), hidden, width)
    rows = [TableRow(tuple(names), FAINT)]
    for batch, members in _groups(listed, grouped=grouped):
        rows += [TableRow((_heading(batch, members),), BOLD)] if batch else []
        rows += [
            TableRow(
                tuple(cells[details.agent.id][name] for name in names),
                ROLE_COLORS[STATUS_LOOKS[details.agent.status].role],
            )
            for details in members
        ]
    return "\n".join([*_aligned(rows, width, color=color), "", cut_to_width(_totals(listed), width)])


def _groups(listed: Sequence[AgentDetails], *, grouped: bool) -> list[tuple[str, list[AgentDetails]]]:
    if not grouped:
        return [("", list(listed))]
    groups: dict[tuple[str, str], list[AgentDetails]] = {}
    for details in listed:
        groups.setdefault((details.agent.project, details.agent.batch), []).append(details)
    return [(batch, members) for (_, batch), members in groups.items()]


def _fitting(rows: Sequence[Mapping[str, str]], hidden: set[str], width: int) -> list[str]:
    """The columns that fit beside each other."""
    droppable = sorted((column for column in COLUMNS if column.rank), key=lambda column: column.rank)
    names: list[str] = []
    for dropped in ("", *(column.name for column in droppable)):
        hidden = hidden | ({dropped} - {""})
        names = [column.name for column in COLUMNS if column.name not in hidden]
        sizes = [
            max(width_of(name), *(width_of(row[name]) for row in rows))
            for name in names
            if name != COLUMNS[-1].name
        ]
        if sum(min(size, _cell_limit(width)) + 2 for size in sizes) <= width:
            break
    return names


def _heading(batch: str, members: Sequence[AgentDetails]) -> str:
    """A batch by its name and id, with the number of its agents and what they have spent."""
    label = batch_label(batch, [details.agent.name for details in members])
    name = batch if label == batch else f"{label} [{batch}]"
    return "  ".join([flat(f"{name} ({len(members)})"), *_spent(members)])


def _totals(listed: Sequence[AgentDetails]) -> str:
    statuses = Counter(str(details.agent.status) for details in listed)
    cpu = sum(details.usage.cpu for details in listed if details.usage)
    size = sum(details.usage.memory for details in listed if details.usage)
    parts = [counted(len(listed), "agent")]
    parts += [f"{count} {name}" for name, count in statuses.most_common()]
    if size:
        parts.append(f"{cpu / 100:.1f} cores, {memory(size)}")
    parts += _spent(listed)
    return " · ".join(parts)


def _spent(listed: Iterable[AgentDetails]) -> list[str]:
    """What the agents have spent together; the cost is of those whose cost is known."""
    spent = [details.spending for details in listed if details.spending is not None]
    if not spent:
        return []
    costs = [one.cost for one in spent if one.cost is not None]
    parts = [dollars(sum(costs))] if costs else []
    parts.append(f"{tokens(sum(one.input_tokens + one.cached_tokens for one in spent))} in")
    parts.append(f"{tokens(sum(one.output_tokens for one in spent))} out")
    return [" · ".join(parts)]


def fitted(lines: Sequence[str], height: int) -> list[str]:
    """The lines that a screen has room for: the totals at the end stay, and say how many rows are left out."""
    if len(lines) <= height or height < 3:
        return list(lines[: max(1, height)])
    shown = height - 2
    return [*lines[:shown], f"… {len(lines) - 2 - shown} more", lines[-1]]


# ── layout ──────────────────────────────────────────────────────────────────────────────────────────────────────


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the cells of the rows in columns; no cell is cut."""
    safe = [[flat(cell) for cell in row] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(*safe, strict=True)]
    return [
        "  ".join(_padded(cell, size) for cell, size in zip(row, widths, strict=True)).rstrip()
        for row in safe
    ]


def titled(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int, color: bool, cell_limit: int = 0
) -> list[str]:
    """Rows under the names of their columns, in the given width; a row of one cell spans all columns."""
    cells = [TableRow(tuple(flat(cell) for cell in row)) for row in rows]
    return _aligned([TableRow(tuple(header), FAINT), *cells], width, color=color, cell_limit=cell_limit)


def _aligned(rows: Sequence[TableRow], width: int, *, color: bool, cell_limit: int = 0) -> list[str]:
    full = [row.cells[:-1] for row in rows if len(row.cells) > 1]
    limit = cell_limit or _cell_limit(width)
    widths = [min(limit, max(map(width_of, column))) for column in zip(*full, strict=True)]
    lines = []
    for row in rows:
        cells = row.cells
        if len(cells) > 1:
            cells = (*(_padded(cell, size) for cell, size in zip(cells, widths, strict=False)), cells[-1])
        text = cut_to_width("  ".join(cells).rstrip(), width)
        lines.append(f"\x1b[{row.color}m{text}\x1b[0m" if color and row.color else text)
    return lines


def _cell_limit(width: int) -> int:
    return max(LEAST_CELL_LIMIT, width // 3)


def _padded(text: str, size: int) -> str:
    shown = cut_to_width(text, size)
    return shown + " " * (size - width_of(shown))


def cut_to_width(text: str, width: int) -> str:
    """Cut the text to at most `width` cells; an ellipsis shows that some of it is left out."""
    if width_of(text) <= width:
        return text
    kept = ""
    for char in text:
        if width_of(kept + char) > width - 1:
            break
        kept += char
    return kept + "…" if width > 0 else ""


def width_of(text: str) -> int:
    """The number of cells that a terminal gives to the text."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else int(not unicodedata.combining(char))
        for char in text
    )
