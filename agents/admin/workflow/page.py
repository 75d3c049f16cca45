"""Workflows in the admin: a row a step, a drawing beside them, and faults while one types."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path
from django.utils.safestring import mark_safe

from agents.admin.agent_list import AgentList
from agents.admin.drawing import drawing_block
from agents.admin.run_start import RunStart, remove_definition, save_definition
from agents.admin.version import VersionInline
from agents.admin.workflow.form import SETTINGS, WorkflowForm
from agents.models import Agent, Workflow
from heartbit_site.admin.columns import Column, two_lines
from heartbit_site.admin.saved_by_verb import VerbAdmin
from heartbit_site.admin.themed import json_block

#: Bytes of a form that is drawn while one types.
MAX_BYTES: Final = 1_000_000


@admin.register(Workflow)
class WorkflowAdmin(VerbAdmin[Any], RunStart, AgentList):
    """Workflows that people edit. Saving publishes a version; runs are pinned to versions."""

    audit_name = "agent"
    form = WorkflowForm
    remove = staticmethod(remove_definition)
    list_display = (
        *("who", "workspace", "state", "steps", "published", "last_status", "last_time"),
    )
    inlines = (VersionInline,)
    fieldsets: ClassVar[Any] = (
        (None, {"fields": (("workspace", "name"), "description", "now", "seen")}),
        ("Settings", {"classes": ("collapse",), "fields": (*SETTINGS, "queue")}),
    )

    class Media:
        js = ("heartbit/admin/workflow-form.js",)
        css: ClassVar = {"all": ("heartbit/admin/workflow-form.css",)}

    who = Column[Agent](
        "workflow", lambda row: two_lines(row.name, row.description), ordering="name"
    )
    steps = Column[Workflow]("steps", lambda row: len(row.definition.get("nodes", ())))
    drawing = Column[Workflow]("graph", drawing_block)
    settings = Column[Workflow]("settings", lambda row: json_block(row.definition))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show those who may not change a workflow its drawing and definition."""
        if obj is None:
            first = (None, {"fields": (("workspace", "name"), "description", "seen")})
            return (first, *self.fieldsets[1:])
        if self.has_change_permission(request, obj):
            return super().get_fieldsets(request, obj)
        fields = (("workspace", "name"), "description", "now", "drawing", "settings")
        return ((None, {"fields": fields}),)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Return the versions; a new workflow has none."""
        return super().get_inlines(request, obj) if obj else ()

    def get_form(self, request: HttpRequest, *place: Any, **options: Any) -> Any:
        """Return the form with the fields that the template places itself."""
        if options.get("fields"):
            options["fields"] = [*options["fields"], "mode", "text"]
        return super().get_form(request, *place, **options)

    def render_change_form(
        self, request: HttpRequest, context: Any, *place: Any, **more: Any
    ) -> Any:
        """Draw the workflow as it is in the form."""
        form = context["adminform"].form
        if isinstance(form, WorkflowForm) and "mode" in form.fields:
            context |= {"workflow": form, "drawing": mark_safe(form.drawing())}  # noqa: S308  escaped
        return super().render_change_form(request, context, *place, **more)

    def get_urls(self) -> list[URLPattern]:
        """Add the address that draws a form while it is written."""
        view = self.admin_site.admin_view(self.draw)
        return [path("draw/", view, name="agents_workflow_draw"), *super().get_urls()]

    def draw(self, request: HttpRequest) -> HttpResponse:
        """Return the drawing and the faults of a form that is being edited.

        Nothing is written, and no model is asked. ``?workflow=`` names the row that the form
        changes; without it the form adds one.
        """
        number = request.GET.get("workflow", "")
        row = self.get_object(request, number) if number else None
        may = self.has_change_permission(request, row) if row else self.has_add_permission(request)
        if (number and row is None) or not may:
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponse(status=405, headers={"Allow": "POST"})
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BYTES:
            return JsonResponse({"problem": "The form is too large to be drawn."}, status=413)
        form = self.get_form(request, row, change=row is not None)(request.POST, instance=row)
        form.is_valid()
        return JsonResponse(form.as_drawn())

    # ---------------------------------------------------------------------------------------- save

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Save and publish; what is as it was before writes nothing."""
        seen = form.cleaned_data["seen"]
        save_definition(request, obj, form.checked.spec, seen=seen, is_new=not change)
