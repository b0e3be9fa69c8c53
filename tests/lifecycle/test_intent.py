"""Launch requests in the store: written by one version of fleet, read by another."""

from __future__ import annotations

from typing import Any

import pytest

from fleet_tui.config.settings import Config
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import fields
from fleet_tui.lifecycle.intent import Intent
from fleet_tui.models import RunSettings

pytestmark = pytest.mark.pure

STORED: dict[str, Any] = {
    "repository": "/r", "git_dir": "/r/.git", "branch": "fix", "base": "c0ffee", "worktree": "/w", "makes_worktree": True,
    "makes_branch": True, "profile": "claude", "argv": ["claude"], "prompt": "go", "pasted_prompt": "", "setup": ["make"],
    "credential_files": [".env"], "include": [], "env": {"A": "1"}, "permission_mode": "edits",
    "policy": {"mode": "on", "rules": []}, "captures_since": 0.0, "cols": 80, "rows": 24, "scrollback": 500,
    "transcript_cap": 1024, "fork_of": "", "headless": False,
}  # fmt: skip
"""A request as the versions before `RunSettings` wrote it."""
ADDED = ("nice", "checkpoint_automatic")
"""Keys added since, which those versions ignore."""


def test_a_request_of_an_earlier_version_is_read_with_its_settings() -> None:
    intent = Intent.read(STORED)

    assert intent.argv == ("claude",)
    assert intent.settings == RunSettings(
        {"A": "1"}, "edits", {"mode": "on", "rules": []}, scrollback=500, transcript_cap=1024
    )


def test_a_request_is_written_with_the_keys_that_an_earlier_version_reads() -> None:
    written = Intent.read(STORED).to_plain()
    for key in ADDED:
        del written[key]

    assert set(written) == set(STORED)
    assert {
        key: list(value) if isinstance(value, tuple) else value for key, value in written.items()
    } == STORED


def test_settings_that_an_earlier_version_left_out_or_null_have_their_defaults() -> None:
    old = {key: value for key, value in STORED.items() if key not in ("scrollback", "transcript_cap")}

    intent = Intent.read(old | {"env": None, "policy": None, "unheard_of": 1})

    assert intent.settings == RunSettings(permission_mode="edits")


def test_a_request_without_what_every_version_writes_is_refused() -> None:
    with pytest.raises(FleetError, match="launch request is incomplete"):
        Intent.read({key: value for key, value in STORED.items() if key != "worktree"})


def test_every_run_setting_comes_from_the_configuration_and_hides_no_key_of_a_request() -> None:
    names = {one.name for one in fields(RunSettings)}

    assert Config(scrollback=7, transcript_mb=2).run == RunSettings(
        scrollback=7, transcript_cap=2 << 20, nice=5, checkpoint_automatic=True
    )
    assert names.isdisjoint({one.name for one in fields(Intent)})
