"""Doors, driven by the official clients of their protocols."""
