"""Doors: protocols of others, each a translation of Heartbit's operations in a room of its own."""
