"""Environment of an agent's program: the user's own, without the marks of what fleet-tui itself runs in."""

from __future__ import annotations

from collections.abc import Mapping

from fleet_tui.programs.profile import Profile

HOST_TERMINAL = frozenset({"STY", "VTE_VERSION", "COLUMNS", "LINES"})
HOST_TERMINAL_PREFIXES = ("TMUX", "ZELLIJ", "TERM_PROGRAM", "KITTY_", "GHOSTTY_", "WEZTERM_")


def program_environment(
    profile: Profile,
    base: Mapping[str, str],
    *,
    agent_id: str,
    socket: str,
    folder: str,
    port_base: int,
    extra: Mapping[str, str] | None = None,
    permission_mode: str = "ask",
) -> dict[str, str]:
    """The user's environment without session and terminal markers, then the profile's variables and the agent's."""
    kept = {name: value for name, value in base.items() if not _is_foreign(name, profile)}
    return {
        **kept,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        **profile.env,
        **profile.permission_env.get(permission_mode, {}),
        **{name: value for name, value in (extra or {}).items() if not name.startswith("FLEET_")},
        "FLEET_AGENT_ID": agent_id,
        "FLEET_SOCKET": socket,
        "FLEET_FOLDER": folder,
        "FLEET_PORT_BASE": str(port_base),
    }


def _is_foreign(name: str, profile: Profile) -> bool:
    return (
        name in profile.session_markers
        or name in HOST_TERMINAL
        or name in profile.unset_env
        or name.startswith(HOST_TERMINAL_PREFIXES)
        or name.startswith("FLEET_")
    )
