"""Knowledge bases in the admin."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, clock, format_datetime, link, pill, two_lines
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from memory.actions.bases import remove_base, save_base
from memory.actions.follow_folders import follow_folder, request_folder
from memory.models import KnowledgeBase
from memory.querysets import with_counts


class KnowledgeBaseForm(VerbForm[KnowledgeBase]):
    """Name, description and the folder of the drive."""

    class Meta:
        model = KnowledgeBase
        fields = ("workspace", "name", "description", "drive_folder")


@admin.register(KnowledgeBase)
class KnowledgeBaseAdmin(VerbAdmin[KnowledgeBase]):
    """Collections of documents that agents search, for people who edit agents."""

    needs: ClassVar = rights("runs:read", "agents:write")
    form = KnowledgeBaseForm
    remove = staticmethod(remove_base)
    list_display = ("what", "workspace", "documents_of", "passages_of", "state")
    list_select_related = ("workspace",)
    search_fields = ("name", "description")
    actions = None  # one at a time: the page says how much goes with it
    live = "knowledge"
    warn_unsaved_form = True
    fixed = ("workspace", "name")
    readonly_fields = ("documents_of", "passages_of", "state", "drive", "created")
    actions_detail = ("refresh",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[KnowledgeBase]:
        """Return the bases with their counts."""
        return with_counts(super().get_queryset(request))

    def get_fieldsets(self, request: HttpRequest, obj: KnowledgeBase | None = None) -> Any:
        """Return the fields; a new base has no counts."""
        fields = ("workspace", "name", "description", "drive_folder")
        return [(None, {"fields": fields + (self.readonly_fields if obj else ())})]

    def save_row(self, request: HttpRequest, row: KnowledgeBase, form: Any) -> None:
        """Save with ``save_base``."""
        saved, _ = save_base(
            row.workspace, row.name, description=row.description, by=actor_of(request)
        )
        row.pk = saved.pk
        follow_folder(saved, row.drive_folder, by=actor_of(request))

    @dialog(
        "Import the folder now",
        "A worker checks the folder for new, changed and deleted files.",
        icon="sync",
        permission="change",
        offered=lambda row: bool(row.drive_folder),
    )
    def refresh(self, request: HttpRequest, row: KnowledgeBase, form: DialogForm) -> None:
        """Ask a worker to import the folder."""
        request_folder(row)
        messages.success(request, f"A worker will import the files of {row.drive_folder}.")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return only the bases: their documents and passages are counted, not listed."""
        counts = {
            "documents": sum(one.documents.count() for one in objs),
            "passages": sum(each.passage_count for one in objs for each in one.documents.all()),
        }
        return [str(one) for one in objs], counts, set(), []

    what = Column[KnowledgeBase]("knowledge base", lambda row: two_lines(row.name, row.description))
    passages_of = Column[KnowledgeBase]("passages", lambda row: f"{_counted(row).passage_count:,}")
    drive = Column[KnowledgeBase]("last import", lambda row: _followed(row))
    created = Column[KnowledgeBase]("created", lambda row: format_datetime(row.created_at))

    @admin.display(description="documents")
    def documents_of(self, row: KnowledgeBase) -> SafeString:
        """Return their number as a link to the list."""
        place = reverse("admin:memory_document_changelist")
        count = f"{_counted(row).document_count:,}"
        return link(f"{place}?base__id__exact={row.pk}", count)

    def state(self, row: KnowledgeBase) -> SafeString:
        """Return the number of pending and failed documents as labels."""
        counted = _counted(row)
        if counted.unread_count:
            return pill(f"{counted.unread_count:,} to be read", tone="info")
        if counted.failed_count:
            return pill(f"{counted.failed_count:,} could not be read", tone="danger")
        return pill("Ready", tone="success") if counted.document_count else pill("Empty")


def _followed(row: KnowledgeBase) -> str:
    """Return the progress of importing the folder, as a sentence."""
    if row.drive_is_due:
        return "Its files are being imported."
    if row.drive_checked_at is None:
        return "It follows no folder."
    return row.drive_problem or f"Imported {clock(row.drive_checked_at)}."


def _counted(row: Any) -> Any:
    """Return the row with its counts, which ``with_counts`` adds."""
    return row
