"""Client side of a running agent: prompts and their receipts, answers to questions, explanations of a status.

Everything goes through the agent's holder, which alone types into the program. The store keeps only the receipts.
"""
