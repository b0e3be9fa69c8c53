"""The dashboard's second process: runs every verb and keeps watch, so that the one that paints never waits.

Run as a program with one socket, over which both sides send pickled, frozen data. Ends when the dashboard does;
what it has started lives on. Loads no Textual.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet_tui import paths, profiles
from fleet_tui.errors import FleetError, NotBegun, StoreError
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Asked, Base, Evidence, Receipt
from fleet_tui.prompt_text import TextRule
from fleet_tui.tui.exchange import Answer, Call, Failure, Step, Surroundings, Tool, Watch
from fleet_tui.tui.lookout import Lookout
from fleet_tui.usage import Sampler

if TYPE_CHECKING:
    from fleet_tui.launcher import Progress
    from fleet_tui.speaking import Why

VERBS_AT_ONCE = 4
WITHOUT_QUEUE = frozenset({"stop", "kill", "stop_fleet", "restart"})
"""Verbs that wait for programs to end, and so never wait for each other: a kill has to overtake slow stops."""
_USUAL = ("claude", "codex", "gemini", "opencode", "copilot", "aider")
"""Whom a person is most likely to look for, first."""


# ── verbs ───────────────────────────────────────────────────────────────────────────────────────────────────────

Tell = Callable[[Agent, str, str], None]


class Verbs:
    """The verbs of a fleet as the dashboard calls them: agents by id, values that can be sent."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def close(self) -> None:
        self._fleet.close()

    def look_again(self) -> None:
        """Before each verb: the person may have committed or switched branches since the last one."""
        self._fleet.look_again()

    def create(self, tell: Tell, name: str, **options: Any) -> list[Agent]:
        return [self._fleet.create(name, on_progress=_telling(tell), **options)]

    def fanout(self, tell: Tell, count: int, prefix: str, **options: Any) -> list[Agent]:
        return self._fleet.fanout(count, prefix, on_progress=_telling(tell), **options)

    def multi(self, tell: Tell, tasks: Sequence[tuple[str, str]], **options: Any) -> list[Agent]:
        return self._fleet.multi(tasks, on_progress=_telling(tell), **options)

    def fork(self, tell: Tell, agent: str, name: str, **options: Any) -> list[Agent]:
        return [self._fleet.fork(agent, name, on_progress=_telling(tell), **options)]

    def prompt(
        self, tell: Tell, ids: Sequence[str], text: str, now: bool = False, command: bool = False
    ) -> list[Receipt]:
        if len(ids) == 1:
            return [self._fleet.prompt(ids[0], text, now=now, command=command)]
        return self._fleet.broadcast(self._agents(ids), text, now=now, command=command)

    def text_rules(self, tell: Tell, names: Sequence[str]) -> list[TextRule]:
        """What programs of these profiles make of some texts."""
        found: list[TextRule] = []
        for name in names:
            with contextlib.suppress(FleetError):
                found += profiles.load(name).signals.texts
        return found

    def prompts(self, tell: Tell, agent: str) -> tuple[list[Receipt], list[dict[str, Any]]]:
        """Those that an agent was given, and those that wait for it."""
        found = self._fleet.find(agent)
        waiting = self._fleet.queue(found)
        known = {entry["prompt"] for entry in waiting}
        return [receipt for receipt in self._fleet.receipts(found) if receipt.id not in known], waiting

    def reword(self, tell: Tell, agent: str, which: str, text: str) -> None:
        self._fleet.reword(self._fleet.find(agent), which, text)

    def cancel(self, tell: Tell, agent: str, which: str) -> None:
        self._fleet.cancel(self._fleet.find(agent), which)

    def answer(self, tell: Tell, agent: str, choice: str, shown: Evidence | None = None) -> None:
        self._fleet.answer(agent, choice, shown=shown)

    def why(self, tell: Tell, agent: str) -> Why:
        return self._fleet.why(agent)

    def report_wrong(self, tell: Tell, agent: str, right: str, kind: str) -> str:
        return str(self._fleet.report_wrong(agent, right, kind))

    def stop(self, tell: Tell, ids: Sequence[str]) -> list[str]:
        """What the user is to be warned of afterwards."""
        return self._fleet.warnings_after_stop(self._fleet.stop(self._agents(ids)))

    def kill(self, tell: Tell, ids: Sequence[str]) -> list[str]:
        """What the user is to be warned of afterwards."""
        return self._fleet.warnings_after_kill(self._fleet.kill(self._agents(ids)))

    def undo(self, tell: Tell, agent: str = "") -> list[tuple[Agent, str]]:
        return self._fleet.undo(agent)

    def revive(
        self, tell: Tell, ids: Sequence[str], fresh: bool = False, own_settings: bool = False
    ) -> list[Agent]:
        return [
            self._fleet.revive(one, on_progress=_telling(tell), fresh=fresh, own_settings=own_settings)
            for one in ids
        ]

    def restart(self, tell: Tell, ids: Sequence[str], own_settings: bool = False) -> list[Agent]:
        self._fleet.stop(self._agents(ids))
        return self.revive(tell, ids, fresh=True, own_settings=own_settings)

    def rename(self, tell: Tell, agent: str, name: str) -> Agent:
        return self._fleet.rename(agent, name)

    def move(self, tell: Tell, ids: Sequence[str], batch: str) -> int:
        return len(self._fleet.move(self._agents(ids), batch))

    def see(self, tell: Tell, ids: Sequence[str]) -> None:
        self._fleet.see(self._agents(ids))

    def stop_fleet(self, tell: Tell) -> int:
        living = [agent for agent in self._fleet.agents(everywhere=True) if not agent.has_ended]
        return len(self._fleet.stop(living))

    def logs(self, tell: Tell, agent: str, count: int) -> list[str]:
        return self._fleet.logs(agent, count)

    def init(self, tell: Tell) -> list[str]:
        from fleet_tui import presets

        return [str(file) for file in presets.init(Path(self._fleet.repository.root))]

    def asked(self, tell: Tell, agent: str) -> Asked | None:
        return self._fleet.asked(self._fleet.find(agent))

    def trust(self, tell: Tell, asked: Asked) -> None:
        self._fleet.trust(asked)

    def begin(self, tell: Tell) -> None:
        self._fleet.begin()

    def versions(self, tell: Tell) -> dict[str, str]:
        """What the installed programs say of themselves; each has to be started for it."""
        from fleet_tui import proving

        wanted = [tool.name for tool in _tools() if tool.path]
        return {profile.name: version for profile, version in proving.installed(wanted)} if wanted else {}

    def bases(self, tell: Tell) -> list[Base]:
        return self._fleet.bases()

    def base(self, tell: Tell, name: str) -> tuple[Base, int]:
        return self._fleet.base(name)

    def surroundings(self, tell: Tell) -> Surroundings:
        return surroundings(self._fleet)

    def _agents(self, ids: Sequence[str]) -> list[Agent]:
        return [self._fleet.find(one) for one in ids]


def _telling(tell: Tell) -> Callable[[Agent, Progress], None]:
    return lambda agent, progress: tell(agent, progress.step, progress.note)


def surroundings(fleet: Fleet) -> Surroundings:
    """What the first screen says about this place."""
    try:
        config = fleet.config()
    except FleetError:
        config = fleet.config(trusted=False)
    machine = Sampler().machine()
    found = Surroundings(
        default_profile=config.agent_default,
        setup=() if config.quick else config.setup_commands,
        tools=tuple(_tools()),
        memory_free=machine.memory_total - machine.memory_used,
        memory_total=machine.memory_total,
    )
    try:
        repository = fleet.repository
    except FleetError as error:
        can_begin = isinstance(error, NotBegun)
        return _with(found, problem=error.message, advice=error.hint, can_begin=can_begin)
    return _with(
        found,
        project=str(repository.root),
        name=repository.name,
        branch=repository.head_branch or "a detached HEAD",
        uncommitted=fleet.uncommitted(),
        has_config=paths.project_config(Path(repository.root)).is_file(),
        asked=_asked(fleet),
    )


def _asked(fleet: Fleet) -> Asked | None:
    """What waits for trust here. Files that cannot be read are named when something is started by them."""
    try:
        return fleet.asked()
    except FleetError:
        return None


def _with(found: Surroundings, **changes: Any) -> Surroundings:
    from fleet_tui.values import replace

    return replace(found, **changes)


def _tools() -> list[Tool]:
    tools = []
    for name in profiles.names():
        if name == "shell":
            continue
        try:
            profile = profiles.load(name)
            tools.append(Tool(name, _path(profile), profile.install_hint))
        except FleetError:
            continue
    return sorted(
        tools, key=lambda tool: (not tool.path, _USUAL.index(tool.name) if tool.name in _USUAL else 99)
    )


def _path(profile: profiles.Profile) -> str:
    try:
        return profiles.program_path(profile)
    except FleetError:
        return ""


# ── the program ─────────────────────────────────────────────────────────────────────────────────────────────────


class Worker:
    def __init__(self, connection: Connection, start: Path) -> None:
        self._connection = connection
        self._start = start
        self._sending = threading.Lock()
        self._threads = threading.local()
        self._pool = ThreadPoolExecutor(VERBS_AT_ONCE)
        self._lookout = Lookout(start, self.send)

    def send(self, message: object) -> None:
        with self._sending:
            try:
                self._connection.send(message)
            except OSError:
                # The dashboard is gone; the loop that reads will see it too.
                os._exit(0)

    def serve(self) -> None:
        threading.Thread(target=self._keep_watch, daemon=True).start()
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                os._exit(0)
            if isinstance(message, Call) and message.verb in WITHOUT_QUEUE:
                threading.Thread(target=self._answer_once, args=(message,), daemon=True).start()
            elif isinstance(message, Call):
                self._pool.submit(self._answer, message)
            elif isinstance(message, Watch):
                self._lookout.watch(message.selected)

    def _keep_watch(self) -> None:
        try:
            self._lookout.run()
        except Exception as error:  # noqa: BLE001 - the dashboard shows it, and starts another worker
            self.send(Failure(0, f"watching the fleet: {error}", trace=traceback.format_exc()))
            os._exit(1)
        # Every thread has the store open, and all have to let go of it: the dashboard starts another worker.
        os._exit(0)

    def _answer_once(self, call: Call) -> None:
        """In a thread made for this call."""
        self._answer(call)
        found: Verbs | None = getattr(self._threads, "verbs", None)
        if found is not None:
            found.close()

    def _answer(self, call: Call) -> None:
        def tell(agent: Agent, step: str, note: str) -> None:
            self.send(Step(call.number, agent, step, note))

        try:
            verb = getattr(self._verbs(), call.verb)
            self.send(Answer(call.number, verb(tell, *call.arguments, **call.options)))
        except FleetError as error:
            self.send(Failure(call.number, error.message, error.hint))
        except Exception as error:  # noqa: BLE001 - the caller waits for an answer, whatever went wrong
            self.send(Failure(call.number, f"{call.verb}: {error}", trace=traceback.format_exc()))

    def _verbs(self) -> Verbs:
        found: Verbs | None = getattr(self._threads, "verbs", None)
        if found is None:
            if not paths.store().exists():
                raise StoreError("the store is not there any more", hint="run: fleet list --repair")
            found = self._threads.verbs = Verbs(Fleet(self._start))
        found.look_again()
        return found


def main() -> None:
    descriptor, start = int(sys.argv[1]), Path(sys.argv[2])
    Worker(Connection(socket.socket(fileno=descriptor).detach()), start).serve()


if __name__ == "__main__":
    main()
