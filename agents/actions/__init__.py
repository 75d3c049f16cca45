"""Actions: one change per module, shared by admin, API, CLI, tasks and the runtime."""
