"""A conversation: many runs on one thread, each answering one message."""

from __future__ import annotations

from django.db import models

from agents.choices import BusyPolicy
from agents.models.private_row import PrivateRow
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import one_of


class Conversation(PrivateRow):
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
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [one_of("busy_policy", BusyPolicy.values, name="conversation_policy_known")]

    def __str__(self) -> str:
        return self.title or str(self.pk)
