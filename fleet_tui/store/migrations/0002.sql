-- What each agent has spent, as last read from the records of its program.

create table spending (
    agent           text primary key references agent (id),
    input_tokens    integer not null,
    cached_tokens   integer not null,
    output_tokens   integer not null,
    cost            real,
    context_tokens  integer,
    context_limit   integer,
    model           text not null,
    at              real not null,
    cost_before     real not null,
    sources         text not null -- JSON: the files that this was read from, and how far
) strict;

create index if not exists receipt_by_agent on receipt (agent);
