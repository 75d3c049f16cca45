"""Audit entries for every change in the admin, in the transaction of the change.

Django tells its own log of every addition, change and deletion, in the same transaction; here the
audit gets an entry too, with the old and new values of the changed fields, but never a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Manager, Model, QuerySet
from django.forms import PasswordInput
from django.http import HttpRequest

from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.workspace_scoped import WorkspaceScopedAdmin
from heartbit_site.base import audit

_SHORT = 120  # characters of a value
_UNSAID = "not shown"


class AuditedAdmin(WorkspaceScopedAdmin):
    """An admin class whose changes are audited; a base of the theme's ``ModelAdmin``.

    Attributes:
        audit_name: Name of such a row in the audit; empty for the model's name.
        unsaid: Fields whose values the audit never holds, beside those of password inputs.
        verbs_record: The actions whose verb writes its own entry: add, change, delete.
    """

    audit_name: str = ""
    unsaid: frozenset[str] = frozenset()
    verbs_record: frozenset[str] = frozenset()

    def note(
        self,
        request: HttpRequest,
        verb: str,
        row: Model,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Write an entry about a row, in the caller's transaction.

        Args:
            request: Of the person who did it.
            verb: What was done: ``revoke`` becomes ``api_key.revoke``.
            row: To what.
            details: JSON; never a secret.
        """
        if verb in self.verbs_record:
            return
        workspace = self.workspace_of(row)
        if verb == "delete" and workspace is row:
            workspace = None  # a deleted workspace's entries are the installation's
        audit.record(
            actor_of(request),
            f"{self.target_of(row).partition(':')[0]}.{verb}",
            workspace=workspace,
            target=self.target_of(row),
            label=str(row),
            details=details,
        )

    def target_of(self, row: Model) -> str:
        """Return the name by which the audit knows a row: ``agent:17``."""
        return f"{self.audit_name or self.opts.model_name}:{row.pk}"

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete the chosen rows one by one, as on their own pages, with one entry each."""
        for row in queryset:
            self.delete_model(request, row)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, *added: Any
    ) -> Any:
        """Return Django's message, and keep the changed values for the audit."""
        details = self._changes(form)
        for formset in formsets or ():
            details |= self._inline_changes(formset)
        request.heartbit_changes = details  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, formsets, *added)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log an addition in the audit too."""
        self.note(request, "add", obj, getattr(request, "heartbit_changes", {}))
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log a change in the audit too, if there is one."""
        changes: dict[str, Any] = getattr(request, "heartbit_changes", {})
        if changes:
            self.note(request, "change", obj, changes)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Log deletions in the audit too."""
        for row in queryset:
            self.note(request, "delete", row)
        return super().log_deletions(request, queryset)

    def _changes(self, form: Any) -> dict[str, Any]:
        """Return the changed fields of a form with their old and new values."""
        said: dict[str, Any] = {}
        for name in form.changed_data:
            if name not in form.fields:
                continue
            if name in self.unsaid or isinstance(form.fields[name].widget, PasswordInput):
                said[name] = _UNSAID
                continue
            before = form.get_initial_for_field(form.fields[name], name)
            said[name] = [
                _shown(before, form.fields[name]),
                _shown(form.cleaned_data.get(name), form.fields[name]),
            ]
        return said

    @staticmethod
    def _inline_changes(formset: Any) -> dict[str, Any]:
        """Return the rows of an inline that were added, changed or removed, by their names."""
        changed = [
            {"row": str(row), "fields": list(fields)} for row, fields in formset.changed_objects
        ]
        found = {
            "added": [str(row) for row in formset.new_objects],
            "changed": changed,
            "removed": [str(row) for row in formset.deleted_objects],
        }
        said = {name: rows for name, rows in found.items() if rows}
        return {str(formset.model._meta.verbose_name_plural): said} if said else {}


def _shown(value: Any, field: Any) -> Any:
    """Return a value as the audit keeps it: short, and readable without the row."""
    if value is None or (isinstance(value, bool | int | float) and not hasattr(field, "queryset")):
        return value
    if hasattr(field, "queryset"):
        many = value.all() if isinstance(value, Manager) else value
        many = many if isinstance(many, QuerySet | list | tuple) else [many]
        keys = [getattr(one, "pk", one) for one in many]
        rows = field.queryset.model._default_manager.filter(pk__in=keys).order_by("pk")
        return ", ".join(str(row) for row in rows)[:_SHORT]
    text = str(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
