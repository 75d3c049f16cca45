"""This installation made ready for a command: services, settings, database."""
