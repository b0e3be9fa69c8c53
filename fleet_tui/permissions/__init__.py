"""Decides which tool calls an agent may make without asking: rules over tools, commands and paths, and the decision log.

Pure apart from the log. A command that is not fully understood is never allowed here. Asking the user, and sending an
answer to a program, belong to `holder`.
"""
