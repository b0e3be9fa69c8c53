"""fleet-tui: run a fleet of coding agents side by side, each in its own terminal and git worktree."""

__version__ = "0.1.0"
