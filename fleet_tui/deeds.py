"""What an agent has done of late, each with its time: the tools it called by its program's own record, and what it
reported of itself to its holder.

Only reads. Where neither says anything there are no deeds, and the output has to speak for itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.holder import read_events
from fleet_tui.models import Agent, Deed, Status
from fleet_tui.store import Store

TAIL = 64 * 1024
"""Bytes of the holder's events that are looked through."""
_OF_NOTE = {Status.BLOCKED, Status.DONE, Status.LIMITED, Status.ERROR}
"""What is told beside the calls; that it works is what they show."""


def latest(store: Store, agent: Agent, most: int) -> list[Deed]:
    """The last things that an agent did, oldest first."""
    called = list(_called(store, agent, most))
    reported = [deed for deed in _reported(agent) if not called or deed.status in _OF_NOTE]
    found = sorted([*called, *reported], key=lambda deed: deed.at)
    different = [
        deed
        for before, deed in zip([None, *found], found, strict=False)
        if before is None or (before.verb, before.object) != (deed.verb, deed.object)
    ]
    return different[-most:]


def _called(store: Store, agent: Agent, most: int) -> Iterator[Deed]:
    from fleet_tui import profiles
    from fleet_tui.records import calls

    try:
        reader = profiles.load(agent.profile).spending_reader
        sources = json.loads(store.spending().get(agent.id, {}).get("sources", "{}"))
    except (FleetError, ValueError):
        return
    records = [record for record in sources.get("records", ()) if record.get("is_main")]
    if reader and records:
        for call in calls.last_calls(reader, Path(records[-1]["path"]), agent.worktree, most):
            yield Deed(call.at, call.tool, call.about)


def _reported(agent: Agent) -> Iterator[Deed]:
    """What a program says of itself while it works, and what it came to."""
    folder = paths.run(agent.id, agent.run)
    try:
        size = (folder / "events.jsonl").stat().st_size
    except OSError:
        return
    # From somewhere in a line: what is left of that is no event, and passed over.
    for event in read_events(folder, max(0, size - TAIL))[1]:
        data = event["data"]
        text, status = str(data.get("text", "")), str(data.get("status", ""))
        if event["kind"] != "status" or not text or status not in set(Status):
            continue
        if status == Status.WORKING:
            verb, _, rest = text.partition(" ")
            yield Deed(event["at"], verb, rest)
        else:
            word = data.get("detail") if status == Status.BLOCKED else ""
            yield Deed(event["at"], str(word or status), text, Status(status))
