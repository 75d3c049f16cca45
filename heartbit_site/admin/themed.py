"""The admin's theme with types: the base classes of every admin class of every app.

django-unfold has no annotations. To a type checker its classes are Django's own, which they extend.

Usage::

    @admin.register(Thing)
    class ThingAdmin(ReadOnlyAdmin[Thing]):
        workspace_path = "workspace"  # see ``workspace_scoped``
        needs = {"view": "runs:read"}
        list_display = ("name", "state")
        state = Column[Thing]("state", lambda row: pill(row.state, tone="success"))

Columns are in ``columns``, buttons in ``actions``, pages that a verb saves in ``saved_by_verb``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import flatten
from django.db import DataError, transaction
from django.db.models import Model, Q, QuerySet, TextField
from django.shortcuts import redirect
from django.utils.html import format_html
from unfold.paginator import InfinitePaginator
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from heartbit_site.admin.actions import is_offered
from heartbit_site.admin.audit_mixin import AuditedAdmin
from heartbit_site.admin.moments import show_moments
from heartbit_site.admin.of_workspaces import RowsOfWorkspaces
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.scripts import joined
from heartbit_site.admin.workspace_scoped import ScopedInline
from heartbit_site.base.audit import last_change
from heartbit_site.shell.fields import LongText
from heartbit_site.shell.frame import PageFrame
from heartbit_site.shell.live import opened_at

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from django.contrib.admin import ModelAdmin as PlainModelAdmin
    from django.contrib.admin import StackedInline as PlainStackedInline
    from django.contrib.admin import TabularInline as PlainTabularInline
    from django.contrib.admin.views.main import ChangeList
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString
else:
    from unfold.admin import ModelAdmin as PlainModelAdmin
    from unfold.admin import StackedInline as PlainStackedInline
    from unfold.admin import TabularInline as PlainTabularInline

show_moments()

M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Model)


class ModelAdmin(RowsOfWorkspaces, AuditedAdmin, PlainModelAdmin[M]):
    """A page of the theme, bounded by roles, whose changes are audited.

    A page that is saved untouched writes nothing.

    Attributes:
        live: Kinds of change that the rows of the list follow (``agents.live.changes``).
        fixed: Fields that are chosen when a row is added, and read-only from then on.
        work_page: Route of the work page that shows the rows; their list is then for superusers
            alone, and leads everybody else there.
    """

    live: ClassVar[str] = "definitions runs"
    fixed: ClassVar[tuple[str, ...]] = ()
    work_page: ClassVar[str] = ""
    formfield_overrides: ClassVar[Any] = {
        TextField: {"form_class": LongText, "widget": UnfoldAdminTextareaWidget}
    }

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list, with its scripts as one, or lead to the work page."""
        if self.work_page and not permissions_for(request).everywhere:
            access = PageFrame(request).access
            if access is not None:
                return redirect(self.work_page, access.workspace.slug)
        reach = self.reach_of(request)
        context = {"media": joined(self.media), "reach": reach, **(extra_context or {})}
        return super().changelist_view(request, context)

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,  # noqa: FBT001, FBT002  Django's signature
        change: bool = False,  # noqa: FBT001, FBT002
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        """Show the form, with who changed the row since it was opened, and its scripts as one."""
        if obj is not None:
            context["changed"] = last_change(self.target_of(obj), since=opened_at(request))
        fills_in = bool(self.get_prepopulated_fields(request, obj))
        context["media"] = joined(context["media"], fills_in=fills_in)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def save_model(self, request: HttpRequest, obj: M, form: Any, change: Any) -> None:
        """Save a new row, or one with a changed field."""
        if form.has_changed() or not change:
            super().save_model(request, obj, form, change)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the read-only fields, with the fixed ones of an existing row."""
        return (*super().get_readonly_fields(request, obj), *(self.fixed if obj else ()))

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Return the buttons above a row's page that have an effect on it now."""
        allowed: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        row = self.get_object(request, object_id) if allowed else None
        return [one for one in allowed if is_offered(one, row)]

    def look_at(self, request: HttpRequest, rows: Collection[M]) -> None:
        """Set at rows that are about to be shown what their columns need from elsewhere."""

    def get_object(self, request: HttpRequest, *place: Any) -> M | None:
        """Return the row of a page, looked at."""
        row = super().get_object(request, *place)
        if row is not None:
            self.look_at(request, [row])
        return row

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Treat a filter that the database cannot read as one that Django cannot.

        Raises:
            IncorrectLookupParameters: The address filters by a time, number or text that no column
                holds.
        """
        try:
            with transaction.atomic():
                found = super().get_changelist_instance(request)
                len(found.result_list)  # asks the database now
        except DataError as error:
            raise IncorrectLookupParameters(error) from None
        self.look_at(request, found.result_list)
        return found


class TabularInline(ScopedInline, PlainTabularInline[M, P]):
    """Related rows in a table."""


class StackedInline(ScopedInline, PlainStackedInline[M, P]):
    """Related rows one below the other."""


class _NeverWritten:
    """Rows that people read and only the runtime writes."""

    fields: ClassVar[Any] = None

    def _refuse(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = _refuse

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return all fields, columns among them."""
        return flatten(self.fields or ())


class ReadOnlyAdmin(_NeverWritten, ModelAdmin[M]):
    """A read-only list and page; a POST to either is refused."""

    actions: Any = ()
    actions_detail_hide_default = True  # the theme's "History": nobody changes these rows here


class SharedRows(ModelAdmin[M]):
    """Rows of workspaces, and the installation's, which have none and are everybody's.

    Attributes:
        shared: What everybody with the scope somewhere may do with the installation's rows.
    """

    workspace_path = "workspace"
    shared: ClassVar[frozenset[str]] = frozenset({"view"})

    def reached(
        self, request: HttpRequest, rows: QuerySet[Any], what: str = "view"
    ) -> QuerySet[Any]:
        """Return the rows of the user's workspaces, and the installation's."""
        own = Q(pk__in=super().reached(request, rows, what).values("pk"))
        is_shared = what in self.shared and self.may(request, what)
        return rows.filter(own | Q(workspace=None) if is_shared else own)

    def may(self, request: HttpRequest, what: str, row: object = None) -> bool:
        """Return True if the user may do it with the row."""
        if self._is_installations(row):
            return what in self.shared and super().may(request, what)
        return super().may(request, what, row)

    def _is_installations(self, row: Any) -> bool:
        if isinstance(row, self.model):
            return bool(row.pk and self.workspace_of(row) is None)
        if not str(row).isdecimal():  # an id, which comes from the address and may be anything
            return False
        found = self.model._default_manager.filter(pk=int(str(row)[:18]), workspace=None)
        return bool(found.exists())


class LongList(ReadOnlyAdmin[M]):
    """A read-only list of any length, the newest first: no page counts the rows of all."""

    ordering = ("-id",)  # time-ordered, and an index: pages cost the same in a full table
    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_fullwidth = True


class ReadOnlyInline(_NeverWritten, TabularInline[M, P]):
    """Related rows, read-only, on pages of 20."""

    hide_title = True
    per_page: int | None = 20
    extra = 0
    max_num = 0
    can_delete = False


def tabs(rows: Mapping[str, tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the fieldsets of a page with tabs: by the tab's title, its rows of fields."""
    return tuple((title, {"classes": ("tab",), "fields": row}) for title, row in rows.items())


def pretty_json(value: object) -> str:
    """Return indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def json_block(value: object) -> SafeString:
    """Return JSON for people to read, as the value of a read-only field."""
    return format_html('<pre class="code" tabindex="0">{}</pre>', pretty_json(value))


def text_widget(*, rows: int, placeholder: str = "") -> forms.Textarea:
    """Return a themed field for longer text."""
    widget: forms.Textarea = UnfoldAdminTextareaWidget({"rows": rows, "placeholder": placeholder})
    return widget


def line_widget(*, placeholder: str = "") -> forms.TextInput:
    """Return a themed field for one line."""
    widget: forms.TextInput = UnfoldAdminTextInputWidget({"placeholder": placeholder})
    return widget


admin.site.index_title = "Settings"
