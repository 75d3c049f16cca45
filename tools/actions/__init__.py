"""Actions: one change per module, shared by admin, API and CLI."""
