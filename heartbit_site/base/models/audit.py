"""The audit: a tamper-evident chain of changes and decisions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.models.constraints import index, ranges, unique
from heartbit_site.base.models.workspace import Workspace


class AuditEntry(models.Model):
    """One change or decision; written by ``base.audit.record`` in the transaction of the change.

    The database computes ``number`` and ``hash`` and refuses updates and deletions; each hash
    covers the one before (``base/sql/audit.sql``), so a chain from which a row was removed or
    changed with higher rights does not verify.

    Attributes:
        chain: Workspace id, or 0 for the installation's own chain.
        number: Position in the chain, from 1.
        actor: Display name of the actor; ``user`` is the account while it exists.
        via: Surface: admin, web, api, terminal, email, chat, system.
        action: Dotted name of the action, e.g. ``agent.publish``.
        target: Changed object, e.g. ``agent:17``; ``label`` is its name at that time.
        details: Further facts; never a secret.
    """

    workspace = models.ForeignKey(
        Workspace,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
    )
    chain = models.BigIntegerField(editable=False, default=0, db_default=0)
    number = models.BigIntegerField(editable=False, default=0, db_default=0)
    at = models.DateTimeField(db_default=Now())
    actor = models.CharField(max_length=200)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
    )
    via = models.CharField(max_length=16)
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=100, blank=True)
    label = models.CharField(max_length=200, blank=True)
    details = models.JSONField(default=dict)
    previous = models.CharField(max_length=64, editable=False, default="", db_default="")
    hash = models.CharField(max_length=64, editable=False, default="", db_default="")

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "audit entries"
        constraints = [unique("audit_number_once", "chain", "number")]
        indexes = [index("audit_of_target", "target"), ranges("audit_age", "at")]

    def __str__(self) -> str:
        return f"{self.action} {self.label or self.target}"
