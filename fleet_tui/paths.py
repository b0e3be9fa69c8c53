"""Paths of all files and folders; one function per place.

Folders are made 0700 when first asked for. Nothing here reads or writes a file's content.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fleet_tui.errors import FleetError

APPROVALS_FILE = "approvals.jsonl"
SOCKET_PATH_LIMIT = 100
"""Bytes; a unix socket's path may have 104 on macOS and 108 on Linux."""


def _xdg(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if value.startswith("/") else _home() / default


def _home() -> Path:
    try:
        home = Path.home()
    except RuntimeError:
        raise FleetError("there is no home folder", hint="set HOME") from None
    if not os.environ.get("HOME", "/").startswith("/"):
        # A relative HOME depends on the current folder; an empty one means /.
        raise FleetError("HOME is not an absolute path", hint="set HOME to your home folder")
    return home


def private(folder: Path) -> Path:
    """Create a folder and its parents, accessible only to its owner."""
    if os.path.isdir(folder):  # noqa: PTH112 - called for every agent, several times a second
        return folder
    missing = [level for level in (folder, *folder.parents) if not level.exists()]
    for level in reversed(missing):
        level.mkdir(mode=0o700, exist_ok=True)
    return folder


def state() -> Path:
    return private(_xdg("XDG_STATE_HOME", ".local/state") / "fleet-tui")


def store() -> Path:
    return state() / "fleet.db"


def agent(agent_id: str) -> Path:
    """One agent's folder: its lock, and one folder per run."""
    return state() / "agents" / agent_id


def lock(agent_id: str) -> Path:
    return agent(agent_id) / "lock"


def killed(agent_id: str) -> Path:
    """Exists while the agent is killed."""
    return agent(agent_id) / "killed.json"


def run(agent_id: str, number: int) -> Path:
    """The folder of one run, written by its holder."""
    return agent(agent_id) / str(number)


def last_look() -> Path:
    """The time of the last look at the dashboard."""
    return state() / "last-look.json"


def form_drafts() -> Path:
    """What was typed into forms of the dashboard and not sent."""
    return state() / "form-drafts.json"


def approvals() -> Path:
    """The log of permission decisions."""
    return state() / APPROVALS_FILE


def log() -> Path:
    """Diagnostics of fleet-tui itself, not output of agents."""
    return private(state() / "log")


def cache() -> Path:
    """Data that can be recreated at any time."""
    return private(_xdg("XDG_CACHE_HOME", ".cache") / "fleet-tui")


def user_config() -> Path:
    return _xdg("XDG_CONFIG_HOME", ".config") / "aifleet" / "config.toml"


def user_profiles() -> Path:
    return _xdg("XDG_CONFIG_HOME", ".config") / "aifleet" / "profiles"


def project_config(project: Path) -> Path:
    return project / ".aifleet" / "config.toml"


def worktrees(project: Path, name: str) -> Path:
    """The default folder of a project's worktrees; the hash distinguishes projects of the same name."""
    import hashlib

    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
    return _xdg("XDG_DATA_HOME", ".local/share") / "fleet-tui" / "worktrees" / f"{name}-{digest}"


def trash(worktree_folder: Path) -> Path:
    """Beside the worktrees, so that moving one there is a rename."""
    return worktree_folder / ".trash"


def spares(worktree_folder: Path) -> Path:
    """Worktrees made in advance; beside the others, so that giving one to an agent is a rename."""
    return worktree_folder / ".spares"


def spares_lock() -> Path:
    """Held by the process that makes, refreshes or removes spare worktrees."""
    return state() / "spares.lock"


def sockets() -> Path:
    """A folder for sockets: a short path, owned by this user, and not a link that another user planted."""
    import tempfile

    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    for base in (
        Path(runtime) / "fleet-tui" if runtime else None,
        Path(tempfile.gettempdir()) / f"fleet-tui-{os.getuid()}",
    ):
        if base is not None and _is_usable(base):
            return base
    raise FleetError(
        "no private folder for sockets can be made",
        hint="set XDG_RUNTIME_DIR or TMPDIR to a folder that you own",
    )


def _is_usable(base: Path) -> bool:
    if len(os.fsencode(base)) + 14 > SOCKET_PATH_LIMIT:
        return False
    try:
        private(base)
        found = base.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
