"""What several faces share: wording, notices, live observation, JSON.

Knows no Textual and no click, and calls `Fleet` only.
"""
