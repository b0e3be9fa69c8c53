CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer
);
insert into session values ('ses_e15225222ffeo9bJynKSoj7DNy', '6c225a6bb96aff9e4829dd65e514ae3b6b3fd691', null, null, 'nimble-canyon', '{worktree}', '', 'A test', '1.18.33', null, 0, 0, 0, null, null, 0.0, 936, 126, 0, 6000, 0, null, null, 'build', '{"id":"test","providerID":"loopback"}', 1794941758941, 1794941772028, null, null);
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
);
insert into message values ('msg_1eaddaebf0019HoDJFnijkhieC', 'ses_e15225222ffeo9bJynKSoj7DNy', 1794941759167, 1794941759174, '{"role":"user","time":{"created":1794941759167},"agent":"build","model":{"providerID":"loopback","modelID":"test"}}');
insert into message values ('msg_1eaddaf50001CMZgQpBlCrw68q', 'ses_e15225222ffeo9bJynKSoj7DNy', 1794941759312, 1794941769165, '{"parentID":"msg_1eaddaebf0019HoDJFnijkhieC","role":"assistant","mode":"build","agent":"build","path":{"cwd":"{worktree}","root":"{worktree}"},"cost":0,"tokens":{"total":2354,"input":312,"output":42,"reasoning":0,"cache":{"write":0,"read":2000}},"modelID":"test","providerID":"loopback","time":{"created":1794941759312,"completed":1794941769154},"finish":"tool-calls"}');
insert into message values ('msg_1eaddd5d1001F2JDA5W90BY6rR', 'ses_e15225222ffeo9bJynKSoj7DNy', 1794941769169, 1794941770025, '{"parentID":"msg_1eaddaebf0019HoDJFnijkhieC","role":"assistant","mode":"build","agent":"build","path":{"cwd":"{worktree}","root":"{worktree}"},"cost":0,"tokens":{"total":2354,"input":312,"output":42,"reasoning":0,"cache":{"write":0,"read":2000}},"modelID":"test","providerID":"loopback","time":{"created":1794941769169,"completed":1794941770024},"finish":"stop"}');
insert into message values ('msg_1eaddde56001pNZqJBdX376xX6', 'ses_e15225222ffeo9bJynKSoj7DNy', 1794941771350, 1794941771358, '{"role":"user","time":{"created":1794941771350},"agent":"build","model":{"providerID":"loopback","modelID":"test"}}');
insert into message values ('msg_1eaddde7a001Vk5b3HvUhBi2Gt', 'ses_e15225222ffeo9bJynKSoj7DNy', 1794941771386, 1794941772021, '{"parentID":"msg_1eaddde56001pNZqJBdX376xX6","role":"assistant","mode":"build","agent":"build","path":{"cwd":"{worktree}","root":"{worktree}"},"cost":0,"tokens":{"total":2354,"input":312,"output":42,"reasoning":0,"cache":{"write":0,"read":2000}},"modelID":"test","providerID":"loopback","time":{"created":1794941771386,"completed":1794941772020},"finish":"stop"}');
