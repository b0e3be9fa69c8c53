"""The screen server: reads one agent's terminal, follows its screen and serves both to clients.

Its keeper may have to replace it at any moment, so what matters is on disk before it reaches the emulator. Nothing here
may be imported once the server runs, end the program, or hold a lock.
"""
