"""One agent's holder: the keeper that runs its program, the screen server that reads it, and the protocols to both.

A holder outlives faces and upgrades: it imports nothing after its fork, never opens the store, git or the configuration,
and its messages and files are only ever extended. The emulator may crash a screen server, never a keeper.
"""
