"""Live terminals of agents: connections to their holders, painting, keys, mouse and scrollback.

Panes know agents and holders. They never know the dashboard, the store or the worker.
"""
