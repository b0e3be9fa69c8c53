"""A working agent with its usage and spending, as rows for tests of what faces show."""

from __future__ import annotations

from fleet_tui.models import Agent, Spending, Status, Usage

NOW = 1_000_000.0
ONE = Agent(
    id="abcdefghjk",
    name="fix-login",
    project="/src/shop",
    branch="fix-login",
    base="0" * 40,
    worktree="/trees/fix-login-abcdefghjk",
    batch="261116-x7k2",
    profile="claude",
    argv=("/bin/claude",),
    prompt="Fix the login",
    status=Status.WORKING,
    created_at=NOW - 750,
    pid=42,
)
BUSY = Usage(cpu=141.2, memory=210 << 20, processes=3)
SPENT = Spending(20_000, 100_000, 8_000, cost=0.42, context_tokens=82_000, context_limit=200_000)
