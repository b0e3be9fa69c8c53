"""Stands for `gh` and `glab`: answers from a file, notes every call, and refuses calls that the real ones would refuse.

Its folder has `state.json`: requests, logs, and how to behave (`fail`, `hang`, `print`). Calls are added to `calls.jsonl`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(sys.argv[0]).parent
STATE = HERE / "state.json"
FIELDS = {
    "number", "url", "state", "headRefName", "headRefOid", "headRepositoryOwner", "reviewDecision", "statusCheckRollup",
}  # fmt: skip
VALUED = ("--repo", "--hostname")


def main() -> int:
    name, words = Path(sys.argv[0]).name, sys.argv[1:]
    stdin = sys.stdin.read()
    state = json.loads(STATE.read_text())
    call = {"program": name, "argv": words, "stdin": stdin, "cwd": str(Path.cwd()), "env": dict(os.environ)}
    with (HERE / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(call) + "\n")
    verb = " ".join(words[:2])
    if verb in state.get("hang", ()):
        time.sleep(1000)
    if verb in state.get("fail", {}):
        sys.stderr.write(state["fail"][verb])
        return 1
    if verb in state.get("print", {}):
        text, times = state["print"][verb]
        sys.stdout.write(text * times)
        return 0
    options, rest = parsed(words)
    found = gh(state, options, rest, stdin) if name == "gh" else glab(state, options, rest, stdin)
    STATE.write_text(json.dumps(state))
    return found


def parsed(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options with their values, and the other words, as the real programs read them."""
    options, rest = {}, []
    left = list(words)
    while left:
        word = left.pop(0)
        if word.startswith("--"):
            key, has_value, value = word.partition("=")
            options[key] = value if has_value else left.pop(0) if key in VALUED else ""
        elif word.startswith("-"):
            raise SystemExit(f"unknown shorthand flag: {word}")
        else:
            rest.append(word)
    return options, rest


def take(options: dict[str, str], *names: str) -> list[str]:
    """The values of these options; any other is an error."""
    unknown = options.keys() - set(names)
    if unknown:
        raise SystemExit(f"unknown flag: {' '.join(sorted(unknown))}")
    return [options.get(name, "") for name in names]


def made(
    state: dict[str, Any], branch: str, title: str, body: str, base: str, *, draft: bool
) -> dict[str, Any]:
    number = max((one["number"] for one in state["requests"]), default=0) + 1
    request: dict[str, Any] = {
        "number": number, "url": f"{state['url']}{number}", "state": "OPEN", "branch": branch.rpartition(":")[2],
        "owner": branch.partition(":")[0] if ":" in branch else "o", "head": "", "review": "", "checks": [],
        "title": title, "body": body, "base": base, "draft": draft,
    }  # fmt: skip
    state["requests"].insert(0, request)
    return request


def gh(state: dict[str, Any], options: dict[str, str], rest: list[str], stdin: str) -> int:
    match rest:
        case ["pr", "create"]:
            _, base, head, title, file, _ = take(
                options, "--repo", "--base", "--head", "--title", "--body-file", "--draft"
            )
            if file != "-" or not (base and head and title):
                raise SystemExit("must provide `--title` and `--body`")
            print("Creating pull request", file=sys.stderr)
            print(made(state, head, title, stdin, base, draft="--draft" in options)["url"])
        case ["pr", "list"]:
            _, which, limit, fields, head = take(options, "--repo", "--state", "--limit", "--json", "--head")
            if which != "all" or not set(fields.split(",")) <= FIELDS:
                raise SystemExit(f"Unknown JSON field: {fields}")
            found = [one for one in state["requests"] if head in ("", one["branch"])]
            print(json.dumps([as_gh(one) for one in found[: int(limit)]]))
        case ["run", "view", *run]:
            job, _, _ = take(options, "--job", "--repo", "--log-failed")
            sys.stdout.write(state["logs"][job or run[0]])
        case ["auth", "status"]:
            (host,) = take(options, "--hostname")
            return 0 if host in state.get("hosts", ()) else 1
        case _:
            raise SystemExit(f"unknown command {rest}")
    return 0


def as_gh(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "number": one["number"], "url": one["url"], "state": one["state"], "headRefName": one["branch"],
        "headRefOid": one["head"], "headRepositoryOwner": {"login": one["owner"]}, "reviewDecision": one["review"],
        "statusCheckRollup": one["checks"],
    }  # fmt: skip


def glab(state: dict[str, Any], options: dict[str, str], rest: list[str], stdin: str) -> int:
    host, field, method, header, file = take(
        options, "--hostname", "--raw-field", "--method", "--header", "--input"
    )
    match rest:
        case ["auth", "status"]:
            return 0 if host in state.get("hosts", ()) else 1
        case ["api", "graphql"]:
            asked = re.search(r'fullPath: "([^"]*)"\) { mergeRequests\(sourceBranches: (\[.*?\]), ', field)
            if asked is None:
                raise SystemExit("syntax error in the query")
            names = json.loads(asked[2])
            found = [as_glab(one) for one in state["requests"] if one["branch"] in names]
            print(json.dumps({"data": {"project": {"mergeRequests": {"nodes": found}}}}))
        case ["api", path] if path.endswith("/merge_requests"):
            if (method, header, file) != ("POST", "Content-Type: application/json", "-"):
                raise SystemExit("400 Bad Request")
            said = json.loads(stdin)
            request = made(
                state,
                said["source_branch"],
                said["title"],
                said["description"],
                said["target_branch"],
                draft=False,
            )
            print(json.dumps({"iid": request["number"], "web_url": request["url"]}))
        case ["api", path] if path.endswith("/trace"):
            sys.stdout.write(state["logs"][path.split("/")[-2]])
        case ["api", path] if path.count("/") == 1:
            print(json.dumps({"id": 77}))
        case _:
            raise SystemExit(f"unknown command {rest}")
    return 0


def as_glab(one: dict[str, Any]) -> dict[str, Any]:
    states = {"OPEN": "opened", "MERGED": "merged", "CLOSED": "closed"}
    return {
        "iid": str(one["number"]), "webUrl": one["url"], "state": states[one["state"]], "sourceBranch": one["branch"],
        "sourceProject": {"fullPath": f"{one['owner']}/n"}, "diffHeadSha": one["head"],
        "approvedBy": {"nodes": []}, "reviewers": {"nodes": one.get("reviewers", [])},
        "headPipeline": one.get("pipeline"),
    }  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
