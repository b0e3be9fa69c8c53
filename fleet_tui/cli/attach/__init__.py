"""Attach the host terminal to one agent: its screen is painted, and keys go to it.

Owns the host terminal while attached. Knows an agent only by its run folder and lock, and loads neither the emulator
nor the UI toolkit, so that attaching is fast.
"""
