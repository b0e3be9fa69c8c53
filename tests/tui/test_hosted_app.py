"""An app on our driver: keys that were typed at once are dispatched one by one."""

from __future__ import annotations

import asyncio

from textual import events

from fleet_tui.tui.host_keys import text_key
from fleet_tui.tui.hosted_app import HostedApp
from tests.tui.dashboard_app import until


class Recorder(HostedApp[None]):
    def __init__(self) -> None:
        super().__init__()
        self.keys: list[tuple[str, float]] = []

    def on_key(self, event: events.Key) -> None:
        self.keys.append((event.key, event.time))


def test_text_that_was_typed_at_once_is_one_key_after_the_other_all_pressed_when_it_arrived() -> None:
    async def run() -> None:
        app = Recorder()
        async with app.run_test() as pilot:
            typed = text_key("abc")
            app.post_message(typed)
            await until(pilot, lambda: len(app.keys) == 3)
            assert app.keys == [(key, typed.time) for key in "abc"]

    asyncio.run(run())
