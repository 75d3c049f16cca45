"""Errors of mail servers and mails."""

from __future__ import annotations

from heartbit_site.base.errors import HeartbitError


class MailServerError(HeartbitError):
    """The mail server cannot be used now; the mail itself may be valid."""


class MailboxError(MailServerError):
    """A mailbox cannot be read now, or its settings are wrong."""


class UnreadableMailError(HeartbitError):
    """The bytes are not a mail, or have more parts than a mail may have."""
