"""What passes between a program and people: its status and hooks, the prompts and answers that are given to it.

A part of the screen server, which feeds it what is observed and does what it asks for; it reads no terminal and
serves no clients. Imports nothing once it runs.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fleet_tui import approvals, hooks, input_box, transcript
from fleet_tui.answers import Answer, decision, is_same_question, understand
from fleet_tui.cells import INVERSE, Style
from fleet_tui.event_stream import Conversation, EventStream
from fleet_tui.holder import RunSpec, read_events
from fleet_tui.input_box import UNSETTLED, Box, BoxState
from fleet_tui.inputs import KeyEvent
from fleet_tui.models import ReceiptState, Status
from fleet_tui.policy import Malformed, Policy, Request
from fleet_tui.prompts import ENDED, Program, Prompts, Step
from fleet_tui.screen import Screen
from fleet_tui.signals import Signals, at_path, flat, in_values, told
from fleet_tui.status import REPORT_BYTES, Judge, Observed
from fleet_tui.values import asdict

SCREEN_SECONDS = 0.1
"""How often a screen that changes is read for signs of the program's status."""
WHOLE_SECONDS = 0.15
"""How long a redraw that goes on may keep the screen from being read."""
BOX_SECONDS = 0.12
"""How far two looks at the input box have to be apart, and agree, before they are believed."""
MENU_SECONDS = 0.6
"""How long a program that waits has to show no input box before it counts as being in a menu."""
BOTTOM_LINES = 12
"""Where a program says that a turn was interrupted."""
RETRY_SECONDS = 0.02
"""A hook that rings the bell is about to listen; how often it is looked whether it does."""
DECIDE_SECONDS = 5.0
"""A hook that waits for a decision on a question nobody sees asked is let go after this; one that does not listen to
its decision for so long has been killed."""

UNTOLD_BYTES = 1 << 17
"""How much output may have been read and not judged; it is read in pieces half as large."""

_REPORT = re.compile(rb"\x1b\]7501;([^\x07\x18\x1a\x1b]*)(?:\x07|\x1b\\)")

Reply = Callable[..., None]
"""Answers whoever asked, with fields of a message."""
Tell = Callable[..., None]
"""Notes an event and says it to all who listen: its kind, then its fields."""
Type = Callable[[bytes], bool]
"""Gives the program bytes to read; False when it does not read."""


class Dealings:
    def __init__(self, spec: RunSpec, screen: Screen, type_: Type, tell: Tell) -> None:
        self._spec = spec
        self._folder = Path(spec.folder)
        self._screen = screen
        self._type = type_
        self._tell = tell
        self._signals = Signals.from_plain(spec.signals)
        self._judge = Judge(self._signals, has_setup=bool(spec.setup), has_prompt=bool(spec.prompt))
        self._first_id = f"{spec.agent}.{spec.run}"
        self._prompts = Prompts(
            self._folder,
            spec.prompt,
            first_id=self._first_id,
            is_given=spec.is_prompt_given,
            settle=self._signals.settle,
            confirm=self._signals.confirm,
            box=self._signals.box,
        )
        self._box = UNSETTLED
        """The input box as it was seen last."""
        self._box_since = 0.0
        """Since when every look has shown it so."""
        self._box_due: float | None = None
        """When it has to be looked at again."""
        self._has_box = False
        """It was seen in this run: the profile describes this program."""
        self._interrupted = re.compile(self._signals.interrupted) if self._signals.interrupted else None
        self._askers: dict[str, Reply] = {}
        """Who waits for a prompt to be typed."""
        self._hooks = hooks.Hooks(self._folder)
        self._policy = _policy(spec.policy)
        self._undecided: dict[Path, tuple[float, bool]] = {}
        """Hooks that wait for a decision: since when, and whether their question was seen."""
        self._decided: dict[Path, tuple[str, float]] = {}
        """What hooks are to be told that do not listen yet, and until when that is tried."""
        self._stream = EventStream(**spec.stream) if spec.stream else None
        self._conversation = Conversation(spec.cwd)
        self._answer: Answer | None = None
        self._answered: Reply = _nobody
        self._title = ""
        self._last_key = -60.0
        self._last_output = time.monotonic()
        self._next_screen: float | None = None
        """When the screen is to be read; None when it has not changed."""

    def sources(self) -> dict[int, Callable[[], None]]:
        """Descriptors to be watched for reading, and what to do then."""
        found: dict[int, Callable[[], None]] = {}
        if self._hooks.bell >= 0:
            found[self._hooks.bell] = self._hear_hooks
        if self._stream is not None:
            found[self._stream.fileno()] = self._hear_stream
        return found

    def status(self) -> Observed:
        return self._judge.status()

    def begin(self, *, restarted: bool) -> None:
        first = self._prompts.receipt_of(self._first_id)
        if not restarted and first is not None:
            self._tell("receipt", **first)
        if not restarted or not self._recall():
            self._tell("status", **plain(self._judge.status()))

    def _recall(self) -> bool:
        """A program will not say again what it told the server before this one; whether that is known."""
        now = time.monotonic()
        if self._judge.in_setup:
            self._read_setup_progress(now)
        _, events = read_events(self._folder, 0)
        statuses = (event["data"] for event in reversed(events) if event["kind"] == "status")
        is_known = self._judge.recall(next(statuses, {}), now)
        self._hear_untold_reports(events, now)
        self._tell_untold_receipts(events)
        self._hooks.recall()
        self._hear_hooks()
        return is_known

    def _hear_untold_reports(self, events: Iterable[Mapping[str, Any]], now: float) -> None:
        """What a program reported last may be in the transcript alone: its server was killed before it could tell."""
        told_until = max((event["data"].get("offset", 0) for event in events), default=0)
        printed = transcript.segments(self._folder)
        since = max(told_until, printed[-1].end - UNTOLD_BYTES) if printed else 0
        # One of which only the beginning had been heard ends behind that place.
        start, data = transcript.read(self._folder, max(0, since - REPORT_BYTES), UNTOLD_BYTES + REPORT_BYTES)
        for report in _REPORT.finditer(data):
            if start + report.end() > since:
                self._judge.reported(report[1].decode("utf-8", "replace"), now)

    def _tell_untold_receipts(self, events: Iterable[Mapping[str, Any]]) -> None:
        """A server that is killed between its record of a prompt and its word of it leaves only the record."""
        told = {event["data"].get("prompt"): event["data"] for event in events if event["kind"] == "receipt"}
        for receipt in self._prompts.receipts():
            if not receipt.items() <= told.get(receipt["prompt"], {}).items():
                self._tell("receipt", **receipt)

    # ── what is observed ────────────────────────────────────────────────────────────────────────────────────────

    def output(self, now: float, *, is_own: bool = True) -> None:
        """Something was printed; by the program of its own accord, or as an echo or a redraw."""
        self._last_output = now
        self._judge.output(now, is_own=is_own)
        if self._next_screen is None:
            self._next_screen = now + SCREEN_SECONDS

    def falls_silent(self, now: float) -> bool:
        return self._judge.falls_silent(now)

    def computed(self, now: float) -> None:
        self._judge.computed(now)

    def titled(self, title: str, now: float) -> None:
        self._title = title
        self._judge.titled(title, now)

    def reported(self, payload: str, now: float) -> None:
        self._judge.reported(payload, now)

    def typed(self, data: bytes) -> None:
        """A person has typed."""
        self._last_key = time.monotonic()
        if b"\r" in data:
            self._judge.turn_began()

    def _hear_hooks(self) -> None:
        now = time.monotonic()
        for event in self._hooks.take():
            if event.verdict is None:
                self._judge.hooked(event.payload, now)
            elif not self._settle_by_rules(event.payload, event.verdict):
                # What the rules have settled is no question to a person.
                self._judge.hooked(event.payload, now)
                self._undecided[event.verdict] = (now, False)
            self._learn(event.payload)

    def _settle_by_rules(self, payload: Mapping[str, Any], verdict: Path) -> bool:
        """Whether the user's rules have decided what the program asks; each decision is on record."""
        asked = in_values(self._signals.hook, payload)
        if self._policy.mode == "off" or asked is None or asked.rule.kind != "permission":
            return False
        request = Request.from_payload(payload, self._spec.cwd)
        judged = self._policy.judge(request)
        log = Path(self._spec.state_folder) / "approvals.jsonl"
        approvals.record(log, self._spec.agent, request, judged, self._policy.mode, time.time())
        said = self._signals.decision(judged.decision, "; ".join(filter(None, (judged.rule, judged.why))))
        return self._policy.mode == "on" and bool(said) and self._decide(verdict, said)

    def _hear_stream(self) -> None:
        if self._stream is None:
            return
        now = time.monotonic()
        before = self._conversation.session_id
        for event in self._stream.step(now):
            owner = self._conversation.owner(event)
            if owner != "other":
                self._judge.streamed(event, now, is_helpers=owner == "helper")
        if self._conversation.session_id != before:
            self._tell("session", id=self._conversation.session_id)

    def _learn(self, payload: Mapping[str, Any]) -> None:
        """A hook also tells which conversation it is, and which prompt was taken."""
        name = at_path(payload, "hook_event_name")
        session, prompt = at_path(payload, "session_id"), at_path(payload, "prompt")
        if name == "SessionStart" and isinstance(session, str):
            self._tell("session", id=told(session)[:200])
        if name == "UserPromptSubmit" and isinstance(prompt, str):
            self._do(self._prompts.taken(prompt))

    def _read_setup_progress(self, now: float) -> None:
        with contextlib.suppress(OSError):
            text = (self._folder / "setup.log").read_text(encoding="utf-8")
            self._judge.setup_progressed(text, self._spec.setup, now)

    def _read_screen(self, now: float) -> None:
        """What the screen shows is a sign of its own, once a redraw is whole."""
        if self._next_screen is None or now < self._next_screen:
            return
        if self._screen.is_holding and now < self._next_screen + WHOLE_SECONDS:
            return
        self._next_screen = None
        if self._judge.reads_screen:
            self._show(now)
        if self._judge.claims_calm:
            self._watch_box(now)

    def _show(self, now: float) -> list[str]:
        lines = self._screen.text()
        self._judge.showed(lines, now, self._painted)
        return lines

    # ── its input box ───────────────────────────────────────────────────────────────────────────────────────────

    def _look_at_box(self, now: float) -> Box | None:
        """Its input box once two looks have agreed; None where the profile describes none."""
        rule = self._signals.box
        if rule is None:
            return None
        if self._screen.is_holding:
            self._box_due = now + BOX_SECONDS
            return UNSETTLED
        seen = input_box.read(rule, self._screen.look(), self._screen.cursor)
        if seen != self._box:
            self._box, self._box_since = seen, now
        if now < self._box_since + BOX_SECONDS:
            self._box_due = self._box_since + BOX_SECONDS
            return UNSETTLED
        self._has_box |= seen.state is not BoxState.NONE
        return seen

    def _watch_box(self, now: float) -> None:
        """A program that says it waits, and shows no input box, is in a menu that nothing has told of."""
        self._box_due = None
        box = self._look_at_box(now)
        if box is None or not self._has_box or box.state is BoxState.UNSETTLED:
            return
        if box.state is not BoxState.NONE:
            self._judge.box_shown(True, now)
        elif now >= self._box_since + MENU_SECONDS:
            self._show(now)
            self._judge.box_shown(False, now)
        else:
            self._box_due = self._box_since + MENU_SECONDS

    def _may_set_aside(self) -> bool:
        rule = self._signals.box
        unless = rule.set_aside_unless if rule is not None else ""
        return not unless or re.search(unless, flat(self._screen.text())) is None

    def _shows_interruption(self) -> bool:
        if self._interrupted is None:
            return False
        written = [line for line in self._screen.text() if line.strip()]
        return self._interrupted.search(flat(written[-BOTTOM_LINES:])) is not None

    def _painted(self, y: int) -> list[tuple[str, object]]:
        """Runs of a row with what sets a highlighted part off: its background, and whether it is turned round."""
        return [(text, _ground(style)) for text, style, _ in self._screen.painted(y)]

    def _look_now(self, now: float) -> None:
        """Before anything is typed the screen is read as it is now, for a dialog may just have come up."""
        if self._next_screen is not None and not self._screen.is_holding:
            self._next_screen = min(self._next_screen, now)
            self._read_screen(now)
            self._settle(now)

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────────

    def due(self, now: float) -> float | None:
        moments = [self._judge.due(now), self._prompts.due(), self._next_screen, self._box_due]
        moments += [self._answer.due() if self._answer is not None else None]
        moments += [now + RETRY_SECONDS if self._decided else None]
        moments += [self._stream.due(now) if self._stream is not None else None]
        return min((moment for moment in moments if moment is not None), default=None)

    def tick(self, now: float, *, is_reading: bool, ended: str = "") -> None:
        """What time brings; `ended` says how the program has ended, once it has."""
        if self._judge.in_setup:
            self._read_setup_progress(now)
        if self._stream is not None and now >= self._stream.due(now):
            self._hear_stream()
        self._read_screen(now)
        if self._box_due is not None and now >= self._box_due:
            self._box_due = None
            if self._judge.claims_calm:
                self._watch_box(now)
        self._settle(now)
        self._let_hooks_go(now)
        self._tell_hooks(now)
        self._bring_prompts(now, is_reading=is_reading, ended=ended)
        self._give_answer(now, ended=ended)

    def _settle(self, now: float) -> None:
        observed = self._judge.settle(now)
        if observed is not None:
            self._tell("status", **plain(observed))
            if self._judge.claims_calm and self._signals.box is not None:
                # What it shows now that it waits may be a menu, and nothing more will be printed.
                self._box_due = now + BOX_SECONDS
        self._hooks.forget()

    # ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _bring_prompts(self, now: float, *, is_reading: bool, ended: str = "") -> None:
        if self._answer is not None and not ended:
            return
        if self._prompts.would_type(now, self._judge.status_for_prompts):
            self._look_now(now)
        observed = self._judge.status()
        needs_box = self._signals.box is not None and self._prompts.needs_box(observed.status) and not ended
        program = Program(
            self._judge.status_for_prompts,
            observed.detail,
            observed.text,
            ended=ended,
            busy=self._judge.busy,
            speaks=self._judge.speaks,
            is_reading=is_reading,
            last_key=self._last_key,
            last_output=self._last_output,
            calm_at=self._judge.calm_at,
            was_interrupted=self._judge.was_interrupted or (needs_box and self._shows_interruption()),
            box=self._look_at_box(now) if needs_box else UNSETTLED if self._signals.box is not None else None,
            has_box=self._has_box,
            may_set_aside=needs_box and self._may_set_aside(),
        )
        self._do(self._prompts.step(now, program))

    def _do(self, steps: list[Step]) -> None:
        for step in steps:
            if step.paste and not self._type(self._screen.encode_paste(step.paste)):
                step = self._prompts.refuse(step.paste, "the program does not read its input")
            if step.submit:
                self._judge.turn_began()
                self._type(self._screen.encode_key(KeyEvent("enter")))
            if step.key:
                self._type(self._screen.encode_key(_key(step.key)))
            if step.key or step.paste or step.submit:
                # What it holds now is to be seen anew.
                self._box = UNSETTLED
            if step.receipt is not None:
                self._tell("receipt", **step.receipt)
                self._askers.pop(step.receipt["prompt"], _nobody)(**step.receipt)

    def prompt(self, message: Mapping[str, Any], reply: Reply) -> None:
        """Take a prompt in; whoever sent it hears when it is typed, or at once that it has to wait."""
        before = self._prompts.receipt_of(str(message["id"]))
        receipt = self._prompts.add(
            str(message["id"]),
            str(message["text"]),
            is_now=bool(message.get("now", False)),
            is_command=bool(message.get("command", False)),
            note=str(message.get("note", "")),
        )
        if before is None:
            self._tell("receipt", **receipt)
        self._askers[receipt["prompt"]] = reply
        self._bring_prompts(time.monotonic(), is_reading=True)
        receipt = self._prompts.receipt(receipt["prompt"])
        is_under_way = receipt["state"] == ReceiptState.TYPING or (
            receipt["state"] == ReceiptState.QUEUED and not receipt["reason"]
        )
        if not is_under_way and self._askers.pop(receipt["prompt"], None) is not None:
            # It may take long until its turn comes; the journal will tell.
            reply(**receipt)

    def queue(self, _message: Mapping[str, Any], reply: Reply) -> None:
        reply(waiting=self._prompts.waiting())

    def reword(self, message: Mapping[str, Any], reply: Reply) -> None:
        done = self._prompts.change(
            str(message["prompt"]),
            str(message["text"]),
            str(message.get("note", "")),
            is_command=bool(message.get("command", False)),
        )
        reply(done=done)

    def cancel(self, message: Mapping[str, Any], reply: Reply) -> None:
        step = self._prompts.cancel(str(message["prompt"]))
        self._do([step] if step is not None else [])
        reply(done=step is not None)

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────

    def answer(self, message: Mapping[str, Any], reply: Reply) -> None:
        """Answer the question that the program asks, and tell how that went.

        Whoever answers may say which question was shown to them: what is asked by now may be another one.
        """
        now = time.monotonic()
        self._show(now)
        self._settle(now)
        observed = self._judge.status()
        meant = understand(str(message["choice"]), observed, self._signals)
        problem = "another answer is just being given" if self._answer is not None else meant.problem
        if not problem and not is_same_question(message.get("question"), plain(observed)):
            problem = "it asks something else by now"
        if problem or meant.choice is None:
            is_early = meant.is_early and problem == meant.problem
            reply(state="refused", reason=problem, is_early=is_early, text=observed.text)
            return
        said = "" if meant.words else decision(meant.choice, observed, self._signals)
        # With several questions at once it is not known which of them the dialog shows.
        by_hook = said and len(self._undecided) == 1 and self._decide(next(iter(self._undecided)), said)
        self._answer = Answer.by_hook(observed, now) if by_hook else Answer(meant, observed, now)
        self._answered = reply
        self._tell(
            "answer", choice=meant.choice.label, words=bool(meant.words), by="hook" if by_hook else "keys"
        )

    def _give_answer(self, now: float, *, ended: str = "") -> None:
        if self._answer is None:
            return
        if ended:
            # By itself: as programs do whose folder is not trusted.
            self._answered(state="answered" if ended == ENDED else "refused", reason=ended)
            self._answer, self._answered = None, _nobody
            return
        self._look_now(now)
        press = self._answer.step(now, self._judge.status(), self._last_output)
        if press is not None and press.key:
            self._type(self._screen.encode_key(KeyEvent.named(press.key)))
        elif press is not None:
            self._type(self._screen.encode_paste(press.words))
        if self._answer.outcome:
            self._answered(state=self._answer.outcome, reason=self._answer.reason)
            self._answer, self._answered = None, _nobody

    def _let_hooks_go(self, now: float) -> None:
        """Hooks whose question was answered in the dialog need not wait any longer."""
        is_asking = self._judge.status().status is Status.BLOCKED
        for verdict, (since, was_seen) in list(self._undecided.items()):
            if is_asking and not was_seen:
                self._undecided[verdict] = (since, True)
            elif not is_asking and (was_seen or now >= since + DECIDE_SECONDS):
                self._decide(verdict, "")

    def _decide(self, verdict: Path, text: str) -> bool:
        """Tell a hook what it is to print, now or as soon as it listens; False when it has gone."""
        self._undecided.pop(verdict, None)
        if hooks.decide(verdict, text):
            # It takes its pipe with it once it has read, which may be before one could look.
            return True
        if not verdict.is_fifo():
            return False
        self._decided[verdict] = (text, time.monotonic() + DECIDE_SECONDS)
        return True

    def _tell_hooks(self, now: float) -> None:
        for verdict, (text, until) in list(self._decided.items()):
            # One that was killed leaves its pipe behind.
            if hooks.decide(verdict, text) or not verdict.is_fifo() or now >= until:
                del self._decided[verdict]

    # ── why ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def why(self, _message: Mapping[str, Any], reply: Reply) -> None:
        """Everything that is known of the status now, also what was not followed."""
        now = time.monotonic()
        lines = self._show(now) if self._judge.reads_screen else self._screen.text()
        reply(
            told=plain(self._judge.status()),
            sources=[plain(source) for source in self._judge.sources()],
            title=self._title,
            lines=lines,
            cols=self._screen.cols,
            quiet_for=round(now - self._last_output, 1),
        )


def _policy(plain: Mapping[str, Any]) -> Policy:
    """Rules that cannot be read allow nothing."""
    try:
        return Policy.from_plain(plain)
    except Malformed:
        return Policy()


def _nobody(**_fields: object) -> None:
    """Whom nobody waits for need not be answered."""


def _key(name: str) -> KeyEvent:
    """A key as profiles name it: `up`, `ctrl+s`."""
    *held, key = name.split("+")
    return KeyEvent(key, ctrl="ctrl" in held, alt="alt" in held, shift="shift" in held)


def _ground(style: Style | None) -> tuple[int, int]:
    return (style[1], style[2] & INVERSE) if style is not None else (-1, 0)


def plain(observed: Observed) -> dict[str, Any]:
    return {
        "status": str(observed.status),
        "detail": observed.detail,
        "source": observed.source,
        "text": observed.text,
        "rule": observed.rule,
        "choices": [[choice.number, choice.label] for choice in observed.choices],
        "takes_words": observed.takes_words,
        "wish": asdict(observed.wish),
        "is_over": observed.is_over,
    }
