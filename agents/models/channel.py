"""Inbound channels (webhooks and mailboxes), and the log of received messages."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import ChannelKind, InboundStatus, MailSecurity
from agents.models.signed_endpoint import SignedEndpoint
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, unique
from heartbit_site.base.models.secret_text import SecretTextField

MOST_AN_HOUR = 10_000
_ADDRESS_BYTES = 24


def new_url_token() -> str:
    """Return a random, unguessable token for the last part of a channel's URL."""
    return secrets.token_urlsafe(_ADDRESS_BYTES)


class Channel(SignedEndpoint):
    """An inbound endpoint: each message becomes a task of an agent (``actions.channels``).

    Attributes:
        agent: Name of the agent that answers.
        url_token: Last part of the URL for inbound messages.
        mapping: Rules that build a task from a webhook's body (``agents.inbound.mapping``).
        deliver: Targets of each answer beside its sender (``agents.delivery.targets``).
        senders: Allowed senders of e-mail: addresses, ``@domain``, or ``*`` for all.
        uid_validity: UIDVALIDITY of the folder of ``last_uid``; null: not polled yet.
        last_uid: UID of the last processed e-mail.
        last_polled_at: Time of the last poll; null: none yet.
        last_error: Reason for the last failure, as a sentence; empty: the last try succeeded.
        failures: Number of failed polls in a row.
        stuck_polls: Number of polls in a row that failed on the e-mail after ``last_uid``.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="channels")
    name = models.CharField(max_length=100, help_text="Name in lists, e.g. support mailbox.")
    kind = models.CharField(max_length=8, choices=ChannelKind.choices)
    agent = models.CharField(max_length=64, help_text="Agent that answers.")
    enabled = models.BooleanField(
        default=True, help_text="A disabled channel rejects all messages."
    )
    approve = models.BooleanField(
        "require approval",
        default=False,
        help_text="Every tool call of the channel's runs needs an approval.",
    )
    hourly_limit = models.PositiveIntegerField(
        "messages per hour",
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_AN_HOUR)],
        help_text="Further e-mails wait in the mailbox; further webhooks are refused.",
    )
    deliver = models.JSONField(
        "also deliver to",
        default=list,
        blank=True,
        help_text=(
            'Targets beside the sender, e.g. [{"kind": "email", "to": ["ada@example.org"]}]. '
            "Empty: answers stay in the conversation."
        ),
    )
    url_token = models.CharField(max_length=40, unique=True, editable=False, default=new_url_token)
    mapping = models.JSONField(
        default=dict,
        blank=True,
        help_text=(
            'Template of the task, e.g. {"task": "Answer {ticket.body}", "conversation": '
            '"{ticket.id}", "only": {"type": "ticket.created"}}. Empty: the whole message.'
        ),
    )
    senders = models.JSONField(
        "allowed senders",
        default=list,
        blank=True,
        help_text='E-mail addresses, "@example.org" for a whole domain, "*" for all senders.',
    )
    reply = models.BooleanField(
        "reply to sender", default=True, help_text="Answers are sent by e-mail in the same thread."
    )
    imap_host = models.CharField(
        "IMAP server",
        max_length=253,
        blank=True,
        help_text="Host name. Empty: no mailbox; e-mails are posted to the channel's URL.",
    )
    imap_port = models.PositiveIntegerField("port", default=993)
    imap_security = models.CharField(
        "encryption", max_length=8, choices=MailSecurity.choices, default=MailSecurity.TLS
    )
    imap_user = models.CharField("user", max_length=254, blank=True)
    imap_password = SecretTextField()
    imap_folder = models.CharField("folder", max_length=200, default="INBOX", blank=True)
    uid_validity = models.BigIntegerField(null=True, editable=False)
    last_uid = models.BigIntegerField(default=0, db_default=0, editable=False)
    last_polled_at = models.DateTimeField(null=True, editable=False)
    last_error = models.CharField(max_length=500, blank=True, default="", editable=False)
    failures = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    stuck_polls = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            unique("channel_named_once", "workspace", "name"),
            one_of("kind", ChannelKind.values, name="channel_kind_known"),
            one_of("imap_security", MailSecurity.values, name="channel_security_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> str:
        """Path of the URL for inbound messages."""
        return f"/api/v1/inbound/{self.url_token}"

    @property
    def url(self) -> str:
        """URL for signed inbound messages."""
        return f"{settings.HEARTBIT_PUBLIC_URL}{self.path}"

    @property
    def mailbox(self) -> Channel | None:
        """The channel itself if it reads a mailbox (``imap_...``), else None."""
        return self if self.imap_host else None


class InboundMessage(models.Model):
    """A message received by a channel; ``external_id`` makes repetitions duplicates.

    Attributes:
        external_id: A webhook message's id, or an e-mail's Message-ID and sender.
        sender: E-mail address, or the sender according to a webhook's mapping.
        reason: Reason for a refusal, as a sentence.
        run_id: Run that answers the message; null: none.
        conversation_id: Conversation of that run. No foreign keys: the log outlives both.
        thread: The sender's own key of the conversation; webhooks only.
    """

    channel = models.ForeignKey(
        Channel, on_delete=models.CASCADE, related_name="messages", db_index=False
    )
    external_id = models.CharField("id", max_length=700)
    sender = models.CharField(max_length=254, blank=True)
    title = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=8, choices=InboundStatus.choices)
    reason = models.CharField(max_length=500, blank=True)
    run_id = models.UUIDField("run", null=True, blank=True)
    conversation_id = models.UUIDField("conversation", null=True, blank=True)
    thread = models.CharField(max_length=200, blank=True)
    received_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            unique("inbound_taken_once", "channel", "external_id"),
            one_of("status", InboundStatus.values, name="inbound_status_known"),
        ]
        indexes = [
            index("inbound_recent", "channel", "-id"),
            index("inbound_thread", "channel", "thread", "-id", where=~Q(thread="")),
            index("inbound_age", "received_at"),
        ]

    def __str__(self) -> str:
        return self.external_id
