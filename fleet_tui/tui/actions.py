"""The table of all actions of the dashboard: keys, labels, and the handler that runs each.

Key bindings, footer, palette, help, docs/keys.md and `fleet keys` are all read from here. Pure data without Textual, so
that the command line can print it at once. `dashboard.handlers` binds the handlers when the dashboard is made.
"""

from __future__ import annotations

from typing import Literal

from fleet_tui.fast_dataclasses import dataclass

Context = Literal["list", "typing", "leader"]
"""Where a key works: in the list; reserved while typing; after the leader."""

GROUPS = ("Move", "Agent", "Work", "Fleet", "Go", "Look", "Do", "Keys")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing the user can do, and its keys."""

    id: str
    keys: tuple[str, ...]
    """Chords as people write them: x, X, ctrl+], enter."""
    label: str
    """For the footer: one or two words."""
    says: str
    """For help and palette."""
    group: str
    context: Context = "list"
    handler: str = ""
    """The group of the dashboard and its method that run it, as in `list.select_next`. Chords that a pane takes itself
    have none."""
    footer: int = 0
    """Place in the footer, 1 first; 0 is not shown there."""
    is_global: bool = False
    """Makes sense without any agent."""
    beside: str = ""
    """The action whose row in the sheet of keys this one's keys share."""
    has_number: bool = False
    """The handler takes the digit that was pressed."""


def _list(
    name: str,
    handler: str,
    keys: str,
    label: str,
    says: str,
    group: str,
    footer: int = 0,
    *,
    is_global: bool = False,
    has_number: bool = False,
) -> Action:
    chords = tuple(keys.split())
    return Action(
        name, chords, label, says, group, "list", handler, footer, is_global=is_global, has_number=has_number
    )


def _leader(
    name: str, handler: str, keys: str, says: str, group: str, *, beside: str = "", has_number: bool = False
) -> Action:
    chords = tuple(keys.split())
    return Action(name, chords, says, says, group, "leader", handler, beside=beside, has_number=has_number)


ACTIONS: tuple[Action, ...] = (
    _list("next", "list.select_next", "j down", "down", "next agent", "Move"),
    _list("previous", "list.select_previous", "k up", "up", "previous agent", "Move"),
    _list("next-needing", "list.select_next_needing", "]", "next", "next that needs you", "Move", 3),
    _list(
        "previous-needing", "list.select_previous_needing", "[", "previous", "previous that needs you", "Move"
    ),
    _list("first", "list.select_first", "g home", "first", "first agent", "Move"),
    _list("last", "list.select_last", "G end", "last", "last agent", "Move"),
    _list(
        "jump", "list.select_pane", "1 2 3 4 5 6 7 8 9", "pane", "pane by its number", "Move", has_number=True
    ),
    _list("look-back", "scrollback.page_up", "pageup", "back", "scroll back in the pane", "Move"),
    _list("look-on", "scrollback.page_down", "pagedown", "forward", "scroll to newer lines", "Move"),
    _list("fold", "list.fold", "left h", "fold", "fold the batch", "Move"),
    _list("unfold", "list.unfold_all", "l", "unfold", "unfold all batches", "Move"),
    _list("filter", "list.filter", "/", "filter", "filter the list", "Move", 12, is_global=True),
    _list(
        "needing-only",
        "list.toggle_needing_only",
        "w",
        "waiting",
        "only those that need you",
        "Move",
        is_global=True,
    ),
    _list("type", "typing.type", "enter right i", "type", "type to the agent", "Agent", 1),
    _list("answer", "prompts.answer", "a", "answer", "answer a question", "Agent", 2),
    _list("prompt", "prompts.prompt", "p", "prompt", "prompt it or all marked", "Agent", 4),
    _list("queue", "prompts.queue", "P", "prompts", "prompts sent and queued", "Agent"),
    _list("why", "agent.why", "e", "why", "why this status", "Agent"),
    _list("diff-of-two", "conflicts.diff", "=", "compare", "diff with what it conflicts with", "Agent"),
    _list("stop", "end.stop", "x", "stop", "stop (press twice)", "Agent", 9),
    _list("kill", "end.kill", "X", "kill", "kill (twice), to trash", "Agent"),
    _list("revive", "end.revive", "v", "revive", "resume the conversation", "Agent"),
    _list("restart", "end.restart", "R", "restart", "restart from first prompt", "Agent"),
    _list("fork", "start.fork", "F", "fork", "fork the conversation", "Agent"),
    _list("undo", "end.undo", "u", "undo", "undo the last kill or landing", "Agent", is_global=True),
    _list("compare", "compare.compare", "c", "compare", "compare batch or marked", "Work"),
    _list("diff", "review.review", "d", "diff", "review what it changed", "Work", 7),
    _list("land", "landing.land", "m", "land", "land it, or all marked", "Work", 8),
    _list("timeline", "review.timeline", "H", "timeline", "checkpoints, restore one", "Work"),
    _list("check", "agent.check", "C", "check", "its check in the pane, and back", "Work"),
    _list("attach", "agent.attach", "A", "attach", "attach in full terminal", "Work"),
    _list("logs", "agent.logs", "L", "logs", "read and search the log", "Work"),
    _list("shell", "agent.shell", "t", "shell", "shell in the worktree", "Work"),
    _list("editor", "agent.editor", "o", "editor", "open in your editor", "Work"),
    _list("copy-path", "agent.copy_path", "y", "copy path", "copy worktree path", "Work"),
    _list("copy-branch", "agent.copy_branch", "Y", "copy branch", "copy branch name", "Work"),
    _list("copy-mode", "scrollback.copy_mode", "V", "copy", "scroll, search, copy", "Work"),
    _list("rename", "agent.rename", "r", "rename", "rename the agent", "Work"),
    _list("move", "agent.move", "b", "to batch", "move to another batch", "Work"),
    _list("mark", "list.mark", "s space", "mark", "mark several agents", "Work"),
    _list("new", "start.new", "n", "new", "start one agent", "Fleet", 6, is_global=True),
    _list("fan-out", "start.fan_out", "f", "fan-out", "one prompt, many agents", "Fleet", 5, is_global=True),
    _list("multi", "start.multi", "M", "multi", "several, one prompt each", "Fleet", is_global=True),
    _list("zoom", "layout.toggle_zoom", "z", "zoom", "zoom the pane", "Fleet", 10),
    _list("layout", "layout.next_layout", "|", "layout", "1, 2, 4, 6 or 9 panes", "Fleet", 11),
    _list("pin", "layout.pin", ".", "pin", "pin or unpin the pane", "Fleet"),
    _list("narrower", "layout.narrow_list", "<", "narrower", "narrower list", "Fleet", is_global=True),
    _list("wider", "layout.widen_list", ">", "wider", "wider list", "Fleet", is_global=True),
    _list("order", "list.toggle_order", "O", "order", "order by batch or need", "Fleet", is_global=True),
    _list("mute", "list.mute", "N", "mute", "mute the batch", "Fleet"),
    _list("theme", "fleet.theme", "T", "theme", "choose a theme", "Fleet", is_global=True),
    _list("palette", "fleet.palette", ": ctrl+p", "palette", "command palette", "Fleet", 13, is_global=True),
    _list("help", "fleet.help", "? f1", "help", "these keys", "Fleet", 99, is_global=True),
    _list("quit", "fleet.leave", "q", "leave", "quit; agents keep running", "Fleet", is_global=True),
    _list("stop-fleet", "end.stop_fleet", "Q", "stop all", "stop the whole fleet", "Fleet", is_global=True),
    Action("leave", ("ctrl+q", "f12"), "back to the list", "back to the list", "Keys", "typing"),
    Action("leader", ("ctrl+]", "f11"), "more keys", "more keys", "Keys", "typing"),
    _leader("leader-next", "leader.next_needing", "n", "next that needs you", "Go"),
    _leader(
        "leader-previous",
        "leader.previous_needing",
        "N",
        "previous that needs you",
        "Go",
        beside="leader-next",
    ),
    _leader("leader-down", "leader.next", "j", "next, keep typing", "Go"),
    _leader("leader-up", "leader.previous", "k", "previous, keep typing", "Go", beside="leader-down"),
    _leader("leader-jump", "leader.pane", "1 2 3 4 5 6 7 8 9", "pane, keep typing", "Go", has_number=True),
    _leader("leader-last", "typing.type_to_last", "tab", "last agent", "Go"),
    _leader("leader-zoom", "layout.toggle_zoom", "z", "zoom", "Look"),
    _leader("leader-side", "layout.toggle_list", "b", "hide the list", "Look"),
    _leader("leader-copy", "typing.copy_mode", "y", "scroll and copy", "Look"),
    _leader("leader-why", "agent.why", "e", "why this status", "Look"),
    _leader("leader-shell", "agent.shell", "t", "shell", "Do"),
    _leader("leader-palette", "fleet.palette", "p", "palette", "Do"),
    _leader("leader-stop", "end.ask_to_stop", "x", "stop (asks first)", "Do"),
    _leader("leader-list", "typing.stop", "l", "back to the list", "Keys", beside="leave"),
    _leader("leader-help", "fleet.help", "?", "all keys", "Keys"),
)

BY_ID = {action.id: action for action in ACTIONS}


def in_context(context: Context) -> tuple[Action, ...]:
    return tuple(action for action in ACTIONS if action.context == context)
