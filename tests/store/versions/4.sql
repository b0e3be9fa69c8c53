BEGIN TRANSACTION;
CREATE TABLE agent (
    id            text primary key,
    name          text not null,
    project       text not null references project (root),
    branch        text not null,
    base          text not null,
    worktree      text not null,
    batch         text not null,
    profile       text not null,
    argv          text not null,            
    prompt        text not null default '',
    status        text not null,
    status_detail text not null default '',
    evidence      text not null default '', 
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
    intent        text not null default '', 
    events_read   integer not null default 0, lost_output integer not null default 0, 
    foreign key (project, batch) references batch (project, id)
) strict;
INSERT INTO "agent" VALUES('id-a','a','/project','a','c0ffee','/worktrees/a','b1','claude','["claude", "--model", "a b"]','do it','blocked','','{"source": "screen", "text": "Do you want to proceed?", "at": 3.0, "rule": "", "choices": [["1", "Yes"], ["2", "No"]], "takes_words": false, "wish": {"command": "", "reason": "", "touches": ""}}',3.0,2.0,2.5,NULL,NULL,NULL,1,7,6,'m','boot','c1','a title','',3000,1,'{"argv": ["claude"], "git_dir": "/project/.git", "repository": "/project"}',50,0);
INSERT INTO "agent" VALUES('id-b','b','/project','b','c0ffee','/worktrees/b','b1','claude','["claude", "--model", "a b"]','do it','killed','','',4.0,2.0,NULL,4.0,0,NULL,1,NULL,NULL,'','','','','/worktrees/.trash/b',0,0,'{"argv": ["claude"], "git_dir": "/project/.git", "repository": "/project"}',0,0);
CREATE TABLE batch (
    id          text not null,
    project     text not null references project (root),
    prompt      text not null default '',
    created_at  real not null,
    primary key (project, id)
) strict;
INSERT INTO "batch" VALUES('b1','/project','do it',1.0);
CREATE TABLE check_run (
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
INSERT INTO "check_run" VALUES('k1','id-a','make test','c0ffee','','passed',5.0,6.0,0,'3 passed','','');
CREATE TABLE checkpoint (
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
INSERT INTO "checkpoint" VALUES('id-a',1,'c0ffee','beef','turn',5.0,'do it',1,0,2,1,1,'["a.txt"]','[]');
CREATE TABLE journal (
    id     integer primary key autoincrement,
    at     real not null,
    agent  text not null default '',
    kind   text not null,
    data   text not null default '{}',
    run    integer,
    seq    integer
) strict;
INSERT INTO "journal" VALUES(1,1.0,'','batch-added','{"batch": "b1"}',NULL,NULL);
INSERT INTO "journal" VALUES(2,2.0,'id-a','agent-added','{"name": "a", "status": "setup"}',NULL,NULL);
INSERT INTO "journal" VALUES(3,2.0,'id-b','agent-added','{"name": "b", "status": "setup"}',NULL,NULL);
INSERT INTO "journal" VALUES(4,3.0,'id-a','agent-changed','{"status": "blocked", "evidence": "{\"source\": \"screen\", \"text\": \"Do you want to proceed?\", \"at\": 3.0, \"rule\": \"\", \"choices\": [[\"1\", \"Yes\"], [\"2\", \"No\"]], \"takes_words\": false, \"wish\": {\"command\": \"\", \"reason\": \"\", \"touches\": \"\"}}", "pid": 7, "keeper_pid": 6, "machine": "m", "boot_id": "boot", "started_at": 2.5, "session_id": "c1", "title": "a title", "port_base": 3000}',NULL,NULL);
INSERT INTO "journal" VALUES(5,4.0,'id-b','agent-changed','{"status": "killed", "ended_at": 4.0, "exit_code": 0, "trash": "/worktrees/.trash/b", "branch_made": 0}',NULL,NULL);
INSERT INTO "journal" VALUES(6,2.5,'id-a','bell','{}',1,1);
INSERT INTO "journal" VALUES(7,2.0,'id-a','receipt','{"id": "p1", "state": "queued", "reason": ""}',NULL,NULL);
CREATE TABLE landing (
    id         text primary key,
    project    text not null references project (root),
    agent      text not null references agent (id),
    into_name  text not null, 
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
INSERT INTO "landing" VALUES('l1','/project','id-b','main','squash','aa','bb','cc','landed',7.0,'message','',NULL);
CREATE TABLE project (
    root        text primary key,
    name        text not null,
    created_at  real not null
) strict;
INSERT INTO "project" VALUES('/project','project',1.0);
CREATE TABLE pull_request (
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
    handled text not null default '', 
    receipt text not null default ''
) strict;
INSERT INTO "pull_request" VALUES('id-a','https://example.org/1',1,'open','running','',0,8.0,'c0ffee','','','','');
CREATE TABLE receipt (
    id      text primary key,
    agent   text not null references agent (id),
    text    text not null,
    state   text not null,
    reason  text not null default '',
    at      real not null
) strict;
INSERT INTO "receipt" VALUES('p1','id-a','do it','answered','',3.0);
CREATE TABLE review_comment (
    id          text primary key,
    agent       text not null references agent (id),
    path        text not null,
    side        text not null, 
    first       integer not null,
    last        integer not null,
    against     text not null default '', 
    quoted      text not null, 
    before      text not null default '[]', 
    after       text not null default '[]', 
    text        text not null,
    created_at  real not null,
    round       integer not null default 0,
    sent_at     real,
    receipt     text not null default '',
    handled_at  real
) strict;
INSERT INTO "review_comment" VALUES('c1','id-a','src/a.py','new',3,4,'','["one", "two"]','["above"]','[]','say why',5.0,1,6.0,'p1',NULL);
CREATE TABLE reviewed_file (
    agent    text not null references agent (id),
    path     text not null,
    content  text not null, 
    at       real not null,
    primary key (agent, path)
) strict;
INSERT INTO "reviewed_file" VALUES('id-a','src/a.py','c0ffee',5.0);
CREATE TABLE spare (
    path      text primary key,
    project   text not null references project (root),
    base      text not null,
    made_at   real not null,
    needed_at real not null, 
    settings  text not null 
) strict;
INSERT INTO "spare" VALUES('/worktrees/.spares/k3m','/project','c0ffee',9.0,9.0,'d1');
CREATE TABLE spending (
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
    sources         text not null 
) strict;
INSERT INTO "spending" VALUES('id-a',10,5,3,0.5,18,200000,'opus',3.0,0.0,'{}');
CREATE INDEX agent_by_project on agent (project, created_at);
CREATE UNIQUE INDEX journal_once on journal (agent, run, seq) where seq is not null;
CREATE INDEX receipt_by_agent on receipt (agent);
CREATE INDEX review_comment_by_agent on review_comment (agent);
CREATE INDEX check_run_by_agent on check_run (agent, started_at);
CREATE INDEX landing_by_agent on landing (agent, at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('journal',7);
COMMIT;
PRAGMA user_version = 4;
