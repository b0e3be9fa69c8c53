"""What several faces share: the table of verbs, wording, notices, live observation, JSON.

Knows no Textual and no click, prints nothing and asks nothing. Everything about agents goes through `Fleet`, except that
the observer listens to their holders.
"""
