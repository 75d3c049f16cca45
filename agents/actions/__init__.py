"""Actions, one module per kind of object, for admin, API, CLI, tasks and the runtime."""
