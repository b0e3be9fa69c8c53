-- How many bytes of an agent's output its transcript has lost.

alter table agent add column lost_output integer not null default 0;
