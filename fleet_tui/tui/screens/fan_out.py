"""The fan-out form: one prompt, several agents, and what will be made of it shown beside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from textual import on
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from fleet_tui import names
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.tui.exchange import Surroundings
from fleet_tui.tui.screens.bases import Ask, BaseField, described
from fleet_tui.tui.screens.dialog import Field, chip
from fleet_tui.tui.screens.form import Form
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.lines import Line, Lines, both_ends, clean, fit
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.widgets.stepper import Stepper
from fleet_tui.values import dataclass

MOST = names.MAX_COUNT
USUAL = 3
PROFILES_SHOWN = 4


@dataclass(frozen=True, slots=True)
class FanOut:
    """What was asked for."""

    count: int
    prefix: str
    prompt: str
    base: str = ""
    mix: tuple[tuple[str, int], ...] = ()


class FanOutDialog(Form):
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("ctrl+s", "start", show=False, priority=True),
        Binding("ctrl+e", "edit", show=False, priority=True),
        Binding("ctrl+b", "pick_base", show=False, priority=True),
    ]
    heading = "Fan-out"
    explains = "one prompt, several agents"

    def __init__(
        self,
        place: Surroundings | None,
        history: Sequence[str],
        ask: Ask,
        now: float,
        *,
        before: Sequence[Agent] = (),
    ) -> None:
        super().__init__(place)
        self._history = history
        self._ask = ask
        self._now = now
        self._before = before
        """Agents that were started earlier, by which it is known how long it takes."""

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="form"):
            with Vertical(id="fields"):
                yield Field("agents", Stepper(USUAL, least=1, most=MOST, id="count"), note=f"1 to {MOST}")
                yield Field("prefix", Input(placeholder="from the prompt", id="prefix"))
                yield BaseField(self._place.branch, self._ask, self._now)
                with Field("profiles"), Vertical(id="mix"):
                    yield from self._steppers()
                yield Field("prompt", PromptArea(history=self._history, enter_sends=False, id="prompt"))
            yield Preview(self._place, self._now, before=self._before, id="preview")

    def _profiles(self) -> list[str]:
        """The usual one first, unless it is not installed and another is; a shell can be had everywhere."""
        usual = self._place.default_profile
        installed = [tool.name for tool in self._place.tools if tool.path]
        first = usual if usual not in self._missing or not installed else installed[0]
        found = [*([first] if first else []), *installed, "shell"]
        return list(dict.fromkeys(found))[:PROFILES_SHOWN]

    def _steppers(self) -> Iterable[Stepper]:
        count = USUAL
        for name in self._profiles():
            note = "not installed" if name in self._missing else ""
            yield Stepper(count, most=MOST, label=name, bar=6, note=note)
            count = 0

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#prompt", PromptArea).focus()
        self.call_after_refresh(self._preview)

    def hints(self) -> Sequence[tuple[str, str]]:
        return (
            ("tab", "next field"),
            ("ctrl+↑", "earlier"),
            ("ctrl+e", "in your editor"),
            ("esc", "cancel"),
        )

    def primary(self) -> Line:
        count = self.query_one("#count", Stepper).value
        return chip("ctrl+s", f"start {count} agent{'s' if count > 1 else ''}")

    # ── numbers that have to agree ──────────────────────────────────────────────────────────────────────────────

    @on(Stepper.Changed)
    def _counted(self, event: Stepper.Changed) -> None:
        """The count and the profiles always add up: the first profile takes what the others leave."""
        count, mix = self.query_one("#count", Stepper), self._mix_steppers()
        if event.stepper is count and mix:
            others = sum(stepper.value for stepper in mix[1:])
            if others >= count.value:
                for stepper in mix[1:]:
                    stepper.value = 0
                    stepper.redraw()
                others = 0
            mix[0].value = count.value - others
            mix[0].redraw()
        elif event.stepper is not count:
            count.value = max(1, min(MOST, sum(stepper.value for stepper in mix)))
            count.redraw()
        self._preview()

    def _mix_steppers(self) -> list[Stepper]:
        return list(self.query("#mix Stepper").results(Stepper))

    @on(Input.Changed)
    @on(PromptArea.Changed)
    def _preview(self) -> None:
        if self.is_mounted:
            self.query_one(Preview).show(self._wanted())
            self.entitle()

    async def _show_place(self) -> None:
        self.query_one(Preview).take_place(self._place)
        shown, wanted = self._mix_steppers(), list(self._steppers())
        is_chosen = any(stepper.value for stepper in shown[1:])
        if is_chosen or [_named(one) for one in shown] == [_named(one) for one in wanted]:
            return
        wanted[0].value = self.query_one("#count", Stepper).value
        mix = self.query_one("#mix")
        await mix.remove_children()
        await mix.mount(*wanted)
        self._preview()

    @on(BaseField.Known)
    def _found_base(self, event: BaseField.Known) -> None:
        self.query_one(Preview).take_base(event)

    def action_pick_base(self) -> None:
        self.query_one(BaseField).pick()

    def _wanted(self) -> FanOut:
        prompt = self.query_one("#prompt", PromptArea).text
        prefix = self.query_one("#prefix", Input).value.strip() or (
            names.prefix(prompt) if prompt.strip() else ""
        )
        mix = tuple((stepper.label, stepper.value) for stepper in self._mix_steppers() if stepper.value)
        count = self.query_one("#count", Stepper).value
        return FanOut(
            count,
            prefix,
            prompt,
            self.query_one(BaseField).value,
            mix if sum(n for _, n in mix) == count else (),
        )

    def action_start(self) -> None:
        wanted = self._wanted()
        try:
            names.check_branch(wanted.prefix or "x")
        except FleetError as error:
            self.notify(error.hint, title=error.message, severity="error")
            return
        if not wanted.prompt.strip():
            self.notify("write what the agents are to do", title="a fan-out needs a prompt", severity="error")
            self.query_one("#prompt").focus()
            return
        if not self._can_run(*(name for name, _ in wanted.mix or (("", 0),))):
            return
        self.on_wanted(wanted)

    def action_edit(self) -> None:
        from fleet_tui.tui.screens.editing import edit

        area = self.query_one("#prompt", PromptArea)
        text = edit(self.app, area.text)
        if text is not None:
            area.load_text(text)


class Preview(Lines):
    """What starting would make."""

    def __init__(
        self,
        place: Surroundings,
        now: float = 0.0,
        *,
        before: Sequence[Agent] = (),
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._place = place
        self._now = now
        self._before = before
        self._wanted = FanOut(0, "", "")
        self._known: BaseField.Known | None = None

    def show(self, wanted: FanOut) -> None:
        self._wanted = wanted
        self.redraw()

    def take_place(self, place: Surroundings) -> None:
        self._place = place
        self.redraw()

    def take_base(self, known: BaseField.Known) -> None:
        self._known = known
        self.redraw()

    @property
    def _known_base(self) -> BaseField.Known | None:
        """What is known of the base that is wanted, and of no other."""
        return self._known if self._known is not None and self._known.name == self._wanted.base else None

    def lines(self, width: int, height: int) -> Sequence[Line]:
        wanted, facts, warning = self._wanted, self._facts(width), self._warning()
        found: list[Line] = [(("Will be made", "bold"),), ()]
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
        return mixed or [self._place.default_profile] * wanted.count

    def _facts(self, width: int) -> list[Line]:
        wanted, place = self._wanted, self._place
        known = self._known_base
        size = f" × {_bytes(known.size)}" if known is not None and known.size else ""
        memory = f"{_gigabytes(place.memory_free)} of {_gigabytes(place.memory_total)} GB"
        found = [
            *self._about_base(width),
            _fact("worktrees", f"{wanted.count}{size}", width),
            _fact("setup", clean("; ".join(place.setup)) or "none", width),
        ]
        seconds = expected(self._before, place.project, wanted.count)
        if seconds is not None:
            label = "setup begins in" if place.setup else "ready in"
            found.append(_fact(label, f"about {max(1, round(seconds))} s", width))
        return [*found, _fact("free memory", memory, width)]

    def _about_base(self, width: int) -> list[Line]:
        """Of a base that was named; what the usual one is stands in its field."""
        known = self._known_base
        if not self._wanted.base or known is None:
            return []
        if known.base is None:
            problem = fit(((f"✗ {clean(known.problem)}", "error"),), max(8, width - 6))
            return [both_ends((("base", "muted"),), problem, width)]
        return [_fact("base", described(known.base, self._now), width)]

    def _warning(self) -> list[Line]:
        place = self._place
        if not place.uncommitted:
            return []
        files = f"{place.uncommitted} uncommitted file{'s' if place.uncommitted > 1 else ''}"
        return [
            (),
            (("! ", "bold warning"), (f"{files} in {clean(place.branch)}", "")),
            (("  are not copied", "muted"),),
        ]


def expected(before: Sequence[Agent], project: str, count: int) -> float | None:
    """Seconds until so many programs run, going by the last ones that were started together in this project.

    More take longer in proportion; fewer are not promised to be faster. None where nothing is known.
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


def _named(stepper: Stepper) -> tuple[str, str]:
    return stepper.label, stepper.note


def _branch(prefix: str, suffix: str, room: int) -> str:
    """The name in so many cells; its end is what tells it from the others."""
    name = clean(prefix) or "…"
    most = room - len(suffix) - 1
    return f"{name if len(name) <= most else name[: most - 1] + '…'}-{suffix}"


def _brief(program: str) -> str:
    """A program given by its path is known by its last part."""
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
