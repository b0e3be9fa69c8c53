"""What tests of the dashboard share: a little dashboard in a real terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

from tests.tui.keyboard import painting_waits
from tests.tui.ptyapp import PANES_APP, PtyApp

_parsed: dict[tuple[object, ...], list[RuleSet]] = {}


@pytest.fixture(scope="session", autouse=True)
def stylesheets_are_parsed_once() -> Iterator[None]:
    """Textual parses all stylesheets anew for every app, which takes a fifth of the time to open one."""
    parse = Stylesheet._parse_rules

    def remembered(self: Stylesheet, css: str, *arguments: Any, **options: Any) -> list[RuleSet]:
        key = (css, arguments, *options.items(), *self._variables.items())
        if key not in _parsed:
            _parsed[key] = parse(self, css, *arguments, **options)
        return _parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", remembered)
        yield


@pytest.fixture(scope="session", autouse=True)
def dashboards_are_painted_when_they_are_done() -> Iterator[None]:
    with painting_waits():
        yield


@pytest.fixture(autouse=True)
def nothing_painted_is_kept() -> Iterator[None]:
    """Textual keeps the last thousand painted widgets in a cache of its class, of apps that have ended too: twenty
    thousand objects an app, which every collection of garbage would go through."""
    yield
    StylesCache.get_inner_outer.cache_clear()


@pytest.fixture
def start_app(tmp_path: Path) -> Callable[..., PtyApp]:
    """Start the little dashboard on agents that `start_holder` has started in this test's folder."""
    states = tmp_path / "states"
    states.mkdir()
    (states / "fleet-tui").symlink_to(tmp_path / "state")

    def start(*agents: str, cols: int = 100, rows: int = 30) -> PtyApp:
        env = {"XDG_STATE_HOME": str(states)}
        return PtyApp(agents, program=PANES_APP, is_warm=True, cols=cols, rows=rows, env=env)

    return start
