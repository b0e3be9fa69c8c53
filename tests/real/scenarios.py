"""What the loopback API answers, selected by words in the prompt, independent of any provider's wire format.

A prompt may contain orders in double brackets; the last one counts:

    [[write NAME TEXT]]   write a file in the worktree with the program's own tool
    [[run COMMAND]]       run a shell command with the program's own tool
    [[escape COMMAND]]    the same, asking to leave the sandbox if the program has one
    [[ask]]               ask the user to choose a color
    [[slow WORDS PAUSE]]  stream that many words, a pause of seconds between two
    [[fail CODE]]         answer every request with this HTTP error
    [[exhausted]]         answer that the subscription's usage is used up, and when it resets
    [[limit TIMES AFTER]] answer that many requests with 429 and a retry time in seconds; then as usual

Without an order, the answer contains the length and the digest of the received prompt.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

QUESTION = "Which color do you prefer?"
CHOICES = ("Red", "Blue")

PAUSE = 0.06
"""Seconds between the words of an ordinary answer, so that a turn is long enough to be observed."""

_ORDER = re.compile(r"\[\[(\w+) ?([^\]]*)\]\]")


@dataclass(frozen=True, slots=True)
class Turn:
    """A request of a program to the model, independent of the provider."""

    texts: tuple[str, ...]
    """The parts of the newest user message, unchanged."""
    said: tuple[str, ...]
    """All messages of this conversation, oldest first."""
    results: int
    """How many tool calls were answered since the last user message."""
    tools: Mapping[str, Mapping[str, Any]]
    """The parameters of each tool on offer, as a JSON schema."""


@dataclass(frozen=True, slots=True)
class Say:
    words: tuple[str, ...]
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refuse:
    code: int
    message: str
    retry_after: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Step = Say | Call


def order(turn: Turn) -> tuple[str, str]:
    """The order's name and the rest of it; both empty without one."""
    found = [match for text in turn.texts for match in _ORDER.finditer(text)]
    return (found[-1][1], found[-1][2]) if found else ("", "")


USED_UP = "The usage limit has been reached"


def answer(turn: Turn, folder: str, asked_before: int) -> list[Step] | Refuse:
    """The answer to this request; `asked_before` counts earlier requests of the same turn."""
    name, rest = order(turn)
    words = rest.split()
    if name == "fail":
        return Refuse(int(words[0]), "This request is refused on purpose.")
    if name == "limit" and asked_before < int(words[0]):
        return Refuse(429, "This request would exceed your rate limit.", int(words[1]))
    if name == "exhausted":
        return Refuse(429, USED_UP, headers=_used_up())
    if name == "slow":
        return [Say(tuple(f"word{number} " for number in range(int(words[0]))), float(words[1]))]
    if turn.results or name in ("", "limit"):
        return [say(f"The prompt was {_digest(turn)}.", pause=PAUSE)]
    return [say("I begin."), _call(name, rest, turn, folder)]


def _used_up() -> dict[str, str]:
    """Headers that claude evaluates; codex finds the same in the answer itself."""
    resets = str(int(time.time()) + 3 * 3600)
    unified = "anthropic-ratelimit-unified"
    return {
        f"{unified}-status": "rejected",
        f"{unified}-reset": resets,
        f"{unified}-representative-claim": "five_hour",
        f"{unified}-5h-status": "rejected",
        f"{unified}-5h-reset": resets,
        f"{unified}-5h-utilization": "1.0",
        f"{unified}-overage-status": "rejected",
        f"{unified}-overage-disabled-reason": "org_level_disabled",
    }


def say(text: str, pause: float = 0.0) -> Say:
    return Say(tuple(re.findall(r"\S+\s*", text)), pause)


def _digest(turn: Turn) -> str:
    text = turn.texts[-1] if turn.texts else ""
    return f"{len(text)} {hashlib.sha256(text.encode()).hexdigest()}"


def _call(name: str, rest: str, turn: Turn, folder: str) -> Step:
    tools = turn.tools
    if not tools:
        return _written_out(name, rest)
    if name == "write":
        file, _, text = rest.partition(" ")
        return _write(tools, f"{folder}/{file}", text) or _run(tools, f"printf '%s' '{text}' > {file}")
    if name == "run":
        return _run(tools, rest)
    if name == "escape":
        return _run(tools, rest, sandbox_permissions="require_escalated", justification="It writes outside.")
    if name == "ask":
        return _ask(tools)
    raise ValueError(f"the API knows no order {name!r}")


def _written_out(name: str, rest: str) -> Step:
    """For a program without tools, which follows the text of the answer."""
    if name == "write":
        file, _, text = rest.partition(" ")
        return say(f"\n{file}\n```\n<<<<<<< SEARCH\n=======\n{text}\n>>>>>>> REPLACE\n```\n")
    if name == "run":
        return say(f"\n```bash\n{rest}\n```\n")
    raise ValueError(f"{name!r} needs a tool")


def _offered(tools: Mapping[str, Mapping[str, Any]], *names: str) -> str:
    return next((name for name in names if name in tools), "")


def _parameters(tools: Mapping[str, Mapping[str, Any]], tool: str) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = tools[tool].get("properties", {})
    return properties


def _write(tools: Mapping[str, Mapping[str, Any]], file: str, text: str) -> Step | None:
    tool = _offered(tools, "Write", "write_file", "write", "create")
    if not tool:
        return None
    parameters = _parameters(tools, tool)
    place = next(name for name in ("file_path", "filePath", "path") if name in parameters)
    content = "file_text" if "file_text" in parameters else "content"
    return Call(tool, {place: file, content: text})


def _run(tools: Mapping[str, Mapping[str, Any]], command: str, **more: str) -> Step:
    tool = _offered(tools, "Bash", "exec_command", "shell_command", "bash", "run_shell_command")
    if not tool:
        return say(f"There is no tool for a command among {sorted(tools)}.")
    parameters = _parameters(tools, tool)
    arguments: dict[str, Any] = {"cmd" if "cmd" in parameters else "command": command}
    wanted = {"description": "a test's command", "is_background": False, **more}
    return Call(tool, arguments | {name: value for name, value in wanted.items() if name in parameters})


def _ask(tools: Mapping[str, Mapping[str, Any]]) -> Step:
    tool = _offered(
        tools, "AskUserQuestion", "question", "request_user_input", "ask_user", "ask_user_question"
    )
    if not tool:
        return say(f"There is no tool for a question among {sorted(tools)}.")
    if "requestedSchema" in _parameters(tools, tool):
        field = {"type": "string", "title": "Color", "enum": list(CHOICES)}
        return Call(tool, {"message": QUESTION, "requestedSchema": {"properties": {"color": field}}})
    options = [{"label": choice, "description": f"the {choice.lower()} one"} for choice in CHOICES]
    question = {
        "id": "color", "type": "choice", "question": QUESTION, "header": "Color", "options": options,
        "multiSelect": False, "multiple": False,
    }  # fmt: skip
    return Call(tool, {"questions": [question]})
