"""Real agent programs in a real fleet, with the loopback API as their model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real import homes, install
from tests.real.agents import Real, Running
from tests.real.api import Api
from tests.watched_fleet import WatchedFleet


@pytest.fixture(scope="session")
def installed() -> Callable[[str], list[Path]]:
    """Installs a program once per session; skips the test if it is not available."""
    folder = install.cache()
    found: dict[str, list[Path] | install.Unavailable] = {}

    def get(name: str) -> list[Path]:
        if name not in found:
            try:
                found[name] = install.install(name, folder)
            except install.Unavailable as error:
                found[name] = error
        places = found[name]
        if isinstance(places, install.Unavailable):
            pytest.skip(str(places))
        return places

    return get


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the versions that were run, as reported by the programs."""
    ran = {
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "program"
    }
    if ran:
        terminalreporter.section("programs that were run")
        for line in sorted(ran):
            terminalreporter.write_line(line)


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as made:
        yield made


@pytest.fixture
def used_up(real: Real, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Running]:
    """Starts a claude of a given width whose subscription is used up. An account with an API key has no such limit."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-of-nobody")

    def start(cols: int) -> Running:
        real.fleet._size = (cols, 30)
        return real.start("please [[exhausted]]")

    return start


@pytest.fixture
def program(request: pytest.FixtureRequest) -> str:
    """The profile under test: PROGRAM of the module."""
    return str(request.module.PROGRAM)


@pytest.fixture
def install_as(request: pytest.FixtureRequest, program: str) -> str:
    """The name of the program in the table of tested versions."""
    return str(getattr(request.module, "INSTALL", program))


@pytest.fixture
def real(
    request: pytest.FixtureRequest,
    program: str,
    install_as: str,
    installed: Callable[[str], list[Path]],
    home: Path,
    repository: Path,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Real]:
    """Starts agents of the program under test."""
    places = installed(install_as)
    request.node.user_properties.append(
        ("program", f"{program}: {install.version(install_as, tuple(places))}")
    )
    homes.prepare(program, home, repository, api.url, monkeypatch)
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, places), os.environ["PATH"]]))
    fleet = WatchedFleet(repository)
    try:
        yield Real(fleet, api, home, repository, program)
    finally:
        fleet.stop([agent for agent in fleet.agents() if not agent.has_ended], grace=3.0)
        fleet.close()
