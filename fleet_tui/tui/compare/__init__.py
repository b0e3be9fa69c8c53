"""The compare screen: agents of one task side by side, best first, with the reasons."""
