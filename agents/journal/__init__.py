"""Facts of a run: its events, its waits, and their form in words. Pure."""
