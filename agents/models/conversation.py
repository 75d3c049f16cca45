"""A conversation: many runs on one thread, each answering one message."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from agents.choices import BusyPolicy
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import one_of


class Conversation(models.Model):
    """A thread with one agent. Its messages are its runs: their tasks and their answers."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="conversations")
    agent = models.CharField(max_length=64, help_text="Agent that answers.")
    origin = models.CharField(max_length=16, blank=True, editable=False)  # as in Agent
    title = models.CharField(max_length=200, blank=True)
    busy_policy = models.CharField(
        max_length=9,
        choices=BusyPolicy.choices,
        default=BusyPolicy.QUEUE,
        help_text="Handling of a message that arrives while a run of the conversation is active.",
    )
    private_to = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        # It keeps the number of a deleted account, so that no one else can read the row.
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [one_of("busy_policy", BusyPolicy.values, name="conversation_policy_known")]

    def __str__(self) -> str:
        return self.title or str(self.pk)

    @property
    def private(self) -> bool:
        """True if one person alone reads the conversation and its runs."""
        return self.private_to_id is not None
