"""Backup of an installation into one file, and its restore elsewhere (docs/decisions/0072)."""
