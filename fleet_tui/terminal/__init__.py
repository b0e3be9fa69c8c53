"""What a terminal is: cells and views, key and mouse events, the host terminal's input, ANSI output, the emulator.

Only `emulator` loads pyghostty. Nothing here knows agents or reads a terminal: bytes go in, data comes out.
"""
