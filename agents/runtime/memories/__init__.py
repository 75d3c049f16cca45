"""Memories that a run is given, and those that are extracted from it."""
