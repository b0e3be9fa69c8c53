"""The fleet as rows of a list: project, batch, agent; grouped, filtered, and drawn for the room there is.

Pure: state in, lines out. Density follows attention: when there is not room for everybody's two lines, those who
need a person and the selected one keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from rich.cells import cell_len

from fleet_tui import names
from fleet_tui.listing import age, memory, percent, word
from fleet_tui.models import Agent, Batch, FleetState, Prompted, ReceiptState, Status
from fleet_tui.tui.exchange import Sights
from fleet_tui.tui.widgets.lines import Line, Part, both_ends, clean, fit, key, length, wrap
from fleet_tui.tui.widgets.statuses import RANK, ROLES, counts, glyph, needs
from fleet_tui.values import dataclass, field, replace

WIDE = 60
"""From this width on, a row of one line has room for the word and the diff."""
WITH_DIFF, WITH_PROFILE = 32, 40
"""From these widths on, a full row has room for them beside a name."""
MOVING_SECONDS = 2.0
FULL_PERCENT = 50.0
"""From here on it is shown how full a conversation is: the end of its room comes near."""

_TELLING = frozenset({Status.BLOCKED, Status.LIMITED, Status.ERROR})

Order = Literal["batch", "need"]


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list is narrowed to: words, and s:status b:batch a:agent."""

    text: str = ""
    needing_only: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.needing_only

    def passes(self, agent: Agent, batch: str) -> bool:
        if self.needing_only and not needs(agent):
            return False
        return all(_matches(term.lower(), agent, batch) for term in self.text.split())


def _matches(term: str, agent: Agent, batch: str) -> bool:
    kind, found, value = term.partition(":")
    if found and kind in ("s", "b", "a"):
        texts = {"s": (str(agent.status), word(agent)), "b": (batch, agent.batch), "a": (agent.profile,)}[
            kind
        ]
        return any(value in text.lower() for text in texts)
    return any(term in text.lower() for text in (agent.name, agent.prompt, batch, agent.branch))


@dataclass(frozen=True, slots=True)
class ProjectRow:
    name: str


@dataclass(frozen=True, slots=True)
class BatchRow:
    key: tuple[str, str]
    """Project and batch id."""
    project: str
    name: str
    members: tuple[Agent, ...]
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class AgentRow:
    agent: Agent
    short: str
    name_width: int = 11


Row = ProjectRow | BatchRow | AgentRow


@dataclass(frozen=True, slots=True)
class Shown:
    """What decides which rows there are, besides the fleet itself."""

    filter: Filter = field(default_factory=Filter)
    folded: frozenset[tuple[str, str]] = frozenset()
    order: Order = "batch"
    here: str = ""
    """The project whose agents come first."""


def project_name(project: str) -> str:
    return project.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")


def batch_name(batch: str, members: Sequence[Agent]) -> str:
    return names.batch_label(batch, [agent.name for agent in members])


def short_name(agent: Agent, batch: str) -> str:
    return agent.name.removeprefix(f"{batch}-") or agent.name


def rows(state: FleetState, shown: Shown) -> tuple[Row, ...]:
    """All rows, in an order that stays: agents do not move because something happened to them."""
    groups = _groups(state, shown)
    if shown.order == "need":
        return tuple(_by_need(groups))
    found: list[Row] = []
    last = ""
    for batch, members in groups:
        if batch.project != last:
            found.append(ProjectRow(project_name(batch.project)))
            last = batch.project
        found += _batch_rows(batch, members, shown)
    return tuple(found)


def _groups(state: FleetState, shown: Shown) -> list[tuple[Batch, list[Agent]]]:
    batches = {(batch.project, batch.id): batch for batch in state.batches}
    grouped: dict[tuple[str, str], list[Agent]] = {}
    for agent in state.agents:
        if agent.status is not Status.KILLED or "killed" in shown.filter.text:
            grouped.setdefault((agent.project, agent.batch), []).append(agent)
    found = []
    for place, members in grouped.items():
        batch = batches.get(place) or Batch(place[1], place[0], members[0].created_at)
        name = batch_name(batch.id, members)
        passing = [agent for agent in members if shown.filter.passes(agent, name)]
        if passing:
            found.append((batch, passing))
    firsts: dict[str, float] = {}
    for batch, _ in found:
        firsts[batch.project] = min(firsts.get(batch.project, batch.created_at), batch.created_at)
    found.sort(
        key=lambda one: (
            one[0].project != shown.here,
            firsts[one[0].project],
            one[0].project,
            one[0].created_at,
        )
    )
    return found


def _batch_rows(batch: Batch, members: Sequence[Agent], shown: Shown) -> Iterator[Row]:
    place = (batch.project, batch.id)
    name = batch_name(batch.id, members)
    is_folded = place in shown.folded and shown.filter.is_empty
    yield BatchRow(place, project_name(batch.project), name, tuple(members), is_folded)
    if not is_folded:
        shorts = [short_name(agent, name) for agent in members]
        width = _name_width(shorts)
        for agent, short in zip(members, shorts, strict=True):
            yield AgentRow(agent, short, width)


def _name_width(shown: Sequence[str]) -> int:
    return min(24, max((cell_len(clean(name)) for name in shown), default=10) + 1)


def _by_need(groups: Iterable[tuple[Batch, list[Agent]]]) -> list[Row]:
    agents = [agent for _, members in groups for agent in members]
    agents.sort(key=lambda agent: (RANK[agent.status], agent.created_at))
    width = _name_width([agent.name for agent in agents])
    return [AgentRow(agent, agent.name, width) for agent in agents]


def agents_of(found: Iterable[Row]) -> list[Agent]:
    """The agents in the order of the list, those of folded batches left out."""
    return [row.agent for row in found if isinstance(row, AgentRow)]


# ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Look:
    """All that a row's lines depend on besides the row."""

    selected: str = ""
    marked: frozenset[str] = frozenset()
    sights: Sights = field(default_factory=Sights)
    now: float = 0.0
    tick: int | None = None
    """The shared clock of moving glyphs; None for none."""
    prompts: Mapping[str, Prompted] = field(default_factory=dict)
    is_stacked: bool = False
    answer_key: str = "a"


Drawn = tuple[Line, int]
"""A line, and the row that it belongs to."""


def draw(found: Sequence[Row], look: Look, width: int, height: int) -> list[Drawn]:
    """All lines of the list at the highest density of attention that fits the height; else the lowest."""
    densities: list[tuple[Callable[[Agent], bool], bool]] = [
        (lambda _: True, True),
        (lambda _: True, False),
        (lambda agent: needs(agent) or agent.id == look.selected, True),
        (lambda agent: needs(agent) or agent.id == look.selected, False),
        (lambda _: False, False),
    ]
    if look.is_stacked:
        densities = densities[-1:]
    for is_full, is_airy in densities:
        if _fits(found, look, (width, height), is_full, is_airy=is_airy):
            break
    return list(_lines(found, look, width, is_full, is_airy=is_airy))


def _fits(
    found: Sequence[Row],
    look: Look,
    size: tuple[int, int],
    is_full: Callable[[Agent], bool],
    *,
    is_airy: bool,
) -> bool:
    """Whether the lines would fit, found out without drawing more of them than it takes."""
    width, room = size
    for index, row in enumerate(found):
        if isinstance(row, AgentRow):
            room -= (
                1 if not is_full(row.agent) else len(full_row(row, look, width)) if needs(row.agent) else 2
            )
        else:
            is_first = isinstance(row, BatchRow) and index > 0 and isinstance(found[index - 1], ProjectRow)
            room -= 2 if index and is_airy and not is_first else 1
        if room < 0:
            return False
    return True


def _lines(
    found: Sequence[Row], look: Look, width: int, is_full: Callable[[Agent], bool], *, is_airy: bool
) -> Iterator[Drawn]:
    widest = max((row.name_width for row in found if isinstance(row, AgentRow)), default=0)
    for index, row in enumerate(found):
        if isinstance(row, ProjectRow):
            if look.is_stacked:
                continue
            if index and is_airy:
                yield (), index
            yield _project_line(row, width), index
        elif isinstance(row, BatchRow):
            if index and is_airy and not isinstance(found[index - 1], ProjectRow):
                yield (), index
            yield _batch_line(row, look, width), index
        elif is_full(row.agent):
            yield from ((line, index) for line in full_row(row, look, width))
        else:
            yield one_line_row(row, look, width, widest), index


def _project_line(row: ProjectRow, width: int) -> Line:
    name = clean(row.name)
    return fit(((f" {name} ", "bold"), ("─" * max(0, width - length(((name, ""),)) - 3), "rule")), width)


def _batch_line(row: BatchRow, look: Look, width: int) -> Line:
    name = clean(f"{row.project} / {row.name}" if look.is_stacked else row.name)
    mark = " ▸ " if row.is_folded else " ▾ "
    count = f"  {len(row.members)}"
    inside = rollup(row.members) if row.is_folded else ()
    room = width - len(mark) - len(count) - length(inside) - 1
    shown = (name, "muted" if look.is_stacked else "")
    # A long name is cut, the count is not.
    kept = fit((shown,), room) if length((shown,)) > room else (shown,)
    return both_ends(((mark, "muted"), *kept, (count, "faint")), inside, width)


def rollup(members: Iterable[Agent]) -> Line:
    """What is inside a folded batch, the most urgent first."""
    parts: list[Part] = []
    for status, count in counts(members):
        mark, role = glyph(_of(status))
        parts += [(mark, role), (f"{count} ", "muted")]
    return tuple(parts)


def _of(status: Status) -> Agent:
    return replace(_NOBODY, status=status)


_NOBODY = Agent("", "", "", "", "", "", "", "", (), "", Status.IDLE, 0.0)


def full_row(row: AgentRow, look: Look, width: int) -> list[Line]:
    """Two lines: who, and what it costs; then the word and what it says. A question may take a third."""
    agent = row.agent
    is_selected = agent.id == look.selected
    bar = _bar(agent, look)
    right: Line = ((f"{since(agent, look.now):>5}", "muted"), (" ", ""))
    if width >= WITH_DIFF:
        right = (*fit(_diff(agent, look, 11), 11, right=True), *right)
    if width >= WITH_PROFILE:
        right = (*fit(((clean(_profile(agent)), "muted"),), 8), *right)
    name = ((clean(row.short), "bold"),)
    lines = [both_ends((*bar, (" ", ""), *name), right, width)]
    indent: Line = (bar[0], ("   ", ""))
    shown_word, role = word(agent), ROLES[agent.status]
    if needs(agent):
        lines += _question(agent, look, width, indent, shown_word)
    else:
        text = (says(agent, look.sights), "muted")
        said = (
            *indent,
            (shown_word, role),
            *prompted(look.prompts.get(agent.id), agent.status),
            ("  ", ""),
            text,
        )
        lines.append(both_ends(said, _usage(agent, look), width))
    return [_tinted(line, "sel", width) for line in lines] if is_selected else lines


def prompted(prompts: Prompted | None, status: Status = Status.WORKING) -> Line:
    """What is to be known of an agent's prompts: that some wait and for what, or that one has not arrived."""
    if prompts is None:
        return ()
    if prompts.last == ReceiptState.REFUSED and prompts.reason != "cancelled":
        return (("  prompt refused", "error"),)
    if not prompts.queued:
        return ()
    hindrance = prompts.hindrance(status)
    why = f": {clean(hindrance)}" if hindrance else ""
    return ((f"  {prompts.queued} queued{why}", "warning" if why else "muted"),)


def _question(agent: Agent, look: Look, width: int, indent: Line, shown_word: str) -> list[Line]:
    role = ROLES[agent.status]
    room = max(8, width - 7 - len(shown_word))
    first, *more = wrap(says(agent, look.sights), room, 2)
    rest = "".join(more)
    hint = (*key(look.answer_key, "answer"), (" ", ""))
    said: Line = (*indent, (shown_word, role), ("  ", ""), (first, ""))
    if not rest and length(said) + length(hint) < width:
        return [both_ends(said, hint, width)]
    head = fit(said, width)
    return [head, both_ends((*indent, (rest, "")), hint, width)]


def one_line_row(row: AgentRow, look: Look, width: int, widest: int) -> Line:
    """One line; columns leave from the right as it gets narrower. The widest name takes `widest` cells."""
    agent = row.agent
    role = "" if needs(agent) else "muted"
    name_width = max(11, widest) if width >= WIDE else row.name_width
    name = fit(((clean(row.short), "bold"),), min(name_width, width // 2))
    left: Line = (*_bar(agent, look), (" ", ""), *name, (" ", ""))
    right: Line = ((f"{since(agent, look.now):>5}", "muted"), (" ", ""))
    text: Part = (says(agent, look.sights), role)
    if width >= WIDE:
        left = (*left, *fit(((word(agent), ROLES[agent.status]),), 11), (" ", ""), text)
        right = (*fit(_diff(agent, look, 10), 10, right=True), *right)
    else:
        left = (*left, text)
    line = both_ends(left, right, width)
    return _tinted(line, "sel", width) if agent.id == look.selected else line


def _bar(agent: Agent, look: Look) -> Line:
    """Selected, marked, status: the first three cells of a row."""
    is_moving = look.tick is not None and look.now - look.sights.active.get(agent.id, 0.0) < MOVING_SECONDS
    bar: Part = ("▌", "bar") if agent.id == look.selected else (" ", "")
    mark: Part = ("+", "bold accent") if agent.id in look.marked else (" ", "")
    return bar, mark, glyph(agent, tick=look.tick if is_moving else None)


def _tinted(line: Line, background: str, width: int) -> Line:
    parts = fit(line, width)
    return tuple(
        (text, role if " on " in role else f"{role} on {background}".strip()) for text, role in parts
    )


def _diff(agent: Agent, look: Look, room: int) -> Line:
    """Numbers are never cut: those that do not fit are said in thousands."""
    if agent.id in look.sights.link_problems:
        return (("! .git", "warning"),)
    added, removed = look.sights.diffs.get(agent.id, (0, 0))
    if not added and not removed:
        return (("·", "faint"),)
    found: Line = ()
    for form, gap in ((str, " "), (thousands, " "), (thousands, "")):
        gone = f"−{form(removed)}" if removed else ""
        found = ((f"+{form(added)}" if added else "", "success"), (gap, ""), (f"{gone:>4}", "error"))
        if length(found) <= room:
            break
    return found


def thousands(count: int) -> str:
    """In at most four cells: 950, 30k, 1M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count // size}{unit}"
    return str(count)


def _usage(agent: Agent, look: Look) -> Line:
    used = look.sights.usage.get(agent.id)
    if used is None or used.cpu < 0.5 or agent.has_ended:
        return _context(agent, look)
    return ((f"{used.cpu:>3.0f}%", "muted"), (f"{memory(used.memory):>5}", "muted"), (" ", ""))


def _context(agent: Agent, look: Look) -> Line:
    """How full its conversation is, once that is worth knowing."""
    spent = look.sights.spending.get(agent.id)
    if spent is None or agent.has_ended or (spent.context or 0.0) < FULL_PERCENT:
        return ((" ", ""),)
    return ((f"ctx {percent(spent)}", "muted"), (" ", ""))


def _profile(agent: Agent) -> str:
    return agent.profile.rsplit("/", 1)[-1]


def since(agent: Agent, now: float) -> str:
    """How long it has been as it is."""
    moment = agent.ended_at if agent.has_ended and agent.ended_at else agent.status_since
    return age(max(0.0, now - (moment or agent.started_at or agent.created_at)))


def says(agent: Agent, sights: Sights) -> str:
    """What there is to know about it in one line: the question, the reason, or its last line."""
    evidence = agent.evidence
    is_told = evidence is not None and (evidence.source == "osc7501" or agent.status in _TELLING)
    if evidence is not None and is_told and evidence.text and not agent.has_ended:
        return clean(evidence.text)
    if agent.status in (Status.SETUP, Status.FAILED, Status.LOST, Status.INTERRUPTED) and agent.status_detail:
        return clean(agent.status_detail)
    return clean(sights.tails.get(agent.id, "") or agent.title or agent.prompt)
