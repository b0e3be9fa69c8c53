"""Run a scripted program in a real holder, send it orders, and read the statuses and receipts of the holder."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fleet_tui
from fleet_tui.holder.event_log import read_events
from fleet_tui.programs import profiles
from fleet_tui.programs.interaction_rules import InteractionRules
from tests.holder.holders import RunningHolder, start_holder, wait_until
from tests.places import AGENTS

HOOK = Path(fleet_tui.__file__).parent / "holder" / "hook.sh"
SECONDS = 20.0
SIDE_BY_SIDE = 10
"""Repetitions that run at the same time; each spends most of its time waiting."""


@dataclass(slots=True)
class Imitation:
    holder: RunningHolder
    folder: Path
    _pipe: int
    _ordered: int = 0

    # ── the program's side ──

    def order(self, *orders: dict[str, Any], wait: bool = True) -> None:
        """Let it do these; returns once it has."""
        for order in orders:
            os.write(self._pipe, json.dumps(order).encode() + b"\n")
            self._ordered += 1
        if wait:
            wait_until(lambda: self._done() >= self._ordered, f"{orders} being done", seconds=SECONDS)

    def _done(self) -> int:
        try:
            return (self.folder / "done").read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def typed(self) -> bytes:
        """Everything that the program has read."""
        try:
            return (self.folder / "typed").read_bytes()
        except FileNotFoundError:
            return b""

    # ── the holder's side ──

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in read_events(self.holder.folder, 0)[1] if event["kind"] == kind]

    def statuses(self) -> list[str]:
        return [event["status"] for event in self.events("status")]

    def reported_status(self) -> dict[str, Any]:
        return self.events("status")[-1]

    def wait_for(self, *wanted: str, **fields: str) -> dict[str, Any]:
        """Wait until the last reported status is one of these, with these fields."""

        def is_so() -> bool:
            if not self.events("status"):
                return False
            told = self.reported_status()
            return told["status"] in wanted and all(told[name] == value for name, value in fields.items())

        try:
            wait_until(is_so, f"{wanted} {fields}", seconds=SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; reported were {self.events('status')}") from None
        return self.reported_status()

    def receipts(self, prompt: str) -> list[str]:
        return [event["state"] for event in self.events("receipt") if event["prompt"] == prompt]

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        with self.holder.session(rate=0) as session:
            return session.ask(kind, seconds=SECONDS, **fields)

    def kill_server(self) -> None:
        """End the screen server as a crash would, and wait for the next one."""
        before = self.holder.server_pid()
        if before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(before, signal.SIGKILL)
        wait_until(
            lambda: self.holder.server_pid() not in (0, before), "another screen server", seconds=SECONDS
        )
        self.ask("ping")


@contextlib.contextmanager
def imitate(folder: Path, rules: InteractionRules | str = "", **fields: Any) -> Iterator[Imitation]:
    """A program with these rules, or with those of a profile."""
    chosen = profiles.load(rules).rules if isinstance(rules, str) and rules else rules or InteractionRules()
    assert isinstance(chosen, InteractionRules)
    os.mkfifo(folder / "orders")
    argv: list[str | Path] = [
        sys.executable,
        "-S",
        AGENTS / "imitates.py",
        *(folder / name for name in ("orders", "typed", "done")),
        HOOK,
    ]
    with start_holder(folder, argv, signals=chosen.to_plain(), **fields) as holder:
        pipe = os.open(folder / "orders", os.O_RDWR)
        try:
            yield Imitation(holder, folder, pipe)
        finally:
            os.close(pipe)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """The results of several calls that start at the same moment."""
    gate = threading.Barrier(len(calls))
    found: list[Any] = [None] * len(calls)

    def call(place: int, function: Callable[[], Any]) -> None:
        gate.wait(SECONDS)
        found[place] = function()

    threads = [threading.Thread(target=call, args=one) for one in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def repeat(times: int, folder: Path, act: Callable[[Path, int], None]) -> None:
    """Do the same so many times, each in a folder of its own with its number; fails if one of them does."""

    def once(number: int) -> None:
        own = folder / str(number)
        own.mkdir()
        try:
            act(own, number)
        except AssertionError as error:
            error.add_note(f"in repetition {number}")
            raise

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for _ in pool.map(once, range(times)):
            pass
