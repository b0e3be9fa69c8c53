"""Screens on top of the dashboard: forms, questions, logs, help. A dialog returns what was chosen; it never acts itself."""
