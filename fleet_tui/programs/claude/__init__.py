"""Claude Code: readers of its event stream, its records and its hooks."""
