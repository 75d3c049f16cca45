"""Calls that wait for a person, as the terminal asks about them. No Django."""
