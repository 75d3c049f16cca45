"""Mails that people send to agents: how they are fetched, and read as hostile input."""
