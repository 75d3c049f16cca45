"""Knowledge bases and their documents in the admin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminFileFieldWidget

from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, link, pill, two_lines
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.admin.themed import ReadOnlyInline
from heartbit_site.base.preview import preview
from heartbit_site.shell.moment import moment, short
from memory.actions.bases import remove_base, save_base
from memory.actions.documents import (
    MOST_BYTES,
    READABLE,
    detect_kind,
    remove_document,
    save_document,
)
from memory.actions.follow_folders import follow_folder, request_folder
from memory.choices import DocumentState
from memory.models import Document, KnowledgeBase, Passage
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
    live = "definitions knowledge"
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
    created = Column[KnowledgeBase]("created", lambda row: moment(row.created_at))

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
    return row.drive_problem or f"Imported {short(row.drive_checked_at)}."


def _counted(row: Any) -> Any:
    """Return the row with its counts, which ``with_counts`` adds."""
    return row


_SENTENCES: Mapping[str, str] = {
    "added": "{} is stored; a worker will read it.",
    "replaced": "{} has new content; a worker will read it.",
    "unchanged": "{} has this content already.",
}


class DocumentForm(VerbForm[Document]):
    """An uploaded file."""

    renamed: ClassVar = {"content": "file", "name": "file"}
    file = forms.FileField(
        widget=UnfoldAdminFileFieldWidget(),
        label="File",
        help_text=(
            f"{READABLE[0].upper()}{READABLE[1:]}, at most {MOST_BYTES // 1_000_000} MB. A "
            "document of the file's name in this base is replaced."
        ),
        error_messages={"required": "Choose a file."},
    )

    class Meta:
        model = Document
        fields = ("base", "source")

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        if self.instance.pk is not None and "file" in self.fields:
            file = self.fields["file"]
            file.required = False
            file.help_text = (
                "Replaces the content; the document keeps its name. Empty: keep the content."
            )


class PassageInline(ReadOnlyInline[Passage, Document]):
    """The passages of a document, each with a link to its page."""

    model = Passage
    fk_name = "document"
    fields = ("place", "page", "below", "begins")
    tab = True
    verbose_name_plural = "passages"

    @admin.display(description="passage")
    def place(self, row: Passage) -> SafeString:
        """Return its number as a link to its page."""
        return link(row.path, row.position + 1)

    below = Column[Passage]("below", lambda row: " > ".join(row.headings) or "-")
    begins = Column[Passage]("text", lambda row: preview(row.text))

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the passages without their lexemes."""
        rows = super().get_queryset(request).defer("search")
        return rows.select_related("base__workspace", "document")


@admin.register(Document)
class DocumentAdmin(VerbAdmin[Document]):
    """Documents of knowledge bases, for those who edit agents."""

    workspace_path = "base__workspace"
    needs: ClassVar = rights("runs:read", "agents:write")
    form = DocumentForm
    remove = staticmethod(remove_document)
    inlines = (PassageInline,)
    list_display = ("what", "base", "state_of", "progress", "passages_stored")
    list_select_related = ("base",)
    list_filter = ("base", "state", "kind")
    search_fields = ("name", "source")
    show_full_result_count = False
    live = "definitions knowledge"
    fixed = ("base",)
    readonly_fields = (
        *("name", "kind", "measure", "state_of", "problem", "progress", "passages_stored"),
        *("language", "hash", "updated"),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Document | None = None) -> Any:
        """Return the fields: a new document is a file and a base."""
        if obj is None:
            return [(None, {"fields": ("base", "file", "source")})]
        facts = [name for name in self.readonly_fields if name != "problem" or obj.problem]
        fields: list[Any] = [(None, {"fields": ("base", *facts, "source")})]
        if self.has_change_permission(request, obj):
            fields.append(("New content", {"fields": ("file",)}))
        return fields

    def get_inlines(self, request: HttpRequest, obj: Document | None) -> Any:
        """Return the passages, which a new document does not have."""
        return () if obj is None else super().get_inlines(request, obj)

    def can_retry(self, row: Document) -> bool:
        """Return True if the document could not be read: ``save_document`` has it read again."""
        return row.state == DocumentState.FAILED

    def save_row(self, request: HttpRequest, row: Document, form: Any) -> None:
        """Store the uploaded file with ``save_document``."""
        file = form.cleaned_data["file"]
        if file is None:
            name, data, kind = row.name, bytes(row.content.data), row.kind
        else:
            data = file.read(MOST_BYTES + 1)
            name, kind = row.name or file.name, detect_kind(file.name, data)
        saved, outcome = save_document(
            row.base, name, data, by=actor_of(request), source=row.source, kind=kind
        )
        row.pk, row.name = saved.pk, saved.name
        messages.success(request, _SENTENCES[outcome].format(saved.name))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return only the documents: their passages are counted, not listed."""
        counts = {"documents": len(objs), "passages": sum(one.passage_count for one in objs)}
        return [str(one) for one in objs], counts, set(), []

    what = Column[Document](
        "document",
        lambda row: two_lines(row.name, row.problem or row.source or row.get_kind_display()),
    )
    measure = Column[Document]("size", lambda row: filesizeformat(row.size))
    passages_stored = Column[Document]("passages", lambda row: f"{row.passage_count:,}")
    updated = Column[Document]("updated", lambda row: moment(row.updated_at))

    @admin.display(description="pages")
    def progress(self, row: Document) -> SafeString | str:
        """Return the number of pages that were read, as a bar while reading."""
        if row.pages is None:
            return "-"
        if row.state == DocumentState.READY:
            return f"{row.pages:,}"
        return format_html(
            '<progress class="hb-progress" value="{}" max="{}" aria-label="Pages"></progress> '
            '<span class="quiet">{} of {}</span>',
            *(row.pages_read, row.pages, f"{row.pages_read:,}", f"{row.pages:,}"),
        )

    @admin.display(description="state")
    def state_of(self, row: Document) -> SafeString:
        """Return the state as a label."""
        tones: Any = {"ready": "success", "failed": "danger", "reading": "info"}
        return pill(row.get_state_display(), tone=tones.get(row.state, ""))
