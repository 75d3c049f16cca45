"""Mail of notices: one letter for those that came together."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from smtplib import SMTPException
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage

logger = logging.getLogger(__name__)

MAIL_AGAIN: Final = timedelta(minutes=5)  # also the time of one attempt
MOST_UNSENT: Final = 100
_MOST_OF_SUBJECT: Final = 150


def send_letter(lines: Sequence[str], to: Sequence[str]) -> bool:
    """Mail sentences; return False if the mail server is unavailable."""
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    letter = EmailMessage(
        subject=f"Heartbit: {lines[0][:_MOST_OF_SUBJECT]}{more}",
        body="\n\n".join([*lines, f"-- \n{settings.HEARTBIT_PUBLIC_URL}\n"]),
        to=list(to),
        headers={"Auto-Submitted": "auto-generated"},
    )
    try:
        letter.send()
    except (SMTPException, OSError) as error:
        logger.warning("%d notices of alerts are not mailed yet: %s", len(lines), error)
        return False
    return True
