"""This machine: processes and ending a tree of them, CPU and memory, systemd scopes, sockets, private files.

Knows the operating system. Of agents it knows only their id in an environment and the locks of their holders: no store,
no git, no configuration, no program by name.
"""
