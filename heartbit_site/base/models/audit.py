"""What was changed and decided, by whom: rows that nobody can change unnoticed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.models.workspace import Workspace


class AuditEntry(models.Model):
    """One change or decision; written by ``base.audit.record`` in the transaction it is about.

    The database computes ``number`` and ``hash`` and refuses updates and deletions; each hash
    covers the one before (``base/sql/audit.sql``), so a chain from which somebody with more
    rights took or changed a row does not verify.

    Attributes:
        chain: Whose chain: the workspace's id, or 0 for what concerns the installation.
        number: 1, 2, ... in the chain.
        actor: Who, as people read it; ``user`` is their account while it exists.
        via: Where: admin, web, api, terminal, email, system.
        action: A verb in dotted form, e.g. ``agent.publish``.
        target: What it was done to, e.g. ``agent:17``; ``label`` is its name then.
        details: What is worth knowing; never a secret.
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
        constraints = [
            models.UniqueConstraint(fields=["chain", "number"], name="audit_number_once"),
        ]
        indexes = [models.Index(fields=["target"], name="audit_of_target")]

    def __str__(self) -> str:
        return f"{self.action} {self.label or self.target}"
