"""The screens of a landing: its preview, what conflicts, and several agents one after the other."""
