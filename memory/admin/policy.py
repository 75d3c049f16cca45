"""Settings of a workspace's memories in the admin."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.columns import Column, pill
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from memory.actions.save_policy import save_policy
from memory.embeddings.meaning import not_embedded, passages_not_embedded
from memory.models import KnowledgeBase, MemoryItem, MemoryPolicy, Passage


class PolicyForm(VerbForm[MemoryPolicy]):
    """The settings of one workspace."""

    class Meta:
        model = MemoryPolicy
        fields = ("workspace", "embedding_model", "kept_days")


@admin.register(MemoryPolicy)
class PolicyAdmin(VerbAdmin[MemoryPolicy]):
    """Embedding model and retention, for those who manage the workspace."""

    needs: ClassVar = dict.fromkeys(("view", "add", "change"), "workspace:manage")
    form = PolicyForm
    list_display = ("workspace", "found_by", "kept", "embedded", "state")
    list_select_related = ("workspace",)
    warn_unsaved_form = True
    fixed = ("workspace",)
    readonly_fields = ("embedded", "state")

    def get_fieldsets(self, request: HttpRequest, obj: MemoryPolicy | None = None) -> Any:
        """Return the fields; new settings have no progress."""
        fields: list[Any] = ["workspace", "embedding_model", "kept_days"]
        return [(None, {"fields": fields + (list(self.readonly_fields) if obj else [])})]

    def can_retry(self, row: MemoryPolicy) -> bool:
        """Return True if the model had a problem: ``save_policy`` retries it."""
        return bool(row.problem)

    def save_row(self, request: HttpRequest, row: MemoryPolicy, form: Any) -> None:
        """Save with ``save_policy``."""
        given = {name: form.cleaned_data[name] for name in ("embedding_model", "kept_days")}
        save_policy(row.workspace, by=actor_of(request), **given)

    found_by = Column[MemoryPolicy]("embedding model", lambda row: row.embedding_model or "none")
    kept = Column[MemoryPolicy](
        "kept", lambda row: row.get_kept_days_display() if row.kept_days else "for ever"
    )
    embedded = Column[MemoryPolicy]("embedded", lambda row: _progress(row))

    def state(self, row: MemoryPolicy) -> SafeString:
        """Return how memories are found: by words only, or also by meaning."""
        if not row.embedding_model:
            return pill("By words only", tone="")
        if row.problem:
            return pill(row.problem, tone="danger")
        return pill("By words and meaning", tone="success")


def _progress(row: MemoryPolicy) -> str:
    if not row.embedding_model:
        return "-"
    every = MemoryItem.objects.live().filter(workspace=row.workspace_id).count()
    left = not_embedded(row.pk, row.embedding_model).count()
    bases = KnowledgeBase.objects.filter(workspace=row.workspace_id)
    passages = Passage.objects.filter(base__in=bases).count()
    unread = passages_not_embedded(bases, row.embedding_model).count()
    return f"{every - left:,} of {every:,} memories, {passages - unread:,} of {passages:,} passages"
