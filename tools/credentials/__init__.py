"""Stored credentials of tools: selection for a call, and values."""
