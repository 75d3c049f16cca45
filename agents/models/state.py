"""The state store: JSON values that outlive runs, with a time to live."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import StateScope
from agents.models.conversation import Conversation
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, present, unique


class StateEntry(models.Model):
    """A value under a key, shared by the runs of its scope.

    Attributes:
        agent: Name of the agent whose runs share it; empty: of another scope.
        conversation: Conversation whose runs share it; null: of another scope.
        user: The person behind its last writer, whose erasure deletes it; null: no one.
        author: Name of the agent, person or program that wrote it last.
        run_id: The run that wrote it last; null: a person or a program did.
        expires_at: Time from which it is no longer found; null: never.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="state")
    scope = models.CharField(max_length=16, choices=StateScope)
    agent = models.CharField(max_length=64, blank=True, default="")
    conversation = models.ForeignKey(
        Conversation, null=True, on_delete=models.CASCADE, related_name="state"
    )
    key = models.CharField(max_length=200)
    value = models.JSONField(null=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    author = models.CharField(max_length=200)
    run_id = models.UUIDField(null=True)
    expires_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "state entry"
        verbose_name_plural = "state entries"
        ordering = ["pk"]
        constraints = [
            unique(
                *("state_key_once", "workspace", "agent", "conversation", "key"),
                nulls_distinct=False,
            ),
            one_of("scope", StateScope.values, name="state_scope_known"),
            models.CheckConstraint(
                name="state_scope_complete",
                condition=Q(scope=StateScope.WORKSPACE, agent="", conversation=None)
                | Q(scope=StateScope.AGENT, conversation=None) & ~Q(agent="")
                | Q(scope=StateScope.CONVERSATION, agent="", conversation__isnull=False),
            ),
        ]
        indexes = [index("state_expiring", "expires_at", where=present("expires_at"))]

    def __str__(self) -> str:
        # Without its key: audit entries, which no one can erase, are labelled with it.
        return f"State entry {self.pk}"
