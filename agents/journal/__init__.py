"""Facts of a run: its events, its waits, and their descriptions for people. Pure."""
