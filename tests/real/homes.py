"""A user's home as each program expects it: set up, logged in with a key, the project trusted, the loopback API as
provider. These files are the user's own, and a fleet must not change them.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

KEY = "sk-test-0123456789abcdef0123456789"
MODEL = "gpt-5-codex"
FOREIGN = (
    "ANTHROPIC_",
    "CLAUDE",
    "CODEX_",
    "OPENAI_",
    "GEMINI_",
    "GOOGLE_",
    "OPENCODE",
    "QWEN_",
    "COPILOT_",
    "PI_",
    "AIDER_",
    "AI_AGENT",
    "DISABLE_",
)
"""Variables of the developer's own programs that must not reach the tested ones."""
UNATTENDED = ("CI", "CONTINUOUS_INTEGRATION", "BUILD_NUMBER", "RUN_ID")
"""With one of these set, some programs assume that no user is present: gemini exits without asking."""


def prepare(name: str, home: Path, project: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write files into the home, and return the environment, so that a program starts without a question."""
    for variable in list(os.environ):
        if variable.startswith(FOREIGN) or variable in UNATTENDED:
            monkeypatch.delenv(variable)
    environment = {
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "HTTPS_PROXY": url,
        "https_proxy": url,
    } | SEEDS[name](home, project, url)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)


def _claude(home: Path, project: Path, url: str) -> dict[str, str]:
    # Its trust in a repository covers every worktree of it.
    _write_json(
        home / ".claude.json",
        {
            "hasCompletedOnboarding": True,
            "hasSeenAutoDefaultNotice": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(project): {"hasTrustDialogAccepted": True}},
        },
    )
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "3",
        "DISABLE_AUTOUPDATER": "1",
        # Without it, root may not skip permissions.
        "IS_SANDBOX": "1",
    }


def _codex(home: Path, project: Path, url: str) -> dict[str, str]:
    _write(
        home / ".codex" / "config.toml",
        f"""
model = "{MODEL}"
model_provider = "loopback"
check_for_update_on_startup = false

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
request_max_retries = 3
stream_max_retries = 3

[projects."{project}"]
trust_level = "trusted"

[features]
# Else it has no tool to ask with, unless it makes a plan.
default_mode_request_user_input = true
""",
    )
    return {"LOOPBACK_KEY": KEY}


def _gemini(home: Path, project: Path, url: str) -> dict[str, str]:
    _write_gemini_settings(home / ".gemini", "gemini-api-key")
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_TELEMETRY_ENABLED": "false"}


def _opencode(home: Path, project: Path, url: str) -> dict[str, str]:
    _write_json(
        home / ".config" / "opencode" / "opencode.json",
        {
            "model": "loopback/test",
            "small_model": "loopback/test",
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "provider": {
                "loopback": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "loopback",
                    "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
                    "models": {"test": {"name": "test", "limit": {"context": 200000, "output": 8000}}},
                }
            },
        },
    )
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _qwen(home: Path, project: Path, url: str) -> dict[str, str]:
    _write_gemini_settings(home / ".qwen", "openai")
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "test"}


def _write_gemini_settings(folder: Path, login: str) -> None:
    """The settings of gemini, or of qwen, which is a fork of it."""
    _write_json(
        folder / "settings.json",
        {
            "security": {"auth": {"selectedType": login}, "folderTrust": {"enabled": False}},
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False},
        },
    )


def _copilot(home: Path, project: Path, url: str) -> dict[str, str]:
    # It trusts folders and what is below them, and knows nothing of a worktree's repository.
    _write_json(home / ".copilot" / "config.json", {"trusted_folders": [str(home.parent)], "banner": "never"})
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "test",
    }


def _pi(home: Path, project: Path, url: str) -> dict[str, str]:
    model = {"id": "test", "name": "test", "contextWindow": 200000, "maxTokens": 8000, "input": ["text"]}
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": KEY, "models": [model]}
    _write_json(home / ".pi" / "agent" / "models.json", {"providers": {"loopback": provider}})
    _write_json(
        home / ".pi" / "agent" / "settings.json", {"defaultProvider": "loopback", "defaultModel": "test"}
    )
    return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}


def _aider(home: Path, project: Path, url: str) -> dict[str, str]:
    _write(home / ".aider.conf.yml", "model: openai/test\nedit-format: diff\n")
    return {"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": f"{url}/v1"}


SEEDS: dict[str, Callable[[Path, Path, str], dict[str, str]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "qwen": _qwen,
    "copilot": _copilot,
    "pi": _pi,
    "aider": _aider,
}


RECORDS: dict[str, tuple[str, ...]] = {
    "claude": (
        ".claude.json",
        ".claude/backups/",
        ".claude/history.jsonl",
        ".claude/projects/",
        ".claude/sessions/",
        ".claude/shell-snapshots/",
        ".claude/statsig/",
        ".claude/todos/",
        ".local/share/applications/claude-code-url-handler.desktop",
    ),
    "codex": (
        ".codex/.sandbox_migration",
        ".codex/.tmp/",
        ".codex/config.toml",
        ".codex/goals_",
        ".codex/history.jsonl",
        ".codex/installation_id",
        ".codex/logs_",
        ".codex/memories_",
        ".codex/models_cache.json",
        ".codex/queue_",
        ".codex/sessions/",
        ".codex/shell_snapshots/",
        ".codex/skills/.system/",
        ".codex/state_",
        ".codex/thread-writer-locks/",
        ".codex/thread_history_",
        ".codex/tui-thread-reference-capabilities/",
        ".codex/version.json",
    ),
}
"""Paths a program writes in the home even without a fleet; settings among them are compared by value."""


def settings(name: str, home: Path) -> object:
    """The settings of the user as the program reads them, without its own notes."""
    if name == "codex":
        found = tomllib.loads((home / ".codex" / "config.toml").read_text())
        return {key: value for key, value in found.items() if key != "tui"}
    found = json.loads((home / ".claude.json").read_text())
    trusted = {path: entry["hasTrustDialogAccepted"] for path, entry in found["projects"].items()}
    return found["customApiKeyResponses"], trusted


def distrust(name: str, home: Path) -> None:
    """Remove the trust in the project, so that the program asks for it."""
    if name == "codex":
        file = home / ".codex" / "config.toml"
        file.write_text(file.read_text().partition("[projects.")[0])
    else:
        file = home / ".claude.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"projects": {}}))


def _write_json(file: Path, value: object) -> None:
    _write(file, json.dumps(value))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


# ── what a run leaves behind ──


OURS = (".cache/fleet-tui/", ".local/share/fleet-tui/", ".local/state/fleet-tui/")
"""fleet-tui's folders in a home."""


def contents(folder: Path) -> dict[str, str]:
    """The digest of every file below, by its path, or the target of a link.

    Skips fleet-tui's folders: closing a store's file again would release the locks this process has on it.
    """
    found = {}
    for file in folder.rglob("*"):
        name = str(file.relative_to(folder))
        if name.startswith(OURS):
            continue
        if file.is_symlink():
            found[name] = f"-> {file.readlink()}"
        elif file.is_file():
            found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Paths of files that are new, missing or different."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
