"""A headless program that prints events in claude's format; its prompt selects what happens.

`write NAME TEXT` writes a file; `limit FILE` is rate limited until that file exists; `fail` gets an API error and still
exits with 0; `deny` is denied a permission; `crash` exits in the middle of its stream with code 3; `hang` waits for a
signal, as does a child it starts. The session comes from --session-id or --resume; each start is appended to
`starts.jsonl`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHILD = "import signal; signal.pause()"


def send(kind: str, **fields: Any) -> None:
    print(json.dumps({"type": kind, **fields}), flush=True)


def say(*blocks: dict[str, Any]) -> None:
    send("assistant", message={"model": "test-1", "content": blocks, "usage": {"input_tokens": 1000}})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(tool: str, **arguments: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": "one", "name": tool, "input": arguments}


def answer(words: str, *, is_error: bool = False) -> None:
    result = {"type": "tool_result", "tool_use_id": "one", "content": words, "is_error": is_error}
    send("user", message={"content": [result]})


def end(*, is_error: bool = False, words: str = "", denied: list[dict[str, Any]] | None = None) -> None:
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 500, "output_tokens": 20}
    send(
        "result",
        is_error=is_error,
        result=words,
        num_turns=2,
        usage=usage,
        total_cost_usd=0.25,
        permission_denials=denied or [],
    )


def write(name: str, words: str) -> None:
    say(text("I begin."), use("Write", file_path=str(Path.cwd() / name), content=words))
    Path(name).write_text(words)
    answer("written")
    say(text(f"I have written {name}."))
    end()


def limit(name: str) -> None:
    send("system", subtype="api_retry", attempt=1, max_retries=9, retry_delay_ms=8000, error="rate_limit")
    while not Path(name).exists():
        time.sleep(0.01)
    say(text("I go on."))
    end()


def hang() -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD])
    say(text(f"I wait with {child.pid}."))
    child.wait()


def main() -> None:
    arguments = sys.argv[1:]
    with Path("starts.jsonl").open("a") as file:
        file.write(json.dumps(arguments) + "\n")
    word, *rest = arguments[-1].split()
    send("system", subtype="init", session_id=arguments[1], model="test-1", permissionMode="default")
    if word == "write":
        write(rest[0], " ".join(rest[1:]))
    elif word == "limit":
        limit(rest[0])
    elif word == "fail":
        say(text("API Error: 400 no"))
        end(is_error=True, words="API Error: 400 no")
    elif word == "deny":
        say(use("Bash", command="rm -rf build"))
        answer("This command requires approval", is_error=True)
        end(denied=[{"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}])
    elif word == "crash":
        print("something broke", file=sys.stderr, flush=True)
        sys.exit(3)
    else:
        hang()


if __name__ == "__main__":
    main()
