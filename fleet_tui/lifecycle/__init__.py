"""The life of agents: plan, launch, revive, stop, trash, undo, reconcile, repair, tidy, doctor.

Combines the store, git, the configuration and holders. Never prints and never prompts: faces do, through `Fleet`.
"""
