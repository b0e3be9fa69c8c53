-- What agents have made: files marked as reviewed, comments, checks, checkpoints, landings, pull requests; and spares.

create table reviewed_file (
    agent    text not null references agent (id),
    path     text not null,
    content  text not null, -- the object that was reviewed; empty for a deleted file
    at       real not null,
    primary key (agent, path)
) strict;

create table review_comment (
    id          text primary key,
    agent       text not null references agent (id),
    path        text not null,
    side        text not null, -- old or new
    first       integer not null,
    last        integer not null,
    against     text not null default '', -- for the old side: a branch, a commit or an agent; empty for the base
    quoted      text not null, -- JSON list: the lines as they were
    before      text not null default '[]', -- JSON list: the lines above them
    after       text not null default '[]', -- JSON list: the lines below them
    text        text not null,
    created_at  real not null,
    round       integer not null default 0,
    sent_at     real,
    receipt     text not null default '',
    handled_at  real
) strict;

create index review_comment_by_agent on review_comment (agent);

create table check_run (
    id          text primary key,
    agent       text not null references agent (id),
    command     text not null,
    tree        text not null,
    onto        text not null default '',
    state       text not null,
    started_at  real not null,
    ended_at    real,
    exit_code   integer,
    summary     text not null default '',
    after_tree  text not null default '',
    note        text not null default ''
) strict;

create index check_run_by_agent on check_run (agent, started_at);

create table checkpoint (
    agent      text not null references agent (id),
    number     integer not null,
    commit_id  text not null,
    tree       text not null,
    kind       text not null,
    at         real not null,
    note       text not null default '',
    turn       integer not null default 0,
    restored   integer not null default 0,
    added      integer not null default 0,
    removed    integer not null default 0,
    changed    integer not null default 0,
    files      text not null default '[]',
    left_out   text not null default '[]',
    primary key (agent, number)
) strict;

create table landing (
    id         text primary key,
    project    text not null references project (root),
    agent      text not null references agent (id),
    into_name  text not null, -- the branch
    strategy   text not null,
    old        text not null,
    new        text not null,
    head       text not null,
    state      text not null,
    at         real not null,
    message    text not null default '',
    reason     text not null default '',
    undone_at  real
) strict;

create index landing_by_agent on landing (agent, at);

create table pull_request (
    agent   text primary key references agent (id),
    url     text not null,
    number  integer not null,
    state   text not null,
    checks  text not null,
    review  text not null,
    rounds  integer not null,
    at      real not null,
    head    text not null default '',
    failed  text not null default '',
    note    text not null default '',
    handled text not null default '', -- the last head whose failed checks went back to the agent
    receipt text not null default ''
) strict;

create table spare (
    path      text primary key,
    project   text not null references project (root),
    base      text not null,
    made_at   real not null,
    needed_at real not null, -- when its project last started agents
    settings  text not null -- a digest of what decides, besides the base, which files it has; empty until it is ready
) strict;
