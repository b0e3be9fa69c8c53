"""What is true about a user's fleet: the tables of one SQLite file, and the transactions that change them.

Every change is one transaction that also writes a journal line. Readers in other processes notice changes by
`version()`. A store that is locked, damaged or newer than this program is an error, never an empty fleet; a damaged row
is left out and named by `agents.damaged()`, and hides no other. A store that cannot be written, on a full disk for
example, can still be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui.models import FleetState
from fleet_tui.store import row_decoder
from fleet_tui.store.agents import AgentTable
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.receipts import ReceiptTable
from fleet_tui.store.sqlite import BUSY_SECONDS, SqliteDatabase

if TYPE_CHECKING:
    from fleet_tui.store.batches import BatchTable
    from fleet_tui.store.checkpoints import CheckpointTable
    from fleet_tui.store.checks import CheckTable
    from fleet_tui.store.landings import LandingTable
    from fleet_tui.store.pull_requests import PullRequestTable
    from fleet_tui.store.reviews import ReviewTables
    from fleet_tui.store.spares import SpareTable
    from fleet_tui.store.spending import SpendingTable


class Store:
    """A connection to the store, with one object for each family of tables.

    Each process opens its own: connections must not cross a fork. A family's methods that change it are called inside
    `transaction()`. `has_exclusive_lock` says that the caller holds `replacement_lock.exclusive`.
    """

    def __init__(
        self, path: Path, *, busy_seconds: float = BUSY_SECONDS, has_exclusive_lock: bool = False
    ) -> None:
        self.path = path
        self.db = SqliteDatabase(path, busy_seconds=busy_seconds, has_exclusive_lock=has_exclusive_lock)
        self.journal = JournalTable(self.db)
        self.agents = AgentTable(self.db, self.journal)
        self.receipts = ReceiptTable(self.db, self.journal)

    @cached_property
    def batches(self) -> BatchTable:
        from fleet_tui.store.batches import BatchTable  # deferred: `fleet list` does without it

        return BatchTable(self.db, self.journal, self.agents)

    @cached_property
    def checks(self) -> CheckTable:
        from fleet_tui.store.checks import CheckTable  # deferred: few commands read it

        return CheckTable(self.db, self.journal)

    @cached_property
    def checkpoints(self) -> CheckpointTable:
        from fleet_tui.store.checkpoints import CheckpointTable  # deferred: few commands read it

        return CheckpointTable(self.db, self.journal)

    @cached_property
    def spending(self) -> SpendingTable:
        from fleet_tui.store.spending import SpendingTable  # deferred: few commands read it

        return SpendingTable(self.db)

    @cached_property
    def landings(self) -> LandingTable:
        from fleet_tui.store.landings import LandingTable  # deferred: only landing and undo need it

        return LandingTable(self.db, self.journal)

    @cached_property
    def spares(self) -> SpareTable:
        from fleet_tui.store.spares import SpareTable  # deferred: only launchers and the doctor read it

        return SpareTable(self.db)

    @cached_property
    def pull_requests(self) -> PullRequestTable:
        from fleet_tui.store.pull_requests import PullRequestTable  # deferred: read only where there are any

        return PullRequestTable(self.db, self.journal)

    @cached_property
    def reviews(self) -> ReviewTables:
        from fleet_tui.store.reviews import ReviewTables  # deferred: few commands read them

        return ReviewTables(self.db, self.journal)

    def close(self) -> None:
        self.db.close()

    @contextmanager
    def transaction(self, *, uses_reserve: bool = True) -> Iterator[None]:
        """Commit the block's changes, or roll all of them back.

        On a full disk it gives up the disk reserve; pass `uses_reserve=False` for what can be recorded later as well.
        """
        with self.db.transaction(uses_reserve=uses_reserve):
            self.agents.begin_transaction()
            yield
            self.agents.write_copies()

    def state(self) -> FleetState:
        """All that a face shows, of one moment."""
        with self.db.reading():
            batches = self.batches.all()
            last = self.journal.last_id()
            agents, damaged = self.agents.all_and_damaged()
            return FleetState(tuple(agents), tuple(batches), last, self.receipts.summaries(), tuple(damaged))

    def check(self) -> list[str]:
        """What is wrong with the file or its rows; empty when it is sound."""
        if problems := self.db.file_problems():
            return problems
        for table, decode in row_decoder.DECODERS.items():
            rows = self.db.rows(f"select * from {table}")  # noqa: S608 - constants
            if damaged := len(rows) - len(row_decoder.valid_rows(rows, decode)):
                problems.append(f"{damaged} damaged in {table}")
        if self.db.has_orphans():
            problems.append("rows that refer to missing rows")
        return problems
