"""Prompts on their way into a program: queued, typed as a paste, submitted with Enter, followed until the turn ends.

A prompt is typed only while the program waits and its input box is known to be empty; never into setup, a question or a
menu. A draft is set aside first and restored afterwards, where the program can. Pure except for prompts.jsonl; time and
the screen are passed in.
"""
