"""What is no verb of a user, and why: methods that serve faces, and what only one face has.

`tests/faces/test_faces_agree.py` demands that everything is either here or in the table of verbs, `faces.calls`.
"""

from __future__ import annotations

from collections.abc import Mapping

PLUMBING: Mapping[str, str] = {
    "prompts.send": "part of prompts.deliver",
    "prompts.broadcast": "part of prompts.deliver",
    "prompts.receipts": "part of prompts.queue",
    "pull_requests.findings": "part of examine",
    "trash.over_limit": "part of warnings_after_kill",
    "settings.edit_commands": "names the remedies of settings.validate",
    "wait_for_setup": "part of commands that start agents; the dashboard's list shows each agent's setup",
    "refresh": "a command that looks at agents begins with it, and the worker's observer does it all the time",
    "close": "a face closes its fleet",
    "checks.command": "part of checks.start",
    "checks.missing": "a face says why there are no checks",
    "checks.settings": "part of checks.start",
    "landing.undo": "part of undo",
    "landing.settle": "part of undo",
    "landing.last": "part of undo",
    "landing.of": "part of undo",
    "landing.has_moved_on": "part of undo",
    "current": "a face reads an agent's newest row",
    "with_ids": "a face that is called with ids finds its agents",
    "project": "a face compares an agent's project with the one here",
    "reread_repository": "a face that stays open forgets where HEAD was",
    "version": "a face polls for changes",
    "moved_since": "a face sums up what happened while it was away",
    "is_store_replaced": "a face that stays open opens the new store",
    "is_disk_full": "a face warns of it",
    "run_folder": "a face opens a session with a holder",
    "lock_file": "a face sees whether a holder lives",
}
"""Public methods of `Fleet` and its families that serve faces and are no verbs of a user, each with its purpose."""

CLI_ALONE: Mapping[str, str] = {
    "ui": "opens the dashboard",
    "open": "is ui or attach",
    "shell": "gives the terminal to the user's shell, as the dashboard's action does",
    "help": "shows the help of the other commands",
    "keys": "prints the dashboard's keys without opening it",
    "completion": "is about the user's shell",
}
"""Commands that are no verb of a fleet, each with the reason."""

DASHBOARD_ALONE: Mapping[str, tuple[str, ...]] = {
    "moves the selection": (
        "next", "previous", "next-needing", "previous-needing", "first", "last", "jump", "leader-next", "leader-previous",
        "leader-down", "leader-up", "leader-jump", "leader-last", "mark",
    ),
    "changes what the list or the panes show": (
        "fold", "unfold", "filter", "zoom", "layout", "pin", "narrower", "wider", "order", "theme", "leader-zoom",
        "leader-side",
    ),
    "reads a pane's past": ("look-back", "look-on", "copy-mode", "leader-copy"),
    "copies what the list shows": ("copy-path", "copy-branch"),
    "gives the terminal to another program": ("shell", "editor", "leader-shell"),
    "switches between the dashboard's modes": ("leave", "leader", "leader-list"),
    "shows the dashboard's own actions": ("palette", "help", "leader-palette", "leader-help"),
    "is a setting of the dashboard": ("mute",),
    "closes the dashboard": ("quit",),
}  # fmt: skip
"""Actions that are no verb of a fleet, by the reason."""
