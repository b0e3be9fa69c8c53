"""Widgets of the dashboard and its dialogs. A widget draws what it is given and posts what the user did with it."""
