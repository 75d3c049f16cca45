"""Actions, one per module, shared by admin, API and CLI."""
