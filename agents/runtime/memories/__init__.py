"""Memories given to a run at its start, and memories extracted from it."""
