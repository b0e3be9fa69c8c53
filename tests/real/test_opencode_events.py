"""What the real opencode tells on its port, heard as a screen server will hear it. One start serves for all."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui import profiles
from fleet_tui.event_stream import Conversation, Event, EventStream
from fleet_tui.signals import in_values
from tests.holders import wait_until
from tests.real.agents import Real, Running

PROGRAM = "opencode"
START_SECONDS = 120.0
pytestmark = pytest.mark.agents


class Hearing:
    """The stream, and the statuses that it has told, each change once."""

    def __init__(self, port: int, password: str, folder: Path) -> None:
        profile = profiles.load(PROGRAM)
        assert profile.stream is not None
        self.rules = profile.signals.event
        self.stream = EventStream(
            port, profile.stream.path, password, user=profile.stream.user, catch_up=profile.stream.catch_up
        )
        self.conversation = Conversation(str(folder))
        self.told: list[tuple[str, str, str]] = [("", "", "")]
        self.events: list[Event] = []

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
            raise AssertionError(f"{error}; told were {self.told}") from None

    def wait_for_status(self, status: str, seconds: float = 30.0) -> tuple[str, str, str]:
        self.wait_for(lambda: self.told[-1][0] == status, f"being {status}", seconds)
        return self.told[-1]

    def last(self, kind: str) -> Event:
        return next(event for event in reversed(self.events) if event["type"] == kind)


def port_of(agent: Running) -> int:
    words = Path(f"/proc/{agent.agent.pid}/cmdline").read_bytes().split(b"\0")
    return int(words[words.index(b"--port") + 1])


def password_of(agent: Running) -> str:
    """What its holder has made up for its port; only the user's own processes can read it."""
    variables = Path(f"/proc/{agent.agent.pid}/environ").read_bytes().split(b"\0")
    found = next(one for one in variables if one.startswith(b"OPENCODE_SERVER_PASSWORD="))
    return found.partition(b"=")[2].decode()


def test_permissions_questions_limits_and_errors_are_told_and_answered(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    port, password = port_of(agent), password_of(agent)
    hearing = Hearing(port, password, agent.worktree)
    stream = hearing.stream

    # A permission, refused over HTTP.
    asked = hearing.wait_for_status("blocked", START_SECONDS)
    assert asked == ("blocked", "permission", "bash: touch one.txt")
    request = hearing.last("permission.asked")["properties"]["id"]
    stream.call(f"/permission/{request}/reply", {"reply": "reject"}, time.monotonic())
    hearing.wait_for_status("done")
    assert hearing.last("call.answered")["properties"]["status"] == 200
    assert not (agent.worktree / "one.txt").exists()

    # Another one, given.
    agent.insist("please [[run touch two.txt]]", real.api)
    hearing.wait_for_status("blocked")
    request = hearing.last("permission.asked")["properties"]["id"]
    stream.call(f"/permission/{request}/reply", {"reply": "once"}, time.monotonic())
    hearing.wait_for_status("done")
    assert (agent.worktree / "two.txt").exists()

    # A question.
    agent.insist("please [[ask]]", real.api)
    assert hearing.wait_for_status("blocked") == ("blocked", "question", "Which colour do you prefer?")
    request = hearing.last("question.asked")["properties"]["id"]
    stream.call(f"/question/{request}/reply", {"answers": [["Blue"]]}, time.monotonic())
    hearing.wait_for_status("done")

    # Somebody who comes later hears what is asked already; nobody hears anything without the password.
    agent.insist("please [[run touch three.txt]]", real.api)
    hearing.wait_for_status("blocked")
    late = Hearing(port, password, agent.worktree)
    assert late.wait_for_status("blocked") == ("blocked", "permission", "bash: touch three.txt")
    late.stream.close()
    stranger = EventStream(port, "/event")
    wait_until(lambda: not stranger.step(time.monotonic()) and stranger.refusal == 401, "being refused")
    stranger.close()
    request = hearing.last("permission.asked")["properties"]["id"]
    stream.call(f"/permission/{request}/reply", {"reply": "reject"}, time.monotonic())
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
