"""What a screen is made of. Widgets show what they are given and post what was done to them."""
