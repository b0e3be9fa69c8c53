"""Check a profile: run its program once in a scratch repository and see which sources of its status work.

Leaves no agent, record or file behind. Run as a program, this module only forks the holder, which needs a process
without threads.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from fleet_tui import git, names, paths
from fleet_tui.config.settings import Config
from fleet_tui.errors import HolderGone, LaunchFailed
from fleet_tui.fast_dataclasses import asdict, dataclass, field, replace
from fleet_tui.holder.event_log import read_events
from fleet_tui.holder.forking import fork_keeper
from fleet_tui.holder.lock import is_held, take_lock
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.session import Session
from fleet_tui.holder.stop_requests import StopRequest, request_stop
from fleet_tui.lifecycle.intent import Intent
from fleet_tui.lifecycle.launcher.run_spec import run_spec
from fleet_tui.models import Agent, Status
from fleet_tui.programs import profiles, versions
from fleet_tui.programs.command import launch_command, new_session
from fleet_tui.programs.executable import program_path
from fleet_tui.programs.profile import Profile

SECONDS = 30.0
LOOK_SECONDS = 0.2
STOP_GRACE = 3.0
_ENDING = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
_KNOWN = frozenset({Status.IDLE, Status.DONE, Status.BLOCKED, Status.ERROR, Status.LIMITED})


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a program showed while it ran."""

    profile: str
    version: str
    status: str
    """Its last status, or `exited`; `unknown` if no source gave one."""
    detail: str = ""
    text: str = ""
    seconds: float = 0.0
    """From the start to that status."""
    spoke: dict[str, str] = field(default_factory=dict)
    """The first report of each source, by its name."""
    lines: tuple[str, ...] = ()
    """Its last screen."""


def declared(profile: Profile) -> list[str]:
    """The sources that a profile declares, best first."""
    rules = profile.rules
    found = ["reports"] if rules.reports else []
    found += [name for name in ("hook", "event", "title", "screen") if getattr(rules, name)]
    return found or ["silence"]


def check(name: str, config: Config, *, prompt: str = "", seconds: float = SECONDS) -> CheckResult:
    """Start the program, with a prompt if one is given, and watch it until it waits for input or fails."""
    profile = profiles.load(name)
    program_path(profile, config.env.get("PATH"))
    agent_id = names.new_id(os.urandom)
    scratch = Path(tempfile.mkdtemp(prefix="fleet-check-"))
    lock = paths.lock(agent_id)
    with _interrupted_by_signals():
        try:
            _repository(scratch)
            agent, intent = _row(agent_id, name, profile, scratch, config, prompt)
            try:
                with _uninterrupted():
                    _start(run_spec(agent, intent, profile), lock)
                return _watch(agent, profile, lock, seconds, config.env.get("PATH"))
            finally:
                _end(agent, lock)
        finally:
            shutil.rmtree(paths.agent(agent_id), ignore_errors=True)
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Turn a closed terminal or a SIGTERM into an interrupt, so that the program is ended as well."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt):
        yield


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay signals during the start: interrupted halfway, it could leave an unknown holder."""
    received: list[int] = []
    with _handled(lambda number, _frame: received.append(number)):
        yield
    if received:
        raise KeyboardInterrupt


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in _ENDING}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _repository(folder: Path) -> None:
    git.init(folder)


def _row(
    agent_id: str, name: str, profile: Profile, scratch: Path, config: Config, prompt: str
) -> tuple[Agent, Intent]:
    paths.private(paths.agent(agent_id))
    session = new_session(profile)
    command = launch_command(
        profile, prompt=prompt, config=config, session_id=session, folder=str(paths.run(agent_id, 1))
    )
    place = str(scratch)
    agent = Agent(agent_id, f"check-{name}", place, "", "", place, "check", name, command.argv, prompt, Status.SETUP, time.time())  # fmt: skip
    intent = Intent(
        repository=place, git_dir="", branch="", base="", worktree=place, makes_worktree=False, makes_branch=False,
        profile=name, argv=command.argv, prompt=prompt, pasted_prompt=command.pasted_prompt,
        # Without permission rules: the decision log is for agents.
        settings=replace(config.run, policy={}),
    )  # fmt: skip
    return agent, intent


def _start(spec: RunSpec, lock: Path) -> None:
    request = json.dumps({"spec": asdict(spec), "lock": str(lock)})
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fleet_tui.lifecycle.profile_check"],
        input=request,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {"error": "the holder did not start"}
    if "error" in report:
        raise LaunchFailed(
            f"{spec.argv[0]}: {report['error']}", hint=f"check that {spec.argv[0]} starts in a terminal"
        )


def _watch(
    agent: Agent, profile: Profile, lock: Path, seconds: float, search_path: str | None
) -> CheckResult:
    begun = time.monotonic()
    folder = paths.run(agent.id, 1)
    spoke: dict[str, str] = {}
    lines: tuple[str, ...] = ()
    last: dict[str, str] = {}
    while time.monotonic() < begun + seconds and is_held(lock):
        try:
            with Session.open(folder, lock, agent.name, rate=0) as session:
                answer = session.ask("why")
        except HolderGone:
            break
        lines = tuple(line.rstrip() for line in answer["lines"] if line.strip())
        for source in answer["sources"]:
            spoke.setdefault(source["source"], ": ".join(filter(None, (source["status"], source["rule"]))))
        last = answer["told"]
        if Status(last["status"]) in _KNOWN:
            break
        time.sleep(LOOK_SECONDS)
    _, events = read_events(folder, 0)
    if any(event["kind"] == "session" for event in events):
        spoke.setdefault("hook", "the conversation's id")
    spent = time.monotonic() - begun
    ended = "" if is_held(lock) else "exited"
    return CheckResult(
        profile.name, versions.version(profile, search_path), ended or last.get("status", "unknown"), last.get("detail", ""),
        last.get("text", ""), round(spent, 1), spoke, lines[-12:],
    )  # fmt: skip


def _end(agent: Agent, lock: Path) -> None:
    request_stop(paths.run(agent.id, 1), lock, StopRequest("stop", STOP_GRACE))
    deadline = time.monotonic() + 2 * STOP_GRACE + 5.0
    while is_held(lock) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)


def main() -> None:
    """Fork a holder for the request on standard input, and print its report."""
    from fleet_tui.holder import keeper
    from fleet_tui.holder.server.loop import serve
    from fleet_tui.system import processes

    request = json.load(sys.stdin)
    spec = RunSpec.from_plain(request["spec"])
    lock = take_lock(Path(request["lock"]))
    if lock is None:
        raise SystemExit("the lock is held by another process")
    processes.prepare()
    report = fork_keeper(spec, lock, [], keeper.keep, serve)
    sys.stdout.write(report.decode())


if __name__ == "__main__":
    main()
