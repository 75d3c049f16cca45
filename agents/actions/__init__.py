"""Verbs. Admin, API, CLI, tasks and the runtime call the same one for the same change."""
