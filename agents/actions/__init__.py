"""Actions: the changes of a noun in one module, for admin, API, CLI, tasks and the runtime."""
