"""Documents in the admin: upload, state and progress, and their passages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminFileFieldWidget

from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.columns import Column, format_datetime, link, pill, two_lines
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.admin.themed import ReadOnlyInline
from heartbit_site.base.preview import preview
from memory.actions.documents import (
    MOST_BYTES,
    READABLE,
    detect_kind,
    remove_document,
    save_document,
)
from memory.choices import DocumentState
from memory.models import Document, Passage

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
    live = "knowledge"
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
    updated = Column[Document]("updated", lambda row: format_datetime(row.updated_at))

    @admin.display(description="pages")
    def progress(self, row: Document) -> SafeString | str:
        """Return the number of pages that were read, as a bar while reading."""
        if row.pages is None:
            return "-"
        if row.state == DocumentState.READY:
            return f"{row.pages:,}"
        return format_html(
            '<progress class="hb-progress" value="{}" max="{}" aria-label="Pages"></progress> '
            '<span class="hb-quiet">{} of {}</span>',
            *(row.pages_read, row.pages, f"{row.pages_read:,}", f"{row.pages:,}"),
        )

    @admin.display(description="state")
    def state_of(self, row: Document) -> SafeString:
        """Return the state as a label."""
        tones: Any = {"ready": "success", "failed": "danger", "reading": "info"}
        return pill(row.get_state_display(), tone=tones.get(row.state, ""))
