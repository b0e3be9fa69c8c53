"""Starts a profile's program once, in a scratch repository, and sees which of its signs speak.

No record is made of it, and nothing of it stays. Run as a program, it only forks the holder: that has to be done by
a process without threads.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from fleet_tui import git, launch, names, paths, profiles
from fleet_tui.config import Config
from fleet_tui.errors import FleetError, HolderGone, LaunchFailed
from fleet_tui.holder import RunSpec, StopRequest, is_held, read_events, request_stop, take_lock
from fleet_tui.intents import Intent
from fleet_tui.models import Agent, Status
from fleet_tui.session import Session
from fleet_tui.values import asdict, dataclass, field

SECONDS = 30.0
LOOK_SECONDS = 0.2
STOP_GRACE = 3.0
VERSION_SECONDS = 10.0
_ENDING = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
_TESTED = Path(__file__).parent / "data" / "tested.toml"
_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_KNOWN = frozenset({Status.IDLE, Status.DONE, Status.BLOCKED, Status.ERROR, Status.LIMITED})


@dataclass(frozen=True, slots=True)
class Proof:
    """What was seen of a program while it ran."""

    profile: str
    version: str
    status: str
    """How it ended up, and `unknown` when nothing said so."""
    detail: str = ""
    text: str = ""
    seconds: float = 0.0
    """From its start to that status."""
    spoke: dict[str, str] = field(default_factory=dict)
    """What each source said first, by its name."""
    lines: tuple[str, ...] = ()
    """Its last screen."""


def declared(profile: profiles.Profile) -> list[str]:
    """The signs that a profile goes by, best first."""
    signals = profile.signals
    found = ["reports"] if signals.reports else []
    found += [name for name in ("hook", "event", "title", "screen") if getattr(signals, name)]
    return found or ["silence"]


def version(profile: profiles.Profile, search_path: str | None = None) -> str:
    """What the program says its version is; empty when it is not installed or does not say."""
    try:
        program = profiles.program_path(profile, search_path)
    except FleetError:
        return ""
    try:
        done = subprocess.run(
            [program, *profile.version_args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=VERSION_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "?"
    lines = [line.strip() for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    return lines[0][:60] if done.returncode == 0 and lines else "?"


@dataclass(frozen=True, slots=True)
class Tested:
    """The versions of a program that `make test-agents` runs."""

    package: str
    """Its name in the npm registry."""
    versions: tuple[str, ...]
    """Oldest first."""


def tested() -> dict[str, Tested]:
    """The tested versions by profile name."""
    import tomllib

    found = tomllib.loads(_TESTED.read_text(encoding="utf-8"))
    return {name: Tested(one["package"], tuple(one["versions"])) for name, one in found.items()}


def is_proven(version: str, versions: Sequence[str]) -> bool | None:
    """Whether the tests cover this version; None where that is not known, or where nothing is tested.

    Versions between the oldest and the newest tested one count as proven: signs change in new releases.
    """
    number = _NUMBER.search(version)
    if number is None or not versions:
        return None
    return _parts(versions[0]) <= _parts(number[0]) <= _parts(versions[-1])


def _parts(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


def prove(name: str, config: Config, *, prompt: str = "", seconds: float = SECONDS) -> Proof:
    """Start the program, with a prompt if one is given, and watch it until it waits for something."""
    profile = profiles.load(name)
    profiles.program_path(profile, config.env.get("PATH"))
    agent_id = names.new_id(os.urandom)
    scratch = Path(tempfile.mkdtemp(prefix="fleet-check-"))
    lock = paths.lock(agent_id)
    with _interrupted_by_signals():
        try:
            _repository(scratch)
            agent, intent = _row(agent_id, name, profile, scratch, config, prompt)
            try:
                with _uninterrupted():
                    _start(launch.run_spec(agent, intent, profile), lock)
                return _watch(agent, profile, lock, seconds, config.env.get("PATH"))
            finally:
                _end(agent, lock)
        finally:
            shutil.rmtree(paths.agent(agent_id), ignore_errors=True)
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """A terminal that is closed meanwhile must not leave the program behind: nobody would know of it."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt):
        yield


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A start that is broken off may have made a holder that nobody knows yet; signals are heard when it is over."""
    heard: list[int] = []
    with _handled(lambda number, _frame: heard.append(number)):
        yield
    if heard:
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
    agent_id: str, name: str, profile: profiles.Profile, scratch: Path, config: Config, prompt: str
) -> tuple[Agent, Intent]:
    paths.private(paths.agent(agent_id))
    session = profiles.new_session(profile)
    command = profiles.command(
        profile, prompt=prompt, config=config, session_id=session, folder=str(paths.run(agent_id, 1))
    )
    place = str(scratch)
    agent = Agent(agent_id, f"check-{name}", place, "", "", place, "check", name, command.argv, prompt, Status.SETUP, time.time())  # fmt: skip
    intent = Intent(
        repository=place, git_dir="", branch="", base="", worktree=place, makes_worktree=False, makes_branch=False,
        profile=name, argv=command.argv, prompt=prompt, pasted_prompt=command.pasted_prompt, env=dict(config.env),
        permission_mode=config.permission_mode,
    )  # fmt: skip
    return agent, intent


def _start(spec: RunSpec, lock: Path) -> None:
    request = json.dumps({"spec": asdict(spec), "lock": str(lock)})
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fleet_tui.proving"],
        input=request,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {"error": "the holder did not come up"}
    if "error" in report:
        raise LaunchFailed(f"{spec.argv[0]}: {report['error']}")


def _watch(
    agent: Agent, profile: profiles.Profile, lock: Path, seconds: float, search_path: str | None
) -> Proof:
    begun = time.monotonic()
    folder = paths.run(agent.id, 1)
    spoke: dict[str, str] = {}
    lines: tuple[str, ...] = ()
    last: dict[str, str] = {}
    while time.monotonic() < begun + seconds and is_held(lock):
        try:
            with Session.open(folder, lock, agent.name, rate=0) as session:
                said = session.ask("why")
        except HolderGone:
            break
        lines = tuple(line.rstrip() for line in said["lines"] if line.strip())
        for source in said["sources"]:
            spoke.setdefault(source["source"], ": ".join(filter(None, (source["status"], source["rule"]))))
        last = said["told"]
        if Status(last["status"]) in _KNOWN:
            break
        time.sleep(LOOK_SECONDS)
    _, events = read_events(folder, 0)
    if any(event["kind"] == "session" for event in events):
        spoke.setdefault("hook", "the conversation's id")
    spent = time.monotonic() - begun
    ended = "" if is_held(lock) else "exited"
    return Proof(
        profile.name, version(profile, search_path), ended or last.get("status", "unknown"), last.get("detail", ""),
        last.get("text", ""), round(spent, 1), spoke, lines[-12:],
    )  # fmt: skip


def _end(agent: Agent, lock: Path) -> None:
    request_stop(paths.run(agent.id, 1), lock, StopRequest("stop", STOP_GRACE))
    deadline = time.monotonic() + 2 * STOP_GRACE + 5.0
    while is_held(lock) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)


def main() -> None:
    """Fork a holder for what standard input asks for, and print its report."""
    from fleet_tui import keeper, processes, screen_server

    request = json.load(sys.stdin)
    values = request["spec"]
    spec = RunSpec(**values | {"argv": tuple(values["argv"]), "setup": tuple(values["setup"])})
    lock = take_lock(Path(request["lock"]))
    if lock is None:
        raise SystemExit("the lock is held by somebody else")
    processes.prepare()
    report = launch.fork_keeper(spec, lock, [], keeper.keep, screen_server.serve)
    sys.stdout.write(report.decode())


def installed(wanted: Sequence[str] = ()) -> list[tuple[profiles.Profile, str]]:
    """Profiles with the version of their program, asked all at once; those that are not installed last."""
    from concurrent.futures import ThreadPoolExecutor

    loaded = [profiles.load(name) for name in wanted or profiles.names()]
    with ThreadPoolExecutor(8) as pool:
        found = list(zip(loaded, pool.map(version, loaded), strict=True))
    return sorted(found, key=lambda one: (not one[1], one[0].name))


if __name__ == "__main__":
    main()
