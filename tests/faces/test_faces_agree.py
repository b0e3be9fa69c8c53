"""The table of verbs against what it describes: `Fleet`, the commands, and the dashboard's actions and calls."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest

import fleet_tui
from fleet_tui.cli import group
from fleet_tui.errors import FleetError, NotFound, TimedOut
from fleet_tui.faces import calls
from fleet_tui.faces.calls import REMOTE, VERBS, Offer, Verb
from fleet_tui.faces.not_verbs import CLI_ALONE, DASHBOARD_ALONE, PLUMBING
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from fleet_tui.system.usage import Sampler
from fleet_tui.tui.actions import BY_ID
from fleet_tui.work import Conflict
from tests.agent_pool import AgentPool, module_pool, pool
from tests.cli.commands import Cli, all_commands, cli, project

__all__ = ["cli", "module_pool", "pool", "project"]

FAMILIES = (
    "prompts",
    "trash",
    "worktrees",
    "settings",
    "trust",
    "permissions",
    "profiles",
    "review",
    "comparison",
    "pull_requests",
    "conflicts",
    "checks",
    "checkpoints",
    "landing",
)
SOURCE = Path(fleet_tui.__file__).parent
OF_FACE = (
    "as_json", "yes", "force", "watch", "grouped", "show_origin", "fix", "repair", "count", "lines", "color", "short", "everywhere", "stat", "name_only",
)  # fmt: skip
"""Options that say how a command prints or asks, and are no parameter of a verb."""


def command(name: str) -> click.Command | None:
    """A command by the words that select it; options behind it belong to it."""
    found: click.Command | None = group.cli
    for word in name.split():
        if word.startswith("-"):
            break
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    return found


def parameter(found: click.Command, name: str) -> click.Parameter | None:
    return next((one for one in found.params if one.name == name), None)


def public_methods(thing: object) -> Iterator[str]:
    kind = type(thing)
    for name in dir(kind):
        if (not name.startswith("_") and inspect.isfunction(inspect.getattr_static(kind, name, None))) or (
            not name.startswith("_") and isinstance(inspect.getattr_static(kind, name, None), staticmethod)
        ):
            yield name


def in_cli(verb: Verb) -> Offer:
    offer = verb.offer("cli")
    assert offer is not None
    return offer


def words_of(face: str) -> dict[str, list[Verb]]:
    """The verbs of a face by each word that selects them."""
    found: dict[str, list[Verb]] = {}
    for verb in VERBS:
        offer = verb.offer(face)
        for word in offer.words.split() if offer else ():
            found.setdefault(word, []).append(verb)
    return found


def of(*verbs: Verb) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("verb", verbs, ids=[verb.path for verb in verbs])


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Fleet]:
    found = Fleet(tmp_path)
    yield found
    found.close()


def test_every_public_method_of_fleet_and_its_families_is_declared(bare: Fleet) -> None:
    found = set(public_methods(bare))
    for family in FAMILIES:
        found |= {f"{family}.{name}" for name in public_methods(getattr(bare, family))}

    declared = {verb.path for verb in VERBS}
    assert len(declared) == len(VERBS), "a verb is declared once"
    assert not declared & PLUMBING.keys()
    assert declared | PLUMBING.keys() == found


def test_every_verb_has_a_help_text(bare: Fleet) -> None:
    def first_line(verb: Verb) -> str:
        return (inspect.getdoc(calls.method(bare, verb)) or "").split("\n\n")[0]

    assert [verb.path for verb in VERBS if not first_line(verb).endswith((".", "…"))] == []


@of(*VERBS)
def test_a_face_offers_a_verb_or_says_why_not(verb: Verb) -> None:
    assert verb.faces.keys() == {"cli", "dashboard"}
    for found in verb.faces.values():
        assert found if isinstance(found, str) else found.words


@of(*(verb for verb in VERBS if verb.offer("cli")))
def test_a_command_takes_what_its_verb_takes_with_the_same_defaults(verb: Verb, bare: Fleet) -> None:
    offer = in_cli(verb)
    found = command(offer.words)
    assert found is not None, f"there is no command {offer.words}"
    for option in re.findall(r"--[\w-]+", offer.words):
        assert any(option in one.opts for one in found.params), f"{offer.words} has no {option}"

    wanted = calls.parameters(bare, verb)
    assert offer.names.keys() | offer.left_out.keys() <= wanted.keys(), "a name for no parameter"
    for name, one in wanted.items():
        if name in offer.left_out:
            assert parameter(found, name) is None, f"{name} is offered all the same"
            continue
        names = offer.names.get(name, name).split()
        offered = [parameter(found, each) for each in names]
        assert all(offered), f"fleet {offer.words} does not offer {name}, or calls it otherwise"
        if name not in offer.names:
            (option_found,) = offered
            assert option_found is not None
            assert default_of(option_found) == plain(one.default), name


def default_of(option: click.Parameter) -> Any:
    """What the command passes on when the option is not given."""
    value = option.get_default(click.Context(click.Command("none")))
    return plain(False if isinstance(option, click.Option) and option.is_flag and not value else value)


def plain(value: Any) -> Any:
    """Defaults that mean nothing given are one."""
    return None if value in (inspect.Parameter.empty, "", (), None) or "UNSET" in repr(value) else value


@of(*REMOTE.values())
def test_a_remote_caller_passes_an_id_for_every_agent_that_the_verb_takes(verb: Verb, bare: Fleet) -> None:
    found = calls.method(bare, verb)
    taken = calls.agent_parameters(found)
    named = {
        name
        for name, one in inspect.signature(found).parameters.items()
        if re.search(r"\bAgent\b", str(one.annotation))
    }

    assert taken.keys() == named - calls.IN_PROCESS, "an id cannot stand for one of them"
    if verb.each:
        assert taken[next(iter(inspect.signature(found).parameters))] == "one"
    if verb.then:
        assert verb.then in {one.path for one in VERBS}


def test_ids_stand_for_agents_whatever_their_annotation_is_called() -> None:
    def verb(one: Agent, other: Agent | None, some: Sequence[Agent], kept: list[Agent], text: str) -> Agent:  # fmt: skip
        raise NotImplementedError

    assert calls.agent_parameters(verb) == {
        "one": "one",
        "other": "one",
        "some": "several",
        "kept": "several",
    }


def test_a_verb_that_reads_does_nothing_that_takes_a_writer(bare: Fleet) -> None:
    for verb in VERBS:
        if verb.reads:
            assert not verb.refreshes
            assert not verb.waits
            assert "on_progress" not in inspect.signature(calls.method(bare, verb)).parameters


def test_a_verb_that_reads_writes_nothing_to_the_store(fleet: Fleet) -> None:
    agent = fleet.create("one", prompt="exec sleep 1000", profile="shell")
    receipt = fleet.prompts.send(agent, "hello")
    fleet.refresh()
    values: dict[str, Any] = {
        "agent": agent, "agents": [agent], "stopped": [agent], "killed": [], "sampler": Sampler(), "receipt": receipt,
        "receipt_id": receipt.id, "name": agent.name, "names": ["shell"], "patterns": [agent.name], "count": 5, "last": 5,
        "key": "agent.default", "what": "git status", "seconds": 0.0, "runs": [], "number": 0,
        "path": "new.txt", "blob": "0" * 40,
        "conflict": Conflict(agent.id, "", "main", (), 0.0),
    }  # fmt: skip
    of_profiles = {**values, "name": "shell"}
    # Fails every statement that could write, also one that would change no row.
    fleet.store.db.execute("pragma query_only = on")

    for verb in VERBS:
        # It asks the package index.
        if verb.reads and verb.path != "newest_version":
            found = calls.method(fleet, verb)
            known = of_profiles if verb.path.startswith("profiles.") else values
            needed = {
                name: known[name]
                for name, one in inspect.signature(found).parameters.items()
                if one.default is one.empty or name == "seconds"
            }
            with suppress(NotFound, TimedOut):  # the trash is empty, and the prompt waits
                found(**needed)


def test_every_command_is_of_a_verb_or_has_a_reason() -> None:
    of_verbs = {in_cli(verb).words.split()[0] for verb in VERBS if verb.offer("cli")}

    assert not of_verbs & CLI_ALONE.keys()
    assert of_verbs | CLI_ALONE.keys() == set(all_commands())


def test_every_option_of_a_command_is_a_parameter_of_one_of_its_verbs(bare: Fleet) -> None:
    for name, found in all_commands().items():
        verbs = [verb for verb in VERBS if verb.offer("cli") and in_cli(verb).words.split()[0] == name]
        known = {"action", "agent", *OF_FACE}
        for verb in verbs:
            known |= {word.lstrip("-").replace("-", "_") for word in in_cli(verb).words.split()}
            known |= {word for names in in_cli(verb).names.values() for word in names.split()}
            known |= calls.parameters(bare, verb).keys()
        offered = {one.name for one in found.params}
        if name not in CLI_ALONE:
            assert offered - known <= {"as_list"}, f"fleet {name}"


def test_every_action_of_the_dashboard_is_of_a_verb_or_has_a_reason() -> None:
    of_verbs = words_of("dashboard").keys()
    alone = {action for actions in DASHBOARD_ALONE.values() for action in actions}

    assert not of_verbs & alone
    assert of_verbs | alone == set(BY_ID)


def test_what_the_dashboard_asks_of_its_worker_is_in_the_table() -> None:
    passed, asked = set(), set()
    for file in sorted((SOURCE / "tui").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                words = [one.value for one in node.args if isinstance(one, ast.Constant)]
                passed |= {word for word in words if isinstance(word, str)}
                asked |= set(words[:1]) if node.func.attr == "call" else set()

    assert asked - REMOTE.keys() == set(), "a call without a verb"
    assert REMOTE.keys() - passed == set(), "a verb that nothing asks for"


def test_no_face_reaches_the_store_through_fleet() -> None:
    for face in ("cli", "faces", "tui"):
        for file in sorted((SOURCE / face).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                assert not (
                    isinstance(node, ast.Attribute) and node.attr == "store" and "fleet" in ast.unparse(node)
                ), f"{file.name}: {ast.unparse(node)}"


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────


def sleeping(pool: AgentPool) -> Agent:
    """One agent for all tests of a refusal, which leaves it as it is."""
    prompt = "exec sleep 1000"
    running = [agent for agent in pool.fleet.agents() if agent.prompt == prompt]
    return running[0] if running else pool.take("shell", prompt, together=1)


@pytest.mark.parametrize(
    ("arguments", "call", "passed"),
    [
        (("revive", "{}"), "revive", (["{id}"],)),
        (("answer", "{}", ""), "answer", ("{id}", " ")),
        (("answer", "{}", "yes"), "answer", ("{id}", "yes")),
        (("prompt", "{}", " "), "prompts.deliver", (["{id}"], " ")),
        (("fork", "{}", "no name"), "fork", ("{id}", "no name")),
        (("create", "{}"), "create", ("{name}",)),
        (("create", "x", "--base", "nowhere"), "create", ("x", {"base": "nowhere"})),
        (("queue", "{}", "--cancel", "7"), "prompts.cancel", ("{id}", "7")),
        (("queue", "{}", "--edit", "7", "x"), "prompts.reword", ("{id}", "7", "x")),
        (("why", "{}", "--wrong", "green"), "report_wrong", ("{id}", "green")),
        (("undo",), "undo", ()),
    ],
)
def test_an_error_reads_the_same_in_every_face(
    cli: Cli, pool: AgentPool, arguments: tuple[str, ...], call: str, passed: tuple[Any, ...]
) -> None:
    agent = sleeping(pool)

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(one) for one in value]
        return value.format(id=agent.id, name=agent.name) if isinstance(value, str) else value

    options = passed[-1] if passed and isinstance(passed[-1], dict) else {}
    values = [filled(one) for one in passed if not isinstance(one, dict)]
    with pytest.raises(FleetError) as of_worker:
        calls.run(pool.fleet, call, values, options, None)

    if "" in arguments:
        return
    ran = cli(*(argument.replace("{}", agent.name) for argument in arguments))
    hint = f" ({of_worker.value.hint})" if of_worker.value.hint else ""
    assert ran.complaint.strip() == f"fleet: {of_worker.value.message}{hint}"
    assert ran.code == of_worker.value.exit_code


# ── cost ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_loads_neither_the_table_nor_families_that_it_does_not_need(repository: Path) -> None:
    code = "from fleet_tui import cli; cli.run(['list']); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)  # fmt: skip

    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"fleet_tui.faces.calls", "fleet_tui.fleet.profiles", "fleet_tui.fleet.launches"}


def test_many_agents_are_found_by_one_read(fleet: Fleet) -> None:
    class Counting(Fleet):
        reads = 0

        def agents(self, *, everywhere: bool = False) -> list[Agent]:
            self.reads += 1
            return super().agents(everywhere=everywhere)

        def refresh(self) -> None:
            self.reads += 100
            super().refresh()

    made = fleet.multi([(f"one{number}", "exec sleep 1000") for number in range(3)], profile="shell")
    counting = Counting(Path(made[0].project))
    calls.run(counting, "mark_seen", [[agent.id for agent in made]], {}, None)
    assert counting.reads == 1

    calls.run(counting, "stop", [[agent.id for agent in made]], {}, None)
    assert counting.reads == 1 + 1 + 2 * 100, "refreshed before and after, whatever the number of agents"
    counting.close()
