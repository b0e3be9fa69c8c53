"""Everything a person can do in the dashboard, as one table.

Key bindings, footer, palette, help, the README and `fleet keys` are all read from here. Pure data: no Textual, so
that the command line can print it at once.
"""

from __future__ import annotations

from typing import Literal

from fleet_tui.values import dataclass

Context = Literal["list", "typing", "leader"]
"""Where a key counts: in the list; reserved while typing; after the leader."""

GROUPS = ("Move", "Agent", "Work", "Fleet", "Go", "Look", "Do", "Keys")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done, and how it is reached."""

    id: str
    keys: tuple[str, ...]
    """Chords as people write them: x, X, ctrl+], enter."""
    label: str
    """For the footer: one or two words."""
    says: str
    """For help and palette."""
    group: str
    context: Context = "list"
    footer: int = 0
    """Place in the footer, 1 first; 0 is not shown there."""
    is_global: bool = False
    """Makes sense without any agent."""
    beside: str = ""
    """The action whose row in the sheet of keys this one's keys share."""


def _list(
    name: str, keys: str, label: str, says: str, group: str, footer: int = 0, *, is_global: bool = False
) -> Action:
    return Action(name, tuple(keys.split()), label, says, group, "list", footer, is_global)


def _leader(name: str, keys: str, says: str, group: str, *, beside: str = "") -> Action:
    return Action(name, tuple(keys.split()), says, says, group, "leader", beside=beside)


ACTIONS: tuple[Action, ...] = (
    _list("next", "j down", "down", "next agent", "Move"),
    _list("previous", "k up", "up", "previous agent", "Move"),
    _list("next-needing", "]", "next", "next that needs you", "Move", 3),
    _list("previous-needing", "[", "previous", "previous needing you", "Move"),
    _list("first", "g home", "first", "first agent", "Move"),
    _list("last", "G end", "last", "last agent", "Move"),
    _list("jump", "1 2 3 4 5 6 7 8 9", "pane", "pane by its number", "Move"),
    _list("look-back", "pageup", "back", "look back in the pane", "Move"),
    _list("look-on", "pagedown", "on", "and towards now", "Move"),
    _list("fold", "left h", "fold", "fold the batch", "Move"),
    _list("unfold", "l", "unfold", "unfold all batches", "Move"),
    _list("filter", "/", "filter", "filter: words s: b: a:", "Move", 10, is_global=True),
    _list("needing-only", "w", "waiting", "only who needs you", "Move", is_global=True),
    _list("type", "enter right i", "type", "type to the agent", "Agent", 1),
    _list("answer", "a", "answer", "answer who waits", "Agent", 2),
    _list("prompt", "p", "prompt", "prompt, to all marked", "Agent", 4),
    _list("queue", "P", "prompts", "prompts given, waiting", "Agent"),
    _list("why", "e", "why", "why this status", "Agent"),
    _list("stop", "x", "stop", "stop (press twice)", "Agent", 7),
    _list("kill", "X", "kill", "kill (twice), to trash", "Agent"),
    _list("revive", "v", "revive", "go on where it ended", "Agent"),
    _list("restart", "R", "restart", "start again afresh", "Agent"),
    _list("fork", "F", "fork", "fork the conversation", "Agent"),
    _list("undo", "u", "undo", "bring back the killed", "Agent", is_global=True),
    _list("attach", "A", "attach", "on the full terminal", "Work"),
    _list("logs", "L", "logs", "log, with search", "Work"),
    _list("shell", "t", "shell", "shell in the worktree", "Work"),
    _list("editor", "o", "editor", "open in $EDITOR", "Work"),
    _list("copy-path", "y", "copy path", "copy worktree path", "Work"),
    _list("copy-branch", "Y", "copy branch", "copy branch name", "Work"),
    _list("copy-mode", "V", "copy", "scroll, search, copy", "Work"),
    _list("rename", "r", "rename", "rename the agent", "Work"),
    _list("move", "b", "to batch", "move to another batch", "Work"),
    _list("mark", "s space", "mark", "mark several", "Work"),
    _list("new", "n", "new", "one new agent", "Fleet", 6, is_global=True),
    _list("fan-out", "f", "fan-out", "fan one prompt out", "Fleet", 5, is_global=True),
    _list("multi", "M", "multi", "one line, one agent", "Fleet", is_global=True),
    _list("zoom", "z", "zoom", "zoom the pane", "Fleet", 8),
    _list("layout", "|", "layout", "layout 1 2 4 6 9", "Fleet", 9),
    _list("pin", ".", "pin", "pin or unpin the pane", "Fleet"),
    _list("narrower", "<", "narrower", "narrower list", "Fleet", is_global=True),
    _list("wider", ">", "wider", "wider list", "Fleet", is_global=True),
    _list("order", "O", "order", "by batch or by need", "Fleet", is_global=True),
    _list("mute", "N", "mute", "notices of the batch", "Fleet"),
    _list("theme", "T", "theme", "another theme", "Fleet", is_global=True),
    _list("palette", ": ctrl+p", "palette", "all of this by name", "Fleet", 11, is_global=True),
    _list("help", "? f1", "help", "these keys", "Fleet", 99, is_global=True),
    _list("quit", "q", "leave", "leave; agents go on", "Fleet", is_global=True),
    _list("stop-fleet", "Q", "stop all", "stop the whole fleet", "Fleet", is_global=True),
    Action("leave", ("ctrl+q", "f12"), "back to the list", "back to the list", "Keys", "typing"),
    Action("leader", ("ctrl+]", "f11"), "more keys", "more keys", "Keys", "typing"),
    _leader("leader-next", "n", "next that needs you", "Go"),
    _leader("leader-previous", "N", "previous that needs you", "Go", beside="leader-next"),
    _leader("leader-down", "j", "next, keep typing", "Go"),
    _leader("leader-up", "k", "previous, keep typing", "Go", beside="leader-down"),
    _leader("leader-jump", "1 2 3 4 5 6 7 8 9", "pane, keep typing", "Go"),
    _leader("leader-last", "tab", "last agent", "Go"),
    _leader("leader-zoom", "z", "zoom", "Look"),
    _leader("leader-side", "b", "hide the list", "Look"),
    _leader("leader-copy", "y", "scroll and copy", "Look"),
    _leader("leader-why", "e", "why this status", "Look"),
    _leader("leader-shell", "t", "shell", "Do"),
    _leader("leader-palette", "p", "palette", "Do"),
    _leader("leader-stop", "x", "stop, asks first", "Do"),
    _leader("leader-list", "l", "back to the list", "Keys", beside="leave"),
    _leader("leader-help", "?", "all keys", "Keys"),
)

BY_ID = {action.id: action for action in ACTIONS}


def in_context(context: Context) -> tuple[Action, ...]:
    return tuple(action for action in ACTIONS if action.context == context)
