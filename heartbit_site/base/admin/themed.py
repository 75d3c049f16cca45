"""The admin's theme with types: the base classes of every admin class of every app.

django-unfold has no annotations. To a type checker its classes are Django's own, which they extend.

Usage::

    @admin.register(Thing)
    class ThingAdmin(ReadOnlyAdmin[Thing]):
        workspace_path = "workspace"  # see ``workspace_scoped``
        needs = {"view": "runs:read"}
        list_display = ("name", "state")

        @admin.display(description="state")
        def state(self, thing: Thing) -> SafeString:
            return pill("alive", tone="success")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import DataError, transaction
from django.db.models import Model
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.html import format_html
from unfold.decorators import action as unfold_action
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from heartbit_site.base.admin.audit_mixin import AuditedAdmin
from heartbit_site.base.admin.workspace_scoped import ScopedInline
from heartbit_site.base.tone import Tone

if TYPE_CHECKING:
    from django import forms
    from django.contrib.admin import ModelAdmin as PlainModelAdmin
    from django.contrib.admin import StackedInline as PlainStackedInline
    from django.contrib.admin import TabularInline as PlainTabularInline
    from django.contrib.admin.views.main import ChangeList
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString

    class DialogForm(forms.Form):
        """A form in a dialog over the page of one object."""

        request: HttpRequest
        object_id: str | None
else:
    from unfold.admin import ModelAdmin as PlainModelAdmin
    from unfold.admin import StackedInline as PlainStackedInline
    from unfold.admin import TabularInline as PlainTabularInline
    from unfold.forms import BaseDialogForm as DialogForm

__all__ = [
    "DialogForm",
    "ModelAdmin",
    "ReadOnlyAdmin",
    "ReadOnlyInline",
    "StackedInline",
    "TabularInline",
    "Tone",
    "ask_again",
    "dialog",
    "json_block",
    "line_widget",
    "page_action",
    "pill",
    "pretty_json",
    "text_widget",
]

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Model)


class ModelAdmin(AuditedAdmin, PlainModelAdmin[M]):
    """A page of the theme, bounded by roles, whose changes are audited.

    Attributes:
        live: Kinds of change that reload the rows of the list, e.g. ``runs fleet``
            (``agents.live.changes``); empty for none.
    """

    live: ClassVar[str] = ""

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
                return found
        except DataError as error:
            raise IncorrectLookupParameters(error) from None


class TabularInline(ScopedInline, PlainTabularInline[M, P]):
    """Related rows in a table."""


class StackedInline(ScopedInline, PlainStackedInline[M, P]):
    """Related rows one below the other."""


class _NeverWritten:
    """Rows that people read and only the runtime writes."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False


class ReadOnlyAdmin(_NeverWritten, ModelAdmin[M]):
    """A read-only list and page; a POST to either is refused."""

    actions = ()
    actions_detail_hide_default = True  # the theme's "History": nobody changes these rows here


class ReadOnlyInline(_NeverWritten, TabularInline[M, P]):
    """Related rows, read-only."""

    extra = 0
    max_num = 0
    can_delete = False


def pill(text: str, *, tone: Tone = "") -> SafeString:
    """Return a small coloured label."""
    return render_to_string("unfold/helpers/label.html", {"text": text, "variant": tone})


def pretty_json(value: object) -> str:
    """Return indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def json_block(value: object) -> SafeString:
    """Return JSON for people to read, as the value of a read-only field."""
    return format_html('<pre class="hb-text hb-code" tabindex="0">{}</pre>', pretty_json(value))


def text_widget(*, rows: int, placeholder: str = "") -> forms.Textarea:
    """Return a themed field for longer text."""
    widget: forms.Textarea = UnfoldAdminTextareaWidget({"rows": rows, "placeholder": placeholder})
    return widget


def line_widget(*, placeholder: str = "") -> forms.TextInput:
    """Return a themed field for one line."""
    widget: forms.TextInput = UnfoldAdminTextInputWidget({"placeholder": placeholder})
    return widget


def dialog(
    form_class: type[DialogForm],
    *,
    label: str,
    explanation: str,
    submit: str,
    icon: str,
    permissions: Sequence[str],
    variant: Literal["DEFAULT", "PRIMARY", "DANGER"] = "PRIMARY",
) -> Callable[[F], F]:
    """Mark a method ``(request, form, object_id)`` as an action behind a dialog with a form."""
    decorator: Callable[[F], F] = unfold_action(
        description=label,
        icon=icon,
        permissions=permissions,
        variant=ActionVariant[variant],
        dialog={
            "title": label,
            "description": explanation,
            "form_class": form_class,
            "form_submit_text": submit,
        },
    )
    return decorator


def page_action(
    *,
    label: str,
    icon: str,
    permissions: Sequence[str],
    variant: Literal["DEFAULT", "PRIMARY"] = "DEFAULT",
) -> Callable[[F], F]:
    """Mark a method ``(request[, object_id])`` as a button above a page, without a dialog.

    The button is a link, and a foreign page can link there too: the method may redirect or show
    something, and change nothing. For a change use ``dialog``, whose form is posted with a token.
    """
    decorator: Callable[[F], F] = unfold_action(
        description=label, icon=icon, permissions=permissions, variant=ActionVariant[variant]
    )
    return decorator


def ask_again(request: HttpRequest, form: DialogForm, *, submit: str) -> HttpResponse:
    """Return the dialog's form again with its errors; only the form is replaced on the page."""
    context = {"dialog": {}, "form": form, "form_submit_text": submit}
    return render(request, "unfold/helpers/dialog.html", context)


admin.site.index_title = "Dashboard"
