"""Live observation of the fleet for a face: keeps the store refreshed, and gathers what no store holds.

A face that stays open runs one `Observer` in a thread. It is connected to the holder of every living agent, so that
quiet agents cost almost nothing: it reads the store when a holder sends news, when another process has written, and
every two seconds in any case.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from fleet_tui import paths
from fleet_tui.errors import FleetError, HolderGone, NotFound, StoreError
from fleet_tui.faces.conflict_wording import marks
from fleet_tui.faces.live import ConflictDetails, LiveData
from fleet_tui.faces.observer.conflict_watch import ConflictWatch
from fleet_tui.faces.observer.diff_counts import DiffCounts
from fleet_tui.faces.observer.holder_lines import HolderLines, last_words
from fleet_tui.faces.observer.output_rates import OutputRates
from fleet_tui.faces.observer.request_watch import RequestWatch
from fleet_tui.faces.observer.spending_watch import SpendingWatch
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet import Fleet
from fleet_tui.models import Activity, Agent, FleetState, Status, Usage
from fleet_tui.system.usage import Sampler
from fleet_tui.work import Checkpoint, PullRequest

TURN_SECONDS = 0.2
REFRESH_SECONDS = 2.0
"""Between two refreshes, at most, while nothing hints at a change."""
SAMPLE_SECONDS, QUIET_SAMPLE_SECONDS = 1.0, 3.0
BUSY_PERCENT = 0.5
QUIET_AFTER = 5.0
ASK_DIFFS_SECONDS = 1.0
LOG_SECONDS, STILL_LOG_SECONDS = 0.4, 5.0
LOG_LINES, ACTIVITY_LINES = 40, 20
CHECKPOINTS = 3
RETRY_SECONDS = 1.0


class Observer:
    """Runs in one thread of a face's worker, and sends `LiveData` whenever it has changed."""

    def __init__(self, start: Path, send: Callable[[object], None]) -> None:
        self._start = start
        self._send = send
        self._lines = HolderLines()
        self._diffs = DiffCounts(self._open_fleet)
        self._spending = SpendingWatch(self._open_fleet)
        self._request_watch = RequestWatch(self._open_fleet)
        self._requests: Mapping[str, PullRequest] = {}
        self._conflicts = ConflictWatch(self._open_fleet)
        self._sampler = Sampler()
        self._rates = OutputRates(self._run_folder)
        self._usage: Mapping[str, Usage] = {}
        self._state = FleetState((), ())
        self._version = -1
        self._refresh_at = 0.0
        self._sample_at = 0.0
        self._selected = ""
        self._log: tuple[str, tuple[str, ...]] = ("", ())
        self._activity: tuple[Activity, ...] = ()
        self._log_at = 0.0
        self._log_seen = (0.0, 0.0)
        self._checkpoints: tuple[str, tuple[Checkpoint, ...]] = ("", ())
        self._checkpoints_of: tuple[int, str] = (0, "")
        """The version of the store and the agent that they were read of."""
        self._diffs_at = 0.0
        self._all_recalled: FleetState | None = None
        """The state whose ended agents all have a last line."""
        self._recalled: set[tuple[str, int]] = set()
        """Ended agents, by id and run, whose last line was read from the log."""
        self._last: LiveData | None = None

    def watch(self, selected: str) -> None:
        """Select the agent whose log is sent."""
        self._selected = selected
        self._log_at = 0.0

    def run(self) -> None:
        """Observe until another file takes the place of the store."""
        fleet = self._open_fleet()
        threading.Thread(target=self._diffs.run, daemon=True).start()
        threading.Thread(target=self._spending.run, daemon=True).start()
        threading.Thread(target=self._request_watch.run, daemon=True).start()
        threading.Thread(target=self._conflicts.run, daemon=True).start()
        while not fleet.is_store_replaced():
            now = time.monotonic()
            try:
                self._look(fleet, now)
                self._sample(fleet, now)
                self._read_log(fleet, now)
                self._read_checkpoints(fleet)
                self._recall(fleet)
            except StoreError:
                # The dashboard reads the store too, and reports the error.
                time.sleep(RETRY_SECONDS)
                continue
            if now >= self._diffs_at:
                self._diffs_at = now + ASK_DIFFS_SECONDS
                self._diffs.ask(self._state.agents, self._lines.active, now, self._selected)
                self._conflicts.ask(
                    self._state.agents, self._lines.active, self._diffs.counts, now, self._selected
                )
            self._spending.ask(self._state.agents, self._lines.active, now)
            self._request_watch.ask(self._state.agents, self._requests, now)
            self._report()
            self._lines.wait(now + TURN_SECONDS)

    def _run_folder(self, agent_id: str) -> Path:
        run = next((agent.run for agent in self._state.agents if agent.id == agent_id), 1)
        return paths.run(agent_id, run)

    def _open_fleet(self) -> Fleet:
        """Open the fleet as soon as its store can be read. A missing store is not created: it is the user's to restore."""
        while True:
            with contextlib.suppress(StoreError):
                if paths.store().exists():
                    fleet = Fleet(self._start)
                    fleet.version()
                    return fleet
            time.sleep(RETRY_SECONDS)

    @property
    def _living(self) -> list[Agent]:
        return [agent for agent in self._state.agents if not agent.has_ended]

    def _look(self, fleet: Fleet, now: float) -> None:
        """Refresh and read the store, if something may have changed."""
        version = fleet.version()
        living = self._living
        is_due = version != self._version or now >= self._refresh_at or self._lines.has_news
        if not is_due and all(self._lines.is_connected(agent) for agent in living):
            return
        self._lines.has_news = False
        self._version, self._refresh_at = version, now + REFRESH_SECONDS
        fleet.refresh()
        self._state = fleet.state()
        self._requests = fleet.pull_requests.of(self._state.agents)
        self._lines.connect(self._living, now)

    def _sample(self, fleet: Fleet, now: float) -> None:
        if now < self._sample_at:
            return
        self._usage = fleet.usage(self._living, self._sampler)
        self._rates.sample([agent.id for agent in self._living], self._lines.active, now)
        is_busy = any(used.cpu >= BUSY_PERCENT for used in self._usage.values())
        newest = max(self._lines.active.values(), default=0.0)
        is_quiet = not is_busy and time.time() - newest > QUIET_AFTER
        self._sample_at = now + (QUIET_SAMPLE_SECONDS if is_quiet else SAMPLE_SECONDS)

    def _read_log(self, fleet: Fleet, now: float) -> None:
        selected = self._selected
        if not selected or now < self._log_at:
            return
        moment = (self._lines.active.get(selected, 0.0), self._reported_at(selected))
        is_new = moment != self._log_seen or self._log[0] != selected
        if not is_new and now < self._log_at + STILL_LOG_SECONDS:
            return
        self._log_at, self._log_seen = now + LOG_SECONDS, moment
        # Taken from the state: finding it by name would read all agents again.
        agent = next((one for one in self._state.agents if one.id == selected), None)
        try:
            self._activity = tuple(fleet.recent_activity(agent, ACTIVITY_LINES)) if agent is not None else ()
            lines = fleet.logs(agent, LOG_LINES) if agent is not None else []
            self._log = (selected, tuple(line.rstrip() for line in lines))
        except (NotFound, HolderGone):
            self._log, self._activity = (selected, ()), ()
        except FleetError:
            return

    def _read_checkpoints(self, fleet: Fleet) -> None:
        wanted = (self._version, self._selected)
        if wanted == self._checkpoints_of:
            return
        self._checkpoints_of = wanted
        agent = next((one for one in self._state.agents if one.id == self._selected), None)
        found = tuple(fleet.checkpoints.all(agent)[-CHECKPOINTS:]) if agent is not None else ()
        self._checkpoints = (self._selected, found)

    def _recall(self, fleet: Fleet) -> None:
        """Read the last line of an agent that ended before we connected from its log; one per turn, as there may be many."""
        if self._all_recalled is self._state:
            return
        for agent in self._state.agents:
            run = (agent.id, agent.run)
            if not agent.has_ended or agent.status is Status.KILLED or run in self._recalled:
                continue
            self._recalled.add(run)
            if not self._lines.lines.get(agent.id):
                with contextlib.suppress(NotFound, HolderGone):
                    self._lines.lines[agent.id] = last_words(fleet.logs(agent, LOG_LINES))
                return
        self._all_recalled = self._state

    def _reported_at(self, agent_id: str) -> float:
        """When an agent's status was last recorded, which may be after its last output."""
        found = next((agent.evidence for agent in self._state.agents if agent.id == agent_id), None)
        return found.at if found is not None else 0.0

    def _report(self) -> None:
        conflicts, details = self._conflicts.conflicts(self._state.agents), self._conflicts.details
        live = LiveData(
            {agent: self._shown(agent, used) for agent, used in self._usage.items()},
            dict(self._lines.lines),
            dict(self._lines.active),
            dict(self._diffs.counts),
            self._log,
            sum(used.cpu for used in self._usage.values()) / 100,
            sum(used.memory for used in self._usage.values()),
            dict(self._spending.spent),
            self._rates.history(self._selected),
            self._activity,
            self._diffs.ahead.get(self._selected),
            dict(self._diffs.problems),
            self._requests,
            conflicts,
            marks(self._state.agents, conflicts) if conflicts else {},
            details if details.agent == self._selected else ConflictDetails(),
            self._checkpoints,
        )
        if live != self._last:
            self._last = live
            self._send(live)

    def _shown(self, agent: str, used: Usage) -> Usage:
        """Without its history, unless the agent is selected: no other history is drawn."""
        return used if agent == self._selected else replace(used, cpu_history=(), memory_history=())
