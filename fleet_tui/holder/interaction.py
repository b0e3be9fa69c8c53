"""Interaction with a program: track its status, deliver prompts and answers to it, and decide for its hooks.

Part of the screen server, which passes in what it observes and carries out what is decided here. Reads no terminal and
serves no clients. Imports nothing once it runs.

One class, because everything it does depends on one order: a sign changes the status, the status releases a prompt or an
answer, and what is typed is itself output that must not count as a sign. The parts with a state of their own are apart.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fleet_tui.holder import hooks
from fleet_tui.holder.answering import Answer, decision, is_same_question, resolve_answer
from fleet_tui.holder.box_watch import BOX_SECONDS, BoxWatch
from fleet_tui.holder.event_log import read_last_events
from fleet_tui.holder.hook_decisions import HookDecisions
from fleet_tui.holder.observed import Observed
from fleet_tui.holder.program_report import REPORT_BYTES
from fleet_tui.holder.prompts.prompt import ProgramState, PromptStep
from fleet_tui.holder.prompts.queue import PromptQueue
from fleet_tui.holder.prompts.reasons import PROGRAM_ENDED, UNREADING
from fleet_tui.holder.run_folder import SETUP_LOG
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.server_events import EventStream
from fleet_tui.holder.status import StatusJudge
from fleet_tui.holder.transcript import segments
from fleet_tui.models import ReceiptState, Status
from fleet_tui.programs.hook_values import hook_value
from fleet_tui.programs.input_box import UNSETTLED
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.screen_text import shown_line, unframed
from fleet_tui.programs.server_schemas import SERVER_SCHEMAS, ConversationOwner
from fleet_tui.system import files
from fleet_tui.terminal.cells import Attribute, Style
from fleet_tui.terminal.emulator import Screen
from fleet_tui.terminal.input_events import KeyEvent

SCREEN_SECONDS = 0.1
"""At most this often a changing screen is read for the program's status."""
WHOLE_SECONDS = 0.15
"""How long an unfinished redraw may delay that."""
BOTTOM_LINES = 12
"""The part of the screen where a program says that its turn was interrupted."""
SESSION_ID_CHARS = 200
UNJUDGED_BYTES = 1 << 18
"""The most output that can have been read and not judged: a piece that is fed, and one read ahead meanwhile."""

_REPORT = re.compile(rb"\x1b\]7501;([^\x07\x18\x1a\x1b]*)(?:\x07|\x1b\\)")

Reply = Callable[..., None]
"""Sends a client the fields of an answer."""
Publish = Callable[..., None]
"""Logs an event and sends it to all clients: its kind, then its fields."""
Type = Callable[[bytes], bool]
"""Gives the program input; False when it does not read."""


class Interaction:
    def __init__(self, spec: RunSpec, screen: Screen, type_: Type, publish: Publish) -> None:
        self._folder = Path(spec.folder)
        self._setup = spec.setup
        self._screen = screen
        self._type = type_
        self._publish = publish
        self._rules = InteractionRules.from_plain(spec.signals)
        self._judge = StatusJudge(self._rules, has_setup=bool(spec.setup), has_prompt=bool(spec.prompt))
        self._first_id = f"{spec.agent}.{spec.run}"
        self._prompts = PromptQueue(
            self._folder,
            spec.prompt,
            first_id=self._first_id,
            is_given=spec.is_prompt_given,
            settle=self._rules.settle,
            confirm=self._rules.confirm,
            box=self._rules.box,
        )
        self._box = BoxWatch(self._rules.box, screen)
        self._interrupted = re.compile(self._rules.interrupted) if self._rules.interrupted else None
        self._senders: dict[str, Reply] = {}
        """How to reply to the client that waits for a prompt to be typed, by the prompt's id."""
        self._hooks = hooks.Hooks(self._folder)
        self._decisions = HookDecisions(spec, self._rules)
        self._stream: EventStream | None = None
        self._conversation: ConversationOwner | None = None
        if spec.stream:
            schema = SERVER_SCHEMAS[spec.stream["schema"]]
            connection = {name: value for name, value in spec.stream.items() if name != "schema"}
            self._stream = EventStream(**connection, as_events=schema.as_events)
            self._conversation = schema.ConversationFilter(spec.cwd)
        self._answer: Answer | None = None
        self._answered: Reply = _no_reply
        self._title = ""
        self._last_key = -60.0
        self._last_output = time.monotonic()
        self._next_screen: float | None = None
        """When to read the screen; None while it has not changed."""

    def sources(self) -> dict[int, Callable[[], None]]:
        """Descriptors to watch for reading, and what to call then."""
        found: dict[int, Callable[[], None]] = {}
        if self._hooks.bell >= 0:
            found[self._hooks.bell] = self._read_hooks
        if self._stream is not None:
            found[self._stream.fileno()] = self._read_stream
        return found

    def status(self) -> Observed:
        return self._judge.status()

    def begin(self, *, restarted: bool) -> None:
        first = self._prompts.receipt_of(self._first_id)
        if not restarted and first is not None:
            self._publish("receipt", **first)
        if not restarted or not self._recall():
            self._publish("status", **self._judge.status().to_plain())

    # ── after a restart of the screen server ────────────────────────────────────────────────────────────────────

    def _recall(self) -> bool:
        """Restore the status that the last server reported: the program will not report it again. False if unknown."""
        now = time.monotonic()
        if self._judge.in_setup:
            self._read_setup_progress(now)
        events = read_last_events(self._folder)
        statuses = (event["data"] for event in reversed(events) if event["kind"] == "status")
        is_known = self._judge.recall(next(statuses, {}), now)
        self._judge_missed_reports(events, now)
        self._publish_missed_receipts(events)
        self._hooks.recall()
        self._read_hooks()
        return is_known

    def _judge_missed_reports(self, events: Iterable[Mapping[str, Any]], now: float) -> None:
        """Find reports that are only in the transcript: the last server was killed before it judged them."""
        judged_until = max((event["data"].get("offset", 0) for event in events), default=0)
        printed = segments.list_segments(self._folder)
        since = max(judged_until, printed[-1].end - UNJUDGED_BYTES) if printed else 0
        # A report may begin before that offset and end after it.
        start, data = segments.read(self._folder, max(0, since - REPORT_BYTES), UNJUDGED_BYTES + REPORT_BYTES)
        for report in _REPORT.finditer(data):
            if start + report.end() > since:
                self._judge.reported(report[1].decode("utf-8", "replace"), now)

    def _publish_missed_receipts(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Report receipts that are only in prompts.jsonl: the last server was killed before it reported them."""
        published = {
            event["data"].get("prompt"): event["data"] for event in events if event["kind"] == "receipt"
        }
        for receipt in self._prompts.receipts():
            if not receipt.items() <= published.get(receipt["prompt"], {}).items():
                self._publish("receipt", **receipt)

    # ── what is observed ────────────────────────────────────────────────────────────────────────────────────────

    def output(self, now: float, *, is_own: bool = True) -> None:
        """The program printed something; `is_own` is False for an echo or a redraw."""
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

    def _read_hooks(self) -> None:
        now = time.monotonic()
        for event in self._hooks.take():
            if event.reply_pipe is None:
                self._judge.hooked(event.payload, now)
            elif not self._decisions.decide_by_rules(event.payload, event.reply_pipe):
                # A request that the rules have decided is no question to the user.
                self._judge.hooked(event.payload, now)
                self._decisions.wait(event.reply_pipe, now)
            self._learn(event.payload)

    def _learn(self, payload: Mapping[str, Any]) -> None:
        session = hook_value(self._rules.session_hooks, payload)
        prompt = hook_value(self._rules.prompt_hooks, payload)
        if session:
            self._publish("session", id=shown_line(session)[:SESSION_ID_CHARS])
        if prompt is not None:
            self._do(self._prompts.taken(prompt))

    def _read_stream(self) -> None:
        if self._stream is None or self._conversation is None:
            return
        now = time.monotonic()
        before = self._conversation.session_id
        for event in self._stream.step(now):
            owner = self._conversation.owner(event)
            if owner != "other":
                self._judge.streamed(event, now, is_helpers=owner == "helper")
        if self._conversation.session_id != before:
            self._publish("session", id=self._conversation.session_id)

    def _read_setup_progress(self, now: float) -> None:
        with contextlib.suppress(OSError):
            text = files.read(self._folder / SETUP_LOG).decode("utf-8", "replace")
            self._judge.setup_progressed(text, self._setup, now)

    # ── the screen ──────────────────────────────────────────────────────────────────────────────────────────────

    def _read_screen(self, now: float) -> None:
        """Read the screen for the status, once a redraw is complete."""
        if self._next_screen is None or now < self._next_screen:
            return
        if self._screen.is_holding and now < self._next_screen + WHOLE_SECONDS:
            return
        self._next_screen = None
        if self._judge.reads_screen:
            self._show(now)
        self._watch_box(now)

    def _read_screen_now(self, now: float) -> None:
        """Before typing, read the screen as it is now: a dialog may just have come up."""
        if self._next_screen is not None and not self._screen.is_holding:
            self._next_screen = min(self._next_screen, now)
            self._read_screen(now)
            self._settle(now)

    def _show(self, now: float) -> list[str]:
        lines = self._screen.text()
        self._judge.showed(lines, now, self._painted)
        return lines

    def _watch_box(self, now: float) -> None:
        """Notice a menu: the program says that it waits, and shows no input box."""
        if not self._judge.claims_calm:
            return
        is_shown = self._box.is_shown(now)
        if is_shown is False:
            self._show(now)
        if is_shown is not None:
            self._judge.box_shown(is_shown, now)

    def _may_set_aside(self) -> bool:
        rule = self._box.rule
        unless = rule.set_aside_unless if rule is not None else ""
        return not unless or re.search(unless, unframed(self._screen.text())) is None

    def _shows_interruption(self) -> bool:
        if self._interrupted is None:
            return False
        written = [line for line in self._screen.text() if line.strip()]
        return self._interrupted.search(unframed(written[-BOTTOM_LINES:])) is not None

    def _painted(self, y: int) -> list[tuple[str, object]]:
        """Runs of a row with what highlights them: the background, and whether colors are inverted."""
        return [(text, _ground(style)) for text, style, _ in self._screen.painted(y)]

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────────

    def due(self, now: float) -> float | None:
        moments = [
            self._judge.due(now),
            self._prompts.due(),
            self._next_screen,
            self._box.next_read(),
            self._answer.due() if self._answer is not None else None,
            self._decisions.due(now),
            self._stream.due(now) if self._stream is not None else None,
        ]
        return min((moment for moment in moments if moment is not None), default=None)

    def tick(self, now: float, *, is_reading: bool, ended: str = "") -> None:
        """Do what is due. `ended` says how the program has ended, once it has."""
        if self._judge.in_setup:
            self._read_setup_progress(now)
        if self._stream is not None and now >= self._stream.due(now):
            self._read_stream()
        self._read_screen(now)
        if self._box.take_due(now):
            self._watch_box(now)
        self._settle(now)
        self._decisions.tick(now, is_asking=self._judge.status().status is Status.BLOCKED)
        self._advance_prompts(now, is_reading=is_reading, ended=ended)
        self._advance_answer(now, ended=ended)

    def _settle(self, now: float) -> None:
        observed = self._judge.settle(now)
        if observed is not None:
            self._publish("status", **observed.to_plain())
            if self._judge.claims_calm and self._box.rule is not None:
                # What it shows now may be a menu, and it will print nothing more.
                self._box.read_at(now + BOX_SECONDS)
        self._hooks.forget()

    # ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _advance_prompts(self, now: float, *, is_reading: bool, ended: str = "") -> None:
        if self._answer is not None and not ended:
            return
        if self._prompts.would_type(now, self._judge.status_for_prompts):
            self._read_screen_now(now)
        observed = self._judge.status()
        has_box = self._box.rule is not None
        needs_box = has_box and self._prompts.needs_box(observed.status) and not ended
        program = ProgramState(
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
            box=self._box.look(now) if needs_box else UNSETTLED if has_box else None,
            has_box=self._box.was_seen,
            may_set_aside=needs_box and self._may_set_aside(),
        )
        self._do(self._prompts.step(now, program))

    def _do(self, steps: list[PromptStep]) -> None:
        for step in steps:
            if step.paste and not self._type(self._screen.encode_paste(step.paste)):
                step = self._prompts.refuse(step.paste, UNREADING)
            if step.submit:
                self._judge.turn_began()
                self._type(self._screen.encode_key(KeyEvent("enter")))
            if step.key:
                self._type(self._screen.encode_key(_key(step.key)))
            if step.key or step.paste or step.submit:
                self._box.typed()
            if step.receipt is not None:
                self._publish("receipt", **step.receipt)
                self._senders.pop(step.receipt["prompt"], _no_reply)(**step.receipt)

    def prompt(self, message: Mapping[str, Any], reply: Reply) -> None:
        """Queue a prompt; reply once it is typed, or at once if it has to wait."""
        before = self._prompts.receipt_of(str(message["id"]))
        receipt = self._prompts.add(
            str(message["id"]),
            str(message["text"]),
            is_now=bool(message.get("now", False)),
            is_command=bool(message.get("command", False)),
            note=str(message.get("note", "")),
        )
        if before is None:
            self._publish("receipt", **receipt)
        self._senders[receipt["prompt"]] = reply
        self._advance_prompts(time.monotonic(), is_reading=True)
        receipt = self._prompts.receipt(receipt["prompt"])
        is_under_way = receipt["state"] == ReceiptState.TYPING or (
            receipt["state"] == ReceiptState.QUEUED and not receipt["reason"]
        )
        if not is_under_way and self._senders.pop(receipt["prompt"], None) is not None:
            # Its turn may come much later; the event log will have it.
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
        """Answer the program's question, and reply with the outcome.

        The message may name the question that the user saw: the program may ask another one by now.
        """
        now = time.monotonic()
        self._show(now)
        self._settle(now)
        observed = self._judge.status()
        meant = resolve_answer(str(message["choice"]), observed, self._rules)
        problem = "another answer is being given" if self._answer is not None else meant.problem
        if not problem and not is_same_question(message.get("question"), observed.to_plain()):
            problem = "it asks something else by now"
        if problem or meant.choice is None:
            is_early = meant.is_early and problem == meant.problem
            reply(state=ReceiptState.REFUSED, reason=problem, is_early=is_early, text=observed.text)
            return
        said = "" if meant.words else decision(meant.choice, observed, self._rules)
        by_hook = bool(said) and self._decisions.decide_only(said)
        self._answer = Answer.by_hook(observed, now) if by_hook else Answer(meant, observed, now)
        self._answered = reply
        self._publish(
            "answer", choice=meant.choice.label, words=bool(meant.words), by="hook" if by_hook else "keys"
        )

    def _advance_answer(self, now: float, *, ended: str = "") -> None:
        if self._answer is None:
            return
        if ended:
            # An answer may end a program, as a refusal to trust its folder does.
            self._finish_answer(
                ReceiptState.ANSWERED if ended == PROGRAM_ENDED else ReceiptState.REFUSED, ended
            )
            return
        self._read_screen_now(now)
        press = self._answer.step(now, self._judge.status(), self._last_output)
        if press is not None and press.key:
            self._type(self._screen.encode_key(KeyEvent.named(press.key)))
        elif press is not None:
            self._type(self._screen.encode_paste(press.words))
        if self._answer.outcome:
            self._finish_answer(self._answer.outcome, self._answer.reason)

    def _finish_answer(self, state: ReceiptState, reason: str) -> None:
        self._answered(state=state, reason=reason)
        self._answer, self._answered = None, _no_reply

    # ── why ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def why(self, _message: Mapping[str, Any], reply: Reply) -> None:
        """Reply with everything known of the status, including the sources that were not followed."""
        now = time.monotonic()
        lines = self._show(now) if self._judge.reads_screen else self._screen.text()
        reply(
            told=self._judge.status().to_plain(),
            sources=[source.to_plain() for source in self._judge.sources()],
            title=self._title,
            lines=lines,
            cols=self._screen.cols,
            quiet_for=round(now - self._last_output, 1),
        )


def _no_reply(**_fields: object) -> None:
    """The reply when no client waits for one."""


def _key(name: str) -> KeyEvent:
    """A key as profiles name it: `up`, `ctrl+s`."""
    *held, key = name.split("+")
    return KeyEvent(key, ctrl="ctrl" in held, alt="alt" in held, shift="shift" in held)


def _ground(style: Style | None) -> tuple[int, int]:
    return (style[1], style[2] & Attribute.INVERSE) if style is not None else (-1, 0)
