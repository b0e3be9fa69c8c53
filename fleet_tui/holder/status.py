"""The judge of a program's status: weighs what each source says, and keeps the evidence. Pure; time is passed in.

Sources, best first: the program's own reports (OSC 7501), its hooks, its event stream, its title, its screen, and last
its output and silence. A busy status counts at once; an idle one seen only in title, screen or silence must last before
it counts. Where no source says anything, the status is unknown rather than guessed. The judge is one class because any
source may correct any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleet_tui.fast_dataclasses import replace
from fleet_tui.holder.observed import (
    BUSY,
    CALM,
    EVENT,
    HOOK,
    RANKED,
    SCREEN,
    TITLE,
    Observed,
    Seen,
)
from fleet_tui.holder.program_report import ProgramReport, parse_report
from fleet_tui.holder.readiness import READY_SECONDS, Readiness
from fleet_tui.holder.screen_question import ScreenQuestion
from fleet_tui.models import REPORT, PermissionRequest, Status
from fleet_tui.programs.dialogs import Painted
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.screen_text import shown_line
from fleet_tui.programs.status_rules import (
    Patterns,
    RuleMatch,
    StatusRule,
    in_values,
)

QUIET_SECONDS = 2.0
"""A program without output for this long no longer counts as working."""
BEGIN_SECONDS = 5.0
"""How long a program may take to report a turn that its hook has announced."""
DRAWN_SECONDS = 1.0
"""How long the screen may lag behind an idle event: opencode ignores input while it closes a dialog."""
HOLD_SECONDS = 1.5
"""How long title or screen must look idle before they are believed."""
FIRST_SECONDS = 5.0
"""The same for a program started with a prompt, until it has begun with it."""
SILENT_START_SECONDS = 5.0
"""A program that prints nothing for this long after its start counts as started."""
QUIET_START_SECONDS = 1.0
"""The same for a program that shows only by silence that it waits."""
_HELD = frozenset({TITLE, SCREEN})
"""Sources whose calm must last before it is believed."""


class StatusJudge:
    """Takes what all sources of one run say, and decides between them."""

    def __init__(self, rules: InteractionRules, *, has_setup: bool = False, has_prompt: bool = False) -> None:
        self._rules = rules
        self._titles, self._screens = Patterns(rules.title), Patterns(rules.screen)
        self._reports = Patterns(rules.report)
        self.in_setup = has_setup
        first = Observed(Status.SETUP if has_setup else Status.STARTING, source="launcher")
        self._current = self._basis = first
        self._settled = first
        """What `settle` returned last."""
        self._levels: dict[str, Seen] = {}
        self._hook: Seen | None = None
        self._requests: set[Observed] = set()
        """Requests from hooks and events since the program was last seen without a question."""
        self._last_output: float | None = None
        self._started: float | None = None
        self._question = ScreenQuestion(has_rules=bool(self._screens))
        self._asked = 0
        self.busy = 0
        """How often the program has become busy; for one that only prints, how often it has printed."""
        self._readiness = Readiness(rules.ready)
        self._hold = FIRST_SECONDS if has_prompt else HOLD_SECONDS
        self._has_turn = has_prompt
        """A turn was begun since it was last idle, so idle means done."""
        self._menu: Seen | None = None
        """Set while the program says that it waits and its input box is not on the settled screen."""
        self.was_interrupted = False
        """The program reported that its last turn was interrupted."""

    def status(self) -> Observed:
        return self._current

    @property
    def status_for_prompts(self) -> Status:
        """The status that decides whether a prompt may be typed.

        A limit that has ended the turn leaves the input open, as an error does; an error that is still being retried
        does not.
        """
        if self._current.status not in (Status.ERROR, Status.LIMITED):
            return self._current.status
        if self._current.is_over:
            return Status.ERROR
        return Status.LIMITED if self._current.status is Status.LIMITED else Status.WORKING

    @property
    def speaks(self) -> bool:
        """Whether anything other than silence shows that the program waits."""
        return self._rules.speaks or REPORT in self._levels

    @property
    def reads_screen(self) -> bool:
        return bool(self._screens) or self._current.status is Status.BLOCKED

    # ── what sources say ───────────────────────────────────────────────────────────────────────────────────────────

    def output(self, now: float, *, is_own: bool = True) -> None:
        """Something was printed. For a program that only prints, echoes and redraws say nothing once it has started."""
        if not (is_own or self.speaks or self._basis.status is Status.STARTING):
            return
        self._last_output = now
        if self.in_setup or (self._readiness.is_awaited and self._basis.status is Status.STARTING):
            return
        self.busy += not self.speaks
        self._basis = Observed(Status.WORKING, source="output")

    def falls_silent(self, now: float) -> bool:
        """Whether its silence is about to count as waiting."""
        due = None if self.in_setup or not self._rules.quiet_is_idle else self._silence_due(now)
        return due is not None and now >= due

    def computed(self, now: float) -> None:
        """It prints nothing but uses the processor."""
        self._last_output = now
        self._basis = Observed(Status.WORKING, source="output", text="no output, but it is computing")

    @property
    def calm_at(self) -> float:
        """When an idle status can be believed; 0 for at once.

        A hook or the screen may show a new turn before the best source does, and an idle event may come before the screen
        takes a prompt again.
        """
        return max(self._shown_calm_at(), self._begun_at())

    def _begun_at(self) -> float:
        """When the best source must have reported a turn that a lesser source has shown since."""
        best = self._ranked()
        if best is None or best.observed.status in BUSY:
            return 0.0
        begun = [
            seen.since
            for seen in self._levels.values()
            if seen.observed.status is Status.WORKING and seen.since > best.since
        ]
        return max(begun) + BEGIN_SECONDS if begun else 0.0

    def _shown_calm_at(self) -> float:
        """When the screen must have caught up with an idle event, or a report with the turn that a hook announced."""
        event = self._levels.get(EVENT)
        if event is not None and event.observed.status not in BUSY:
            return event.since + DRAWN_SECONDS
        hook, report = self._hook, self._levels.get(REPORT)
        if hook is None or report is None or hook.observed.status not in (Status.WORKING, Status.BLOCKED):
            return 0.0
        has_caught_up = report.observed.status in BUSY or report.since >= hook.since
        return 0.0 if has_caught_up else hook.since + BEGIN_SECONDS

    @property
    def claims_calm(self) -> bool:
        """Whether the best source says that the program waits."""
        best = self._ranked()
        return best is not None and best.observed.status in (Status.IDLE, Status.DONE)

    def box_shown(self, is_shown: bool, now: float) -> None:
        """Its input box is, or is not, on a settled screen."""
        if is_shown:
            self._menu = None
        elif self._menu is None:
            self._menu = Seen(_IN_MENU, now)

    def turn_began(self) -> None:
        """A prompt was submitted."""
        self._has_turn = True

    def setup_progressed(self, progress: str, commands: Sequence[str], now: float) -> None:
        words = (progress.splitlines() or [""])[-1].split()
        if words[:1] == ["done"]:
            self.in_setup = False
            self._basis = Observed(Status.STARTING, source="launcher")
            self._last_output, self._started = None, now
        elif (
            words[:1] == ["run"]
            and words[1:]
            and words[1].isdecimal()
            and 1 <= int(words[1]) <= len(commands)
        ):
            self._basis = Observed(Status.SETUP, commands[int(words[1]) - 1], source="launcher")

    def reported(self, payload: str, now: float) -> None:
        """The program has reported its own status."""
        report = None if self.in_setup else parse_report(payload)
        if report is None:
            return
        if report.status is None:
            self._levels.pop(REPORT, None)
            self.output(now)
            return
        if self._rules.idle_interrupts and report.status is Status.IDLE and self._has_reported_work():
            self.was_interrupted = True
        self._set(REPORT, self._from_report(report, report.status), now)

    def _has_reported_work(self) -> bool:
        """Whether its last report was of an unfinished turn."""
        before = self._levels.get(REPORT)
        return before is not None and before.observed.status in BUSY and not before.observed.is_over

    def _from_report(self, report: ProgramReport, status: Status) -> Observed:
        match = self._reports.in_title(report.text) if status in (Status.ERROR, Status.BLOCKED) else None
        # The words of a question may contain those of an error without meaning one.
        if match is not None and (match.rule.status is Status.BLOCKED) is (status is Status.BLOCKED):
            observed = Observed.from_match(REPORT, match)
            return replace(observed, text=report.text, is_over=status is Status.ERROR)
        detail = {Status.BLOCKED: report.kind, Status.LIMITED: report.text}.get(status, "")
        return Observed(status, shown_line(detail), REPORT, report.text, str(status))

    def titled(self, title: str, now: float) -> None:
        self._take(TITLE, self._titles.in_title(title), now)

    def showed(self, lines: Sequence[str], now: float, painted: Painted | None = None) -> None:
        """The rendered screen, once it has settled."""
        if self._readiness.is_shown(lines):
            self._is_ready(now)
        was_asking = self._says(SCREEN) is Status.BLOCKED
        sign = self._screens.on_screen(lines)
        self._question.read(sign.rule if sign is not None else None, lines, painted)
        self._take(SCREEN, sign, now)
        asked = self._hook is not None and self._hook.observed.status is Status.BLOCKED
        if was_asking and asked and self._says(SCREEN) is not Status.BLOCKED:
            # No hook reports that a question was answered; its dialog has disappeared.
            self._hook = None
        if was_asking and self._says(SCREEN) is not Status.BLOCKED:
            self._requests.clear()

    def _is_ready(self, now: float) -> None:
        self._readiness.reached(now)
        if self._basis.status is Status.STARTING and self._last_output is not None:
            self.output(now)

    def _says(self, source: str) -> Status | None:
        seen = self._levels.get(source)
        return seen.observed.status if seen is not None else None

    def hooked(self, payload: Mapping[str, Any], now: float) -> None:
        """An event of a hook; more than one question may be open at a time."""
        sign = None if self.in_setup else in_values(self._rules.hook, payload)
        if sign is not None:
            before = self._hook.observed.status if self._hook is not None else None
            self._hook = Seen(Observed.from_match(HOOK, sign), now, sign.rule.over)
            self._note(self._hook.observed, has_asked=True)
            self._began(before, sign.rule.status)

    def streamed(self, event: Mapping[str, Any], now: float, *, is_helpers: bool = False) -> None:
        """An event of the program's own stream; one that says nothing about its state is ignored."""
        sign = None if self.in_setup else in_values(self._rules.event, event)
        if sign is None or (is_helpers and not sign.rule.from_helpers):
            return
        if self._says(EVENT) not in sign.rule.keeps:
            self._take(EVENT, sign, now)
            self.was_interrupted |= sign.rule.interrupts

    def _take(self, source: str, sign: RuleMatch | None, now: float) -> None:
        if sign is None or self.in_setup:
            self._levels.pop(source, None)
        else:
            self._set(source, Observed.from_match(source, sign), now, sign.rule)

    def _set(self, source: str, observed: Observed, now: float, rule: StatusRule | None = None) -> None:
        before = self._levels.get(source)
        if source == EVENT or (source == REPORT and observed.status is not Status.BLOCKED):
            self._note(observed, has_asked=self._says(source) is Status.BLOCKED)
        if observed.status is Status.BLOCKED and self._is_asked_anew(source, before):
            self._asked += 1
        since = before.since if before is not None and before.observed.status is observed.status else now
        self._levels[source] = Seen(observed, since, rule.over if rule else (), now)
        is_same_turn = before is not None and not before.observed.is_over
        self._began(before.observed.status if before and is_same_turn else None, observed.status)

    def _note(self, observed: Observed, *, has_asked: bool) -> None:
        """Track open requests: one more, or none if this source had asked and no longer does."""
        if observed.status is Status.BLOCKED:
            self._requests.add(observed)
        elif has_asked:
            self._requests.clear()

    def _is_asked_anew(self, source: str, before: Seen | None) -> bool:
        """Whether a source that only the program writes asks again; a title or screen may merely be redrawn."""
        if source not in (REPORT, EVENT):
            return False
        return before is None or before.observed.status is not Status.BLOCKED

    def _began(self, before: Status | None, after: Status) -> None:
        if after in BUSY:
            self._hold = HOLD_SECONDS
        if after is Status.WORKING and before is not Status.WORKING:
            # The screen will show whether a menu is open once this turn has ended.
            self._menu = None
        if after in BUSY and before not in BUSY:
            self.busy += 1
            self._has_turn = True
            self.was_interrupted = False

    def recall(self, last: Mapping[str, Any], now: float) -> bool:
        """Continue from the status an earlier server reported, as the program will not repeat it; False if unusable."""
        status = last.get("status")
        if status not in set(Status) or status in (Status.SETUP, Status.STARTING):
            return False
        observed = Observed.from_plain(Status(status), last)
        source = observed.source
        self._readiness.assume()
        self._hold = HOLD_SECONDS
        self.output(now)
        self._current = self._settled = observed
        self._requests = {observed} if observed.request != PermissionRequest() else set()
        if source in RANKED:
            self._set(source, observed, now)
        elif source == HOOK:
            self._hook = Seen(observed, now)
            self._began(None, observed.status)
        else:
            self._basis = observed
        return True

    # ── the decision ────────────────────────────────────────────────────────────────────────────────────────────

    def due(self, now: float) -> float | None:
        """When an idle status will have lasted long enough, or setup is to be looked at again."""
        if self.in_setup:
            return now + 0.1
        moments = [self._silence_due(now)]
        best = self._best()
        if best is not None and self._is_held_back(best, best.since):
            moments.append(max(best.since, self._readiness.since) + self._hold)
        title = self._levels.get(TITLE)
        if self._readiness.is_awaited and title is not None:
            moments.append(title.since + READY_SECONDS)
        return min((moment for moment in moments if moment is not None), default=None)

    def _silence_due(self, now: float) -> float | None:
        if self._basis.status is Status.STARTING:
            self._started = now if self._started is None else self._started
            return max(self._started, self._last_output or 0.0) + (
                QUIET_START_SECONDS if self._rules.quiet_is_idle else SILENT_START_SECONDS
            )
        if self._last_output is None or self._basis.status is not Status.WORKING:
            return None
        return self._last_output + QUIET_SECONDS

    def settle(self, now: float) -> Observed | None:
        """Decide; return the status if it differs from the last one returned."""
        silent = None if self.in_setup else self._silence_due(now)
        if silent is not None and now >= silent:
            self._basis = _SILENT_IDLE if self._rules.quiet_is_idle else _SILENT
        title = self._levels.get(TITLE)
        if self._readiness.is_awaited and title is not None and now >= title.since + READY_SECONDS:
            self._is_ready(now)
        best = self._best()
        if best is None:
            self._current = self._basis
        elif not self._is_held_back(best, now):
            self._current = replace(self._worded(best.observed), is_over=self._has_ended_turn(best))
        if self._current == self._settled:
            return None
        if best is None and self._settled.status in (Status.IDLE, Status.DONE):
            # What showed it idle has gone, and it prints.
            self._began(self._settled.status, self._current.status)
        self._settled = self._current
        return self._current

    def _best(self) -> Seen | None:
        """The source to follow: the best one, unless a menu shows that the program waits for something else."""
        best = self._ranked()
        if self._menu is not None and best is not None and best.observed.status in (Status.IDLE, Status.DONE):
            return self._menu
        return best

    def _ranked(self) -> Seen | None:
        """The best source, or one that corrects it."""
        if self.in_setup:
            return None
        seen = [
            self._levels[source]
            for source in RANKED
            if source in self._levels and not self._is_too_early(self._levels[source].observed)
        ]
        best = seen[0] if seen else None
        hook = self._hook
        if hook is not None and (best is None or self._is_newer(hook, best)):
            best = hook
        for other in (*seen, *([hook] if hook is not None else [])):
            if best is not None and other is not best and other.corrects(best.observed):
                return other
        return best

    def _is_too_early(self, observed: Observed) -> bool:
        """Whether this is an idle title set before the program takes input."""
        return self._readiness.is_awaited and observed.source == TITLE and observed.status in CALM

    def _has_ended_turn(self, best: Seen) -> bool:
        """Whether an error or a limit has ended the turn, by what the program says of its state."""
        if best.observed.status not in (Status.ERROR, Status.LIMITED):
            return False
        states = (self._levels[source] for source in (REPORT, EVENT, TITLE) if source in self._levels)
        state = next(states, None)
        if state is None or state is best:
            return best.observed.is_over or best.observed.status is Status.ERROR
        return state.observed.is_over or state.observed.status not in (Status.WORKING, Status.LIMITED)

    def _is_newer(self, hook: Seen, level: Seen) -> bool:
        """Whether a hook is more recent than a source; a turn whose end it reported may still continue."""
        if level.observed.source == REPORT or hook.since < level.since:
            return False
        goes_on = level.observed.status in BUSY and level.again >= hook.since + HOLD_SECONDS
        return not (goes_on and hook.observed.status in CALM)

    def _is_held_back(self, seen: Seen, now: float) -> bool:
        """Whether an idle status from title or screen has not lasted long enough to replace another one."""
        observed = seen.observed
        if observed.source not in _HELD or observed.status not in CALM:
            return False
        return self._current.status not in CALM and now < max(seen.since, self._readiness.since) + self._hold

    def _worded(self, observed: Observed) -> Observed:
        """Add text and choices that other sources know; idle after a turn becomes done."""
        if observed.status is Status.IDLE and observed.source != REPORT and self._has_turn:
            observed = replace(observed, status=Status.DONE)
        if observed.status in (Status.IDLE, Status.DONE):
            self._has_turn &= observed.status is Status.DONE
            return observed
        others = [*self._levels.values(), *([self._hook] if self._hook is not None else [])]
        same = [seen.observed for seen in others if seen.observed.status is observed.status]
        if len(self._requests) > 1:
            # No hook and no event says which of them the dialog is about.
            same = [one for one in same if one not in self._requests]
            observed = replace(observed, text="") if observed in self._requests else observed
        if not observed.text:
            observed = replace(observed, text=next((one.text for one in same if one.text), ""))
        if observed.status is Status.BLOCKED:
            observed = replace(
                observed,
                choices=self._question.choices,
                takes_words=self._rules.free_choice(self._question.choices) is not None,
                asked=self._asked,
                request=self._shown_request(),
            )
            if not observed.detail:
                observed = replace(observed, detail=next((one.detail for one in same if one.detail), ""))
        return observed

    def _shown_request(self) -> PermissionRequest:
        """The request the dialog on the screen is about, if certain: it names it, or shows the only open one."""
        screen = self._levels.get(SCREEN)
        if (
            self._question.is_read
            and self._says(SCREEN) is Status.BLOCKED
            and screen
            and screen.observed.request != PermissionRequest()
        ):
            return screen.observed.request
        if len(self._requests) != 1:
            return PermissionRequest()
        (request,) = (observed.request for observed in self._requests)
        return request if self._question.shows(request) else PermissionRequest()

    def sources(self) -> list[Observed]:
        """What each source says now, best first, including those not followed."""
        seen = dict(self._levels)
        if self._hook is not None:
            seen[HOOK] = self._hook
        ranked = (REPORT, HOOK, *(source for source in RANKED if source != REPORT))
        said = [seen[source].observed for source in ranked if source in seen]
        return [*said, self._basis, *self._given_up()]

    def _given_up(self) -> Iterator[Observed]:
        for source, patterns in ((REPORT, self._reports), (TITLE, self._titles), (SCREEN, self._screens)):
            for rule in patterns.given_up:
                yield Observed(
                    Status.UNKNOWN,
                    "",
                    source,
                    "its pattern takes too long and is no longer used",
                    rule.name,
                )


_IN_MENU = Observed(Status.BLOCKED, "menu", SCREEN, "a menu or a search covers its input box", "no input box")
_SILENT_IDLE = Observed(Status.IDLE, source="silence")
_SILENT = Observed(Status.UNKNOWN, source="silence", text="no output, and nothing else says what it does")
