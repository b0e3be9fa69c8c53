"""The tour: a throw-away project and fleet, with scripted agents that run in place of real programs.

The scripts are programs of their own and import nothing of the dashboard.
"""
