"""Heartbit with the programs of others, both ways; ``make interop``."""
