"""Says what is wrong and what was left behind, and how each of it is mended. Looking changes nothing."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from fleet_tui import (
    config,
    git,
    land,
    leftovers,
    paths,
    processes,
    profiles,
    rebuilding,
    scopes,
    tidy,
    transcript,
)
from fleet_tui.errors import FleetError
from fleet_tui.holder import is_held, take_lock
from fleet_tui.models import Agent, Status
from fleet_tui.store import Store
from fleet_tui.values import dataclass

LOW_SPACE = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    level: Literal["ok", "warning", "problem"]
    text: str
    remedy: str = ""
    """What --fix would do, or what the user can."""
    fix: Callable[[], str] | None = None


def examine(store: Store, project: Path | None) -> list[Finding]:
    agents = store.agents()
    try:
        settings, broken = config.load(project), []
    except FleetError as error:
        settings, broken = config.Config(), [Finding("problem", error.message, error.hint)]
    limits = _limits()
    return [
        *broken,
        *_store(store),
        *_space(),
        *_agents(store, agents),
        *_links(store, agents),
        *_repositories(agents),
        *_leftover_processes(agents),
        *_leftover_sockets(),
        *_folders_without_rows(store, agents),
        *_worktrees(project, agents, settings),
        *([] if limits is None else _trash(store, agents, limits)),
        *_branches(agents),
        *([] if limits is None else _transcripts(agents, limits)),
        *([] if broken else _configuration(project)),
        *([] if broken else _trust(project)),
        *_programs(settings),
        *_sessions(),
    ]


def _limits() -> config.Config | None:
    """The user's own settings: no project sets limits on trash and transcripts, which all projects share.

    None where they cannot be read: nothing is deleted by limits that the user may have raised.
    """
    try:
        return config.load(None)
    except FleetError:
        return None


def _store(store: Store) -> Iterator[Finding]:
    problems = store.check()
    if problems:
        yield Finding(
            "problem",
            f"the store {store.path} is damaged: {problems[0]}",
            "--fix rebuilds it and keeps the damaged file, as fleet list --repair does",
            lambda: "; ".join(rebuilding.rebuild(store.path)),
        )
    else:
        yield Finding("ok", f"store {store.path}")
    for kept in sorted(store.path.parent.glob(f"{store.path.name}.damaged-*[0-9]")):
        yield Finding("ok", f"a damaged store is kept as {kept}", "remove it once you miss nothing")


def _space() -> Iterator[Finding]:
    free = shutil.disk_usage(paths.state()).free
    if free < LOW_SPACE:
        yield Finding(
            "warning", f"only {free >> 20} MB are free where agents write their output", "make room"
        )


def _agents(store: Store, agents: list[Agent]) -> Iterator[Finding]:
    living = [agent for agent in agents if not agent.has_ended]
    yield Finding("ok", f"{_counted(len(agents), 'agent')} known, {len(living)} running")
    for agent in agents:
        found = land.misplaced(agent)
        if found is not None:
            kind, place = found
            where = f"in the trash, in {place}" if kind == "trash" else str(place)
            yield Finding(
                "problem",
                f"{agent.name}: its worktree is {where}, and not where the store has it",
                "--fix sets that right, as fleet list --repair does",
                partial(_mended, store, agent),
            )
        elif agent.has_worktree and not Path(agent.worktree).is_dir():
            yield Finding(
                "problem",
                f"{agent.name}: its worktree {agent.worktree} is gone",
                f"fleet kill {agent.name} tidies up",
            )
        if agent.status is Status.LOST:
            yield Finding("warning", f"{agent.name}: {agent.status_detail}", f"fleet revive {agent.name}")
        elif not agent.has_ended and agent.machine != processes.here():
            yield Finding("warning", f"{agent.name} runs elsewhere, and is not touched from here")


def _links(store: Store, agents: list[Agent]) -> Iterator[Finding]:
    problems = git.link_problems(store.git_dirs(agents), agents)
    for agent in agents:
        if agent.id in problems:
            yield Finding(
                "problem",
                f"{agent.name}: {problems[agent.id]}, so git is not run in {agent.worktree}",
                f"in {agent.project}: fleet list --repair",
            )


def _mended(store: Store, agent: Agent) -> str:
    return land.mend(store, agent, now=time.time()) or f"{agent.name} is busy; try again later"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _repositories(agents: list[Agent]) -> Iterator[Finding]:
    for project in sorted({agent.project for agent in agents if agent.machine == processes.here()}):
        of_it = [agent.name for agent in agents if agent.project == project and not agent.trash]
        if of_it and not Path(project).exists():
            yield Finding(
                "problem",
                f"the repository {project} is gone, and {', '.join(of_it)} with it",
                f"if it was moved, run there: fleet list --repair; if not: fleet kill {' '.join(of_it)}",
            )


def _leftover_processes(agents: list[Agent]) -> Iterator[Finding]:
    table = processes.snapshot()
    for agent in agents:
        if agent.has_ended and agent.machine == processes.here() and not is_held(paths.lock(agent.id)):
            if land.was_lost(agent):
                yield from _suspects(agent)
                found = leftovers.of_agent(land.traces(agent), table, state_folder=str(paths.state()))
                pids = [process.pid for process in found]
            else:
                pids = processes.marked(agent.id, table, started_after=0)
            if pids:
                yield Finding(
                    "problem",
                    f"{agent.name} has ended, but left processes: {', '.join(map(str, pids))}",
                    "--fix ends them",
                    partial(_end_processes, agent),
                )


def _suspects(agent: Agent) -> Iterator[Finding]:
    left = land.suspects(agent)
    if left:
        yield Finding(
            "warning",
            f"{agent.name} lost its keeper and may have left these running, they use its worktree: {left}",
            "look at them, then: kill PID",
        )


def _end_processes(agent: Agent) -> str:
    ended = leftovers.end(land.traces(agent), state_folder=str(paths.state()))
    return f"ended {', '.join(map(str, ended))}" if ended else "not ended: a holder that still runs has them"


def _leftover_sockets() -> Iterator[Finding]:
    for file in sorted(paths.sockets().glob("*.sock")):
        if not is_held(paths.lock(file.stem)) and not _is_listened_on(file):
            yield Finding(
                "warning",
                f"a socket without a holder: {file}",
                "--fix removes it",
                partial(_remove, file),
            )


def _is_listened_on(file: Path) -> bool:
    """Fleets with a state folder of their own share the folder for sockets, and this one cannot see their locks."""
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        try:
            client.connect(str(file))
        except BlockingIOError:
            # There is a queue in front of it.
            return True
        except OSError:
            return False
    return True


def _remove(file: Path) -> str:
    file.unlink(missing_ok=True)
    return "removed"


def _folders_without_rows(store: Store, agents: list[Agent]) -> Iterator[Finding]:
    known = {agent.id for agent in agents}
    folders = (paths.state() / "agents").glob("*/agent.json")
    unknown = [file.parent.name for file in folders if file.parent.name not in known]
    if unknown:
        yield Finding(
            "problem",
            f"{len(unknown)} agents have files, but no row in the store",
            "--fix brings them back, as fleet list --repair does",
            lambda: f"found again: {', '.join(agent.name for agent in rebuilding.restore(store))}",
        )
    for folder in sorted((paths.state() / "agents").glob("*")):
        is_begun = folder.name in known or (folder / "agent.json").exists()
        if (
            not is_begun
            and {entry.name for entry in folder.iterdir()} <= {"lock"}
            and not is_held(folder / "lock")
        ):
            yield Finding(
                "warning",
                f"an agent that was never begun: {folder}",
                "--fix removes it",
                partial(_remove_empty, folder),
            )


def _remove_empty(folder: Path) -> str:
    lock = take_lock(folder / "lock")
    if lock is None or (folder / "agent.json").exists():
        return "it is being made right now"
    (folder / "lock").unlink()
    folder.rmdir()
    os.close(lock)
    return "removed"


def _worktrees(project: Path | None, agents: list[Agent], settings: config.Config) -> Iterator[Finding]:
    if project is None:
        return
    repository = git.discover(project)
    stale = git.prune(repository, dry_run=True)
    if stale:
        yield Finding(
            "warning",
            f"git remembers worktrees that are gone: {', '.join(stale)}",
            "--fix prunes them",
            lambda: f"pruned {', '.join(git.prune(repository, dry_run=False))}",
        )
    yield from _unknown_folders(config.worktrees(settings, project), agents)


def _unknown_folders(folder: Path, agents: list[Agent]) -> Iterator[Finding]:
    ours = {Path(agent.worktree) for agent in agents}
    if folder.is_dir():
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and not entry.name.startswith(".") and entry not in ours:
                yield Finding(
                    "warning",
                    f"a worktree that no agent belongs to: {entry}",
                    "look into it, then: git worktree remove",
                )


def _trash(store: Store, agents: list[Agent], limits: config.Config) -> Iterator[Finding]:
    waiting = [agent for agent in agents if agent.status is Status.KILLED and agent.trash]
    if waiting:
        yield Finding("ok", f"{_counted(len(waiting), 'worktree')} in the trash", "fleet trash lists them")
    now = time.time()
    leaving = tidy.leaving(agents, limits, now=now)
    if leaving:
        yield Finding(
            "warning",
            f"{len(leaving)} of them are older than {limits.trash_days} days, or more than {limits.trash_mb} MB",
            "--fix deletes those, their work saved under refs/fleet/trash",
            lambda: "; ".join(_emptied(store, agent, limits, now) for agent in leaving),
        )
    size = tidy.total_size(agents)
    if size > limits.trash_mb << 20 and not leaving:
        yield Finding(
            "warning",
            f"the trash takes {size >> 20} MB, more than its limit of {limits.trash_mb} MB (fleet.trash_mb)",
            "nothing leaves it in its first day; fleet trash --empty makes room now",
        )


def _branches(agents: list[Agent]) -> Iterator[Finding]:
    idle = land.idle_branches(agents)
    if idle:
        shown = ", ".join(agent.branch for agent in idle[:5]) + (" …" if len(idle) > 5 else "")
        yield Finding(
            "ok",
            f"branches of killed agents without commits of their own: {len(idle)} ({shown})",
            "fleet trash -a --prune-branches removes them",
        )


def _emptied(store: Store, agent: Agent, limits: config.Config, now: float) -> str:
    try:
        ref = tidy.empty(store, agent, limits, now=now)
    except FleetError as error:
        return f"{agent.name} stays: {error}"
    return f"{agent.name} deleted, saved as {ref}" if ref else f"{agent.name} was gone already"


def _transcripts(agents: list[Agent], settings: config.Config) -> Iterator[Finding]:
    folder = paths.state() / "agents"
    cap = settings.transcript_total_mb << 20
    size = transcript.total_size(folder) if folder.is_dir() else 0
    if size > cap:
        living = {agent.id for agent in agents if not agent.has_ended}
        yield Finding(
            "warning",
            f"transcripts take {size >> 20} MB, more than the {settings.transcript_total_mb} MB that are set",
            "--fix removes the oldest of ended agents",
            lambda: f"removed {len(transcript.evict(folder, cap, living))} files",
        )


def _configuration(project: Path | None) -> Iterator[Finding]:
    if project is not None:
        for problem in config.validate(project):
            yield Finding("warning", problem, "fleet config --edit")


def _trust(project: Path | None) -> Iterator[Finding]:
    if project is None:
        return
    try:
        waiting = config.load(project, include=True).untrusted
    except FleetError as error:
        yield Finding("problem", error.message, error.hint)
        return
    if waiting:
        from fleet_tui.trust import shown

        named = ", ".join(map(shown, waiting))
        yield Finding("warning", f"not trusted yet, so not in force: {named}", "look at it with: fleet trust")


def _programs(settings: config.Config) -> Iterator[Finding]:
    try:
        profiles.program_path(profiles.load(settings.agent_default), settings.env.get("PATH"))
    except FleetError as error:
        yield Finding("warning", f"agents cannot start by default: {error.message}", error.hint)
    found, missing = [], []
    for name in profiles.names():
        try:
            profile = profiles.load(name)
            for problem in profile.problems:
                yield Finding("warning", problem, "mend the file")
            profiles.program_path(profile)
            found.append(name)
        except FleetError:
            missing.append(name)
    yield Finding(
        "ok",
        f"agent programs found: {', '.join(found) or 'none'}"
        + (f"; not installed: {', '.join(missing)}" if missing else ""),
    )


def _sessions() -> Iterator[Finding]:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if not runtime.startswith("/run/user/"):
        return
    if not scopes.lingers(os.getuid()):
        yield Finding(
            "warning",
            "the system may end your agents when you log out",
            f"loginctl enable-linger {os.environ.get('USER', '')}".rstrip(),
        )
