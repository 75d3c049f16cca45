"""The run's row and its journal: the one place where a run's status changes."""
