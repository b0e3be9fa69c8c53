"""Keeps watch for the dashboard: brings the store up to date, and gathers what is in no store.

One thread of the worker. It listens to every living agent's holder, so that quiet agents cost next to nothing: the
store is looked through when a holder says something, when somebody else has written, and now and then in any case.
"""

from __future__ import annotations

import contextlib
import queue
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleet_tui import paths, transcript, wire
from fleet_tui.errors import FleetError, HolderGone, NotFound, StoreError
from fleet_tui.fleet import Fleet
from fleet_tui.holder import is_held
from fleet_tui.models import Agent, Deed, FleetState, Spending, Status, Usage
from fleet_tui.session import Session
from fleet_tui.tui.exchange import Sights
from fleet_tui.usage import Sampler
from fleet_tui.values import replace

TURN_SECONDS = 0.2
RECONCILE_SECONDS = 2.0
"""At the latest, when nothing hints at a change."""
SAMPLE_SECONDS, QUIET_SAMPLE_SECONDS = 1.0, 3.0
BUSY_PERCENT = 0.5
QUIET_AFTER = 5.0
DIFF_SECONDS, STILL_DIFF_SECONDS = 5.0, 30.0
"""Between two counts of one agent: when it is selected or something has happened, and when nothing has."""
ASK_DIFFS_SECONDS = 1.0
UNASKED_SHARE = 0.005
"""Of a core, at most, for counts that nothing has called for: big worktrees take long to go through."""
SPENDING_SECONDS = 5.0
LOG_SECONDS, STILL_LOG_SECONDS = 0.4, 5.0
LOG_LINES, DEEDS = 40, 20
OUTPUT_SAMPLES = 60
RETRY_SECONDS = 1.0
CONNECT_SECONDS = 0.2


class Tails:
    """A session with each living agent's holder: its last line, when it last printed, and that something happened."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self.active: dict[str, float] = {}
        self.is_stirred = True
        """A holder has spoken of more than lines, or has gone."""
        self._sessions: dict[str, Session] = {}
        self._selector = selectors.DefaultSelector()
        self._try_again: dict[str, float] = {}

    def is_listening_to(self, agent: Agent) -> bool:
        return agent.id in self._sessions

    def connect(self, living: Sequence[Agent], now: float) -> None:
        """Listen to these agents and to nobody else."""
        wanted = {agent.id: agent for agent in living if agent.keeper_pid}
        for gone in self._sessions.keys() - wanted.keys():
            self._drop(gone)
        for agent in wanted.values():
            if agent.id not in self._sessions and now >= self._try_again.get(agent.id, 0.0):
                self._open(agent, now)

    def _open(self, agent: Agent, now: float) -> None:
        self._try_again[agent.id] = now + RETRY_SECONDS
        lock = paths.lock(agent.id)
        if not is_held(lock):
            return
        try:
            session = Session.open(
                paths.run(agent.id, agent.run), lock, agent.name, rate=0.0, seconds=CONNECT_SECONDS
            )
        except (HolderGone, OSError):
            return
        self._sessions[agent.id] = session
        self._selector.register(session, selectors.EVENT_READ, agent.id)
        self._hear(agent.id, session.arrived(), None)

    def _drop(self, agent: str) -> None:
        session = self._sessions.pop(agent)
        self._selector.unregister(session)
        session.close()

    def listen(self, until: float) -> None:
        """Take in what holders say, until then or until something has to be looked at."""
        while (left := until - time.monotonic()) > 0 and not self.is_stirred:
            if not self._sessions:
                time.sleep(left)
                return
            for key, _ in self._selector.select(left):
                self._take(str(key.data))

    def _take(self, agent: str) -> None:
        try:
            messages = self._sessions[agent].receive()
        except HolderGone:
            self._drop(agent)
            self.is_stirred = True
            return
        self._hear(agent, messages, time.time())

    def _hear(self, agent: str, messages: Sequence[wire.Message], now: float | None) -> None:
        """Lines and news; without a moment they are what was there before we came, and nobody is active."""
        for message in messages:
            if message["t"] != "tail":
                self.is_stirred = True
                continue
            self.lines[agent] = telling_line(message["lines"])
            if now is not None:
                self.active[agent] = now


def telling_line(lines: Sequence[str]) -> str:
    """The last line with a word in it: prompt signs and rules say nothing."""
    return next((line.strip() for line in reversed(lines) if sum(map(str.isalnum, line)) >= 2), "")


def opened(start: Path) -> Fleet:
    """The fleet, as soon as its store can be read. Makes none: where one was moved away, it is the person's turn."""
    while True:
        with contextlib.suppress(StoreError):
            if paths.store().exists():
                return Fleet(start)
        time.sleep(RETRY_SECONDS)


class Diffs:
    """Lines added and removed per agent, counted in a thread of their own because git may take its time."""

    def __init__(self, start: Path) -> None:
        self.counts: dict[str, tuple[int, int]] = {}
        self.ahead: dict[str, int] = {}
        self.problems: dict[str, str] = {}
        """Why an agent's changes are not counted."""
        self._start = start
        self._asked: dict[str, tuple[float, tuple[object, ...]]] = {}
        """When each was asked for last, and what was known of it then."""
        self._wanted: queue.SimpleQueue[Agent] = queue.SimpleQueue()
        self._waiting: set[str] = set()
        self._rests_until = 0.0

    def run(self) -> None:
        fleet = opened(self._start)
        while True:
            self.count(fleet, self._wanted.get())

    def count(self, fleet: Fleet, agent: Agent) -> None:
        begin = time.monotonic()
        found = fleet.link_problems([agent])
        if found:
            self.problems |= found
            self.counts.pop(agent.id, None)
            self.ahead.pop(agent.id, None)
        else:
            self.problems.pop(agent.id, None)
        for one, (added, removed, ahead) in fleet.diff_stats([agent]).items():
            self.counts[one], self.ahead[one] = (added, removed), ahead
        end = time.monotonic()
        self._rests_until = end + (end - begin) / UNASKED_SHARE
        self._waiting.discard(agent.id)

    def ask(
        self, agents: Sequence[Agent], active: Mapping[str, float], now: float, selected: str = ""
    ) -> list[Agent]:
        """Have those counted anew of whom there is news, and now and then the others too, as files change in silence."""
        asked = []
        for agent in sorted(agents, key=lambda one: one.id != selected):
            if agent.status is Status.KILLED:
                self.counts.pop(agent.id, None)
                self.problems.pop(agent.id, None)
            elif not _is_being_made(agent) and agent.id not in self._waiting:
                moment = (active.get(agent.id, 0.0), agent.status, agent.run)
                if self._is_due(agent, moment, now, is_selected=agent.id == selected):
                    self._asked[agent.id] = (now, moment)
                    self._waiting.add(agent.id)
                    self._wanted.put(agent)
                    asked.append(agent)
        return asked

    def _is_due(self, agent: Agent, moment: tuple[object, ...], now: float, *, is_selected: bool) -> bool:
        asked_at, seen = self._asked.get(agent.id, (-STILL_DIFF_SECONDS, ()))
        if moment != seen:
            return now - asked_at >= DIFF_SECONDS
        if self._waiting or now < self._rests_until or (agent.has_ended and not is_selected):
            return False
        return now - asked_at >= (DIFF_SECONDS if is_selected else STILL_DIFF_SECONDS)


def _is_being_made(agent: Agent) -> bool:
    """Half of a checkout looks as if the other half had been removed."""
    return agent.status is Status.SETUP or agent.started_at is None


class Purse:
    """What agents have spent, read in a thread of its own because a long conversation takes its time."""

    def __init__(self, start: Path) -> None:
        self.spent: dict[str, Spending] = {}
        self._start = start
        self._asked_at = -SPENDING_SECONDS
        self._seen: dict[str, tuple[float, int, bool]] = {}
        self._wanted: queue.SimpleQueue[list[Agent]] = queue.SimpleQueue()

    def run(self) -> None:
        fleet = opened(self._start)
        while True:
            agents = self._wanted.get()
            # A store that is busy now, and a record that is being written, are not in five seconds.
            with contextlib.suppress(FleetError, OSError, ValueError):
                self.spent |= fleet.spending(agents)

    def ask(self, agents: Sequence[Agent], active: Mapping[str, float], now: float) -> None:
        """Have those looked at that have printed something since, or have ended."""
        if now - self._asked_at < SPENDING_SECONDS:
            return
        self._asked_at = now
        wanted = []
        for agent in agents:
            moment = (active.get(agent.id, 0.0), agent.run, agent.has_ended)
            if agent.status is not Status.KILLED and self._seen.get(agent.id) != moment:
                self._seen[agent.id] = moment
                wanted.append(agent)
        if wanted:
            self._wanted.put(wanted)


class Outputs:
    """How many bytes a second each agent prints: a past for the graph, in step with that of the processor."""

    def __init__(self, folder_of: Callable[[str], Path]) -> None:
        self._folder_of = folder_of
        self._ends: dict[str, tuple[float, int]] = {}
        self._heard: dict[str, float] = {}
        self._pasts: dict[str, deque[float]] = {}

    def past(self, agent: str) -> tuple[float, ...]:
        return tuple(self._pasts.get(agent, ()))

    def sample(self, agents: Sequence[str], active: Mapping[str, float], now: float) -> None:
        """Look at the transcripts of those that have printed since the last time."""
        for gone in self._ends.keys() - set(agents):
            for kept in (self._ends, self._heard, self._pasts):
                kept.pop(gone, None)
        for agent in agents:
            self._count(agent, active.get(agent, 0.0), now)

    def _count(self, agent: str, heard: float, now: float) -> None:
        before = self._ends.get(agent)
        is_silent = before is not None and self._heard.get(agent) == heard
        end = before[1] if before is not None and is_silent else self._end(agent)
        self._ends[agent], self._heard[agent] = (now, end), heard
        if before is not None and now > before[0]:
            rate = max(0, end - before[1]) / (now - before[0])
            self._pasts.setdefault(agent, deque(maxlen=OUTPUT_SAMPLES)).append(rate)

    def _end(self, agent: str) -> int:
        found = transcript.segments(self._folder_of(agent))
        return found[-1].end if found else 0


class Lookout:
    def __init__(self, start: Path, send: Callable[[object], None]) -> None:
        self._start = start
        self._send = send
        self._tails = Tails()
        self._diffs = Diffs(start)
        self._purse = Purse(start)
        self._sampler = Sampler()
        self._outputs = Outputs(self._run_folder)
        self._usage: Mapping[str, Usage] = {}
        self._state = FleetState((), ())
        self._version = -1
        self._reconcile_at = 0.0
        self._sample_at = 0.0
        self._selected = ""
        self._log: tuple[str, tuple[str, ...]] = ("", ())
        self._deeds: tuple[Deed, ...] = ()
        self._log_at = 0.0
        self._log_seen = (0.0, 0.0)
        self._diffs_at = 0.0
        self._all_recalled: FleetState | None = None
        """The state of which nothing is left to be recalled."""
        self._recalled: set[tuple[str, int]] = set()
        """Agents that have ended, by id and run, whose last line was looked for."""
        self._last: Sights | None = None

    def watch(self, selected: str) -> None:
        """Whose log is wanted."""
        self._selected = selected
        self._log_at = 0.0

    def run(self) -> None:
        """Until another file has taken the place of the store."""
        fleet = opened(self._start)
        threading.Thread(target=self._diffs.run, daemon=True).start()
        threading.Thread(target=self._purse.run, daemon=True).start()
        while not fleet.store.has_moved:
            now = time.monotonic()
            try:
                self._look(fleet, now)
                self._sample(fleet, now)
                self._read_log(fleet, now)
                self._recall(fleet)
            except StoreError:
                # The dashboard reads it too, and says so.
                time.sleep(RETRY_SECONDS)
                continue
            if now >= self._diffs_at:
                self._diffs_at = now + ASK_DIFFS_SECONDS
                self._diffs.ask(self._state.agents, self._tails.active, now, self._selected)
            self._purse.ask(self._state.agents, self._tails.active, now)
            self._report()
            self._tails.listen(now + TURN_SECONDS)

    def _run_folder(self, agent_id: str) -> Path:
        run = next((agent.run for agent in self._state.agents if agent.id == agent_id), 1)
        return paths.run(agent_id, run)

    @property
    def _living(self) -> list[Agent]:
        return [agent for agent in self._state.agents if not agent.has_ended]

    def _look(self, fleet: Fleet, now: float) -> None:
        """Look through the store, if there may be something new in it."""
        version = fleet.version()
        living = self._living
        is_due = version != self._version or now >= self._reconcile_at or self._tails.is_stirred
        if not is_due and all(self._tails.is_listening_to(agent) for agent in living):
            return
        self._tails.is_stirred = False
        self._version, self._reconcile_at = version, now + RECONCILE_SECONDS
        self._state = fleet.state()
        self._tails.connect(self._living, now)

    def _sample(self, fleet: Fleet, now: float) -> None:
        if now < self._sample_at:
            return
        self._usage = fleet.usage(self._living, self._sampler)
        self._outputs.sample([agent.id for agent in self._living], self._tails.active, now)
        is_busy = any(used.cpu >= BUSY_PERCENT for used in self._usage.values())
        newest = max(self._tails.active.values(), default=0.0)
        is_quiet = not is_busy and time.time() - newest > QUIET_AFTER
        self._sample_at = now + (QUIET_SAMPLE_SECONDS if is_quiet else SAMPLE_SECONDS)

    def _read_log(self, fleet: Fleet, now: float) -> None:
        selected = self._selected
        if not selected or now < self._log_at:
            return
        moment = (self._tails.active.get(selected, 0.0), self._told_at(selected))
        is_new = moment != self._log_seen or self._log[0] != selected
        if not is_new and now < self._log_at + STILL_LOG_SECONDS:
            return
        self._log_at, self._log_seen = now + LOG_SECONDS, moment
        # By the row that is known: to be found by name, all agents would be looked through again.
        agent = next((one for one in self._state.agents if one.id == selected), None)
        try:
            self._deeds = tuple(fleet.deeds(agent, DEEDS)) if agent is not None else ()
            lines = fleet.logs(agent, LOG_LINES) if agent is not None else []
            self._log = (selected, tuple(line.rstrip() for line in lines))
        except (NotFound, HolderGone):
            self._log, self._deeds = (selected, ()), ()
        except FleetError:
            return

    def _recall(self, fleet: Fleet) -> None:
        """The last line of who has ended unheard, from its log; one agent a turn, as there may be many."""
        if self._all_recalled is self._state:
            return
        for agent in self._state.agents:
            run = (agent.id, agent.run)
            if not agent.has_ended or agent.status is Status.KILLED or run in self._recalled:
                continue
            self._recalled.add(run)
            if not self._tails.lines.get(agent.id):
                with contextlib.suppress(NotFound, HolderGone):
                    self._tails.lines[agent.id] = telling_line(fleet.logs(agent, LOG_LINES))
                return
        self._all_recalled = self._state

    def _told_at(self, agent_id: str) -> float:
        """When the store last heard of an agent's status: what it reports may come after what it prints."""
        found = next((agent.evidence for agent in self._state.agents if agent.id == agent_id), None)
        return found.at if found is not None else 0.0

    def _report(self) -> None:
        sights = Sights(
            {agent: self._shown(agent, used) for agent, used in self._usage.items()},
            dict(self._tails.lines),
            dict(self._tails.active),
            dict(self._diffs.counts),
            self._log,
            sum(used.cpu for used in self._usage.values()) / 100,
            sum(used.memory for used in self._usage.values()),
            dict(self._purse.spent),
            self._outputs.past(self._selected),
            self._deeds,
            self._diffs.ahead.get(self._selected),
            dict(self._diffs.problems),
        )
        if sights != self._last:
            self._last = sights
            self._send(sights)

    def _shown(self, agent: str, used: Usage) -> Usage:
        """Only the selected agent's past is drawn; the others' need not travel."""
        return used if agent == self._selected else replace(used, cpu_history=(), memory_history=())
