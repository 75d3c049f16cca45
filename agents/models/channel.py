"""Where messages from outside come in, and the log of what came."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import ChannelKind, InboundStatus, MailSecurity
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.secret_text import SecretTextField

MOST_AN_HOUR = 10_000
_ADDRESS_BYTES = 24


def new_url_token() -> str:
    """The last part of a channel's URL; nobody guesses it."""
    return secrets.token_urlsafe(_ADDRESS_BYTES)


class Channel(models.Model):
    """A way in: what arrives is a task for an agent. Written through ``actions.save_channel``.

    Attributes:
        agent: The name of whoever answers.
        address: The last part of the URL that messages are posted to.
        secret: The encrypted ``whsec_...`` that they are signed with; the former one is good as
            well until ``previous_secret_expires_at``.
        mapping: Of a webhook, how a body becomes a task (``agents.inbound.mapping``).
        deliver: Where each answer goes (``agents.delivery.targets``), besides back to its sender.
        senders: Of e-mail, who may write: addresses, ``@domain``, or ``*`` for everybody.
        uid_validity: Of the folder that ``last_uid`` belongs to; null: it was never looked into.
        last_uid: The last mail that was dealt with.
        trouble: Why the last message, or the mailbox, could not be taken; empty: it could.
        failures: How many looks into the mailbox in a row ended in trouble.
        stuck: How many in a row did over the mail after ``last_uid``.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="channels")
    name = models.CharField(max_length=100, help_text="What comes in here, e.g. support mailbox.")
    kind = models.CharField(max_length=8, choices=ChannelKind.choices)
    agent = models.CharField(max_length=64, help_text="Who answers.")
    enabled = models.BooleanField(default=True, help_text="A disabled one takes nothing.")
    approve = models.BooleanField(
        "ask about every call",
        default=False,
        help_text="Every tool call of its runs waits for a person.",
    )
    hourly_limit = models.PositiveIntegerField(
        "messages an hour",
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_AN_HOUR)],
        help_text="What comes beyond that has to wait.",
    )
    deliver = models.JSONField(
        "deliver answers to",
        default=list,
        blank=True,
        help_text=(
            'Besides the sender, e.g. [{"kind": "email", "to": ["ada@example.org"]}]. Empty: '
            "answers are in the conversation."
        ),
    )
    url_token = models.CharField(max_length=40, unique=True, editable=False, default=new_url_token)
    secret = SecretTextField()
    previous_secret = SecretTextField()
    previous_secret_expires_at = models.DateTimeField(null=True, editable=False)
    mapping = models.JSONField(
        default=dict,
        blank=True,
        help_text=(
            'How a message becomes a task, e.g. {"task": "Answer {ticket.body}", "conversation": '
            '"{ticket.id}", "only": {"type": "ticket.created"}}. Empty: the agent gets all of it.'
        ),
    )
    senders = models.JSONField(
        default=list,
        blank=True,
        help_text='Who may write: addresses, "@example.org" for all of a domain, "*" for all.',
    )
    reply = models.BooleanField(
        "answer the sender", default=True, help_text="By e-mail, in the same thread."
    )
    imap_host = models.CharField(
        "IMAP server",
        max_length=253,
        blank=True,
        help_text="Empty: no mailbox is read, mails are posted to the channel's URL.",
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
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="channel_named_once"),
            models.CheckConstraint(
                name="channel_kind_known", condition=Q(kind__in=ChannelKind.values)
            ),
            models.CheckConstraint(
                name="channel_security_known", condition=Q(imap_security__in=MailSecurity.values)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> str:
        """Of the URL that messages are posted to."""
        return f"/api/v1/inbound/{self.url_token}"

    @property
    def url(self) -> str:
        """Where signed messages are posted to."""
        return f"{settings.HEARTBIT_PUBLIC_URL}{self.path}"

    @property
    def mailbox(self) -> Channel | None:
        """The channel itself if it reads a mailbox (``imap_...``), else None."""
        return self if self.imap_host else None


class InboundMessage(models.Model):
    """A message that a channel was given: the same one is never taken twice.

    Attributes:
        external_id: A webhook's id, or a mail's Message-ID and sender.
        sender: A mail's address, or who a webhook's mapping says it is.
        reason: Why it was refused.
        run_id: What answers it; null: nothing.
        conversation_id: Where. No foreign keys: the log outlives both.
        thread: Of a webhook, which conversation it belongs to, as its sender names it.
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
            models.UniqueConstraint(fields=["channel", "external_id"], name="inbound_taken_once"),
            models.CheckConstraint(
                name="inbound_status_known", condition=Q(status__in=InboundStatus.values)
            ),
        ]
        indexes = [
            models.Index(fields=["channel", "-id"], name="inbound_recent"),
            models.Index(
                fields=["channel", "thread", "-id"], condition=~Q(thread=""), name="inbound_thread"
            ),
            models.Index(fields=["received_at"], name="inbound_age"),
        ]

    def __str__(self) -> str:
        return self.external_id
