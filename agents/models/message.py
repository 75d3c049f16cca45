"""Messages between agents, people and programs, and the inboxes of agents."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.models.agent import Agent
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, present, unique


class MessageKind(models.TextChoices):
    """Purposes of a message."""

    NOTIFICATION = "notification", "Notification"  # information
    REPLY = "reply", "Reply"  # information for the sender of another message
    REQUEST = "request", "Request"  # its run's result goes back to the requesting run
    TASK = "task", "Task"  # its run is independent of the sender


class Message(models.Model):
    """One message; the database refuses changes. Written through ``agents.actions``.

    Attributes:
        origin: Origin of the addressed agents, as in ``Agent``.
        sender: Address (``agents.messaging.addresses``) of an agent or a person.
        recipient: Address of an agent, of all agents (``broadcast``), or of a person.
        thread: Key of the thread; messages of one thread are ordered.
        seq: Position on the thread, from 1, assigned under the thread's lock.
        in_reply_to: Message that this message answers.
        source_run_id: Run that sent the message, with the call; null: sent by a person. No foreign
            key: messages and runs have separate retention.
        run_id: Run started by the message; null: none.
        hops: Length of the chain of messages that led to this one: each message started the run
            that sent the next one, was read by that run, or was answered.
        expires_at: End of the requesting run's wait; null: no run waits.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="messages", db_index=False
    )
    origin = models.CharField(max_length=16, blank=True, default="", db_default="")
    sender = models.CharField(max_length=220)
    recipient = models.CharField(max_length=220)
    kind = models.CharField(max_length=12, choices=MessageKind.choices)
    thread = models.CharField(max_length=100)
    seq = models.PositiveIntegerField()
    body = models.TextField("text")
    in_reply_to = models.UUIDField(null=True, blank=True)
    source_run_id = models.UUIDField("sender run", null=True, blank=True)
    source_call_id = models.CharField(max_length=24, blank=True, default="", db_default="")
    run_id = models.UUIDField("started run", null=True, blank=True)
    hops = models.PositiveSmallIntegerField(default=0, db_default=0)
    expires_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=220, null=True, blank=True)  # noqa: DJ001  null: none
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            unique("message_order", "workspace", "origin", "thread", "seq"),
            unique(
                "message_idempotency_key",
                "workspace",
                "idempotency_key",
                where=present("idempotency_key"),
            ),
            one_of("kind", MessageKind.values, name="message_kind_known"),
        ]
        indexes = [
            index("message_recent", "workspace", "-id"),
            index("message_sent", "workspace", "sender", "created_at"),
            index("message_received", "workspace", "recipient", "-id"),
            index("message_run", "run_id", where=present("run_id")),
            index("message_age", "created_at"),
        ]

    def __str__(self) -> str:
        return f"{self.sender} to {self.recipient}"


class InboxEntry(models.Model):
    """A message in an agent's inbox. Messages that start a run are passed to it, not to an inbox.

    Attributes:
        read_at: Time at which a run of the agent read the message; null: unread.
        run_id: Run that read the message.
    """

    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, related_name="entries", db_index=False
    )
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="inbox", db_index=False)
    read_at = models.DateTimeField(null=True, blank=True)
    run_id = models.UUIDField("reader run", null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            unique("message_once_per_inbox", "message", "agent"),
            models.CheckConstraint(
                name="inbox_read_by_a_run",
                condition=Q(read_at__isnull=True, run_id__isnull=True)
                | Q(read_at__isnull=False, run_id__isnull=False),
            ),
        ]
        indexes = [
            index("inbox_unread", "agent", "id", where=Q(read_at__isnull=True)),
            index("inbox_of", "agent", "-id"),  # also when an agent is deleted
            index("inbox_read_by", "run_id", where=present("run_id")),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.message_id}"
