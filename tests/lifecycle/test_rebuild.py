"""Damaged stores under a real fleet: named in one line, kept, and rebuilt with every agent."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fleet_tui import paths
from fleet_tui.errors import StoreError
from fleet_tui.lifecycle.rebuild import rebuild
from fleet_tui.models import Agent, Batch, Status
from fleet_tui.store import backup
from fleet_tui.store.database import Store
from tests.agent_pool import AgentPool, module_pool, pool
from tests.cli.commands import FLEET, Cli
from tests.holder.holders import wait_until
from tests.system.small_disks import fill, small_disk
from tests.watched_fleet import WatchedFleet

__all__ = ("module_pool", "pool")


@dataclass(frozen=True)
class Scene:
    """A fleet with an agent of every kind, and its store as it was before any damage."""

    pool: AgentPool
    agents: dict[str, Agent]
    bytes: bytes

    @property
    def path(self) -> Path:
        return paths.store()

    def put_back(self) -> None:
        """The store as it was, with nothing beside it."""
        for file in self.path.parent.glob("fleet.db*"):
            file.unlink()
        self.path.write_bytes(self.bytes)


@pytest.fixture(scope="module")
def staged(module_pool: AgentPool) -> Iterator[list[Any]]:
    """Filled by the first test that has the module's home as its own."""
    made: list[Any] = []
    yield made
    if made:
        paths.store().write_bytes(made[1])
    module_pool.fleet = WatchedFleet(module_pool.project)


@pytest.fixture
def scene(pool: AgentPool, staged: list[Any]) -> Scene:
    if not staged:
        fleet = pool.fleet
        fleet.multi([("running", "first ünïcode"), ("stopped", "x"), ("killed", "y"), ("old-name", "z")])
        fleet.fanout(2, "fan", prompt="the prompt of a batch")
        fleet.prompts.send(fleet.find("running"), "another prompt")
        fleet.stop(fleet.match(["stopped"]))
        fleet.kill(fleet.match(["killed"]))
        fleet.rename(fleet.find("old-name"), "renamed")
        fleet.move_to_batch(fleet.match(["renamed"]), "moved-batch")
        wait_until(lambda: fleet.find("running").pid is not None, "the holder")
        agents = {agent.id: agent for agent in fleet.agents()}
        fleet.close()
        staged += [agents, paths.store().read_bytes()]
    found = Scene(pool, *staged)
    found.put_back()
    return found


@pytest.fixture
def cli(scene: Scene, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(scene.pool.project, capsys)


def facts(agents: dict[str, Agent]) -> dict[str, tuple[Any, ...]]:
    """What a rebuilt store has to know of each agent."""
    return {
        one: (
            agent.name, agent.project, agent.branch, agent.base, agent.worktree, agent.batch, agent.profile, agent.argv,
            agent.prompt, agent.created_at, agent.run, agent.has_ended, agent.status is Status.KILLED, agent.trash,
            agent.machine, agent.port_base,
        )
        for one, agent in agents.items()
    }  # fmt: skip


def found_again(scene: Scene) -> dict[str, Agent]:
    fleet = WatchedFleet(scene.pool.project)
    try:
        return {agent.id: agent for agent in fleet.agents(everywhere=True)}
    finally:
        fleet.close()


def change(statement: str, *values: object) -> Callable[[Scene], None]:
    """Damage by SQL, past the types of the tables."""

    def done(scene: Scene) -> None:
        with closing(sqlite3.connect(scene.path)) as db:
            db.execute("pragma writable_schema = on")
            db.execute("update sqlite_master set sql = replace(sql, ') strict', ')')")
            # Only read back as loose tables by a new connection.
            db.commit()
        with closing(sqlite3.connect(scene.path)) as db:
            db.execute("pragma ignore_check_constraints = on")
            before = db.execute("select name, sql from sqlite_master where type = 'table'").fetchall()
            db.execute(statement, values)
            db.commit()
            db.execute("pragma writable_schema = on")
            for name, sql in before:
                if not name.startswith("sqlite_"):
                    db.execute("update sqlite_master set sql = ? || ' strict' where name = ?", (sql, name))
            db.commit()

    return done


def overwrite(content: bytes, at: float = 0.0) -> Callable[[Scene], None]:
    def done(scene: Scene) -> None:
        with scene.path.open("r+b") as file:
            file.seek(int(len(scene.bytes) * at))
            file.write(content)

    return done


def cut(part: float) -> Callable[[Scene], None]:
    def done(scene: Scene) -> None:
        scene.path.write_bytes(scene.bytes[: int(len(scene.bytes) * part)])

    return done


def no_database(scene: Scene) -> None:
    scene.path.write_bytes(b"this is no database, but it is long enough" * 30)


ONE_ROW = {
    "text that is no UTF-8": change(
        "update agent set title = cast(x'ff2041' as text) where name = 'running'"
    ),
    "a name that is no UTF-8": change(
        "update agent set name = cast(x'ff2041' as text) where name = 'running'"
    ),
    "a status that is none": change("update agent set status = 'wprking' where name = 'running'"),
    "arguments that do not parse": change("update agent set argv = '[\"' where name = 'running'"),
    "arguments of another shape": change("update agent set argv = '{}' where name = 'running'"),
    "evidence that does not parse": change("update agent set evidence = '{' where name = 'running'"),
    "an intent that does not parse": change("update agent set intent = '{\"' where name = 'running'"),
    "an intent that is no UTF-8": change(
        "update agent set intent = cast(x'7bff7d' as text) where name = 'running'"
    ),
    "a number for a text": change("update agent set worktree = 7 where name = 'running'"),
    "a text for a number": change("update agent set created_at = 'x' where name = 'running'"),
    "a time that no calendar has": change("update agent set created_at = 1e300 where name = 'running'"),
    "a path with a zero in it": change(
        "update agent set worktree = '/a' || char(0) || 'b' where name = 'running'"
    ),
    "an id that is a path": change("update agent set id = '../../x' where name = 'running'"),
    "bytes": change("update agent set prompt = x'00ff' where name = 'running'"),
}
WHOLE = {
    "not a database": no_database,
    "empty pages": overwrite(b"\0" * 20_000),
    "a header of garbage": overwrite(b"\xff" * 4096),
    "cut in half": cut(0.5),
    "cut to nothing much": cut(0.02),
    "a page of garbage": overwrite(b"\xa5" * 4096, 0.3),
    "a missing table": change("drop table agent"),
    "a missing journal": change("drop table journal"),
}
QUIET = {
    "a receipt that is no UTF-8": change("update receipt set text = cast(x'ff41' as text)"),
    "a receipt in no state": change("update receipt set state = 'lost'"),
    "a journal that does not parse": change("update journal set data = '{'"),
    "a journal that is no UTF-8": change("update journal set data = cast(x'ff' as text)"),
    "a batch that is no UTF-8": change("update batch set prompt = cast(x'ff' as text)"),
    "another name": change("update agent set name = 'rvnning' where name = 'running'"),
    "another id": change("update agent set id = 'another' where name = 'stopped'"),
    "another worktree": change("update agent set worktree = worktree || 'x' where name = 'killed'"),
    "a version that is not there yet": change("pragma user_version = 67"),
}


def checked_repair(scene: Scene, cli: Cli, told: str = "rebuilt the damaged store") -> str:
    ran = cli("list", "--repair")
    assert ran.code == 0, ran
    lines = [line for line in ran.err.splitlines() if told in line]
    assert len(lines) == 1, ran.err
    assert facts(found_again(scene)) == facts(scene.agents)
    [kept] = scene.path.parent.glob("fleet.db.damaged-*[0-9]")
    assert str(kept) in lines[0]
    again = cli("list", "--repair")
    assert (again.code, told in again.err) == (0, False), "a sound store is left as it is"
    with closing(Store(scene.path)) as store:
        assert store.check() == []
    return lines[0]


@pytest.mark.parametrize(
    "damage",
    [pytest.param(name, marks=[pytest.mark.slow] if place % 7 else []) for place, name in enumerate(ONE_ROW)],
)
def test_a_damaged_row_is_named_and_hides_no_other(scene: Scene, cli: Cli, damage: str) -> None:
    ONE_ROW[damage](scene)

    ran = cli("list")
    assert ran.code == 0
    assert "is damaged (fleet list --repair restores it)" in ran.err
    assert all(name in ran.out for name in ("stopped", "renamed", "fan-A", "fan-B"))
    assert json.loads(cli.ok("list", "--json"))
    assert cli("logs", "stopped").code == 0
    checked_repair(scene, cli)


@pytest.mark.slow
def test_only_what_is_missing_is_reported_as_missing(scene: Scene, cli: Cli) -> None:
    ONE_ROW["arguments that do not parse"](scene)
    assert "6 agents, 1 from its own files (running); nothing is missing; " in checked_repair(scene, cli)

    scene.put_back()
    change("update journal set data = '{' where id <= 2")(scene)
    assert "6 agents; missing: 2 lines of the history; " in checked_repair(scene, cli)

    scene.put_back()
    with closing(sqlite3.connect(scene.path)) as db:
        db.execute("update receipt set state = 'none'")
        db.execute(
            "insert into receipt (id, agent, text, state, at) select 'x', id, 'y', 'none', 1.0 from agent limit 1"
        )
        db.commit()
    assert "6 agents; missing: 1 receipt; " in checked_repair(scene, cli)


def test_an_agent_with_a_damaged_record_is_reported_as_damaged(scene: Scene, cli: Cli) -> None:
    ONE_ROW["a status that is none"](scene)

    for command in (
        ["logs", "running"],
        ["stop", "running"],
        ["kill", "-f", "running"],
        ["prompt", "running", "x"],
    ):
        ran = cli(*command)
        assert (ran.code, ran.complaint) == (
            6,
            "fleet: the record of running is damaged (run: fleet list --repair)",
        )


@pytest.mark.parametrize(
    "damage",
    [pytest.param(name, marks=[pytest.mark.slow] if place % 5 else []) for place, name in enumerate(WHOLE)],
)
def test_a_damaged_file_is_named_in_one_line_by_every_command_and_rebuilt(
    scene: Scene, cli: Cli, damage: str
) -> None:
    WHOLE[damage](scene)

    if damage != "a page of garbage":
        for arguments in (["list"], ["list", "--json"], ["create", "x"], ["kill", "-f", "x"], ["doctor"]):
            ran = cli(*arguments)
            assert (ran.code, ran.out) == (6, ""), ran
            assert "is damaged" in ran.complaint
            assert "fleet list --repair" in ran.complaint
    checked_repair(scene, cli)


@pytest.mark.parametrize(
    "damage",
    [pytest.param(name, marks=[pytest.mark.slow] if place % 5 else []) for place, name in enumerate(QUIET)],
)
def test_damage_that_hides_no_agent_is_repaired_too(scene: Scene, cli: Cli, damage: str) -> None:
    QUIET[damage](scene)

    for command in (["list"], ["list", "-g"], ["trash"], ["queue", "fan-A"]):
        assert cli(*command).code == 0
    checked_repair(scene, cli)


def test_a_damaged_log_of_writes_loses_no_agent(scene: Scene, cli: Cli) -> None:
    with closing(Store(scene.path)) as store, closing(Store(scene.path)):
        with store.transaction():
            store.agents.change(next(iter(scene.agents)), 1.0, title="x")
        log = scene.path.with_name("fleet.db-wal")
        data = bytearray(log.read_bytes())
        for place in range(0, len(data), 97):
            data[place] ^= 0x10
        log.write_bytes(data)
        copied = scene.path.read_bytes(), bytes(data)
    scene.path.write_bytes(copied[0])
    log.write_bytes(copied[1])

    assert cli("list").code in (0, 6)
    assert cli("list", "--repair").code == 0
    assert facts(found_again(scene)) == facts(scene.agents)


def test_doctor_names_the_damage_and_repairs_it_only_with_fix(scene: Scene, cli: Cli) -> None:
    QUIET["a journal that does not parse"](scene)

    ran = cli("doctor")
    assert (ran.code, "is damaged" in ran.out) == (1, True)
    assert not list(scene.path.parent.glob("fleet.db.damaged-*"))

    assert "rebuilt the damaged store" in cli("doctor", "--fix").out
    assert "is kept as" in cli.ok("doctor")
    assert facts(found_again(scene)) == facts(scene.agents)


def test_agents_go_on_and_prompts_batches_and_trash_are_restored(
    scene: Scene, cli: Cli, staged: list[Any]
) -> None:
    WHOLE["not a database"](scene)

    line = checked_repair(scene, cli)

    assert f"{len(scene.agents)} agents, {len(scene.agents)} from their own files" in line
    assert "; missing: receipts of prompts that reached no agent, the history of changes; " in line
    assert scene.path.parent.joinpath(line.rsplit("/", 1)[1]).read_bytes().startswith(b"this is no database")
    again = {agent.name: agent for agent in found_again(scene).values()}
    before = {agent.name: agent for agent in scene.agents.values()}
    for name in ("running", "fan-A", "fan-B", "renamed"):
        assert (again[name].pid, again[name].keeper_pid) == (before[name].pid, before[name].keeper_pid)
        assert not again[name].has_ended
    assert (again["stopped"].status, again["killed"].status) == (Status.STOPPED, Status.KILLED)
    assert "another prompt" in cli.ok("queue", "running")
    with closing(Store(scene.path)) as store:
        assert "the prompt of a batch" in {batch.prompt for batch in store.state().batches}
    cli.ok("prompt", "running", "after the repair")
    assert "after the repair" in cli.ok("queue", "running")
    assert "stopped" in cli.ok("undo", "killed")
    assert Path(before["killed"].worktree).is_dir()
    cli.ok("kill", "-f", "killed")
    # It has another place in the trash now, of which the other tests have to know.
    staged[:] = [found_again(scene), scene.path.read_bytes()]


@pytest.mark.slow
def test_concurrent_repairs_rebuild_it_once(scene: Scene, cli: Cli) -> None:
    WHOLE["cut in half"](scene)

    command = [str(FLEET), "list", "--repair"]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = [process.communicate(timeout=60)[1] for process in running]

    assert [process.returncode for process in running] == [0] * 4, said
    assert sum("rebuilt the damaged store" in one for one in said) == 1
    assert len(list(scene.path.parent.glob("fleet.db.damaged-*[0-9]"))) == 1
    assert facts(found_again(scene)) == facts(scene.agents)


def test_a_process_with_the_damaged_store_open_continues_with_the_new_one(scene: Scene, cli: Cli) -> None:
    """A dashboard reads it, and a command that has been waiting writes to it."""
    ONE_ROW["arguments that do not parse"](scene)
    with closing(Store(scene.path)) as reader, closing(Store(scene.path)) as writer:
        before = reader.db.version()
        assert len(reader.state().damaged) == 1
        assert cli("list", "--repair").code == 0
        stopped = next(agent for agent in scene.agents.values() if agent.name == "stopped")
        with writer.transaction():
            writer.agents.change(stopped.id, 2.0, title="written after the repair")

        assert reader.db.version() != before
        assert reader.state().damaged == ()
        assert reader.agents.get(stopped.id).title == "written after the repair"


def test_a_full_disk_leaves_the_damaged_store_as_it_was(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        path, damaged = disk / "fleet.db", b"no database" * 100
        path.write_bytes(damaged)
        filler = fill(disk)

        with pytest.raises(StoreError, match="could not be rebuilt") as caught:
            rebuild(path)

        assert "nothing was changed" in caught.value.hint
        assert path.read_bytes() == damaged
        assert {entry.name for entry in disk.iterdir()} <= {"filler", "fleet.db", "store.lock"}
        filler.unlink()
        assert "rebuilt the damaged store" in rebuild(path)[0]


def copy_of(scene: Scene, name: str) -> Path:
    return next(paths.agent(one) / "agent.json" for one, agent in scene.agents.items() if agent.name == name)


@pytest.fixture
def copied(scene: Scene) -> Iterator[None]:
    """The copies of rows in the agents' folders, put back afterwards."""
    before = {file: file.read_bytes() for file in paths.state().glob("agents/*/agent.json")}
    yield
    for file, content in before.items():
        file.write_bytes(content)


@pytest.mark.usefixtures("copied")
def test_a_damaged_copy_never_overrides_a_sound_row(scene: Scene, cli: Cli) -> None:
    file = copy_of(scene, "running")
    file.write_text(file.read_text().replace('"name": "running"', '"name": "rvnning"'))

    assert "rebuilt" not in cli("list", "--repair").err
    assert facts(found_again(scene)) == facts(scene.agents)


@pytest.mark.usefixtures("copied")
def test_a_copied_run_that_never_began_does_not_count_as_the_last_one(scene: Scene, cli: Cli) -> None:
    stopped = next(agent for agent in scene.agents.values() if agent.name == "stopped")
    batch = Batch(stopped.batch, stopped.project, 1.0)
    intent = json.loads(copy_of(scene, "stopped").read_text())["intent"]
    backup.write(paths.state() / "agents", replace(stopped, run=2), intent, batch, "project")

    assert "rebuilt" not in cli("list", "--repair").err
    assert facts(found_again(scene)) == facts(scene.agents)


@pytest.mark.usefixtures("copied")
def test_a_copy_by_an_earlier_version_restores_a_row_and_overrides_none(scene: Scene, cli: Cli) -> None:
    for name in ("renamed", "stopped"):
        values = json.loads(copy_of(scene, name).read_text())
        values["agent"] |= {"name": "old-name"} if name == "renamed" else {}
        copy_of(scene, name).write_text(json.dumps({one: values[one] for one in ("agent", "intent")}))
    change("update agent set argv = 'x' where name = 'stopped'")(scene)

    checked_repair(scene, cli)


def test_a_copy_that_could_not_be_written_is_marked_and_overrides_nothing(
    tmp_path: Path, scene: Scene
) -> None:
    agent = next(iter(scene.agents.values()))
    with small_disk(tmp_path / "disk") as disk:
        (disk / agent.id).mkdir()
        batch = Batch(agent.batch, agent.project, 1.0)
        backup.write(disk, agent, {}, batch, "project")
        filler = fill(disk)
        backup.write(disk, replace(agent, name="renamed-since", prompt="x" * 9000), {}, batch, "project")

        [copy] = backup.read_all(disk)
        assert (copy.agent.name, copy.is_current) == (agent.name, False)
        filler.unlink()
        backup.write(disk, replace(agent, name="renamed-since"), {}, batch, "project")
        [copy] = backup.read_all(disk)
        assert (copy.agent.name, copy.is_current) == ("renamed-since", True)


WRITER = """
import sys, time
from pathlib import Path
from fleet_tui.store.database import Store
store = Store(Path(sys.argv[1]))
print("ready", flush=True)
for number in range(int(sys.argv[3])):
    with store.transaction():
        store.agents.change(sys.argv[2], float(number), title=f"title {number}")
"""


@pytest.mark.slow
def test_writes_of_other_processes_during_the_rebuild_are_kept(scene: Scene, cli: Cli) -> None:
    ONE_ROW["arguments that do not parse"](scene)
    others = [one for one, agent in scene.agents.items() if agent.name in ("stopped", "killed", "renamed")]
    command = [sys.executable, "-c", WRITER, str(scene.path)]
    writing = [
        subprocess.Popen([*command, one, "300"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for one in others
    ]
    for process in writing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    assert "rebuilt" in cli("list", "--repair").err

    assert [process.communicate(timeout=60)[1] for process in writing] == [""] * 3
    with closing(Store(scene.path)) as store:
        assert store.check() == []
        assert [store.agents.get(one).title for one in others] == ["title 299"] * 3
        kinds = [line["kind"] for line in store.journal.since(0, 100_000) if line["agent"] in others]
        assert kinds.count("agent-changed") >= 900


@pytest.mark.slow
def test_a_repair_killed_at_any_moment_loses_nothing(scene: Scene, cli: Cli) -> None:
    chance = random.Random(3)
    for _ in range(25):
        scene.put_back()
        WHOLE["cut in half"](scene)
        process = subprocess.Popen(
            [str(FLEET), "list", "--repair"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.1, 0.6))
        process.kill()
        process.communicate()

        assert cli("list", "--repair").code == 0
        assert facts(found_again(scene)) == facts(scene.agents)
        assert not list(scene.path.parent.glob(".rebuild-*"))


def flipped(scene: Scene, chance: random.Random) -> str:
    """Flip bits, or overwrite bytes, in a few places."""
    data = bytearray(scene.bytes)
    how = chance.choice(["bit", "bits", "byte", "run"])
    for _ in range({"bit": 1, "bits": 20, "byte": 3, "run": 1}[how]):
        place = chance.randrange(len(data))
        if how in ("bit", "bits"):
            data[place] ^= 1 << chance.randrange(8)
        elif how == "byte":
            data[place] = chance.randrange(256)
        else:
            length = chance.randrange(1, 600)
            data[place : place + length] = chance.randbytes(len(data[place : place + length]))
    scene.path.write_bytes(data)
    return how


@pytest.mark.parametrize("rounds", [3, pytest.param(400, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_random_damage_causes_no_traceback_and_loses_no_agent(scene: Scene, cli: Cli, rounds: int) -> None:
    chance = random.Random(rounds)
    for number in range(rounds):
        scene.put_back()
        how = flipped(scene, chance)
        for command in (
            ["list"],
            ["trash"],
            ["queue", "running"],
            ["doctor"],
            ["why", "stopped"],
            ["logs", "fan-A"],
        ):
            ran = cli(*command)
            assert ran.code in (0, 1, 3, 6), (number, how, command, ran)
            assert "Traceback" not in ran.err + ran.out
        ran = cli("list", "--repair")
        assert ran.code == 0, (number, how, ran)
        assert facts(found_again(scene)) == facts(scene.agents), (number, how, ran.err)
