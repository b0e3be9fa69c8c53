"""Claude Code: readers of its event stream and its records."""
