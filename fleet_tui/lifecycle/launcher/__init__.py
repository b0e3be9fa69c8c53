"""The launcher: create agents, each with worktree, files and keeper, or not at all.

A face commits rows with their intents and passes each agent's lock to one detached launcher per batch, this package run
as a program. The launcher is two processes. The worker makes worktrees and writes the store. The forker has imported
what holders need, has no store and no threads, and forks a keeper whenever the worker asks. Both import while the face
still plans and while git checks out. If either dies, reconciling finds the intents and rolls them back.
"""
