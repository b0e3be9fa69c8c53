"""What a holder is to run, handed from the launcher to the keeper and the screen server in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.models import RunSettings


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a holder is to run. Never written to disk: an environment has secrets."""

    agent: str
    run: int
    folder: str
    state_folder: str
    socket: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    cols: int = 100
    rows: int = 30
    setup: tuple[str, ...] = ()
    """Commands to run in the same terminal before the program."""
    prompt: str = ""
    """The first prompt; empty for none."""
    is_prompt_given: bool = False
    """The prompt is in the arguments; otherwise it is typed."""
    signals: dict[str, Any] = field(default_factory=dict)
    """Rules for status, prompts and answers, as plain data."""
    stream: dict[str, Any] = field(default_factory=dict)
    """The program's event stream: port, path, user, password, catch_up, schema. Empty for none."""
    settings: RunSettings = RunSettings()
    name: str = ""
    """The agent's name when the run began."""
    after_turn: tuple[str, ...] = ()
    """The command to start when a turn has ended; empty for none."""
    seconds: float = 0.0
    """The longest that the program may run before it is ended; 0 for no limit."""

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> RunSpec:
        """Read a spec that was sent as JSON."""
        parsed = {name: tuple(values.get(name, ())) for name in ("argv", "setup", "after_turn")}
        return cls(**{**values, **parsed, "settings": RunSettings.from_plain(values["settings"])})
