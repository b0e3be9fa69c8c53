"""What fills the terminal: the dashboard, and the dialogs over it."""
