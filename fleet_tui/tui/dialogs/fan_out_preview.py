"""What a fan-out would make: names, programs, and what it costs, beside the form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from fleet_tui import names
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.models import Agent
from fleet_tui.quantities import counted
from fleet_tui.tui.dialogs.bases import BaseField, described
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, fit


@dataclass(frozen=True, slots=True)
class FanOut:
    """The contents of the form."""

    count: int
    prefix: str
    prompt: str
    base: str = ""
    mix: tuple[tuple[str, int], ...] = ()


class Preview(LineView):
    """Shows what would be started."""

    def __init__(
        self,
        project: ProjectInfo,
        now: float = 0.0,
        *,
        before: Sequence[Agent] = (),
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._project = project
        self._now = now
        self._before = before
        self._wanted = FanOut(0, "", "")
        self._known: BaseField.Known | None = None

    def show(self, wanted: FanOut) -> None:
        self._wanted = wanted
        self.redraw()

    def take_project(self, project: ProjectInfo) -> None:
        self._project = project
        self.redraw()

    def take_base(self, known: BaseField.Known) -> None:
        self._known = known
        self.redraw()

    @property
    def _known_base(self) -> BaseField.Known | None:
        """The lookup of the base in the form, if it is the one that was looked up last."""
        return self._known if self._known is not None and self._known.name == self._wanted.base else None

    def lines(self, width: int, height: int) -> Sequence[Line]:
        wanted, facts, warning = self._wanted, self._facts(width), self._warning()
        found: list[Line] = [(("Will be started", "bold"),), ()]
        room = max(1, min(wanted.count, height - len(facts) - len(warning) - 6))
        for suffix, program in islice(zip(names.suffixes(), self._programs(), strict=False), room):
            found.append(
                both_ends(
                    ((f"{suffix:<3}", "bold"), (_branch(wanted.prefix, suffix, width - 13), "")),
                    fit(((_brief(program), "muted"),), 9),
                    width,
                )
            )
        if wanted.count > room:
            found.append(((f"and {wanted.count - room} more", "muted"),))
        return [*found, (), (("─" * width, "rule"),), (), *facts, *warning]

    def _programs(self) -> list[str]:
        wanted = self._wanted
        mixed = [name for name, times in wanted.mix for _ in range(times)]
        return mixed or [self._project.default_profile] * wanted.count

    def _facts(self, width: int) -> list[Line]:
        wanted, project = self._wanted, self._project
        known = self._known_base
        size = f" × {_bytes(known.size)}" if known is not None and known.size else ""
        memory = f"{_gigabytes(project.memory_free)} of {_gigabytes(project.memory_total)} GB"
        found = [
            *self._about_base(width),
            _fact("worktrees", f"{wanted.count}{size}", width),
            _fact("setup", clean("; ".join(project.setup)) or "none", width),
        ]
        seconds = expected(self._before, project.project, wanted.count)
        if seconds is not None:
            label = "setup begins in" if project.setup else "ready in"
            found.append(_fact(label, f"about {max(1, round(seconds))} s", width))
        return [*found, _fact("free memory", memory, width)]

    def _about_base(self, width: int) -> list[Line]:
        """Facts on a named base; the field shows the default one."""
        known = self._known_base
        if not self._wanted.base or known is None:
            return []
        if known.base is None:
            problem = fit(((f"✗ {clean(known.problem)}", "error"),), max(8, width - 6))
            return [both_ends((("base", "muted"),), problem, width)]
        return [_fact("base", described(known.base, self._now), width)]

    def _warning(self) -> list[Line]:
        place = self._project
        if not place.uncommitted:
            return []
        files = counted(place.uncommitted, "uncommitted file")
        return [
            (),
            (("! ", "bold warning"), (f"{files} in {clean(place.branch)}", "")),
            (("  are not copied", "muted"),),
        ]


def expected(before: Sequence[Agent], project: str, count: int) -> float | None:
    """Estimate the seconds until `count` programs run, from the last batch that was started in this project.

    A larger batch takes longer in proportion; a smaller one is not assumed to be faster. None where nothing is known.
    """
    together: dict[tuple[float, str], list[Agent]] = {}
    for agent in before:
        if agent.project == project and agent.run == 1:
            together.setdefault((agent.created_at, agent.batch), []).append(agent)
    for (created, _), agents in sorted(together.items(), reverse=True):
        started = [agent.started_at for agent in agents if agent.started_at is not None]
        if len(started) == len(agents) and max(started) > created:
            return (max(started) - created) * max(1.0, count / len(agents))
    return None


def _branch(prefix: str, suffix: str, room: int) -> str:
    """The name, cut to `room` characters; its suffix is never cut."""
    name = clean(prefix) or "…"
    most = room - len(suffix) - 1
    return f"{name if len(name) <= most else name[: most - 1] + '…'}-{suffix}"


def _brief(program: str) -> str:
    """The last part of a program's path."""
    return clean(program.rsplit("/", 1)[-1])


def _bytes(size: int) -> str:
    for unit, step in (("GB", 1 << 30), ("MB", 1 << 20)):
        if size >= step:
            return f"{size / step:.1f} {unit}" if size < 10 * step else f"{size / step:.0f} {unit}"
    return f"{max(1, size >> 10)} kB"


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.1f}"


def _fact(label: str, value: str, width: int) -> Line:
    room = max(4, width - len(label) - 2)
    shown = value if len(value) <= room else value[: room - 1] + "…"
    return both_ends(((label, "muted"),), ((shown, ""),), width)
