"""Memories in the admin: search with reasons, edit by superseding, forget, undo, erase."""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.db.models import Case, CharField, IntegerField, QuerySet, Value, When
from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, link, pill, two_lines
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.admin.themed import ReadOnlyInline
from heartbit_site.base.errors import HeartbitError
from heartbit_site.shell.moment import moment, short
from memory.actions.erase import erase_memories, erase_person
from memory.actions.export import export_person
from memory.actions.memories import forget, remember, supersede, undo
from memory.choices import Scope
from memory.history import CONTENT, Author, MemoryPlace
from memory.models import MemoryChange, MemoryItem
from memory.recall import recall

_MOST_FOUND: Final = 200
_ALLOWED: Final = "person_export"  # in the session: the memory of the person, until the download
_OWNERS: Final = ("workspace", "scope", "agent", "user")


class MemoryForm(VerbForm[MemoryItem]):
    """A memory's content, and the reason of a change."""

    reason = forms.CharField(
        max_length=500,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text="Reason of this change, for the memory's history.",
    )

    class Meta:
        model = MemoryItem
        fields = (*_OWNERS, *CONTENT)

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        if "scope" in self.fields:  # a conversation's memories are stored by its runs
            offered = [choice for choice in Scope.choices if choice[0] != Scope.CONVERSATION]
            self.fields["scope"].choices = offered  # type: ignore[attr-defined]  # a choice field


class EraseForm(DialogForm):
    """Extent of a person's erasure."""

    runs = forms.BooleanField(
        required=False,
        label="The person's runs as well",
        widget=UnfoldBooleanSwitchWidget(),
        help_text=(
            "Everything that the person started, with conversations, forks, results and archives."
        ),
    )


class ChangeInline(ReadOnlyInline[MemoryChange, MemoryItem]):
    """The history of a memory, the last change first."""

    model = MemoryChange
    fields = ("made", "what", "was", "reason", "author", "run")
    tab = True

    made = Column[MemoryChange]("at", lambda row: moment(row.created_at))
    what = Column[MemoryChange](
        "change", lambda row: f"{row.get_kind_display()}{' (undone)' if row.undone_at else ''}"
    )
    was = Column[MemoryChange]("before", lambda row: row.before["text"] if row.before else "-")
    run = Column[MemoryChange]("run", lambda row: _run_of(row))


@admin.register(MemoryItem)
class MemoryAdmin(VerbAdmin[MemoryItem]):
    """Memories of a workspace, for those who manage it: persons' memories are private."""

    needs: ClassVar = dict.fromkeys(
        ("view", "add", "change", "forget", "erase", "export"), "workspace:manage"
    )
    form = MemoryForm
    inlines = (ChangeInline,)
    list_display = ("what", "recalled_by", "workspace", "category", "importance", "state", "why")
    list_select_related = ("workspace", "user")
    list_filter = ("scope", "category", "from_outsiders", "agent", "workspace", "user")
    search_fields = ("text",)
    search_help_text = (
        "Words to search for, as agents recall; the best matches come first, with the reasons."
    )
    show_full_result_count = False
    actions_detail = ("undo_change", "forget_now", "export", "erase")
    warn_unsaved_form = True
    fixed = _OWNERS
    readonly_fields = ("learned", "used", "state", "language", "from_outsiders")

    def get_fieldsets(self, request: HttpRequest, obj: MemoryItem | None = None) -> Any:
        """Return the fields; a new memory has no history."""
        owners: tuple[str | None, dict[str, Any]] = (None, {"fields": _OWNERS})
        if obj is None:
            return [owners, ("Content", {"fields": CONTENT})]
        facts = {"fields": self.readonly_fields}
        return [("Content", {"fields": (*CONTENT, "reason")}), owners, ("Facts", facts)]

    def has_delete_permission(self, request: HttpRequest, obj: MemoryItem | None = None) -> bool:
        """Refuse: *Forget* is reversible, and *Erase* deletes at a person's request."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[MemoryItem], search_term: str
    ) -> tuple[QuerySet[MemoryItem], bool]:
        """Return the known memories that recall finds, the best first, with the reasons."""
        if not search_term.strip():
            return queryset, False
        rows: Any = queryset
        hits = recall(rows.live(), search_term, limit=_MOST_FOUND).hits
        if not hits:
            return queryset.none(), False
        reasons = [When(pk=hit.item.pk, then=Value(f"{hit.score:.2f}: {hit.why}")) for hit in hits]
        places = [When(pk=hit.item.pk, then=Value(place)) for place, hit in enumerate(hits)]
        found = queryset.filter(pk__in=[hit.item.pk for hit in hits]).annotate(
            reasons=Case(*reasons, output_field=CharField()),
            place=Case(*places, output_field=IntegerField()),
        )
        return found.order_by("place"), False

    def save_row(self, request: HttpRequest, row: MemoryItem, form: Any) -> None:
        """Store a new memory, or supersede the content of an old one."""
        content = {name: form.cleaned_data[name] for name in CONTENT}
        content["metadata"] = content["metadata"] or {}
        by = Author(actor_of(request))
        if row._state.adding:
            place = MemoryPlace(row.workspace_id, Scope(row.scope), row.agent, row.user_id)
            row.pk = remember(place, content.pop("text"), by=by, **content).pk
        else:
            supersede(row, by=by, reason=form.cleaned_data["reason"], **content)

    what = Column[MemoryItem]("memory", lambda row: two_lines(row.text, _learned(row)))
    recalled_by = Column[MemoryItem](
        "recalled by", lambda row: two_lines(row.agent or "all agents", row.user or row.scope)
    )
    why = Column[MemoryItem]("why", lambda row: getattr(row, "reasons", ""))
    learned = Column[MemoryItem]("learned", lambda row: moment(row.updated_at))
    used = Column[MemoryItem](
        "recalled",
        lambda row: (
            f"{row.use_count} times, last: {short(row.used_at) if row.used_at else 'never'}"
        ),
    )

    def state(self, row: MemoryItem) -> SafeString:
        """Return a label that says if the memory is recalled."""
        if row.forgotten_at is not None:
            return pill("Forgotten", tone="warning")
        return pill("Known", tone="success")

    @dialog(
        "Forget",
        "It is no longer recalled. Undo restores it.",
        icon="delete",
        permission="forget",
        offered=lambda row: row.forgotten_at is None,
    )
    def forget_now(self, request: HttpRequest, row: MemoryItem, form: DialogForm) -> None:
        """Forget the memory."""
        forget(row, by=Author(actor_of(request)))
        messages.success(request, f"{row} is forgotten.")

    @dialog(
        "Undo the last change",
        "Restores the memory as it was before that change.",
        icon="undo",
        permission="forget",
    )
    def undo_change(self, request: HttpRequest, row: MemoryItem, form: DialogForm) -> None:
        """Undo the last change."""
        undo(row, by=Author(actor_of(request)))
        messages.success(request, f"The last change of {row} is undone.")

    @dialog(
        "Export this person",
        "Downloads all that an erasure of this person with their runs would delete. The audit "
        "records it, and nothing is kept.",
        icon="download",
        permission="export",
        offered=lambda row: row.user_id is not None,
    )
    def export(self, request: HttpRequest, row: MemoryItem, form: DialogForm) -> str:
        """Allow one download, and open it."""
        request.session[_ALLOWED] = row.pk
        return reverse("admin:memory_memoryitem_download", args=[row.pk])

    def get_urls(self) -> list[Any]:
        """Add the download of a person's data."""
        view = self.admin_site.admin_view(self.download)
        return [
            path("<int:pk>/download/", view, name="memory_memoryitem_download"),
            *super().get_urls(),
        ]

    def download(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """Send a person's data, once for each time that the dialog was confirmed."""
        row = self.get_object(request, str(pk))
        allowed = request.session.pop(_ALLOWED, None) == pk
        if row is None or row.user is None or not self.may(request, "export", row):
            raise Http404("There is no such memory of a person.")
        if not allowed:
            messages.info(request, "Confirm each download: choose Export this person.")
            return redirect("admin:memory_memoryitem_change", pk)
        file = TemporaryFile()  # noqa: SIM115  the response closes it
        try:
            export_person(row.workspace, row.user, file, by=actor_of(request))
        except HeartbitError as error:
            file.close()
            messages.error(request, str(error))
            return redirect("admin:memory_memoryitem_change", pk)
        file.seek(0)
        name = f"{row.user.get_username()}.zip"
        return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")

    @dialog(
        "Erase this person",
        "Permanently deletes all memories of this person in this workspace, with their histories.",
        icon="person_remove",
        permission="erase",
        variant="DANGER",
        form=EraseForm,
        offered=lambda row: row.user_id is not None,
    )
    def erase(self, request: HttpRequest, row: MemoryItem, form: DialogForm) -> str:
        """Erase the person's memories and, if requested, the person's runs."""
        if row.user is None:
            return "../"
        by = actor_of(request)
        if form.cleaned_data["runs"]:
            done = erase_person(row.workspace, row.user, by=by)
            said = f"{done.memories} memories and {done.runs} runs"
        else:
            said = f"{erase_memories(row.workspace, row.user, by=by)} memories"
        messages.success(request, f"Erased {said} of {row.user}.")
        return "../"


def _run_of(row: MemoryChange) -> SafeString | str:
    """Return a link to the page of the run that made a change, or in which its text was said."""
    if row.run_id is None:
        return "-"
    url = reverse("web:run", args=[row.item.workspace.slug, row.run_id])
    return link(url, row.run_id)


def _learned(row: MemoryItem) -> str:
    return f"learned {short(row.updated_at)}"
