"""Agent programs: profiles as TOML, status rules, dialogs, input boxes, and readers of each program's own formats.

A new program needs a TOML file. It needs Python only for its event stream, records or server, in a package of its
own. Nothing here starts an agent; only `versions` runs programs, to ask for their versions.
"""
