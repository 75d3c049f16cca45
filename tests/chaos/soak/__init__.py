"""R22: half an hour of everything at once, with a death a minute."""
