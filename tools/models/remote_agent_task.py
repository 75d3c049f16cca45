"""Tasks of remote agents that calls wait for."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.models.constraints import unique
from tools.models.mcp_server import McpServer


class RemoteAgentTask(models.Model):
    """A task that a remote agent has not ended, as far as its call knows.

    Once the call has ended without it, by a cancel or a limit, the task is cancelled at the agent.

    Attributes:
        user_id: Person of the call, whose credential is used first; null: none.
        task: Its id, given by the agent.
        url: Address that it was begun at; ``tenant`` likewise.
        attempts: Number of attempts to cancel it.
        next_at: Time of the next attempt.
    """

    server = models.ForeignKey(McpServer, on_delete=models.CASCADE, related_name="+")
    run_id = models.UUIDField()
    call_id = models.CharField(max_length=64)
    user_id = models.BigIntegerField(null=True)
    task = models.CharField(max_length=500)
    url = models.TextField()
    tenant = models.TextField(blank=True, default="")
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    next_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "task of a remote agent"
        constraints = [unique("remote_agent_task_once", "run_id", "call_id")]

    def __str__(self) -> str:
        return f"task {self.task} of {self.server_id}"
