"""What becomes of an agent's work: diffs, comments, checks, ranking, conflicts, checkpoints, landing.

Each verb is about work that agents have made, and calls `git` for it and `store` to remember it. Ending agents and sending
prompts are other rooms: `fleet` puts them together. Nothing here knows a face.
"""
