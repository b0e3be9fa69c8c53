"""The dashboard: the face of the fleet in a terminal. The only package that knows Textual."""
