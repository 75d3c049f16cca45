"""Runs followed while they work, here or on a server."""
