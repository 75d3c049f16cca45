"""Who may write to a channel by e-mail."""

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
    """Whether somebody may write to it, by the address that the mail names."""
    domain = sender.rpartition("@")[2]
    allowed = set(channel.senders)
    return bool(sender) and not allowed.isdisjoint(
        {EVERYBODY, sender.lower(), f"@{domain.lower()}"}
    )


def check_senders(value: object) -> list[str]:
    """The senders that a JSON value names.

    Raises:
        ConfigurationError: One of them is none, or there are none.
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
        return f"{local}{at}{punycode(domain)}" if at else text  # as mails are read
    except (ValidationError, UnicodeError):
        raise ConfigurationError(
            f'{text[:60]!r} is no sender: write ada@example.org, "@example.org" for all of a '
            'domain, or "*" for everybody.'
        ) from None
