-- Version 1: projects, batches, agents, receipts and the journal.

create table project (
    root        text primary key,
    name        text not null,
    created_at  real not null
) strict;

create table batch (
    id          text not null,
    project     text not null references project (root),
    prompt      text not null default '',
    created_at  real not null,
    primary key (project, id)
) strict;

create table agent (
    id            text primary key,
    name          text not null,
    project       text not null references project (root),
    branch        text not null,
    base          text not null,
    worktree      text not null,
    batch         text not null,
    profile       text not null,
    argv          text not null,            -- JSON list
    prompt        text not null default '',
    status        text not null,
    status_detail text not null default '',
    evidence      text not null default '', -- JSON {source, text, at}
    status_since  real not null default 0,
    created_at    real not null,
    started_at    real,
    ended_at      real,
    exit_code     integer,
    exit_signal   integer,
    run           integer not null default 1,
    pid           integer,
    keeper_pid    integer,
    machine       text not null default '',
    boot_id       text not null default '',
    session_id    text not null default '',
    title         text not null default '',
    trash         text not null default '',
    port_base     integer not null default 0,
    branch_made   integer not null default 1,
    intent        text not null default '', -- JSON: the launch intent; revive reads it again
    events_read   integer not null default 0, -- bytes of the run's events.jsonl already imported
    foreign key (project, batch) references batch (project, id)
) strict;

create index agent_by_project on agent (project, created_at);

create table receipt (
    id      text primary key,
    agent   text not null references agent (id),
    text    text not null,
    state   text not null,
    reason  text not null default '',
    at      real not null
) strict;

-- Every change of the tables above, in order; readers follow it by id. An event of a holder has its run and sequence
-- number, so that it is imported once however often it is read.
create table journal (
    id     integer primary key autoincrement,
    at     real not null,
    agent  text not null default '',
    kind   text not null,
    data   text not null default '{}',
    run    integer,
    seq    integer
) strict;

create unique index journal_once on journal (agent, run, seq) where seq is not null;
