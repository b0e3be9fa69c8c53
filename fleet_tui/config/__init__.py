"""Settings: the table of keys, the files that set them, the origin of each value, and which projects are trusted.

Starts no program and creates no agent. What a setting does belongs to the room that uses it.
"""
