"""Allowed senders of a channel's e-mails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.core.validators import validate_domain_name, validate_email
from django.utils.encoding import punycode

from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from agents.models import Channel

EVERYBODY = "*"
MOST_SENDERS = 1_000


def is_allowed_sender(channel: Channel, sender: str) -> bool:
    """Return True if the channel accepts mails from this address."""
    domain = sender.rpartition("@")[2]
    allowed = set(channel.senders)
    return bool(sender) and not allowed.isdisjoint(
        {EVERYBODY, sender.lower(), f"@{domain.lower()}"}
    )


def check_senders(value: object) -> list[str]:
    """Validate the senders in a JSON value; return them normalized.

    Raises:
        ConfigurationError: A sender is not valid, or the list is empty or too long.
    """
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigurationError("Senders are a list of texts.")
    if not value:
        raise ConfigurationError(
            'Say who may write: addresses, "@example.org" for all of a domain, "*" for everybody.'
        )
    if len(value) > MOST_SENDERS:
        raise ConfigurationError(f"A channel has {MOST_SENDERS} senders at most: name domains.")
    return list(dict.fromkeys(_sender(one.strip().lower()) for one in value))


def _sender(text: str) -> str:
    try:
        if text.startswith("@"):
            validate_domain_name(text[1:])
        elif text != EVERYBODY:
            validate_email(text)
        local, at, domain = text.rpartition("@")
        return f"{local}{at}{punycode(domain)}" if at else text  # the form of parsed mails
    except (ValidationError, UnicodeError):
        raise ConfigurationError(
            f'{text[:60]!r} is not a valid sender: write ada@example.org, "@example.org" for a '
            'whole domain, or "*" for everybody.'
        ) from None
