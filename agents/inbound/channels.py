"""Channels: their validation, allowed senders, and mailboxes that are due for polling."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_domain_name, validate_email
from django.db.models import F
from django.utils.encoding import punycode

from agents.choices import ChannelKind, MailSecurity
from agents.delivery.targets import MOST_TARGETS, check_targets
from agents.errors import ChannelConflictError, HaltedError
from agents.inbound.mapping import check_mapping
from agents.models import Channel
from agents.models.channel import MOST_AN_HOUR
from agents.reads.agents import find_agent
from heartbit_site.base.errors import ConfigurationError, Remedy, about
from heartbit_site.base.models import Workspace
from heartbit_site.base.untrusted import clean_text

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
        raise ConfigurationError("Senders must be a list of texts.")
    if not value:
        raise ConfigurationError(
            'Name the allowed senders: addresses, "@example.org" for a whole domain, "*" for '
            "everyone."
        )
    if len(value) > MOST_SENDERS:
        raise ConfigurationError(f"A channel can have {MOST_SENDERS} senders: name domains.")
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
            'whole domain, or "*" for everyone.'
        ) from None


MOST = 100  # channels of a workspace
_LARGEST_PORT = 65_535
_TEXTS = ("name", "agent", "imap_host", "imap_user", "imap_folder")


def check_channel(channel: Channel, workspace: Workspace, *, has_password: bool) -> None:
    """Normalize a channel's row; raise if it is not valid.

    Args:
        channel: A new or changed channel.
        workspace: Its workspace.
        has_password: True if its mailbox has a password, stored or about to be.

    Raises:
        ConfigurationError: A setting is not valid.
        AgentNotFoundError: No published agent has that name, or it is stopped.
        InvalidMappingError: The mapping is not valid.
        InvalidTargetsError: A delivery target is not valid.
    """
    _check_texts(channel)
    with about("name"):
        if not channel.name:
            raise ConfigurationError("A channel needs a name: describe its messages.")
    with about("kind"):
        if channel.kind not in ChannelKind.values:
            kinds = ", ".join(ChannelKind.values)
            raise ConfigurationError(
                f"There is no kind of channel {channel.kind!r}: choose from {kinds}."
            )
    with about("hourly_limit"):
        if not 1 <= channel.hourly_limit <= MOST_AN_HOUR:
            raise ConfigurationError(f"A channel may accept 1 to {MOST_AN_HOUR} messages an hour.")
    with about("agent"):
        _check_agent(channel, workspace)
    with about("deliver"):
        _check_targets(channel, workspace)
    if channel.kind == ChannelKind.WEBHOOK:
        with about("mapping"):
            channel.mapping = check_mapping(channel.mapping).model_dump(exclude_defaults=True)
        _refuse_mail(channel)
    else:
        _check_mail(channel, has_password=has_password)


def refuse_a_second(channel: Channel, workspace: Workspace) -> None:
    """Enforce unique names, and the limit of channels per workspace.

    Raises:
        ChannelConflictError: The workspace has a channel of that name, or 100 channels.
    """
    others = Channel.objects.filter(workspace=workspace).exclude(pk=channel.pk)
    if others.filter(name=channel.name).exists():
        raise ChannelConflictError(
            f"The workspace already has a channel named {channel.name}.",
            remedy=Remedy("channels.list_channels"),
        )
    if channel._state.adding and others.count() >= MOST:
        raise ChannelConflictError(
            f"The workspace has {MOST} channels, the maximum: remove one first."
        )


def _check_texts(channel: Channel) -> None:
    for name in _TEXTS:
        text, most = getattr(channel, name).strip(), getattr(Channel, name).field.max_length
        if len(text) > most or clean_text(text) != text or not text.isprintable():
            with about(name):
                raise ConfigurationError(
                    f"The channel's {name} must be one line of at most {most}."
                )
        setattr(channel, name, text)


def _check_agent(channel: Channel, workspace: Workspace) -> None:
    try:
        find_agent(workspace, channel.agent)
    except HaltedError:  # a stopped workspace can still edit its channels
        return


def _check_targets(channel: Channel, workspace: Workspace) -> None:
    targets = check_targets(workspace, channel.deliver)
    if len(targets) >= MOST_TARGETS:  # the reply to the sender is one more
        raise ConfigurationError(f"A channel's answers may have {MOST_TARGETS - 1} more targets.")
    channel.deliver = [target.model_dump() for target in targets]


def _refuse_mail(channel: Channel) -> None:
    if channel.senders or channel.imap_host:
        raise ConfigurationError(
            "Senders and a mailbox belong to a channel of the kind email: leave them out here."
        )


def _check_mail(channel: Channel, *, has_password: bool) -> None:
    if channel.mapping:
        raise ConfigurationError("Only a channel of the kind webhook has a mapping: remove it.")
    with about("senders"):
        channel.senders = check_senders(channel.senders)
    if not channel.imap_host:
        return
    with about("imap_security"):
        if channel.imap_security not in MailSecurity.values:
            raise ConfigurationError(
                f"A mailbox's security must be one of {', '.join(MailSecurity.values)}."
            )
    with about("imap_port"):
        if not 1 <= channel.imap_port <= _LARGEST_PORT:
            raise ConfigurationError(f"A port must be a number from 1 to {_LARGEST_PORT}.")
    channel.imap_folder = channel.imap_folder or "INBOX"
    with about("password" if channel.imap_user else "imap_user"):
        if not channel.imap_user or not has_password:
            raise ConfigurationError("A mailbox needs a user and a password.")


#: Pause after a poll; it doubles with each failure.
REST = timedelta(seconds=20)
LONGEST_REST = timedelta(minutes=15)
_MOST_DOUBLINGS = 10


def due_for_polling(now: datetime, *, late: timedelta = timedelta()) -> list[Channel]:
    """Return the channels due for polling, for longer than ``late``, longest unpolled first."""
    rows = Channel.objects.filter(kind=ChannelKind.EMAIL, enabled=True).exclude(imap_host="")
    rows = rows.select_related("workspace").order_by(
        F("last_polled_at").asc(nulls_first=True), "pk"
    )
    return [
        row
        for row in rows
        if row.last_polled_at is None or _rest(row) + late < now - row.last_polled_at
    ]


def mailboxes_are_overdue(now: datetime, seconds: float) -> bool:
    """Return True if a mailbox has been due for more than ``seconds``."""
    return bool(due_for_polling(now, late=timedelta(seconds=seconds)))


def _rest(channel: Channel) -> timedelta:
    factor: int = 2 ** min(channel.failures, _MOST_DOUBLINGS)
    return min(REST * factor, LONGEST_REST)
