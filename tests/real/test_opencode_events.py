"""The event stream of the real opencode, read as a screen server reads it. One start serves all checks."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from fleet_tui.holder.server_events import EventStream, ServerEvent
from fleet_tui.programs import profiles
from fleet_tui.programs.opencode.server_schema import ConversationFilter, as_events
from fleet_tui.programs.status_rules import in_values
from tests.holder.holders import wait_until
from tests.real.agents import Real, Running

PROGRAM = "opencode"
START_SECONDS = 120.0
pytestmark = pytest.mark.agents


class Hearing:
    """The event stream, and the statuses it reported, each change once."""

    def __init__(self, port: int, password: str, folder: Path) -> None:
        profile = profiles.load(PROGRAM)
        assert profile.event_port is not None
        self.rules = profile.rules.event
        self.stream = EventStream(
            port,
            profile.event_port.path,
            password,
            user=profile.event_port.user,
            catch_up=profile.event_port.catch_up,
            as_events=as_events,
        )
        self.conversation = ConversationFilter(str(folder))
        self.told: list[tuple[str, str, str]] = [("", "", "")]
        self.events: list[ServerEvent] = []

    def step(self) -> None:
        for event in self.stream.step(time.monotonic()):
            self.events.append(event)
            found = in_values(self.rules, event)
            if found is None or self.conversation.owner(event) != "own":
                continue
            told = (str(found.rule.status), found.rule.kind, found.text)
            if self.told[-1][0] not in found.rule.keeps and self.told[-1] != told:
                self.told.append(told)

    def wait_for(self, condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
        def reached() -> bool:
            self.step()
            return condition()

        try:
            wait_until(reached, what, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; reported were {self.told}") from None

    def wait_for_status(self, status: str, seconds: float = 30.0) -> tuple[str, str, str]:
        self.wait_for(lambda: self.told[-1][0] == status, f"being {status}", seconds)
        return self.told[-1]

    def last(self, kind: str) -> ServerEvent:
        return next(event for event in reversed(self.events) if event["type"] == kind)


def port_of(agent: Running) -> int:
    words = Path(f"/proc/{agent.agent.pid}/cmdline").read_bytes().split(b"\0")
    return int(words[words.index(b"--port") + 1])


def password_of(agent: Running) -> str:
    """The password its holder generated for the port; only the user's own processes can read it."""
    variables = Path(f"/proc/{agent.agent.pid}/environ").read_bytes().split(b"\0")
    found = next(one for one in variables if one.startswith(b"OPENCODE_SERVER_PASSWORD="))
    return found.partition(b"=")[2].decode()


def post(port: int, password: str, path: str, body: object) -> None:
    """Answer a request of the program as a client of its own would."""
    secret = base64.b64encode(f"opencode:{password}".encode()).decode()
    headers = {"Authorization": f"Basic {secret}", "Content-Type": "application/json"}
    request = Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def test_permissions_questions_limits_and_errors_are_reported_and_answered(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    port, password = port_of(agent), password_of(agent)
    hearing = Hearing(port, password, agent.worktree)
    stream = hearing.stream

    # A permission, refused over HTTP.
    asked = hearing.wait_for_status("blocked", START_SECONDS)
    assert asked == ("blocked", "permission", "bash: touch one.txt")
    request = hearing.last("permission.asked")["properties"]["id"]
    post(port, password, f"/permission/{request}/reply", {"reply": "reject"})
    hearing.wait_for_status("done")
    assert not (agent.worktree / "one.txt").exists()

    # Another one, allowed.
    agent.insist("please [[run touch two.txt]]", real.api)
    hearing.wait_for_status("blocked")
    request = hearing.last("permission.asked")["properties"]["id"]
    post(port, password, f"/permission/{request}/reply", {"reply": "once"})
    hearing.wait_for_status("done")
    assert (agent.worktree / "two.txt").exists()

    # A question.
    agent.insist("please [[ask]]", real.api)
    assert hearing.wait_for_status("blocked") == ("blocked", "question", "Which color do you prefer?")
    request = hearing.last("question.asked")["properties"]["id"]
    post(port, password, f"/question/{request}/reply", {"answers": [["Blue"]]})
    hearing.wait_for_status("done")

    # A later client receives the pending question; without the password it receives nothing.
    agent.insist("please [[run touch three.txt]]", real.api)
    hearing.wait_for_status("blocked")
    late = Hearing(port, password, agent.worktree)
    assert late.wait_for_status("blocked") == ("blocked", "permission", "bash: touch three.txt")
    late.stream.close()
    with pytest.raises(HTTPError, match="401"):
        urlopen(f"http://127.0.0.1:{port}/event", timeout=10)
    request = hearing.last("permission.asked")["properties"]["id"]
    post(port, password, f"/permission/{request}/reply", {"reply": "reject"})
    hearing.wait_for_status("done")

    # A rate limit and an error.
    agent.insist("please [[limit 1 2]]", real.api)
    limited = hearing.wait_for_status("limited")
    assert "rate limit" in limited[2]
    hearing.wait_for_status("done")
    agent.insist("please [[fail 400]]", real.api)
    assert "refused on purpose" in hearing.wait_for_status("error")[2]

    assert hearing.conversation.session_id.startswith("ses_")
    stream.close()
