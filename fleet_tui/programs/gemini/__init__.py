"""Gemini CLI: readers of its event stream and its records."""
