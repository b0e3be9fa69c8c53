"""Recent activity of an agent: tool calls from its program's records, and reports from its holder's event log.

Only reads. Without either there is no activity, and a face shows the last lines of output instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.holder.event_log import EVENTS_FILE, read_events
from fleet_tui.models import Activity, Agent, Status
from fleet_tui.store.database import Store

TAIL = 64 * 1024
"""Bytes of the event log that are searched."""
_NOTABLE = {Status.BLOCKED, Status.DONE, Status.LIMITED, Status.ERROR}
"""Reported statuses that are shown beside tool calls. The calls themselves show that an agent is working."""


def latest(store: Store, agent: Agent, most: int) -> list[Activity]:
    """An agent's latest activities, oldest first, without repetitions."""
    called = list(_called(store, agent, most))
    reported = [activity for activity in _reported(agent) if not called or activity.status in _NOTABLE]
    found = sorted([*called, *reported], key=lambda activity: activity.at)
    different = [
        activity
        for before, activity in zip([None, *found], found, strict=False)
        if before is None or (before.verb, before.object) != (activity.verb, activity.object)
    ]
    return different[-most:]


def _called(store: Store, agent: Agent, most: int) -> Iterator[Activity]:
    from fleet_tui.programs import profiles, tool_calls

    try:
        reader = profiles.load(agent.profile).spending_reader
        sources = json.loads(store.spending.all().get(agent.id, {}).get("sources", "{}"))
    except (FleetError, ValueError):
        return
    records = [record for record in sources.get("records", ()) if record.get("is_main")]
    if reader and records:
        for call in tool_calls.last_calls(reader, Path(records[-1]["path"]), agent.worktree, most):
            yield Activity(call.at, call.tool, call.about)


def _reported(agent: Agent) -> Iterator[Activity]:
    """Activities that a program reports to its holder: work in progress, and changes of status."""
    folder = paths.run(agent.id, agent.run)
    try:
        size = (folder / EVENTS_FILE).stat().st_size
    except OSError:
        return
    # Starts in the middle of a line: `read_events` skips the incomplete event.
    for event in read_events(folder, max(0, size - TAIL))[1]:
        data = event["data"]
        text, status = str(data.get("text", "")), str(data.get("status", ""))
        if event["kind"] != "status" or not text or status not in set(Status):
            continue
        if status == Status.WORKING:
            verb, _, rest = text.partition(" ")
            yield Activity(event["at"], verb, rest)
        else:
            word = data.get("detail") if status == Status.BLOCKED else ""
            yield Activity(event["at"], str(word or status), text, Status(status))
