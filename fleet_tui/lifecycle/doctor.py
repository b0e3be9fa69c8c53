"""Examine the fleet for problems and leftovers, each with a remedy. Examining changes nothing; a `fix` does.

One file: each check is a few lines, and the list of them in `examine` is the subject.
"""

from __future__ import annotations

import functools
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from fleet_tui import git, paths
from fleet_tui.config.load import load
from fleet_tui.config.settings import Config, worktrees
from fleet_tui.config.validate import edit_commands, validate
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.holder.lock import is_held, take_lock, trying_lock
from fleet_tui.holder.transcript import retention
from fleet_tui.lifecycle import branches, ending, rebuild, spares, tidy, worktree_location
from fleet_tui.models import Agent, Status
from fleet_tui.programs import profiles
from fleet_tui.programs.executable import program_path
from fleet_tui.quantities import counted
from fleet_tui.spare_worktree import SpareWorktree
from fleet_tui.store import backup
from fleet_tui.store.database import Store
from fleet_tui.system import agent_processes, identity, leftovers, processes, systemd_scope
from fleet_tui.text import visible

LOW_SPACE = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    level: Literal["ok", "warning", "problem"]
    text: str
    remedy: str = ""
    """What --fix does, or what the user can do."""
    fix: Callable[[], str] | None = None


def examine(store: Store, project: Path | None) -> list[Finding]:
    """Run all checks; those of a project only if there is one."""
    agents = store.agents.all()
    try:
        settings, broken = load(project), []
    except FleetError as error:
        settings, broken = Config(), [Finding("problem", error.message, error.hint)]
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
        *_landings(store, agents),
        *_worktrees(project, agents, settings),
        *_spares(store, project, settings),
        *([] if limits is None else _trash(store, agents, limits)),
        *_branches(agents),
        *([] if limits is None else _transcripts(agents, limits)),
        *([] if broken else _configuration(project)),
        *([] if broken else _trust(project)),
        *_programs(settings),
        *_sessions(),
    ]


def _limits() -> Config | None:
    """The user's limits on trash and transcripts, which all projects share.

    None if they cannot be read: the user may have raised them, so nothing is deleted by the defaults.
    """
    try:
        return load(None)
    except FleetError:
        return None


def _store(store: Store) -> Iterator[Finding]:
    problems = store.check()
    if problems:
        yield Finding(
            "problem",
            f"the store {store.path} is damaged: {problems[0]}",
            "--fix rebuilds it and keeps the damaged file, like fleet list --repair",
            lambda: "; ".join(rebuild.rebuild(store.path)),
        )
    else:
        yield Finding("ok", f"store {store.path}")
    for kept in sorted(store.path.parent.glob(f"{store.path.name}.damaged-*[0-9]")):
        yield Finding("ok", f"a damaged store is kept as {kept}", "delete it when nothing is missing")


def _space() -> Iterator[Finding]:
    free = shutil.disk_usage(paths.state()).free
    if free < LOW_SPACE:
        yield Finding(
            "warning", f"only {free >> 20} MB are free where agents write their output", "free some space"
        )


def _agents(store: Store, agents: list[Agent]) -> Iterator[Finding]:
    living = [agent for agent in agents if not agent.has_ended]
    yield Finding("ok", f"{counted(len(agents), 'agent')} known, {len(living)} running")
    for agent in agents:
        found = worktree_location.misplaced(agent)
        if found is not None:
            kind, place = found
            where = f"in the trash, in {place}" if kind == "trash" else str(place)
            yield Finding(
                "problem",
                f"{agent.name}: its worktree is {where}, not where the store says",
                "--fix corrects the store, like fleet list --repair",
                partial(_correct, store, agent),
            )
        elif agent.has_worktree and not Path(agent.worktree).is_dir():
            yield Finding(
                "problem",
                f"{agent.name}: its worktree {agent.worktree} is gone",
                f"fleet kill {agent.name} cleans up",
            )
        if agent.status is Status.LOST:
            yield Finding("warning", f"{agent.name}: {agent.status_detail}", f"fleet revive {agent.name}")
        elif not agent.has_ended and agent.machine != identity.here():
            yield Finding(
                "warning", f"{agent.name} runs on another machine or in a container; it is managed from there"
            )


def _links(store: Store, agents: list[Agent]) -> Iterator[Finding]:
    problems = git.link_problems(store.agents.git_dirs(agents), agents)
    for agent in agents:
        if agent.id in problems:
            yield Finding(
                "problem",
                f"{agent.name}: {problems[agent.id]}, so fleet does not run git in {agent.worktree}",
                f"in {agent.project}: fleet list --repair",
            )


def _correct(store: Store, agent: Agent) -> str:
    return (
        worktree_location.correct(store, agent, now=time.time()) or f"{agent.name} is busy; try again later"
    )


def _repositories(agents: list[Agent]) -> Iterator[Finding]:
    for project in sorted({agent.project for agent in agents if agent.machine == identity.here()}):
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
        if agent.has_ended and agent.machine == identity.here() and not is_held(paths.lock(agent.id)):
            if ending.was_lost(agent):
                yield from _suspects(agent)
                found = leftovers.of_agent(ending.traces(agent), table, state_folder=str(paths.state()))
                pids = [process.pid for process in found]
            else:
                pids = agent_processes.marked(agent.id, table, started_after=0)
            if pids:
                yield Finding(
                    "problem",
                    f"{agent.name} has ended, but left processes: {', '.join(map(str, pids))}",
                    "--fix ends them",
                    partial(_end_processes, agent),
                )


def _suspects(agent: Agent) -> Iterator[Finding]:
    left = ending.suspects(agent)
    if left:
        yield Finding(
            "warning",
            f"{agent.name} lost its keeper; these processes use its worktree and may be its own: {left}",
            "check them, then: kill PID",
        )


def _end_processes(agent: Agent) -> str:
    ended = leftovers.end(ending.traces(agent), state_folder=str(paths.state()))
    return f"ended {', '.join(map(str, ended))}" if ended else "not ended: they belong to a running holder"


def _leftover_sockets() -> Iterator[Finding]:
    for file in sorted(paths.sockets().glob("*.sock")):
        if not is_held(paths.lock(file.stem)) and not _is_listened_on(file):
            yield Finding(
                "warning",
                f"socket without a holder: {file}",
                "--fix removes it",
                partial(_remove, file),
            )


def _is_listened_on(file: Path) -> bool:
    """Whether a process listens. The locks are not enough: fleets with other state folders share the sockets' folder."""
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        try:
            client.connect(str(file))
        except BlockingIOError:
            # Its queue of connections is full.
            return True
        except OSError:
            return False
    return True


def _remove(file: Path) -> str:
    file.unlink(missing_ok=True)
    return "removed"


def _folders_without_rows(store: Store, agents: list[Agent]) -> Iterator[Finding]:
    known = {agent.id for agent in agents}
    folders = (paths.state() / "agents").glob(f"*/{backup.FILE}")
    unknown = [file.parent.name for file in folders if file.parent.name not in known]
    if unknown:
        yield Finding(
            "problem",
            f"{counted(len(unknown), 'agent')} with files but no row in the store",
            "--fix restores them, like fleet list --repair",
            lambda: f"restored: {', '.join(agent.name for agent in rebuild.restore(store))}",
        )
    for folder in sorted((paths.state() / "agents").glob("*")):
        is_begun = folder.name in known or (folder / backup.FILE).exists()
        if (
            not is_begun
            and {entry.name for entry in folder.iterdir()} <= {"lock"}
            and not is_held(folder / "lock")
        ):
            yield Finding(
                "warning",
                f"leftover folder of an agent that was never created: {folder}",
                "--fix removes it",
                partial(_remove_empty, folder),
            )


def _remove_empty(folder: Path) -> str:
    lock = take_lock(folder / "lock")
    if lock is None or (folder / backup.FILE).exists():
        return "kept: the agent is being created right now"
    (folder / "lock").unlink()
    folder.rmdir()
    os.close(lock)
    return "removed"


def _worktrees(project: Path | None, agents: list[Agent], settings: Config) -> Iterator[Finding]:
    if project is None:
        return
    repository = git.discover(project)
    stale = git.prune(repository, dry_run=True)
    if stale:
        yield Finding(
            "warning",
            f"git has entries for missing worktrees: {', '.join(stale)}",
            "--fix prunes them",
            lambda: f"pruned {', '.join(git.prune(repository, dry_run=False))}",
        )
    yield from _unknown_folders(worktrees(settings, project), agents)


def _landings(store: Store, agents: list[Agent]) -> Iterator[Finding]:
    """What killed landings have left: a branch half-way between two commits, and scratch worktrees."""
    known = store.agents.git_dirs(agents)
    for git_dir in sorted(set(known.values())):
        if git.has_note(git_dir):
            yield Finding(
                "problem",
                f"a landing in {git_dir} was interrupted while it moved a branch",
                "--fix brings files, index and branch to before or after",
                functools.partial(_heal, git_dir),
            )
        for folder in sorted(
            {Path(agent.worktree).parent for agent in agents if known.get(agent.id) == git_dir}
        ):
            if left := git.left_scratch(folder):
                yield Finding(
                    "warning",
                    f"scratch worktrees of interrupted landings: {', '.join(map(str, left))}",
                    "--fix removes them; they were only made for a check",
                    functools.partial(_sweep, git_dir, folder),
                )


def _heal(git_dir: Path) -> str:
    state = git.heal(git_dir)
    return f"everything is as {state} the landing" if state else "it has ended by itself"


def _sweep(git_dir: Path, folder: Path) -> str:
    return f"removed {', '.join(map(str, git.sweep_scratch(git_dir, folder)))}"


def _unknown_folders(folder: Path, agents: list[Agent]) -> Iterator[Finding]:
    ours = {Path(agent.worktree) for agent in agents}
    if folder.is_dir():
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and not entry.name.startswith(".") and entry not in ours:
                yield Finding(
                    "warning",
                    f"worktree without an agent: {entry}",
                    "check it, then: git worktree remove",
                )


def _spares(store: Store, project: Path | None, settings: Config) -> Iterator[Finding]:
    known = store.spares.all()
    problems = {one.path: spares.leftover(one, now=time.time()) for one in known}
    found = [one for one in known if problems[one.path]]
    if len(known) > len(found):
        ready = ", ".join(path for path, problem in problems.items() if not problem)
        yield Finding(
            "ok",
            f"{counted(len(known) - len(found), 'spare worktree')} ready for the next agents: {ready}",
            "for no spares: fleet config set spares.count 0",
        )
    with trying_lock(paths.spares_lock()) as is_free:
        if not is_free:
            # Another process is making one, or is about to remove one.
            return
    if project is not None:
        for path in spares.unknown(known, worktrees(settings, project)):
            found.append(SpareWorktree(str(path), str(project), "", 0.0, 0.0))
            problems[str(path)] = "the store has no record of it"
    for spare in found:
        yield Finding(
            "warning",
            f"spare worktree {spare.path}: {problems[spare.path]}",
            "--fix removes it",
            partial(_remove_spare, store, spare),
        )


def _remove_spare(store: Store, spare: SpareWorktree) -> str:
    with spares.alone() as is_alone:
        return spares.remove(store, spare) if is_alone else "kept: another process works on spares"


def _trash(store: Store, agents: list[Agent], limits: Config) -> Iterator[Finding]:
    waiting = [agent for agent in agents if agent.status is Status.KILLED and agent.trash]
    if waiting:
        yield Finding(
            "ok", f"{counted(len(waiting), 'worktree')} in the trash", "list them with: fleet trash"
        )
    now = time.time()
    leaving = tidy.leaving(agents, limits, now=now)
    if leaving:
        yield Finding(
            "warning",
            f"{len(leaving)} of them are older than {limits.trash_days} days, or more than {limits.trash_mb} MB",
            "--fix deletes them and saves their work under refs/fleet/trash",
            lambda: "; ".join(_emptied(store, agent, limits, now) for agent in leaving),
        )
    size = tidy.total_size(agents)
    if size > limits.trash_mb << 20 and not leaving:
        yield Finding(
            "warning",
            f"the trash takes {size >> 20} MB, more than its limit of {limits.trash_mb} MB (fleet.trash_mb)",
            "unmerged work stays for fleet.trash_days, other worktrees for a day; to free space now: fleet trash empty",
        )


def _branches(agents: list[Agent]) -> Iterator[Finding]:
    idle = branches.idle(agents)
    if idle:
        shown = ", ".join(agent.branch for agent in idle[:5]) + (" …" if len(idle) > 5 else "")
        yield Finding(
            "ok",
            f"{counted(len(idle), 'branch', 'branches')} of killed agents without commits of their own: {shown}",
            "remove them with: fleet trash -a --prune-branches",
        )


def _emptied(store: Store, agent: Agent, limits: Config, now: float) -> str:
    try:
        ref = tidy.empty(store, agent, limits, now=now)
    except FleetError as error:
        return f"{agent.name} kept: {error}"
    return f"{agent.name} deleted, saved as {ref}" if ref else f"{agent.name} was already gone"


def _transcripts(agents: list[Agent], settings: Config) -> Iterator[Finding]:
    folder = paths.state() / "agents"
    cap = settings.transcript_total_mb << 20
    size = retention.total_size(folder) if folder.is_dir() else 0
    if size > cap:
        living = {agent.id for agent in agents if not agent.has_ended}
        yield Finding(
            "warning",
            f"transcripts take {size >> 20} MB, more than fleet.transcript_total_mb ({settings.transcript_total_mb})",
            "--fix removes the oldest ones of ended agents",
            lambda: f"removed {len(retention.evict(folder, cap, living))} files",
        )


def _configuration(project: Path | None) -> Iterator[Finding]:
    if project is not None:
        problems = validate(project)
        for problem, command in zip(problems, edit_commands(problems, project), strict=True):
            yield Finding("warning", problem, command)


def _trust(project: Path | None) -> Iterator[Finding]:
    if project is None:
        return
    try:
        waiting = load(project, include=True).untrusted
    except FleetError as error:
        yield Finding("problem", error.message, error.hint)
        return
    if waiting:
        named = ", ".join(map(visible, waiting))
        yield Finding("warning", f"not trusted yet, so not in force: {named}", "review it with: fleet trust")


def _programs(settings: Config) -> Iterator[Finding]:
    try:
        program_path(profiles.load(settings.agent_default), settings.env.get("PATH"))
    except FleetError as error:
        yield Finding("warning", f"the default agent cannot start: {error.message}", error.hint)
    found, missing = [], []
    for name in profiles.names():
        try:
            profile = profiles.load(name)
            for problem in profile.problems:
                yield Finding("warning", problem, "fix the file")
            program_path(profile)
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
    if not systemd_scope.lingers(os.getuid()):
        yield Finding(
            "warning",
            "the system may end your agents when you log out",
            f"loginctl enable-linger {os.environ.get('USER', '')}".rstrip(),
        )
