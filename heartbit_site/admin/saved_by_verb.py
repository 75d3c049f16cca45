"""Pages whose rows are written by verbs, which check, write and audit; a form shows their refusals.

Usage::

    class ThingForm(VerbForm[Thing]):
        class Meta:
            model = Thing
            fields = ("workspace", "name")

    @admin.register(Thing)
    class ThingAdmin(VerbAdmin[Thing]):
        form = ThingForm

        remove = staticmethod(remove_thing)

        def save_row(self, request: HttpRequest, row: Thing, form: Any) -> None:
            save_thing(row, by=actor_of(request))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.themed import M, ModelAdmin
from heartbit_site.base.errors import HeartbitError


class VerbForm(forms.ModelForm[M]):
    """A form that shows, at its field, why the verb refused what was sent.

    Attributes:
        refusal: The verb's error; set by the page, which then shows the form again.
        renamed: The form's fields for columns, where they have another name.
    """

    refusal: HeartbitError | None = None
    renamed: ClassVar[Mapping[str, str]] = {}

    def _post_clean(self) -> None:
        """Show the refusal, once the row has its values."""
        super()._post_clean()  # type: ignore[misc]  # not in the stubs
        if self.refusal is not None:
            self.show_refusal(self.refusal)

    def show_refusal(self, refusal: HeartbitError) -> None:
        """Add an error to the field of the column that it names, or to the form."""
        field = self.renamed.get(refusal.field, refusal.field)
        self.add_error(field if field in self.fields else None, str(refusal))


class VerbAdmin(ModelAdmin[M]):
    """A page that saves with ``save_row`` and deletes with ``remove``; both write the audit.

    Attributes:
        remove: The verb that deletes a row, and what depends on it; None: Django does.
    """

    workspace_path = "workspace"
    verbs_record = frozenset({"add", "change", "delete"})
    sortable_by: ClassVar[Any] = ()
    remove: ClassVar[Callable[..., object] | None] = None

    def save_row(self, request: HttpRequest, row: M, form: Any) -> None:
        """Save a new or changed row.

        Raises:
            HeartbitError: The verb refuses it; the form shows the sentence.
        """
        raise NotImplementedError

    def can_retry(self, row: M) -> bool:
        """Return True if a row that is saved untouched tries again what failed before."""
        return False

    def save_model(self, request: HttpRequest, obj: M, form: Any, change: Any) -> None:
        """Save a new row, or one with a changed field or something to retry, with the verb."""
        if form.has_changed() or not change or self.can_retry(obj):
            self.save_row(request, obj, form)

    def delete_model(self, request: HttpRequest, obj: M) -> None:
        """Delete with the verb."""
        if self.remove is None:
            super().delete_model(request, obj)
        else:
            self.remove(obj, by=actor_of(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what is deleted; rows that go with a row need no permission of their own."""
        found, counts, _, protected = super().get_deleted_objects(objs, request)
        return found, counts, set(), protected

    def get_form(self, request: HttpRequest, *place: Any, **options: Any) -> Any:
        """Return the form, with the reason why its content was refused a moment ago."""
        form: Any = super().get_form(request, *place, **options)
        form.refusal = getattr(request, "heartbit_refusal", None)
        return form

    def changeform_view(self, request: HttpRequest, *place: Any, **options: Any) -> HttpResponse:
        """Show the form again if saving was refused, which rolled its transaction back."""
        try:
            return super().changeform_view(request, *place, **options)
        except HeartbitError as refusal:
            request.heartbit_refusal = refusal  # type: ignore[attr-defined]
            return super().changeform_view(request, *place, **options)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """Confirm and delete, or show the reason of the verb's refusal."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except HeartbitError as refusal:
            messages.error(request, str(refusal))
            page = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return redirect(page, object_id)

    def response_action(self, request: HttpRequest, queryset: Any, *place: Any) -> Any:
        """Act on all chosen rows, or show the verb's refusal above the list and act on none."""
        try:
            return super().response_action(request, queryset, *place)
        except HeartbitError as refusal:
            messages.error(request, str(refusal))
            return redirect(request.get_full_path())
