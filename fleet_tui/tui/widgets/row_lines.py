"""Draw rows of the list as lines, at the density that fits.

Pure: rows in, lines out. Density follows attention: when not every agent gets two lines, those that need the user and
the selected one keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fleet_tui.faces.live import LiveData
from fleet_tui.faces.totals import counts
from fleet_tui.faces.wording import STATUS_LOOKS, percent, request_mark, word
from fleet_tui.fast_dataclasses import dataclass, field, replace
from fleet_tui.models import REPORT, Agent, PromptSummary, Status
from fleet_tui.quantities import age, memory
from fleet_tui.tui.widgets.lines import Line, TextPart, both_ends, clean, fit, key, length, wrap
from fleet_tui.tui.widgets.rows import AgentRow, BatchRow, ListRow, ProjectRow
from fleet_tui.tui.widgets.statuses import ROLES, glyph, needs
from fleet_tui.work import PullRequest

WIDE = 60
"""From this width on, a row of one line has room for the word and the diff."""
WITH_DIFF, WITH_PROFILE = 32, 40
"""From these widths on, a full row has room for them beside a name."""
MOVING_SECONDS = 2.0
FULL_PERCENT = 50.0
"""From this share on, the row shows how full the conversation is."""
CONFLICT = "≠"
MARK_LEAST = 4
"""Cells of a name that a mark beside it leaves, at least."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the lines of a row depend on besides the row."""

    selected: str = ""
    marked: frozenset[str] = frozenset()
    live: LiveData = field(default_factory=LiveData)
    now: float = 0.0
    tick: int | None = None
    """The phase of moving glyphs; None when none moves."""
    prompts: Mapping[str, PromptSummary] = field(default_factory=dict)
    is_stacked: bool = False
    answer_key: str = "a"


Drawn = tuple[Line, int]
"""A line, and the row that it belongs to."""


def draw(found: Sequence[ListRow], look: Look, width: int, height: int) -> list[Drawn]:
    """Draw the list with as many full rows as fit the height."""
    densities: list[tuple[Callable[[Agent], bool], bool]] = [
        (lambda _: True, True),
        (lambda _: True, False),
        (lambda agent: needs(agent) or agent.id == look.selected, True),
        (lambda agent: needs(agent) or agent.id == look.selected, False),
        (lambda _: False, False),
    ]
    if look.is_stacked:
        densities = densities[-1:]
    for is_full, is_spaced in densities:
        if _fits(found, look, (width, height), is_full, is_spaced=is_spaced):
            break
    return list(_lines(found, look, width, is_full, is_spaced=is_spaced))


def _fits(
    found: Sequence[ListRow],
    look: Look,
    size: tuple[int, int],
    is_full: Callable[[Agent], bool],
    *,
    is_spaced: bool,
) -> bool:
    """Whether the lines would fit, without drawing all of them."""
    width, room = size
    for index, row in enumerate(found):
        if isinstance(row, AgentRow):
            room -= (
                1 if not is_full(row.agent) else len(full_row(row, look, width)) if needs(row.agent) else 2
            )
        else:
            is_first = isinstance(row, BatchRow) and index > 0 and isinstance(found[index - 1], ProjectRow)
            room -= 2 if index and is_spaced and not is_first else 1
        if room < 0:
            return False
    return True


def _lines(
    found: Sequence[ListRow], look: Look, width: int, is_full: Callable[[Agent], bool], *, is_spaced: bool
) -> Iterator[Drawn]:
    widest = max((row.name_width for row in found if isinstance(row, AgentRow)), default=0)
    for index, row in enumerate(found):
        if isinstance(row, ProjectRow):
            if look.is_stacked:
                continue
            if index and is_spaced:
                yield (), index
            yield _project_line(row, width), index
        elif isinstance(row, BatchRow):
            if index and is_spaced and not isinstance(found[index - 1], ProjectRow):
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
    inside = (*rollup(row.members), *_colliding(row.members, look)) if row.is_folded else ()
    room = width - len(mark) - len(count) - length(inside) - 1
    shown = (name, "muted" if look.is_stacked else "")
    # Cut a long name, never the count.
    kept = fit((shown,), room) if length((shown,)) > room else (shown,)
    return both_ends(((mark, "muted"), *kept, (count, "faint")), inside, width)


def rollup(members: Iterable[Agent]) -> Line:
    """The statuses inside a folded batch, the most urgent first."""
    parts: list[TextPart] = []
    for status, count in counts(members):
        mark, role = glyph(_of(status))
        parts += [(mark, role), (f"{count} ", "muted")]
    return tuple(parts)


def _colliding(members: Sequence[Agent], look: Look) -> Line:
    """How many of a folded batch conflict with somebody."""
    count = sum(agent.id in look.live.conflict_marks for agent in members)
    return ((CONFLICT, "error"), (f"{count} ", "muted")) if count else ()


def conflict_mark(agent: Agent, live: LiveData) -> Line:
    """With whom the agent conflicts; empty if with nobody."""
    mark = live.conflict_marks.get(agent.id)
    return ((f"{CONFLICT} {clean(mark)}", "error"),) if mark else ()


def _of(status: Status) -> Agent:
    return replace(_NO_AGENT, status=status)


_NO_AGENT = Agent("", "", "", "", "", "", "", "", (), "", Status.IDLE, 0.0)


def full_row(row: AgentRow, look: Look, width: int) -> list[Line]:
    """Two lines: name and numbers; then status and text. A question may take a third."""
    agent = row.agent
    is_selected = agent.id == look.selected
    bar = _bar(agent, look)
    right: Line = ((f"{since(agent, look.now):>5}", "muted"), (" ", ""))
    if width >= WITH_DIFF:
        right = (*fit(_diff(agent, look, 11), 11, right=True), *right)
    if width >= WITH_PROFILE:
        right = (*fit(((clean(_profile(agent)), "muted"),), 8), *right)
    left: Line = (*bar, (" ", ""))
    name = _marked_name(row, look, width - length(left) - length(right) - 1)
    lines = [both_ends((*left, *name), right, width)]
    indent: Line = (bar[0], ("   ", ""))
    shown_word, role = word(agent), ROLES[agent.status]
    if needs(agent):
        lines += _question(agent, look, width, indent, shown_word)
    else:
        text = (agent_text(agent, look.live), "muted")
        said = (
            *indent,
            (shown_word, role),
            *prompt_parts(look.prompts.get(agent.id), agent.status),
            *request_parts(look.live.pull_requests.get(agent.id)),
            ("  ", ""),
            text,
        )
        lines.append(both_ends(said, _usage(agent, look), width))
    return [_tinted(line, "sel", width) for line in lines] if is_selected else lines


def _marked_name(row: AgentRow, look: Look, room: int) -> Line:
    """The name and the mark of a conflict; the name is cut, and a mark that leaves too little of it."""
    name, mark = ((clean(row.short), "bold"),), conflict_mark(row.agent, look.live)
    if not mark:
        return name
    kept = min(length(name), max(MARK_LEAST, room - length(mark) - 2))
    return (*fit(name, kept), ("  ", ""), *fit(mark, min(length(mark), max(0, room - kept - 2))))


def prompt_parts(prompts: PromptSummary | None, status: Status = Status.WORKING) -> Line:
    """The state of an agent's prompts: queued ones and their reason, or a refused one."""
    if prompts is None:
        return ()
    if prompts.is_refused:
        return (("  prompt refused", "error"),)
    if not prompts.queued:
        return ()
    unstated_wait = prompts.unstated_wait(status)
    why = f": {clean(unstated_wait)}" if unstated_wait else ""
    return ((f"  {prompts.queued} queued{why}", "warning" if why else "muted"),)


def request_parts(request: PullRequest | None) -> Line:
    """The agent's pull request: its number, checks and review."""
    if request is None:
        return ()
    mark, role = request_mark(request)
    number, _, state = mark.partition(" ")
    found: Line = ((f"  {number}", "muted" if state else role), (f" {state}" if state else "", role))
    if request.review and request.state == "open":
        found = (
            *found,
            (f" {request.review}", "warning" if request.review == "changes requested" else "muted"),
        )
    return found


def _question(agent: Agent, look: Look, width: int, indent: Line, shown_word: str) -> list[Line]:
    role = ROLES[agent.status]
    room = max(8, width - 7 - len(shown_word))
    first, *more = wrap(agent_text(agent, look.live), room, 2)
    rest = "".join(more)
    hint = (*key(look.answer_key, "answer"), (" ", ""))
    said: Line = (*indent, (shown_word, role), ("  ", ""), (first, ""))
    if not rest and length(said) + length(hint) < width:
        return [both_ends(said, hint, width)]
    head = fit(said, width)
    return [head, both_ends((*indent, (rest, "")), hint, width)]


def one_line_row(row: AgentRow, look: Look, width: int, widest: int) -> Line:
    """One line; columns are dropped from the right as it gets narrower. The widest name takes `widest` cells."""
    agent = row.agent
    role = "" if needs(agent) else "muted"
    name_width = max(11, widest) if width >= WIDE else row.name_width
    name_width = min(name_width, width // 2)
    name = _marked_name(row, look, width // 2)
    # A mark that fills its column is kept apart from what follows.
    name = fit(name, max(name_width, length(name) + 1) if len(name) > 1 else name_width)
    left: Line = (*_bar(agent, look), (" ", ""), *name, (" ", ""))
    right: Line = ((f"{since(agent, look.now):>5}", "muted"), (" ", ""))
    text: TextPart = (agent_text(agent, look.live), role)
    if width >= WIDE:
        request = request_parts(look.live.pull_requests.get(agent.id))
        shown = (*request[:2], ("  ", "")) if request else ((" ", ""),)
        left = (*left, *fit(((word(agent), ROLES[agent.status]),), 11), *shown, text)
        right = (*fit(_diff(agent, look, 10), 10, right=True), *right)
    else:
        left = (*left, text)
    line = both_ends(left, right, width)
    return _tinted(line, "sel", width) if agent.id == look.selected else line


def _bar(agent: Agent, look: Look) -> Line:
    """Selected, marked, status: the first three cells of a row."""
    is_moving = look.tick is not None and look.now - look.live.active.get(agent.id, 0.0) < MOVING_SECONDS
    bar: TextPart = ("▌", "bar") if agent.id == look.selected else (" ", "")
    mark: TextPart = ("+", "bold accent") if agent.id in look.marked else (" ", "")
    return bar, mark, glyph(agent, tick=look.tick if is_moving else None)


def _tinted(line: Line, background: str, width: int) -> Line:
    parts = fit(line, width)
    return tuple(
        (text, role if " on " in role else f"{role} on {background}".strip()) for text, role in parts
    )


def _diff(agent: Agent, look: Look, room: int) -> Line:
    """Numbers are never cut: those that do not fit are shown in thousands."""
    if agent.id in look.live.link_problems:
        return (("! .git", "warning"),)
    added, removed = look.live.diffs.get(agent.id, (0, 0))
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
    used = look.live.usage.get(agent.id)
    if used is None or used.cpu < 0.5 or agent.has_ended:
        return _context(agent, look)
    return ((f"{used.cpu:>3.0f}%", "muted"), (f"{memory(used.memory):>5}", "muted"), (" ", ""))


def _context(agent: Agent, look: Look) -> Line:
    """How full its conversation is, once it is at least half full."""
    spent = look.live.spending.get(agent.id)
    if spent is None or agent.has_ended or (spent.context or 0.0) < FULL_PERCENT:
        return ((" ", ""),)
    return ((f"ctx {percent(spent)}", "muted"), (" ", ""))


def _profile(agent: Agent) -> str:
    return agent.profile.rsplit("/", 1)[-1]


def since(agent: Agent, now: float) -> str:
    """How long the agent has had its status."""
    moment = agent.ended_at if agent.has_ended and agent.ended_at else agent.status_since
    return age(max(0.0, now - (moment or agent.started_at or agent.created_at)))


def agent_text(agent: Agent, live: LiveData) -> str:
    """One line about the agent: its question, its reason, or the last line it printed."""
    evidence, shows = agent.evidence, STATUS_LOOKS[agent.status].says
    # What a program reports by OSC 7501 says more than its output in every status.
    is_explained = evidence is not None and (shows == "evidence" or evidence.source == REPORT)
    if evidence is not None and is_explained and evidence.text and not agent.has_ended:
        return clean(evidence.text)
    if shows == "detail" and agent.status_detail:
        return clean(agent.status_detail)
    return clean(live.tails.get(agent.id, "") or agent.title or agent.prompt)
