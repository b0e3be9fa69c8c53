"""The store: one SQLite file per user with all agents, batches, receipts, spending and the journal.

The only room with SQL. `database.Store` offers one object per family of tables; `sqlite` owns the connection, `schema`
the migrations, `backup` the copies of agents' rows. The store decides nothing about agents: `models` says what a row
means, `lifecycle` when it changes. Holders never open it.
"""
