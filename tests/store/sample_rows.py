"""Agents, events and a batch for tests of the store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fleet_tui.models import Agent, Batch, Status
from fleet_tui.store.database import Store

BATCH = Batch("b1", "/project", 1.0, "the prompt")


def agent(name: str, **values: Any) -> Agent:
    plain = Agent(
        id=f"id-{name}",
        name=name,
        project="/project",
        branch=name,
        base="c0ffee",
        worktree=f"/worktrees/{name}",
        batch="b1",
        profile="generic",
        argv=("run", "it's", 'a "prompt"', "$(x)\n"),
        prompt="it's a prompt",
        status=Status.SETUP,
        created_at=2.0,
    )
    return replace(plain, **values)


def add(store: Store, *agents: Agent) -> None:
    with store.transaction():
        store.batches.add(BATCH, "project", [(one, {"argv": list(one.argv)}) for one in agents])


def event(seq: int, kind: str = "bell", **data: Any) -> dict[str, Any]:
    return {"seq": seq, "at": float(seq), "kind": kind, "data": data}
