"""The table of verbs: every verb of `Fleet`, and the name under which each face offers it.

A verb is declared once, as a method of `Fleet` or of one of its families; its parameters are those of the method and
its help text is the method's docstring. `tests/faces/test_faces_agree.py` compares the table with `Fleet`, with the
commands and with the dashboard's actions: what a face leaves out has its reason here. The dashboard's worker runs
calls by this table, each under its path. A face that needs no names of its own, such as one over HTTP, derives all of
its offers from the path, the signature, the docstring and `reads`, and adds a key to `faces` only where it differs.
The table names methods by their path from a `Fleet` and imports no room, so loading it is cheap. One file, because it
is one table.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.models import Agent

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.lifecycle.start import OnProgress

IN_PROCESS = frozenset({"on_progress", "on_change", "unseen", "rest", "sampler", "check_keys"})
"""Parameters that a face passes itself and never reads from its user: callbacks, and what lives as long as the face."""


@dataclass(frozen=True, slots=True)
class Offer:
    """How one face offers a verb, where it differs from the method."""

    words: str
    """What a user selects in the face: a command and the option behind it (queue --cancel), or actions (stop leader-stop)."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Parameters that the face calls by another name; several words if it takes them together."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Parameters that the face does not offer, each with the reason."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb, and how each face offers it."""

    path: str
    """The method, from a `Fleet`: create, prompts.cancel. It is also the verb's name in calls from another process."""
    faces: Mapping[str, Offer | str]
    """By face (cli, dashboard), how it offers the verb, or as text the reason why no user of the face can select it."""
    reads: bool = False
    """The verb changes nothing, neither in the store nor in files of a user: it may be repeated, or be an HTTP GET."""
    remote: bool = False
    """The dashboard calls it in its worker: agents are passed by their ids, other values as plain data."""
    each: bool = False
    """The method takes one agent and the remote call several: it runs once for each."""
    then: str = ""
    """The verb that is asked about the result, which is what a remote caller gets: warnings after a kill."""
    refreshes: bool = False
    """A remote call refreshes the store first, because the verb depends on which agents have ended."""
    waits: bool = False
    """Waits for programs to end. The worker never queues it: a kill has to overtake slow stops."""

    def offer(self, face: str) -> Offer | None:
        """How the face offers the verb; None if it has a reason not to."""
        found = self.faces[face]
        return None if isinstance(found, str) else found


_NAME = {"agent": "branch"}
_LAUNCH = {"profile": "agent"}
_CHOSEN = "the dashboard's list selects agents"
_LIVE = "the dashboard reads it from its observer's live data"
_STATE = "the dashboard reads it from its state"
_OWN_FILE = "the dashboard opens no configuration file"
_PART = "the command that needs it calls it, it has no command of its own"

VERBS: tuple[Verb, ...] = (
    # Starting.
    Verb("create", {"cli": Offer("create", names={**_LAUNCH, "name": "branch"}), "dashboard": Offer("new")}, remote=True),
    Verb("fanout", {"cli": Offer("fanout", names=_LAUNCH), "dashboard": Offer("fan-out")}, remote=True),
    Verb("multi", {"cli": Offer("multi", names=_LAUNCH), "dashboard": Offer("multi")}, remote=True),
    Verb("fork", {"cli": Offer("fork", names=_NAME), "dashboard": Offer("fork")}, remote=True, refreshes=True),
    Verb("revive", {"cli": Offer("revive", names=_NAME), "dashboard": Offer("revive")}, remote=True, each=True, refreshes=True),
    Verb("restart", {"cli": Offer("restart", names={"agents": "patterns batch"}), "dashboard": Offer("restart")}, remote=True, refreshes=True, waits=True),
    # Ending.
    Verb(
        "stop",
        {
            "cli": Offer("stop", names={"agents": "patterns batch"}, left_out={"grace": "fleet.stop_grace sets it"}),
            "dashboard": Offer("stop leader-stop"),
        },
        remote=True, refreshes=True, waits=True, then="warnings_after_stop",
    ),
    Verb(
        "stop_all",
        {"cli": "fleet stop '*' stops those of a project; no command stops all projects", "dashboard": Offer("stop-fleet")},
        remote=True, refreshes=True, waits=True,
    ),
    Verb("warnings_after_stop", {"cli": Offer("stop", names={"stopped": "patterns"}), "dashboard": Offer("stop")}, reads=True),
    Verb(
        "kill",
        {"cli": Offer("kill", names={"agents": "patterns batch"}, left_out={"grace": "fleet.stop_grace sets it", "why": "it is always: kill"}), "dashboard": Offer("kill")},
        remote=True, refreshes=True, waits=True, then="warnings_after_kill",
    ),
    Verb(
        "warnings_after_kill",
        {
            "cli": Offer("kill", names={"killed": "patterns"}, left_out={"seconds": "how long a face waits for a warning is not the user's to choose"}),
            "dashboard": Offer("kill"),
        },
        reads=True,
    ),
    Verb(
        "undo",
        {
            "cli": Offer("undo", names={"agents": "agent", "unland": "only_agent"}),
            "dashboard": Offer("undo", left_out={"unland": "undo takes a landing back as a whole"}),
        },
        remote=True, refreshes=True,
    ),
    # Prompts and questions.
    Verb(
        "prompts.deliver",
        {"cli": Offer("prompt", names={"agents": "words batch", "text": "words"}), "dashboard": Offer("prompt")},
        remote=True, refreshes=True,
    ),
    Verb("prompts.wait", {"cli": Offer("prompt --wait", names={"receipt": "words", "seconds": "timeout"}), "dashboard": _STATE}, reads=True),
    Verb("prompts.receipt", {"cli": _PART, "dashboard": _STATE}, reads=True),
    Verb("prompts.counts", {"cli": Offer("list --json"), "dashboard": _STATE}, reads=True),
    Verb("prompts.queue", {"cli": Offer("queue", names=_NAME), "dashboard": Offer("queue")}, reads=True, remote=True),
    Verb("prompts.reword", {"cli": Offer("queue --edit", names={**_NAME, "which": "edit", "text": "edit"}), "dashboard": Offer("queue")}, remote=True),
    Verb("prompts.cancel", {"cli": Offer("queue --cancel", names={**_NAME, "which": "cancel"}), "dashboard": Offer("queue")}, remote=True),
    Verb(
        "answer",
        {
            "cli": Offer("answer", names=_NAME, left_out={"shown": "a user of the command line has seen no dialog that could be outdated"}),
            "dashboard": Offer("answer"),
        },
        remote=True, refreshes=True,
    ),
    Verb("why", {"cli": Offer("why", names=_NAME), "dashboard": Offer("why leader-why")}, reads=True, remote=True),
    Verb(
        "wait",
        {"cli": Offer("wait", names={"agents": "patterns batch", "until": "wanted", "seconds": "timeout"}), "dashboard": _STATE},
    ),
    Verb("report_wrong", {"cli": Offer("why --wrong", names={**_NAME, "right": "wrong"}), "dashboard": Offer("why")}, remote=True),
    # Looking.
    Verb("agents", {"cli": Offer("list"), "dashboard": _STATE}, reads=True),
    Verb("state", {"cli": Offer("status"), "dashboard": Offer("needing-only")}, reads=True),
    Verb("find", {"cli": Offer("attach", names={"name": "branch"}), "dashboard": _CHOSEN}, reads=True),
    Verb("match", {"cli": Offer("stop", names={"but_not": "patterns", "everywhere": "patterns"}), "dashboard": _CHOSEN}, reads=True),
    Verb("batch_labels", {"cli": "shell completion offers them", "dashboard": _STATE}, reads=True),
    Verb("damaged", {"cli": Offer("list"), "dashboard": _STATE}, reads=True),
    Verb("peek", {"cli": Offer("peek", names=_NAME), "dashboard": "panes show the screen itself"}, reads=True),
    Verb("logs", {"cli": Offer("logs", names={**_NAME, "count": "lines"}), "dashboard": Offer("logs")}, reads=True, remote=True),
    Verb("follow", {"cli": Offer("logs --follow", names={**_NAME, "last": "lines"}), "dashboard": "panes follow the screen itself"}, reads=True),
    Verb("raw_output", {"cli": Offer("logs --raw", names=_NAME), "dashboard": "escape sequences are for programs to read"}, reads=True),
    Verb("usage", {"cli": Offer("list", names={"agents": "everywhere"}), "dashboard": _LIVE}, reads=True),
    Verb("spending", {"cli": Offer("list", names={"agents": "everywhere"}), "dashboard": _LIVE}, reads=True),
    Verb("recent_activity", {"cli": "fleet logs shows the output itself", "dashboard": _LIVE}, reads=True),
    Verb("worktrees.path", {"cli": Offer("path", names=_NAME), "dashboard": "copy-path copies it from its state"}, reads=True),
    Verb("worktrees.diff_stats", {"cli": "git diff --stat shows it", "dashboard": _LIVE}, reads=True),
    Verb("worktrees.link_problems", {"cli": Offer("list", names={"agents": "everywhere"}), "dashboard": _LIVE}, reads=True),
    Verb(
        "worktrees.uncommitted",
        {"cli": Offer("fork", names=_NAME), "dashboard": "the fork dialog says that nothing uncommitted is copied"},
        reads=True,
    ),
    Verb("mark_seen", {"cli": Offer("attach", names={"agents": "branch"}), "dashboard": Offer("type logs attach")}, remote=True),
    # The record.
    Verb("rename", {"cli": Offer("rename", names=_NAME), "dashboard": Offer("rename")}, remote=True),
    Verb(
        "move_to_batch",
        {"cli": Offer("move", names={"agents": "words from_batch", "batch": "words"}), "dashboard": Offer("move")},
        remote=True,
    ),
    # Review.
    Verb(
        "review.diff",
        {"cli": Offer("diff", names=_NAME, left_out={"counts": "only --json shows them, and then always"}), "dashboard": Offer("diff diff-of-two")},
        reads=True, remote=True,
    ),
    Verb("review.patch", {"cli": Offer("diff", names=_NAME), "dashboard": "the review screen shows hunks"}, reads=True),
    Verb(
        "review.stat",
        {"cli": Offer("diff --stat", names=_NAME, left_out={"width": "it is the terminal's"}), "dashboard": "the review screen counts lines beside each file"},
        reads=True,
    ),
    Verb("review.file_diff", {"cli": "fleet diff prints patches", "dashboard": Offer("diff")}, reads=True, remote=True),
    Verb("review.reviewed", {"cli": "marks are for a screen", "dashboard": Offer("diff")}, reads=True, remote=True),
    Verb("review.mark_reviewed", {"cli": "marks are for a screen", "dashboard": Offer("diff")}, remote=True),
    Verb("review.unmark_reviewed", {"cli": "marks are for a screen", "dashboard": Offer("diff")}, remote=True),
    Verb(
        "review.comment",
        {"cli": Offer("comment", names={**_NAME, "first": "place", "last": "place", "path": "place", "side": "old"}), "dashboard": Offer("diff")},
        remote=True,
    ),
    Verb("review.comments", {"cli": "fleet comments records what has changed, too", "dashboard": "so does the review screen"}, reads=True),
    Verb("review.refresh_comments", {"cli": Offer("comments", names=_NAME), "dashboard": Offer("diff")}, remote=True),
    Verb(
        "review.reword_comment",
        {"cli": Offer("comments --edit", names={**_NAME, "comment_id": "edit", "text": "edit"}), "dashboard": Offer("diff")},
        remote=True,
    ),
    Verb(
        "review.delete_comment",
        {"cli": Offer("comments --delete", names={**_NAME, "comment_id": "delete"}), "dashboard": Offer("diff")},
        remote=True,
    ),
    Verb("review.round_text", {"cli": Offer("comments --preview", names=_NAME), "dashboard": Offer("diff")}, reads=True, remote=True),
    Verb("review.send_comments", {"cli": Offer("comments --send", names=_NAME), "dashboard": Offer("diff")}, remote=True),
    # Conflicts.
    Verb("conflicts.check", {"cli": Offer("conflicts", names={"agents": "patterns everywhere"}), "dashboard": _LIVE}, reads=True),
    Verb("conflicts.overlaps", {"cli": "fleet conflicts shows them with the conflicts", "dashboard": _LIVE}, reads=True),
    Verb("conflicts.moved_projects", {"cli": "a command looks once", "dashboard": _LIVE}, reads=True),
    Verb("conflicts.details", {"cli": Offer("conflicts", names={"conflict": "patterns"}), "dashboard": _LIVE}, reads=True),
    # Checks.
    Verb(
        "checks.start",
        {"cli": Offer("check --detach", names={"agents": "patterns batch"}), "dashboard": Offer("compare land")},
        remote=True,
    ),
    Verb("checks.runs", {"cli": Offer("check --show", names={"agents": "patterns batch"}), "dashboard": Offer("compare diff")}, reads=True, remote=True),
    Verb("checks.cancel", {"cli": Offer("check --cancel", names={"agents": "patterns batch"}), "dashboard": Offer("compare")}, remote=True, waits=True),
    Verb("checks.output", {"cli": Offer("check --output", names={"agent": "patterns"}), "dashboard": Offer("compare")}, reads=True, remote=True),
    Verb("checks.screen", {"cli": "--output prints it", "dashboard": Offer("check")}, reads=True, remote=True),
    Verb(
        "checks.wait",
        {"cli": Offer("check", names={"runs": "patterns batch"}, left_out={"seconds": "land.check_minutes limits a check"}), "dashboard": _STATE},
        reads=True,
    ),
    # Comparing.
    Verb("comparison.of", {"cli": Offer("compare --check --sort", names={"agents": "words wants_checks"}), "dashboard": Offer("compare")}, reads=True, remote=True),
    Verb("comparison.keep", {"cli": Offer("compare --keep", names={"winner": "keep", "others": "words"}), "dashboard": Offer("compare")}, remote=True, refreshes=True, waits=True, then="warnings_after_kill"),
    # Landing.
    Verb(
        "landing.preview",
        {"cli": Offer("land --dry-run --give-back", names={"check": "no_check"}), "dashboard": Offer("land")},
        reads=True, remote=True,
    ),
    Verb(
        "landing.land",
        {"cli": Offer("land", names={"check": "no_check", "message": "message edit", "seen": "yes"}), "dashboard": Offer("land")},
        remote=True, refreshes=True, waits=True,
    ),
    Verb("landing.stop_train", {"cli": Offer("land --stop", names={"agent": "stops agents"}), "dashboard": Offer("land")}, remote=True),
    Verb("landing.find", {"cli": Offer("undo", names={"name": "agent"}), "dashboard": _CHOSEN}, reads=True),
    Verb("landing.landings", {"cli": "git log shows what has landed", "dashboard": "part of undo"}, reads=True),
    # Checkpoints.
    Verb("checkpoints.make", {"cli": Offer("checkpoint", names=_NAME), "dashboard": Offer("timeline")}, remote=True),
    Verb("checkpoints.make_after_turn", {"cli": "a holder starts it when a turn ends", "dashboard": "as on the command line"}),
    Verb("checkpoints.all", {"cli": Offer("checkpoint --list", names=_NAME), "dashboard": "part of checkpoints.timeline"}, reads=True),
    Verb("checkpoints.start", {"cli": Offer("checkpoint --list", names=_NAME), "dashboard": "part of checkpoints.timeline"}, reads=True),
    Verb("checkpoints.timeline", {"cli": "--list shows the checkpoints", "dashboard": Offer("timeline")}, reads=True, remote=True),
    Verb("checkpoints.diff", {"cli": Offer("checkpoint --diff", names={**_NAME, "number": "diff"}), "dashboard": "part of checkpoints.lines"}, reads=True),
    Verb("checkpoints.lines", {"cli": "--diff prints a patch", "dashboard": Offer("timeline")}, reads=True, remote=True),
    Verb("checkpoints.patch", {"cli": Offer("checkpoint --diff", names={**_NAME, "number": "diff"}), "dashboard": "part of checkpoints.lines"}, reads=True),
    Verb("checkpoints.restore", {"cli": Offer("checkpoint --restore", names={**_NAME, "number": "restore"}), "dashboard": Offer("timeline")}, remote=True, refreshes=True),
    Verb("checkpoints.rename", {"cli": Offer("checkpoint --rename", names={**_NAME, "number": "rename"}), "dashboard": Offer("timeline")}, remote=True),
    Verb("checkpoints.prune", {"cli": "limits apply by themselves", "dashboard": "limits apply by themselves"}),
    # Pull requests.
    Verb("pull_requests.of", {"cli": Offer("list", names={"agents": "everywhere"}), "dashboard": _LIVE}, reads=True),
    Verb("pull_requests.refresh", {"cli": "land --watch asks, too", "dashboard": _LIVE}),
    Verb(
        "pull_requests.watch",
        {
            "cli": Offer(
                "land --watch",
                names={"base": "into"},
                left_out={
                    "rounds": "land.pr_rounds says it",
                    "interval": "hosts limit how often they may be asked",
                    "seconds": "Ctrl+C ends it",
                },
            ),
            "dashboard": "it follows open pull requests by itself",
        },
        waits=True,
    ),
    Verb("pull_requests.merged_elsewhere", {"cli": Offer("doctor", left_out={"agents": "it examines those of the project", "base": "it is the branch that is checked out"}), "dashboard": "fleet doctor shows them"}, reads=True),
    # The trash.
    Verb("trash.agents", {"cli": Offer("trash"), "dashboard": "undo restores the last kill"}, reads=True),
    Verb("trash.find", {"cli": Offer("undo", names={"name": "agent"}), "dashboard": _CHOSEN}, reads=True),
    Verb("trash.last_killed", {"cli": Offer("undo"), "dashboard": "part of the call `undo`"}, reads=True),
    Verb("trash.report", {"cli": Offer("trash", names={"agents": "everywhere"}), "dashboard": "fleet trash shows the trash"}, reads=True),
    Verb("trash.archives", {"cli": Offer("trash"), "dashboard": "fleet trash shows the trash"}, reads=True),
    Verb(
        "trash.empty",
        {"cli": Offer("trash --empty", names={"agents": "everywhere"}), "dashboard": "nothing is deleted for good from the dashboard"},
    ),
    Verb("trash.idle_branches", {"cli": Offer("trash"), "dashboard": "fleet trash shows them"}, reads=True),
    Verb(
        "trash.prune_branches",
        {"cli": Offer("trash --prune-branches", names={"agents": "everywhere"}), "dashboard": "nothing is deleted for good from the dashboard"},
    ),
    # The project here.
    Verb("project_info", {"cli": "fleet doctor and errors show it", "dashboard": Offer("new fan-out multi")}, reads=True, remote=True),
    Verb("prepare_repository", {"cli": "git init and git commit do it", "dashboard": "the first screen offers it, on no key of its own"}, remote=True),
    Verb("start_points", {"cli": "git branch lists them", "dashboard": Offer("new fan-out multi")}, reads=True, remote=True),
    Verb("start_point", {"cli": "--base names it", "dashboard": Offer("new fan-out multi")}, reads=True, remote=True),
    Verb("uncommitted", {"cli": Offer("create"), "dashboard": "part of project_info"}, reads=True),
    # Settings and trust.
    Verb(
        "config",
        {
            "cli": Offer("config", left_out={"trusted": "each command knows whether untrusted settings count for it"}),
            "dashboard": "it reads its own settings when it opens",
        },
        reads=True,
    ),
    Verb("settings.init", {"cli": Offer("init"), "dashboard": "the first screen offers it, on no key of its own"}, remote=True),
    Verb("settings.plan_init", {"cli": Offer("init"), "dashboard": "part of settings.init"}, reads=True),
    Verb("settings.file", {"cli": Offer("config"), "dashboard": _OWN_FILE}, reads=True),
    Verb("settings.file_to_edit", {"cli": Offer("config --edit"), "dashboard": _OWN_FILE}),
    Verb("settings.get", {"cli": Offer("config"), "dashboard": _OWN_FILE}, reads=True),
    Verb("settings.set", {"cli": Offer("config", names={"text": "value"}), "dashboard": _OWN_FILE}),
    Verb("settings.unset", {"cli": Offer("config"), "dashboard": _OWN_FILE}),
    Verb("settings.of_user", {"cli": Offer("config"), "dashboard": _OWN_FILE}, reads=True),
    Verb("settings.of_project", {"cli": Offer("config"), "dashboard": _OWN_FILE}, reads=True),
    Verb("settings.validate", {"cli": Offer("config --validate"), "dashboard": _OWN_FILE}, reads=True),
    Verb("settings.text", {"cli": Offer("config --edit"), "dashboard": _OWN_FILE}, reads=True),
    Verb("settings.accept_edit", {"cli": Offer("config --edit", names={"before": "edit", "after": "edit"}), "dashboard": _OWN_FILE}),
    Verb(
        "trust.asked",
        {
            "cli": Offer("trust", left_out={"agent": "the command is about the project here"}),
            "dashboard": Offer("new fan-out multi revive restart fork"),
        },
        reads=True, remote=True,
    ),
    Verb("trust.accept", {"cli": Offer("trust", names={"asked": "yes"}), "dashboard": Offer("new fan-out multi revive restart fork")}, remote=True),
    Verb("trust.refuse_agents", {"cli": Offer("trust"), "dashboard": "part of trust.accept"}),
    Verb("trust.records", {"cli": Offer("trust --list"), "dashboard": "fleet trust --list shows them"}, reads=True),
    Verb("trust.withdraw", {"cli": Offer("untrust"), "dashboard": "fleet untrust does it"}),
    # Permissions and profiles.
    Verb("permissions.decisions", {"cli": Offer("approvals"), "dashboard": "fleet approvals shows them"}, reads=True),
    Verb("permissions.totals", {"cli": Offer("approvals"), "dashboard": "fleet approvals shows them"}, reads=True),
    Verb("permissions.try_out", {"cli": Offer("approvals"), "dashboard": "fleet approvals try does it"}, reads=True),
    Verb("profiles.all", {"cli": Offer("profiles"), "dashboard": "forms offer the programs of project_info"}, reads=True),
    Verb("profiles.check", {"cli": Offer("profiles check", names={"seconds": "timeout"}), "dashboard": "fleet profiles check does it"}),
    Verb("profiles.signs", {"cli": Offer("profiles check"), "dashboard": "fleet profiles check shows them"}, reads=True),
    Verb("profiles.programs", {"cli": "fleet profiles lists the programs", "dashboard": "part of project_info"}, reads=True),
    Verb("profiles.versions", {"cli": "fleet profiles shows them", "dashboard": "the first screen shows them"}, reads=True, remote=True),
    Verb("profiles.text_rules", {"cli": "fleet prompt says what it sends as plain text", "dashboard": Offer("prompt")}, reads=True, remote=True),
    Verb(
        "profiles.headless_warning",
        {"cli": Offer("create --headless", names={"name": "agent"}), "dashboard": "its forms start no headless agents"},
        reads=True,
    ),
    # Health.
    Verb("examine", {"cli": Offer("doctor"), "dashboard": "fleet doctor shows it"}, reads=True),
    Verb("rebuild", {"cli": Offer("list --repair"), "dashboard": "it cannot open with a damaged store"}),
    Verb("repair", {"cli": Offer("list --repair"), "dashboard": "its messages name the command"}),
    Verb("installation", {"cli": Offer("update"), "dashboard": "fleet update shows it"}, reads=True),
    Verb("newest_version", {"cli": Offer("update --check"), "dashboard": "fleet update --check asks for it"}, reads=True),
)  # fmt: skip

REMOTE: Mapping[str, Verb] = {verb.path: verb for verb in VERBS if verb.remote}
"""The verbs that another process may call, by path."""


def method(fleet: Fleet, verb: Verb) -> Callable[..., Any]:
    """The verb, ready to be called."""
    found: Callable[..., Any] = attrgetter(verb.path)(fleet)
    return found


def parameters(fleet: Fleet, verb: Verb) -> dict[str, inspect.Parameter]:
    """The parameters that a user may give, by name: all but those that a face passes itself."""
    signature = inspect.signature(method(fleet, verb))
    return {name: one for name, one in signature.parameters.items() if name not in IN_PROCESS}


def agent_parameters(found: Callable[..., Any]) -> dict[str, Literal["one", "several"]]:
    """The parameters of a method that take agents, so that a remote caller passes ids."""
    taken: dict[str, Literal["one", "several"]] = {}
    # Annotations are text, and the rooms import what they name for type checkers alone.
    kinds = inspect.get_annotations(found, eval_str=True, locals=_Types(found))
    for name, kind in kinds.items():
        if name == "return":
            continue
        if kind is Agent or Agent in get_args(kind):
            origin: Any = get_origin(kind)
            taken[name] = "several" if isinstance(origin, type) and issubclass(origin, Sequence) else "one"
    return taken


class _Unloaded:
    """Stands for a type that is not imported, which is no agent."""

    def __class_getitem__(cls, _: object) -> type[_Unloaded]:
        return cls


class _Types(dict[str, Any]):
    """Names of types for annotations of a method: what its module has not imported is `_Unloaded`."""

    def __init__(self, found: Callable[..., Any]) -> None:
        super().__init__(Agent=Agent, Sequence=Sequence)
        self._module = inspect.unwrap(found).__globals__

    def __missing__(self, name: str) -> type[_Unloaded]:
        if name in self._module or hasattr(builtins, name):
            raise KeyError(name)
        return _Unloaded


def run(
    fleet: Fleet,
    path: str,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    on_progress: OnProgress | None,
) -> Any:
    """Run a verb for a caller in another process, which names agents by their ids."""
    verb = REMOTE[path]
    if verb.refreshes:
        fleet.refresh()
    if verb.each:
        ids, *rest = arguments
        return [_call(fleet, verb, agent, rest, options, on_progress) for agent in fleet.with_ids(ids)]
    result = _call(fleet, verb, None, arguments, options, on_progress)
    return attrgetter(verb.then)(fleet)(result) if verb.then else result


def _call(
    fleet: Fleet,
    verb: Verb,
    first: Agent | None,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    on_progress: OnProgress | None,
) -> Any:
    found = method(fleet, verb)
    signature = inspect.signature(found)
    bound = signature.bind(*([first] if first is not None else []), *arguments, **options)
    for name, count in agent_parameters(found).items():
        value = bound.arguments.get(name)
        if count == "one" and isinstance(value, str):
            bound.arguments[name] = fleet.with_ids([value])[0]
        elif count == "several" and value is not None:
            bound.arguments[name] = fleet.with_ids(value)
    if "on_progress" in signature.parameters:
        bound.arguments["on_progress"] = on_progress
    return found(*bound.args, **bound.kwargs)
