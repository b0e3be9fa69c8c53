"""What an agent printed: every byte in segments, readable lines in a log, and the reading of both.

One process writes, any number read. No failure of the disk raises in a writer, because the agent's screen must go on.
No emulator may be used here: lines and rows of a screen come in as plain strings.
"""
