"""Inbound messages: channels, mailboxes, and parsing of mails as hostile input."""
