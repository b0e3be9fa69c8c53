"""A code host for tests: a bare repository to push to, and scripted programs in the place of `gh` and `glab`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.git.repositories import call
from tests.places import AGENTS

RUNS = "https://github.com/o/n/actions/runs"


class ScriptedHost:
    """The requests of one repository, and the calls that were made about them."""

    def __init__(self, folder: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bare = folder / "host.git"
        self._bin = folder / "host-bin"
        self._project = project
        self._bin.mkdir()
        call(project, "clone", "--quiet", "--bare", "--single-branch", ".", str(self.bare))
        call(project, "config", "remote.origin.url", "https://me:s3cret@github.com/o/n.git")
        call(project, "config", "remote.origin.pushurl", f"file://{self.bare}")
        monkeypatch.setenv("PATH", f"{self._bin}:{os.environ['PATH']}")

    def install(self, name: str = "gh", host: str = "github.com") -> ScriptedHost:
        """Put a program on PATH, and make origin a repository of its host."""
        call(self._project, "config", "remote.origin.url", f"https://me:s3cret@{host}/o/n.git")
        program = self._bin / name
        source = (AGENTS / "code_host.py").read_text(encoding="utf-8")
        program.write_text(f"#!{sys.executable} -S\n{source}")
        program.chmod(0o755)
        self.set(requests=[], logs={}, url=f"https://{host}/o/n/pull/")
        return self

    def set(self, **values: Any) -> None:
        file = self._bin / "state.json"
        state = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(state | values))

    def change(self, branch: str, **values: Any) -> None:
        """Change the newest request of a branch."""
        found = self.requests
        next(one for one in found if one["branch"] == branch).update(values)
        self.set(requests=found)

    def add(self, branch: str, **values: Any) -> None:
        """A request that somebody opened."""
        number = len(self.requests) + 1
        request = {
            "number": number, "url": f"https://github.com/o/n/pull/{number}", "state": "OPEN", "branch": branch,
            "owner": "o", "head": "", "review": "", "checks": [],
        }  # fmt: skip
        self.set(requests=[request | values, *self.requests])

    @property
    def requests(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self._bin / "state.json").read_text())["requests"]
        return found

    @property
    def calls(self) -> list[dict[str, Any]]:
        file = self._bin / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def verbs(self) -> list[str]:
        return [" ".join(one["argv"][:2]) for one in self.calls]

    def tip(self, branch: str) -> str:
        """The commit of a branch on the host; empty if there is none."""
        return call(self.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")


def run(name: str, conclusion: str = "", *, number: int = 1, job: int = 0, at: str = "") -> dict[str, Any]:
    """A check as GitHub Actions reports it; it runs if it has no conclusion."""
    return {
        "__typename": "CheckRun", "name": name, "workflowName": "CI", "status": "COMPLETED" if conclusion else "IN_PROGRESS",
        "conclusion": conclusion, "startedAt": at, "detailsUrl": f"{RUNS}/{number}/job/{job}" if job else f"{RUNS}/{number}",
    }  # fmt: skip
