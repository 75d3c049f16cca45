"""Stored credentials of tools: which one a call uses, and its value."""
