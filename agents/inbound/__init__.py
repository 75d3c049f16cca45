"""Inbound messages: channels, mailboxes, and the way from a message to a run."""
