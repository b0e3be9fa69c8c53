"""From what is observed of a program to its status and the evidence for it; pure, time is passed in.

Sources, best first: the program's own reports (OSC 7501), its hooks, its event stream, its title, its screen, and
last its output and silence. Busy counts at once; calm that only title, screen or silence tell counts when it has
held. Where nothing speaks, the status is unknown rather than guessed.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleet_tui import patience
from fleet_tui.models import Status, Wish
from fleet_tui.signals import (
    KINDS,
    SCREEN_CHARS,
    Choice,
    Painted,
    Patterns,
    Rule,
    Sign,
    Signals,
    buttons,
    flat,
    in_values,
    lettered_choices,
    menu_choices,
    numbered_choices,
    pointed_choices,
    told,
)
from fleet_tui.values import dataclass, replace
from fleet_tui.wishes import is_shown

QUIET_SECONDS = 2.0
"""Without output for this long, a program is no longer taken for working."""
BEGIN_SECONDS = 5.0
"""How long a program may take to report a turn that its hook has told of."""
DRAWN_SECONDS = 1.0
"""How long a program that tells of its calm on a port may take until its screen is calm too: opencode passes over what is
typed while it closes a dialog."""
HOLD_SECONDS = 1.5
"""How long title or screen have to look calm before they are believed."""
FIRST_SECONDS = 5.0
"""The same before a program that was started with a prompt has begun with it."""
SILENT_START_SECONDS = 5.0
"""A program that has printed nothing for this long after its start has started all the same."""
READY_SECONDS = 15.0
"""How long a calm title waits for the screen that the profile calls ready, in case its words have changed."""
QUIET_START_SECONDS = 1.0
"""The same for a program of which silence is the only sign that it waits."""
REPORT_BYTES = 4096

REPORT, HOOK, EVENT, TITLE, SCREEN = "osc7501", "hook", "event", "title", "screen"
RANKED = (REPORT, EVENT, TITLE, SCREEN)
"""Sources that say how things are, best first; a hook says what has just happened."""
_HELD = frozenset({TITLE, SCREEN})
_CALM = frozenset({Status.IDLE, Status.DONE, Status.UNKNOWN})
_BUSY = frozenset({Status.WORKING, Status.BLOCKED, Status.LIMITED})

_REPORTED = {
    "idle": Status.IDLE,
    "working": Status.WORKING,
    "blocked": Status.BLOCKED,
    "done": Status.DONE,
    "error": Status.ERROR,
    "limited": Status.LIMITED,
}
_REPORTED_KINDS = {"auth": "login"}


@dataclass(frozen=True, slots=True)
class Observed:
    """A status, and who said so by which sign."""

    status: Status
    detail: str = ""
    source: str = ""
    text: str = ""
    rule: str = ""
    choices: tuple[Choice, ...] = ()
    takes_words: bool = False
    """Whether one of them does."""
    wish: Wish = Wish()
    asked: int = 0
    """How many questions the program has asked so far: the same one twice is two."""
    is_over: bool = False
    """An error or a limit has ended the turn: the next prompt can be typed."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one source says, and since when."""

    observed: Observed
    since: float
    over: tuple[str, ...] = ()
    again: float = 0.0
    """When it last said so."""

    def corrects(self, other: Observed) -> bool:
        said = (other.source, str(other.status), other.detail)
        return any(":".join(said[:count]) in self.over for count in (1, 2, 3))


class Judge:
    """Hears all sources of one run and decides between them."""

    def __init__(self, signals: Signals, *, has_setup: bool = False, has_prompt: bool = False) -> None:
        self._signals = signals
        self._titles, self._screens = Patterns(signals.title), Patterns(signals.screen)
        self._reports = Patterns(signals.report)
        self.in_setup = has_setup
        first = Observed(Status.SETUP if has_setup else Status.STARTING, source="launcher")
        self._current = self._told = self._basis = first
        self._levels: dict[str, _Seen] = {}
        self._hook: _Seen | None = None
        self._requests: set[Observed] = set()
        """What hooks and events have asked for since the program was last seen not to ask."""
        self._last_output: float | None = None
        self._started: float | None = None
        self._lines: Sequence[str] = ()
        self._dialog: tuple[Choice, ...] = ()
        """The choices that the screen showed with its lines."""
        self._asked = 0
        self.busy = 0
        """How often it has begun to do something; of a program that only prints, how often it has printed."""
        self._ready = re.compile(signals.ready, re.IGNORECASE) if signals.ready else None
        """What the screen has to show before a calm title is believed; None once it has."""
        self._ready_since = 0.0
        self._hold = FIRST_SECONDS if has_prompt else HOLD_SECONDS
        self._has_turn = has_prompt
        """Somebody has asked for something since it was last calm: calm means done."""
        self._menu: _Seen | None = None
        """Its input box has gone from a screen that settled, while the program says that it waits."""
        self.was_interrupted = False
        """Its last turn was broken off, by its own account."""

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
        """Whether anything but its silence tells that the program waits."""
        return self._signals.speaks or REPORT in self._levels

    @property
    def reads_screen(self) -> bool:
        return bool(self._screens) or self._current.status is Status.BLOCKED

    # ── what is heard ───────────────────────────────────────────────────────────────────────────────────────────

    def output(self, now: float, *, is_own: bool = True) -> None:
        """Something was printed. Of a program that only prints, an echo or a redraw says nothing once it has begun."""
        if not (is_own or self.speaks or self._basis.status is Status.STARTING):
            return
        self._last_output = now
        if self.in_setup or (self._ready is not None and self._basis.status is Status.STARTING):
            return
        self.busy += not self.speaks
        self._basis = Observed(Status.WORKING, source="output")

    def falls_silent(self, now: float) -> bool:
        """Whether its silence is about to be taken for waiting."""
        due = None if self.in_setup or not self._signals.quiet_is_idle else self._silence_due(now)
        return due is not None and now >= due

    def computed(self, now: float) -> None:
        """It prints nothing, but it is at work."""
        self._last_output = now
        self._basis = Observed(Status.WORKING, source="output", text="it prints nothing, and computes")

    @property
    def calm_at(self) -> float:
        """When its calm can be believed; 0 at once. A hook or the screen may tell of a turn before what is gone by does,
        and an event of calm before its screen takes a prompt again."""
        return max(self._told_calm_at(), self._begun_at())

    def _begun_at(self) -> float:
        """When a turn that a lesser source has told of since must have been told by the better one, too."""
        best = self._ranked()
        if best is None or best.observed.status in _BUSY:
            return 0.0
        begun = [
            seen.since
            for seen in self._levels.values()
            if seen.observed.status is Status.WORKING and seen.since > best.since
        ]
        return max(begun) + BEGIN_SECONDS if begun else 0.0

    def _told_calm_at(self) -> float:
        event = self._levels.get(EVENT)
        if event is not None and event.observed.status not in _BUSY:
            return event.since + DRAWN_SECONDS
        hook, report = self._hook, self._levels.get(REPORT)
        if hook is None or report is None or hook.observed.status not in (Status.WORKING, Status.BLOCKED):
            return 0.0
        is_told = report.observed.status in _BUSY or report.since >= hook.since
        return 0.0 if is_told else hook.since + BEGIN_SECONDS

    @property
    def claims_calm(self) -> bool:
        """Whether the program itself says that it waits."""
        best = self._ranked()
        return best is not None and best.observed.status in (Status.IDLE, Status.DONE)

    def box_shown(self, is_shown: bool, now: float) -> None:
        """Whether its input box is on a screen that has settled."""
        if is_shown:
            self._menu = None
        elif self._menu is None:
            self._menu = _Seen(_IN_MENU, now)

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
            words[:1] == ["run"] and words[1:] and words[1].isdigit() and 1 <= int(words[1]) <= len(commands)
        ):
            self._basis = Observed(Status.SETUP, commands[int(words[1]) - 1], source="launcher")

    def reported(self, payload: str, now: float) -> None:
        """A report of the program about itself; one that is malformed or about a part of its work is passed over."""
        if self.in_setup or len(payload) > REPORT_BYTES:
            return
        fields = dict(part.split("=", 1) for part in payload.split(":") if "=" in part)
        state = fields.get("state", "")
        if "/" in fields.get("id", ""):
            return
        if state == "clear":
            self._levels.pop(REPORT, None)
            self.output(now)
        elif state in _REPORTED:
            kind = _REPORTED_KINDS.get(fields.get("kind", ""), fields.get("kind", ""))
            text = _decoded(fields.get("msg", ""))
            if self._signals.idle_interrupts and state == "idle" and self._has_reported_work():
                self.was_interrupted = True
            self._set(REPORT, self._report(_REPORTED[state], kind if kind in KINDS else "", text), now)

    def _has_reported_work(self) -> bool:
        """Whether its last report was of a turn that goes on."""
        before = self._levels.get(REPORT)
        return before is not None and before.observed.status in _BUSY and not before.observed.is_over

    def _report(self, status: Status, kind: str, text: str) -> Observed:
        meant = self._reports.in_title(text) if status in (Status.ERROR, Status.BLOCKED) else None
        # The words of a question may contain those of an error, and say nothing of one.
        if meant is not None and (meant.rule.status is Status.BLOCKED) is (status is Status.BLOCKED):
            return replace(_observed(REPORT, meant), text=text, is_over=status is Status.ERROR)
        detail = {Status.BLOCKED: kind, Status.LIMITED: text}.get(status, "")
        return Observed(status, told(detail), REPORT, text, str(status))

    def titled(self, title: str, now: float) -> None:
        self._take(TITLE, self._titles.in_title(title), now)

    def showed(self, lines: Sequence[str], now: float, painted: Painted | None = None) -> None:
        """The rendered screen, once it has settled."""
        self._lines = lines
        self._note_ready(lines, now)
        was_asking = self._says(SCREEN) is Status.BLOCKED
        sign = self._screens.on_screen(lines)
        self._dialog = self._choices(sign.rule if sign is not None else None, lines, painted)
        self._take(SCREEN, sign, now)
        asked = self._hook is not None and self._hook.observed.status is Status.BLOCKED
        if was_asking and asked and self._says(SCREEN) is not Status.BLOCKED:
            # No hook tells that a question was answered; its dialog is gone.
            self._hook = None
        if was_asking and self._says(SCREEN) is not Status.BLOCKED:
            self._requests.clear()

    def _note_ready(self, lines: Sequence[str], now: float) -> None:
        if self._ready is None:
            return
        try:
            with patience.limited():
                is_ready = self._ready.search(flat(lines)[-SCREEN_CHARS:]) is not None
        except patience.Impatient:
            is_ready = True
        if is_ready:
            self._is_ready(now)

    def _is_ready(self, now: float) -> None:
        self._ready, self._ready_since = None, now
        if self._basis.status is Status.STARTING and self._last_output is not None:
            self.output(now)

    def _says(self, source: str) -> Status | None:
        seen = self._levels.get(source)
        return seen.observed.status if seen is not None else None

    def hooked(self, payload: Mapping[str, Any], now: float) -> None:
        """What the program told its hook; more than one question may be open at a time."""
        sign = None if self.in_setup else in_values(self._signals.hook, payload)
        if sign is not None:
            before = self._hook.observed.status if self._hook is not None else None
            self._hook = _Seen(_observed(HOOK, sign), now, sign.rule.over)
            self._note(self._hook.observed, has_asked=True)
            self._began(before, sign.rule.status)

    def streamed(self, event: Mapping[str, Any], now: float, *, is_helpers: bool = False) -> None:
        """An event of the program's own stream; those that say nothing of its state are passed over."""
        sign = None if self.in_setup else in_values(self._signals.event, event)
        if sign is None or (is_helpers and not sign.rule.from_helpers):
            return
        if self._says(EVENT) not in sign.rule.keeps:
            self._take(EVENT, sign, now)
            self.was_interrupted |= sign.rule.interrupts

    def _take(self, source: str, sign: Sign | None, now: float) -> None:
        if sign is None or self.in_setup:
            self._levels.pop(source, None)
        else:
            self._set(source, _observed(source, sign), now, sign.rule)

    def _set(self, source: str, observed: Observed, now: float, rule: Rule | None = None) -> None:
        before = self._levels.get(source)
        if source == EVENT or (source == REPORT and observed.status is not Status.BLOCKED):
            self._note(observed, has_asked=self._says(source) is Status.BLOCKED)
        if observed.status is Status.BLOCKED and self._is_asked_anew(source, before):
            self._asked += 1
        since = before.since if before is not None and before.observed.status is observed.status else now
        self._levels[source] = _Seen(observed, since, rule.over if rule else (), now)
        is_same_turn = before is not None and not before.observed.is_over
        self._began(before.observed.status if before and is_same_turn else None, observed.status)

    def _note(self, observed: Observed, *, has_asked: bool) -> None:
        """One more request may be open now; or none any longer, where this source had asked before."""
        if observed.status is Status.BLOCKED:
            self._requests.add(observed)
        elif has_asked:
            self._requests.clear()

    def _is_asked_anew(self, source: str, before: _Seen | None) -> bool:
        """Only what the program says itself counts: a title or a screen may merely have been redrawn."""
        if source not in (REPORT, EVENT):
            return False
        return before is None or before.observed.status is not Status.BLOCKED

    def _began(self, before: Status | None, after: Status) -> None:
        if after in _BUSY:
            self._hold = HOLD_SECONDS
        if after is Status.WORKING and before is not Status.WORKING:
            # Whether a menu is there when the turn has ended is for the screen to show anew.
            self._menu = None
        if after in _BUSY and before not in _BUSY:
            self.busy += 1
            self._has_turn = True
            self.was_interrupted = False

    def recall(self, told_last: Mapping[str, Any], now: float) -> bool:
        """Go on from what the judge before this one told: a program will not say it again. False where that is
        nothing to go on from."""
        status = told_last.get("status")
        if status not in set(Status) or status in (Status.SETUP, Status.STARTING):
            return False
        source = str(told_last.get("source", ""))
        observed = Observed(
            Status(status),
            str(told_last.get("detail", "")),
            source,
            str(told_last.get("text", "")),
            str(told_last.get("rule", "")),
            wish=Wish.from_plain(told_last.get("wish")),
            is_over=told_last.get("is_over") is True,
        )
        self._ready, self._hold = None, HOLD_SECONDS
        self.output(now)
        self._current = self._told = observed
        self._requests = {observed} if observed.wish != Wish() else set()
        if source in RANKED:
            self._set(source, observed, now)
        elif source == HOOK:
            self._hook = _Seen(observed, now)
            self._began(None, observed.status)
        else:
            self._basis = observed
        return True

    # ── what follows ────────────────────────────────────────────────────────────────────────────────────────────

    def due(self, now: float) -> float | None:
        """When calm will have lasted long enough to count, or setup is to be looked at again."""
        if self.in_setup:
            return now + 0.1
        moments = [self._silence_due(now)]
        best = self._best()
        if best is not None and self._is_held_back(best, best.since):
            moments.append(max(best.since, self._ready_since) + self._hold)
        title = self._levels.get(TITLE)
        if self._ready is not None and title is not None:
            moments.append(title.since + READY_SECONDS)
        return min((moment for moment in moments if moment is not None), default=None)

    def _silence_due(self, now: float) -> float | None:
        if self._basis.status is Status.STARTING:
            self._started = now if self._started is None else self._started
            return max(self._started, self._last_output or 0.0) + (
                QUIET_START_SECONDS if self._signals.quiet_is_idle else SILENT_START_SECONDS
            )
        if self._last_output is None or self._basis.status is not Status.WORKING:
            return None
        return self._last_output + QUIET_SECONDS

    def settle(self, now: float) -> Observed | None:
        """The status if it differs from the last one given here."""
        silent = None if self.in_setup else self._silence_due(now)
        if silent is not None and now >= silent:
            self._basis = _SILENT_IDLE if self._signals.quiet_is_idle else _SILENT
        title = self._levels.get(TITLE)
        if self._ready is not None and title is not None and now >= title.since + READY_SECONDS:
            self._is_ready(now)
        best = self._best()
        if best is None:
            self._current = self._basis
        elif not self._is_held_back(best, now):
            self._current = replace(self._worded(best.observed), is_over=self._has_ended_turn(best))
        if self._current == self._told:
            return None
        if best is None and self._told.status in (Status.IDLE, Status.DONE):
            # Its sign of calm has gone, and it prints.
            self._began(self._told.status, self._current.status)
        self._told = self._current
        return self._current

    def _best(self) -> _Seen | None:
        """What is gone by: what the best source says, unless a menu shows that it waits for something else."""
        best = self._ranked()
        if self._menu is not None and best is not None and best.observed.status in (Status.IDLE, Status.DONE):
            return self._menu
        return best

    def _ranked(self) -> _Seen | None:
        """What the best source says, corrected by those that may correct it."""
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
        """Whether this is the calm of a title that was set before the program takes input."""
        return self._ready is not None and observed.source == TITLE and observed.status in _CALM

    def _has_ended_turn(self, best: _Seen) -> bool:
        """Whether the error or limit that is told has ended the turn: by what the program says of its state."""
        if best.observed.status not in (Status.ERROR, Status.LIMITED):
            return False
        states = (self._levels[source] for source in (REPORT, EVENT, TITLE) if source in self._levels)
        state = next(states, None)
        if state is None or state is best:
            return best.observed.is_over or best.observed.status is Status.ERROR
        return state.observed.is_over or state.observed.status not in (Status.WORKING, Status.LIMITED)

    def _is_newer(self, hook: _Seen, level: _Seen) -> bool:
        """Whether a hook has told more lately how things are; a turn whose end it told may go on after all."""
        if level.observed.source == REPORT or hook.since < level.since:
            return False
        goes_on = level.observed.status in _BUSY and level.again >= hook.since + HOLD_SECONDS
        return not (goes_on and hook.observed.status in _CALM)

    def _is_held_back(self, seen: _Seen, now: float) -> bool:
        """Calm that is only seen has to last before it replaces something else."""
        observed = seen.observed
        if observed.source not in _HELD or observed.status not in _CALM:
            return False
        return self._current.status not in _CALM and now < max(seen.since, self._ready_since) + self._hold

    def _worded(self, observed: Observed) -> Observed:
        """With the words and choices that other sources know, and done where calm follows a turn."""
        if observed.status is Status.IDLE and observed.source != REPORT and self._has_turn:
            observed = replace(observed, status=Status.DONE)
        if observed.status in (Status.IDLE, Status.DONE):
            self._has_turn &= observed.status is Status.DONE
            return observed
        others = [*self._levels.values(), *([self._hook] if self._hook is not None else [])]
        same = [seen.observed for seen in others if seen.observed.status is observed.status]
        if len(self._requests) > 1:
            # Which of them the dialog is about, no hook and no event says.
            same = [one for one in same if one not in self._requests]
            observed = replace(observed, text="") if observed in self._requests else observed
        if not observed.text:
            observed = replace(observed, text=next((one.text for one in same if one.text), ""))
        if observed.status is Status.BLOCKED:
            observed = replace(
                observed,
                choices=self._dialog,
                takes_words=self._signals.free_choice(self._dialog) is not None,
                asked=self._asked,
                wish=self._shown_wish(),
            )
            if not observed.detail:
                observed = replace(observed, detail=next((one.detail for one in same if one.detail), ""))
        return observed

    def _shown_wish(self) -> Wish:
        """What the dialog on the screen is about, where that is certain: it says so itself, or shows the one request
        that is open."""
        screen = self._levels.get(SCREEN)
        if self._lines and self._says(SCREEN) is Status.BLOCKED and screen and screen.observed.wish != Wish():
            return screen.observed.wish
        if len(self._requests) != 1:
            return Wish()
        (request,) = self._requests
        return request.wish if is_shown(request.wish, self._lines) else Wish()

    def _choices(
        self, rule: Rule | None, lines: Sequence[str], painted: Painted | None
    ) -> tuple[Choice, ...]:
        if rule is None or rule.status is not Status.BLOCKED:
            # A program that asks in a way no rule knows; a list in the conversation is no dialog.
            return menu_choices(lines) if self._screens else numbered_choices(lines)
        if rule.buttons:
            return buttons(lines, rule.buttons, painted) if painted is not None else ()
        if rule.kind == "menu":
            return menu_choices(lines)
        if rule.has_letters:
            return lettered_choices(lines)
        return (pointed_choices(lines) if rule.has_pointer else ()) or numbered_choices(lines)

    def sources(self) -> list[Observed]:
        """What each source says now, best first: also those that were not followed."""
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
                    Status.UNKNOWN, "", source, "its pattern takes too long; not asked any more", rule.name
                )


_IN_MENU = Observed(Status.BLOCKED, "menu", SCREEN, "a menu or a search covers its input box", "no input box")
_SILENT_IDLE = Observed(Status.IDLE, source="silence")
_SILENT = Observed(Status.UNKNOWN, source="silence", text="no output, and nothing else says what it does")


def _observed(source: str, sign: Sign) -> Observed:
    rule = sign.rule
    detail = sign.reset if rule.status is Status.LIMITED else rule.kind
    return Observed(rule.status, detail, source, sign.text, rule.name, wish=sign.wish)


def _decoded(text: str) -> str:
    try:
        return told(base64.b64decode(text, validate=True).decode("utf-8", "replace"))
    except (binascii.Error, ValueError):
        return ""
