"""The main screen: list, detail and panes over one model of the fleet, and the actions that its keys run.

A screen of another subject is not part of it: that is a file in `dialogs` and a row in the table of actions.
"""
