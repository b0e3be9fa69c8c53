"""OpenCode: readers of its event stream, its records and its server's events."""
