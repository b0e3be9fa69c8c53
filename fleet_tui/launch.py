"""Makes agents: worktree, files and keeper for each, or none of it.

A face commits rows with their intent and hands each agent's lock to one detached launcher per batch, this module
run as a program. The launcher is two processes: a worker that makes worktrees and writes the store, and a mother
that has imported what holders need, holds no store and no threads, and forks a keeper whenever the worker asks.
Both load what they need while the face is still planning, and while git checks out.
Whichever of them dies, what it was making is found by its intent and cleaned up.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from fleet_tui import names, paths
from fleet_tui.errors import FleetError, LaunchFailed
from fleet_tui.holder import Exit, Requests, RunSpec, read_stop, write_record
from fleet_tui.intents import Intent, undo
from fleet_tui.models import Agent, Status
from fleet_tui.values import asdict

if TYPE_CHECKING:
    from fleet_tui.dealings import Dealings
    from fleet_tui.profiles import Profile
    from fleet_tui.screen import Screen
    from fleet_tui.store import Store

SETUP_SCRIPT = "setup.sh"
WARM_TURNS = 20
FIRST_OF_OTHERS = 3
"""The first descriptor that is no standard stream."""
LOCK_COMES = b"+"
"""A byte that a lock is sent with: descriptors do not travel alone."""
LOADED = b"."
ORDER_BYTES = 1 << 16
LOOK_SECONDS = 0.1
"""How often it is looked whether agents that wait for their worktree are still wanted."""
UNWANTED = "stopped while it was being made"
USER_MANAGER = "systemd/private"
"""The socket of the user's systemd, in the runtime folder."""


# ── the launcher's worker: worktrees and store ──────────────────────────────────────────────────────────────────


class Worker:
    def __init__(self, locks: dict[str, int], parallel: int, mother: socket.socket, out: IO[str]) -> None:
        from fleet_tui.store import Store

        self._locks = locks
        self._profiles: dict[str, Profile] = {}
        self._parallel = parallel
        self._mother = mother
        self._answers = mother.makefile("rb")
        self._out: IO[str] | None = out
        self._store: Store = Store(paths.store())
        self._requests: dict[str, Requests] = {}
        self._unwanted: set[str] = set()
        """Agents that were stopped while they were being made."""

    def run(self) -> None:
        jobs = [(self._store.agent(agent), Intent.read(self._store.intent(agent))) for agent in self._locks]
        self._requests = {agent.id: Requests(paths.lock(agent.id), agent.run) for agent, _ in jobs}
        for agent, intent, failure in self._worktrees(jobs):
            if failure:
                self._fail(agent, failure)
            else:
                self._start(agent, intent)
            # Not before its keeper has opened the pipe: what waits in it would be lost.
            self._requests[agent.id].close()
            os.close(self._locks.pop(agent.id))
        self._hang_up()
        self._tidy()
        self._store.close()

    def _hang_up(self) -> None:
        """Whoever listens need not wait for what follows."""
        # A socket stays open as long as a file made of it.
        self._answers.close()
        self._mother.close()
        if self._out is not None:
            self._out.close()
            self._out = None

    def _tidy(self) -> None:
        from fleet_tui import config, tidy

        # The user's limits, whichever repository this launcher works for: the trash holds every project's worktrees.
        tidy.tidy(self._store, config.load(None), now=time.time())

    def _worktrees(self, jobs: list[tuple[Agent, Intent]]) -> Iterator[tuple[Agent, Intent, str]]:
        """Each job once its worktree is ready, or with the reason why it is not."""
        from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

        with ThreadPoolExecutor(self._parallel) as pool:
            futures = {pool.submit(self._make, agent, intent): (agent, intent) for agent, intent in jobs}
            self._load_profiles(jobs)
            while futures:
                for future in wait(futures, LOOK_SECONDS, FIRST_COMPLETED).done:
                    agent, intent = futures.pop(future)
                    yield agent, intent, future.result()
                # Others' checkouts may take for ever; those that are at work look for themselves.
                for future, (agent, intent) in list(futures.items()):
                    if self._is_unwanted(agent) and future.cancel():
                        del futures[future]
                        yield agent, intent, UNWANTED

    def _is_unwanted(self, agent: Agent) -> bool:
        """Whether the agent was stopped while it was being made."""
        if self._requests[agent.id].take() or read_stop(paths.run(agent.id, agent.run)) is not None:
            self._unwanted.add(agent.id)
        return agent.id in self._unwanted

    def _load_profiles(self, jobs: list[tuple[Agent, Intent]]) -> None:
        """While git checks out: the first agent that is ready then need not wait for it."""
        from fleet_tui import setup_files  # noqa: F401 - to have it loaded

        for profile in {intent.profile for _, intent in jobs}:
            # What is wrong with it is said of the agents that it is for.
            with contextlib.suppress(FleetError):
                self._profile(profile)

    def _profile(self, name: str) -> Profile:
        """Read once for all agents that it is for."""
        from fleet_tui import profiles

        if name not in self._profiles:
            self._profiles[name] = profiles.load(name)
        return self._profiles[name]

    def _make(self, agent: Agent, intent: Intent) -> str:
        """Worktree and files; returns why it failed, and leaves nothing behind then."""
        if not intent.makes_worktree:
            self._lock_again(agent, intent)
            return ""
        if self._is_unwanted(agent):
            return UNWANTED
        from fleet_tui import git

        self._tell(agent, "worktree")
        folder = Path(intent.worktree).parent
        try:
            paths.private(folder)
        except OSError as error:
            return f"cannot make the folder {folder}: {error.strerror}"
        try:
            repository = git.Repository(
                Path(intent.repository),
                Path(intent.git_dir),
                "",
                is_bare=False,
                head=intent.base,
                head_branch="",
            )
            plan = git.WorktreePlan(intent.branch, intent.base, Path(intent.worktree), intent.makes_branch)
            git.add(
                repository,
                plan,
                admin_name=admin_name(agent),
                lock_reason=lock_reason(agent),
                # A git that outlives this process holds the agent until it is done, so nobody cleans up under it.
                keep_open=[self._locks[agent.id]],
                is_unwanted=lambda: self._is_unwanted(agent),
            )
        except git.Unwanted:
            _undo(agent, intent)
            return UNWANTED
        except FleetError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - one agent's trouble must be its own, and shown
            _log_exception()
            return f"internal error: {error!r}"
        return self._copy_files(agent, intent)

    def _lock_again(self, agent: Agent, intent: Intent) -> None:
        """The worktree of an earlier run was unlocked at its end, and git would remove it under this one."""
        from fleet_tui import git

        # One that git has lost sight of is nothing that git would remove.
        with contextlib.suppress(FleetError, OSError):
            git.lock(Path(intent.git_dir), Path(agent.worktree), lock_reason(agent), agent.id)

    def _copy_files(self, agent: Agent, intent: Intent) -> str:
        from fleet_tui import setup_files

        try:
            copied = setup_files.copy(
                Path(intent.repository), Path(intent.worktree), intent.credential_files, intent.include
            )
        except OSError as error:
            _undo(agent, intent)
            return f"copying files into the worktree: {error}"
        notes = [f"not found: {', '.join(copied.missing)}"] if copied.missing else []
        notes += [f"{path}: {reason}" for path, reason in copied.refused]
        if notes:
            self._tell(agent, "files", "; ".join(notes))
        return ""

    def _start(self, agent: Agent, intent: Intent) -> None:
        """One agent's trouble is its own: the others go on."""
        if self._is_unwanted(agent):
            self._take_back(agent, intent, UNWANTED)
            return
        try:
            self._start_holder(agent, intent)
        except FleetError as error:
            self._take_back(agent, intent, str(error))
        except OSError as error:
            _log_exception()
            self._take_back(agent, intent, f"the system refused: {error}")

    def _take_back(self, agent: Agent, intent: Intent, reason: str) -> None:
        _undo(agent, intent)
        self._fail(agent, reason)

    def _start_holder(self, agent: Agent, intent: Intent) -> None:
        spec = run_spec(agent, intent, self._profile(intent.profile))
        answer = self._ask_mother(spec, self._locks[agent.id])
        if "error" in answer:
            raise LaunchFailed(f"{intent.argv[0]}: {answer['error']}")
        now = time.time()
        status = Status.SETUP if intent.setup else Status.STARTING
        with self._store.transaction():
            self._store.change(
                agent.id,
                now,
                pid=answer["pid"],
                keeper_pid=answer["keeper_pid"],
                started_at=now,
                ended_at=None,
            )
            self._store.change(agent.id, now, only_from=[Status.SETUP], status=status, status_detail="")
        self._tell(agent, str(status))

    def _ask_mother(self, spec: RunSpec, lock: int) -> dict[str, Any]:
        try:
            socket.send_fds(self._mother, [LOCK_COMES], [lock])
            self._mother.sendall(json.dumps(asdict(spec)).encode() + b"\n")
            line = self._answers.readline()
        except OSError:
            line = b""
        if not line:
            # The mother is gone. What she may have started keeps its lock; the rest is found by its intent.
            os._exit(1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _fail(self, agent: Agent, reason: str) -> None:
        from fleet_tui.reconcile import unlock_worktree

        now = time.time()
        folder = paths.private(paths.run(agent.id, agent.run))
        write_record(folder / "exit.json", Exit("failed", now, reason=reason))
        with self._store.transaction():
            self._store.change(agent.id, now, status=Status.FAILED, status_detail=reason, ended_at=now)
        unlock_worktree(self._store, agent)
        self._tell(agent, "failed", reason)

    def _tell(self, agent: Agent, step: str, note: str = "") -> None:
        if self._out is None:
            return
        try:
            self._out.write(json.dumps({"agent": agent.id, "step": step, "note": note}) + "\n")
            self._out.flush()
        except OSError:
            self._out = None


def _undo(agent: Agent, intent: Intent) -> None:
    """What cannot be taken back stays visible through fleet doctor, and is no reason not to make the others."""
    with contextlib.suppress(FleetError, OSError):
        undo(agent, intent)


def admin_name(agent: Agent) -> str:
    """How git's own list of worktrees calls it."""
    return Path(agent.worktree).name


def lock_reason(agent: Agent) -> str:
    """What git says when it is asked to remove the worktree."""
    return f"fleet agent {agent.name}"


def run_spec(agent: Agent, intent: Intent, profile: Profile) -> RunSpec:
    from fleet_tui import profiles

    folder = paths.private(paths.run(agent.id, agent.run))
    address = str(paths.sockets() / f"{agent.id}.sock")
    if intent.setup:
        script = Path(__file__).parent / "data" / SETUP_SCRIPT
        (folder / SETUP_SCRIPT).write_bytes(script.read_bytes())
    _inject(profile, folder)
    environment = profiles.environment(
        profile,
        os.environ,
        agent_id=agent.id,
        socket=address,
        folder=str(folder),
        port_base=agent.port_base,
        extra=dict(intent.env or {}),
        permission_mode=intent.permission_mode,
    )
    argv, stream = _listening(profile, intent, environment)
    return RunSpec(
        agent=agent.id,
        run=agent.run,
        folder=str(folder),
        state_folder=str(paths.state()),
        socket=address,
        argv=argv,
        cwd=intent.worktree,
        # The user's own PWD names the folder that the fleet was called in, and some programs go by it.
        env=environment | {"PWD": intent.worktree},
        cols=intent.cols,
        rows=intent.rows,
        setup=intent.setup,
        prompt=intent.prompt or intent.pasted_prompt,
        is_prompt_given=not intent.pasted_prompt,
        signals=profile.signals.to_plain(),
        stream=stream,
        policy=dict(intent.policy or {}),
        scrollback=intent.scrollback,
        transcript_cap=intent.transcript_cap,
        name=agent.name,
    )


def _listening(
    profile: Profile, intent: Intent, environment: dict[str, str]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The command line of a program that tells what it does on a port, and what it takes to listen there."""
    stream = profile.stream
    if stream is None or intent.headless:
        return intent.argv, {}
    import secrets

    port = _free_port()
    password = secrets.token_urlsafe(24) if stream.password else ""
    if stream.password:
        environment[stream.password] = password
    args = tuple(part.replace("{port}", str(port)) for part in stream.args)
    told = {"port": port, "path": stream.path, "user": stream.user, "password": password}
    return (intent.argv[0], *args, *intent.argv[1:]), told | {"catch_up": dict(stream.catch_up)}


def _free_port() -> int:
    """One that the system has to give: those of the agent's own block may be anybody's by now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def _inject(profile: Profile, folder: Path) -> None:
    """What the program is given to tell its holder by; it stays in the run's own folder."""
    from fleet_tui import hooks, profiles

    if not profile.inject_files:
        return
    hooks.prepare(folder)
    hook = folder / hooks.SCRIPT
    hook.write_bytes((Path(__file__).parent / "data" / hooks.SCRIPT).read_bytes())
    hook.chmod(0o700)
    for name, content in profiles.injected_files(profile, str(hook)).items():
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)


# ── the launcher's mother: forks keepers ────────────────────────────────────────────────────────────────────────


def _mother(worker: socket.socket) -> None:
    # There may be no processor left beside those of the face and the worker, who are waited for first.
    if not worker.recv(len(LOADED)):
        return
    from fleet_tui import keeper, processes, screen, screen_server

    processes.prepare()
    _warm(screen.Screen(20, 5))
    enter_scope = _scope_entry()
    gc.collect()
    # What is left stays, and is shared as long as nobody writes to it, be it only in search of garbage.
    gc.freeze()
    requests = worker.makefile("rb")
    # The worker waits for each answer, so what is read here is never part of the next request.
    while locks := _receive_locks(worker, len(LOCK_COMES))[1]:
        values = json.loads(requests.readline())
        values["argv"], values["setup"] = tuple(values["argv"]), tuple(values["setup"])
        try:
            answer = fork_keeper(
                RunSpec(**values),
                locks[0],
                [worker.fileno()],
                keeper.keep,
                screen_server.serve,
                enter_scope,
            )
        except OSError as error:
            answer = json.dumps({"error": str(error)}).encode()
        worker.sendall(answer + b"\n")


def _warm(screen: Screen) -> None:
    """Use each part: codecs and such are loaded at first use, and a holder must not have to load anything.

    Code that has run a few times before a fork is adapted to what it does and shared; else each holder pays for that.
    """
    dealings = _dealings(screen)
    for _ in range(WARM_TURNS):
        now = time.monotonic()
        dealings.output(now)
        dealings.due(now)
        dealings.tick(now, is_reading=True)
    screen.feed("\x1b[1mwarm \u4e16\x1b[0m\r\n".encode() * 8)
    screen.update()
    screen.row(0)
    screen.text()
    screen.take_scrolled_lines(10)
    screen.history(0, 1)
    screen.close()


def _dealings(screen: Screen) -> Dealings:
    """Those of nobody: nothing is typed and nothing told."""
    from fleet_tui.dealings import Dealings

    spec = RunSpec("", 0, os.devnull, os.devnull, "", (), "/", {})
    return Dealings(spec, screen, lambda _data: True, lambda _kind, **_fields: None)


def _scope_entry() -> Callable[[RunSpec], str]:
    """By which a process enters the scope of its agent, or returns why it stays where it is though it should not."""
    manager = _user_manager()
    if not manager:
        return _stay
    # Not loaded where there is none.
    from fleet_tui import scopes

    return entry_to(manager) if scopes.are_safer(os.getuid()) else _stay


def entry_to(manager: str) -> Callable[[RunSpec], str]:
    """The entry to scopes of that manager, if it answers: one that hangs is waited for once, not for each agent."""
    from fleet_tui import scopes

    if not scopes.answers(manager):
        return lambda _spec: "no scope of its own: systemd does not answer"

    def enter(spec: RunSpec) -> str:
        try:
            scopes.enter(
                manager, f"{scopes.unit_prefix(spec.agent)}{spec.run}.scope", f"fleet agent {spec.name}"
            )
        except OSError as error:
            return f"no scope of its own: {error}"
        return ""

    return enter


def _stay(_spec: RunSpec) -> str:
    """Where there is no better place."""
    return ""


def _user_manager() -> str:
    """The socket of the user's own systemd; empty where there is none."""
    address = f"{os.environ.get('XDG_RUNTIME_DIR', '')}/{USER_MANAGER}"
    try:
        return address if os.stat(address).st_uid == os.getuid() else ""  # noqa: PTH116 - no more than a system call
    except OSError:
        return ""


def fork_keeper(
    spec: RunSpec,
    lock: int,
    not_for_it: Sequence[int],
    keep: Callable[..., NoReturn],
    serve: object,
    enter_scope: Callable[[RunSpec], str] = _stay,
) -> bytes:
    """Start a keeper with the agent's lock, from a process without threads; returns its report."""
    report_read, report_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for descriptor in (report_read, *not_for_it):
                os.close(descriptor)
            complaint = enter_scope(spec)
            gc.enable()
            # A second fork: the keeper is nobody's child, so nobody has to collect it.
            if os.fork() == 0:
                keep(spec, lock, report_write, serve, complaint)
        finally:
            os._exit(0)
    os.close(report_write)
    os.close(lock)
    os.waitpid(pid, 0)
    with os.fdopen(report_read, "rb") as report:
        answer = report.readline().strip()
    return answer or b'{"error": "the keeper did not come up"}'


def _receive_locks(line: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """What comes next, and the locks that come with it; nothing of both when nobody is there any more."""
    data, locks, _, _ = socket.recv_fds(line, size, names.MAX_COUNT)
    for lock in locks:
        os.set_inheritable(lock, False)
    return data, locks


def _receive_order(face: socket.socket) -> tuple[dict[str, int], int] | None:
    """The locks of the agents to make, and how many at a time; None when the face has thought better of it."""
    data, locks = b"", list[int]()
    while not data.endswith(b"\n"):
        some, locks = _receive_locks(face, ORDER_BYTES)
        if not some:
            return None
        data += some
    order = json.loads(data)
    return dict(zip(order["agents"], locks, strict=True)), order["parallel"]


def _work(face: socket.socket, mother: socket.socket, out: IO[str]) -> None:
    """Load what is needed first, and do what is asked then, if anything."""
    import concurrent.futures.thread  # noqa: F401 - to have it loaded

    from fleet_tui import store  # noqa: F401 - to have it loaded
    from fleet_tui.git import add  # noqa: F401 - to have it loaded

    mother.sendall(LOADED)
    with face:
        order = _receive_order(face)
    if order is not None:
        Worker(*order, mother, out).run()


def main() -> None:
    # Loading makes hardly any garbage, and looking for it takes a tenth of the time.
    gc.disable()
    # What the caller had open would stay open as long as the agents live.
    os.closerange(FIRST_OF_OTHERS, os.sysconf("SC_OPEN_MAX"))
    os.chdir("/")
    _complain_in_log()
    face = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        code = 1
        try:
            out = os.fdopen(os.dup(1), "w", encoding="utf-8")
            _quiet_stdout()
            _work(face, theirs, out)
            code = 0
        except BrokenPipeError:
            code = 0
        except Exception:  # noqa: BLE001 - the last frame of this process: what ended it must be on record
            _log_exception()
        finally:
            sys.stderr.flush()
            os._exit(code)
    theirs.close()
    face.close()
    _quiet_stdout()
    _mother(ours)
    # Taking down all that was imported takes time, and whoever started this waits for its end.
    sys.stderr.flush()
    os._exit(0)


def _complain_in_log() -> None:
    """Standard error is the launchers' log; where that cannot be written, nobody hears of what goes wrong."""
    with contextlib.suppress(OSError, FleetError):
        problems = os.open(
            paths.log() / "launch.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        os.dup2(problems, 2)
        os.close(problems)


def _log_exception() -> None:
    """What has just gone wrong, to the launchers' log."""
    import traceback

    traceback.print_exc()


def _quiet_stdout() -> None:
    """Whoever listens must hear the end when the worker ends, not when the last keeper does."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


if __name__ == "__main__":
    try:
        main()
    except (LaunchFailed, BrokenPipeError) as problem:
        sys.exit(str(problem))
