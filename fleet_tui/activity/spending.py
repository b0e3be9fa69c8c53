"""Spending of agents, summed up from their programs' own records: tokens, cost, and how full a conversation is.

Adds what was written since the last time to the sums in the store; without news this costs a few stat calls. Sends
nothing anywhere. A malformed record never raises: what cannot be read counts as unknown.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fleet_tui import paths
from fleet_tui.errors import FleetError, StoreError
from fleet_tui.fast_dataclasses import fields, replace
from fleet_tui.holder.run_folder import SPENDING_FILE
from fleet_tui.models import Agent, Spending
from fleet_tui.store.database import Store

if TYPE_CHECKING:
    from fleet_tui.programs.profile import Profile
    from fleet_tui.programs.record_readers import RecordReader
    from fleet_tui.programs.records import Conversation, Record

Value = TypeVar("Value")

COUNTS = tuple(one.name for one in fields(Spending))


class SpendingAccount:
    """The spending of one agent, and the files that it was read from."""

    def __init__(
        self,
        spending: Spending,
        key: str = "",
        watched: Sequence[list[Any]] = (),
        records: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.spending = spending
        self.key = key
        """Identifies where the records are searched; a change starts the search anew."""
        self.watched = watched
        """Path, size and mtime of every file or folder in which news may appear."""
        self.records = records


def up_to_date(store: Store, agents: Sequence[Agent]) -> dict[str, Spending]:
    """The current spending by agent id, without agents that have none."""
    accounts = {agent: _account(row) for agent, row in store.spending.all().items()}
    changed = {}
    for agent in agents:
        account = accounts.get(agent.id)
        if account is None or account.key != _key(agent) or _has_changed(account.watched):
            accounts[agent.id] = changed[agent.id] = _read_on(store, agent, account)
    if changed:
        _keep(store, changed)
    found = {agent.id: accounts[agent.id].spending for agent in agents}
    return {agent: spending for agent, spending in found.items() if spending != Spending()}


def _account(row: Mapping[str, Any]) -> SpendingAccount:
    try:
        sources = json.loads(row["sources"])
        return SpendingAccount(
            Spending(**{name: row[name] for name in COUNTS}),
            sources["key"],
            sources["watched"],
            sources["records"],
        )
    except (ValueError, KeyError, TypeError):
        return SpendingAccount(Spending())


def _keep(store: Store, changed: Mapping[str, SpendingAccount]) -> None:
    rows = {
        agent: {name: getattr(account.spending, name) for name in COUNTS}
        | {
            "sources": json.dumps(
                {"key": account.key, "watched": account.watched, "records": account.records}
            )
        }
        for agent, account in changed.items()
    }
    # A cache: if the store is busy or newer, return the result anyway and read it again next time.
    with contextlib.suppress(StoreError), store.transaction(uses_reserve=False):
        for agent, row in rows.items():
            store.spending.put(agent, row)


def _key(agent: Agent) -> str:
    return f"{agent.profile} {agent.run} {agent.worktree}"


def _has_changed(watched: Iterable[list[Any]]) -> bool:
    return any(_stamp(path) != [path, size, changed] for path, size, changed in watched)


def _stamp(path: str) -> list[Any]:
    try:
        found = os.stat(path)  # noqa: PTH116 - called for every agent at every listing
    except OSError:
        return [path, -1, 0]
    return [path, found.st_size, found.st_mtime_ns]


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_on(store: Store, agent: Agent, account: SpendingAccount | None) -> SpendingAccount:
    known = account or SpendingAccount(Spending())
    watched = [_stamp(str(paths.run(agent.id, run) / SPENDING_FILE)) for run in range(1, agent.run + 1)]
    profile, reader = _reader(agent)
    records: list[Record] = []
    if profile is not None and reader is not None:
        more, records = _records(store, agent, profile, reader, known.records)
        watched += more
    spending = _sum(profile, records, _runs(agent))
    if spending.at < known.spending.at and not records:
        # The records were deleted; keep the cost that was read from them.
        spending = known.spending
    return SpendingAccount(
        _with_days(known.spending, spending), _key(agent), watched, [record.as_json() for record in records]
    )


def _reader(agent: Agent) -> tuple[Profile | None, RecordReader | None]:
    from fleet_tui.programs import profiles
    from fleet_tui.programs.record_readers import RECORD_READERS

    try:
        profile = profiles.load(agent.profile)
    except FleetError:
        return None, None
    return profile, RECORD_READERS.get(profile.spending_reader)


def _records(
    store: Store, agent: Agent, profile: Profile, reader: RecordReader, known: Sequence[dict[str, Any]]
) -> tuple[list[list[Any]], list[Record]]:
    """What to watch, and the records of an agent's conversations, read to the end."""
    from fleet_tui.programs.record_readers import environment, place
    from fleet_tui.programs.records import MALFORMED, Record

    variables = environment(profile.env, store.agents.intent(agent.id).get("env") or {})
    worktree = place(agent.worktree)
    found: list[Conversation] = []
    watched = []
    with contextlib.suppress(*MALFORMED):
        # Before reading, so that the next call notices what is written meanwhile.
        watched = [_stamp(str(path)) for path in reader.watched(variables, worktree)]
        found = reader.conversations(variables, worktree, agent.created_at)
    records = _known(known)
    for one in found:
        if one.id:
            new = Record(str(one.path), one.id, since=agent.created_at, is_main=one.is_main)
            records.setdefault((new.path, new.id, new.is_main), new)
    files = {*(str(one.path) for one in found), *(path for path, _, _ in records)}
    watched += [_stamp(path + end) for path in sorted(files) for end in ("", *reader.COMPANIONS)]
    read = [_brought_on(record, reader) for record in records.values()]
    _settle_helpers(read, {record.id for record in read if record.is_main and record.grew})
    return watched, read


def _known(records: Iterable[dict[str, Any]]) -> dict[tuple[str, str, bool], Record]:
    from fleet_tui.programs.records import Record

    found = {}
    for values in records:
        # A newer version may have stored unknown fields.
        with contextlib.suppress(TypeError):
            record = Record.of(values)
            found[record.path, record.id, record.is_main] = record
    return found


def _brought_on(record: Record, reader: RecordReader) -> Record:
    from fleet_tui.programs.records import MALFORMED, Record

    record.grew = False
    size = _stamp(record.path)[1]
    if size < record.read_to and size >= 0:
        # The file is shorter than before: it was replaced.
        record = Record(record.path, record.id, since=record.since, is_main=record.is_main)
    # Another program's file: keep what was read before a malformed part.
    with contextlib.suppress(*MALFORMED):
        reader.read(record)
    return record


def _settle_helpers(records: Iterable[Record], grown: set[str]) -> None:
    """Drop the helpers' own tokens where a conversation has just reported a cost that includes them."""
    told = {
        record.id for record in records if record.is_main and record.told is not None and not record.untold
    }
    for record in records:
        if not record.is_main and record.id in told & grown:
            record.untold = {}


# ── sums ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sum(profile: Profile | None, records: Sequence[Record], runs: Sequence[Spending]) -> Spending:
    """Prefer the program's records; the sums of headless runs fill in what the records lack."""
    if profile is None or not any(record.models for record in records):
        return _added(runs)
    sent, cached, answered = (
        sum(tokens[place] for record in records for tokens in record.models.values()) for place in range(3)
    )
    costs = [_cost(profile, record) for record in records]
    newest = max(records, key=lambda record: (record.is_main, record.context is not None, record.at))
    told = _added(runs)
    limit = newest.limit or told.context_limit or _limit(profile, newest.model)
    return Spending(
        sent, cached, answered,
        cost=told.cost if None in costs else sum(cost for cost in costs if cost is not None),
        context_tokens=newest.context, context_limit=limit, model=newest.model,
        at=max(record.at for record in records),
    )  # fmt: skip


def _cost(profile: Profile, record: Record) -> float | None:
    """The cost that the program reported, plus later tokens at the user's prices; None without prices for them."""
    told, untold = (0.0, record.models) if record.is_copy else (record.told or 0.0, record.untold)
    parts = [_priced(profile, model, used) for model, used in untold.items() if any(used)]
    if None in parts:
        return None
    return told + sum(part for part in parts if part is not None)


def _priced(profile: Profile, model: str, tokens: Sequence[int]) -> float | None:
    prices = _matching(profile.spending_prices, model)
    if prices is None:
        return None
    return sum(count * price for count, price in zip(tokens, prices, strict=True)) / 1e6


def _limit(profile: Profile, model: str) -> int | None:
    return _matching(profile.spending_limits, model) or profile.context_limit or None


def _matching(patterns: Mapping[str, Value], model: str) -> Value | None:
    """The value of the last matching pattern: the user's own patterns come after the built-in ones."""
    found = [value for pattern, value in patterns.items() if fnmatch.fnmatchcase(model, pattern)]
    return found[-1] if found else None


def _runs(agent: Agent) -> list[Spending]:
    """The sums that an agent's headless runs wrote."""
    found = []
    for run in range(1, agent.run + 1):
        path = paths.run(agent.id, run) / SPENDING_FILE
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            values = json.loads(path.read_bytes())
            names = set(COUNTS) - {"at", "cost_before"}
            known = {name: values[name] for name in names if values.get(name) is not None}
            found.append(_checked(Spending(**known, at=path.stat().st_mtime)))
    return found


def _checked(spending: Spending) -> Spending:
    numbers = (spending.input_tokens, spending.cached_tokens, spending.output_tokens, spending.cost or 0)
    if not all(isinstance(number, int | float) for number in numbers) or not isinstance(spending.model, str):
        raise TypeError("spending with values of wrong types")
    return spending


def _added(runs: Sequence[Spending]) -> Spending:
    if not runs:
        return Spending()
    costs = [run.cost for run in runs]
    return replace(
        runs[-1],
        input_tokens=sum(run.input_tokens for run in runs),
        cached_tokens=sum(run.cached_tokens for run in runs),
        output_tokens=sum(run.output_tokens for run in runs),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _with_days(before: Spending, now: Spending) -> Spending:
    """Set `cost_before`, the cost before the day of the last spending."""
    if not before.at or _day(before.at) == _day(now.at):
        return replace(now, cost_before=before.cost_before)
    return replace(now, cost_before=before.cost or 0.0)


def _day(moment: float) -> tuple[int, int]:
    local = time.localtime(moment)
    return local.tm_year, local.tm_yday
