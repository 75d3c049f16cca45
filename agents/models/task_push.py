"""Receivers of the states of a task, as A2A's push notifications have them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.choices import DeliveryStatus
from agents.models.attempted import Attempted
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, unique
from heartbit_site.base.models.secret_text import SecretTextField


class TaskPush(Attempted):
    """A receiver of one task's states; pending until it has the last one.

    Attributes:
        run_id: The task's run. No foreign key: the receiver may still have to learn its end.
        name: Id that the client knows it by.
        token: Text that each message repeats in a header, encrypted.
        scheme: Scheme of the header ``Authorization``; empty: there is none.
        secret: What follows the scheme, encrypted.
        decides: True if the client may decide what the task asks.
        mark: State that the receiver has; empty: none yet.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    run_id = models.UUIDField("run")
    name = models.CharField(max_length=200)
    url = models.CharField(max_length=500)
    token = SecretTextField()
    scheme = models.CharField(max_length=50, blank=True, default="")
    secret = SecretTextField()
    decides = models.BooleanField(default=False)
    mark = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        verbose_name = "receiver of a task"
        constraints = [
            unique("task_push_once", "run_id", "name"),
            one_of("status", DeliveryStatus.values, name="task_push_status_known"),
        ]
        indexes = [
            index("task_push_due", "next_at", where=Q(status=DeliveryStatus.PENDING)),
            index("task_push_age", "created_at"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.run_id}"
