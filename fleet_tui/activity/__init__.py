"""What agents have done: screens and logs, tokens and cost, recent activity.

Reads what holders and programs have recorded. Changes no agent, and writes nothing but the sums of spending.
"""
