"""Runs as text: trees, tables, outcomes. No Django."""
