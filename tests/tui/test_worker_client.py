"""The dashboard's connection to a real worker."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fleet_tui.errors import NotFound
from fleet_tui.tui.worker_client import WorkerClient


@pytest.mark.slow
@pytest.mark.usefixtures("fleet")
def test_a_call_that_fails_raises_the_error_of_the_verb(repository: Path) -> None:
    async def go() -> None:
        client = WorkerClient(repository)
        try:
            await client.call("start_point", "nowhere")
        finally:
            client.close()

    with pytest.raises(NotFound, match="nowhere") as raised:
        asyncio.run(go())
    assert raised.value.exit_code == NotFound.exit_code
