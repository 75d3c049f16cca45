"""Tools in the admin: the catalogue, who uses each tool, how its calls went; stop and try one."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget

from agents.actions.admit import admit
from agents.actions.fleet import pause_work, resume_work
from agents.actions.run_request import RunRequest, call_of
from agents.admin.formatting import run_url
from agents.admin.json_fields import JSONObjectText, argument_rows, json_widget
from agents.choices import CallStatus
from agents.limits.pauses import of_tool
from agents.models import Agent
from agents.models.pause import Pause, PauseKind
from agents.reads.tools import ToolUsage, last_calls, tool_usage
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, Tone, link, pill, text_block, two_lines
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.themed import ReadOnlyAdmin, SharedRows, line_widget
from heartbit_site.base.call_summary import MOST_TEMPLATE
from heartbit_site.base.credentials import credential_types
from heartbit_site.base.effect_text import describe_effect
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import Effect, Label
from heartbit_site.shell.moment import moment
from tools.actions.summarize_tool import summarize_tool
from tools.definitions.packages import broken_packages
from tools.definitions.registry import registry
from tools.models import CatalogueTool

_SHOWN_CALLS = 10
_MANY = 0.2  # share of failed calls
_ORIGINS = {"code": "Code", "package": "Package", "mcp": "MCP server"}
_LABELS = {
    Label.UNTRUSTED: "Its results contain text by outsiders.",
    Label.PRIVATE: "Its results contain private data.",
    Label.OUTBOUND: "Its arguments leave the installation.",
    Label.SHARED: "Outsiders write or read there, too.",
}


class _WorkspaceForm(DialogForm):
    """A workspace of those that the person manages."""

    workspace = forms.ModelChoiceField(
        Workspace.objects.none(), widget=UnfoldAdminSelectWidget(), empty_label=None
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = permissions_for(self.request).rows(
            Workspace.objects.order_by("pk"), "pk", "workspace:manage"
        )
        field: Any = self.fields["workspace"]
        field.queryset = rows


class DisableForm(_WorkspaceForm):
    """Workspace in which a tool is disabled, and the reason."""

    reason = forms.CharField(
        required=False,
        max_length=500,
        widget=line_widget(placeholder="Models and people read it."),
    )


class SummaryForm(DialogForm):
    """Sentence about a call of a tool."""

    summary = forms.CharField(
        required=False,
        max_length=MOST_TEMPLATE,
        widget=line_widget(placeholder="Refund {amount} EUR, order {order}"),
        help_text="Its arguments stand in braces. Empty: people read the arguments alone.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = CatalogueTool.objects.filter(pk=int(str(self.object_id or 0)))
        self.fields["summary"].initial = rows.values_list("summary", flat=True).first() or ""


class TryForm(DialogForm):
    """A call of a tool."""

    agent = forms.ModelChoiceField(
        Agent.objects.none(),
        widget=UnfoldAdminSelectWidget(),
        empty_label=None,
        help_text="Its bindings, approvals and limits hold.",
        error_messages={"required": "Give the tool to an agent first."},
    )
    arguments = JSONObjectText(widget=json_widget(rows=6), required=False, initial=dict)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        key = str(self.object_id)
        rows = CatalogueTool.objects.select_related("definition")
        tool = rows.filter(pk=int(key)).first() if key.isdecimal() else None
        if tool is None:
            return  # the dialog's action says that it is gone
        agents = Agent.objects.filter(
            origin="", current_version__snapshot__tools__contains=[{"name": tool.name}]
        )
        field: Any = self.fields["agent"]
        field.queryset = permissions_for(self.request).rows(agents, "workspace", "runs:write")
        self.fields["arguments"].widget.attrs["data-schema"] = tool.definition.parameters


@admin.register(CatalogueTool)
class ToolAdmin(SharedRows[CatalogueTool], ReadOnlyAdmin[CatalogueTool]):
    """Tools that agents can be given."""

    needs: ClassVar = {"view": "agents:read", "stop": "workspace:manage", "call": "runs:write"}
    shared = frozenset(needs)
    list_display = (
        *("what", "origin_of", "effect_class", "asks_for", "used_by", "recent", "state"),
    )
    names_workspace = True
    list_select_related = ("definition", "workspace")
    list_filter = ("origin",)
    search_fields = ("name", "definition__description")
    sortable_by = ()
    actions_detail = ("try_tool", "summarize", "disable", "enable")

    class Media:
        """Files of the pages."""

        js = (forms.Script("heartbit/admin/schema-form.js", type="module"),)

    fieldsets = (
        (
            None,
            {"fields": ("description", "says", "source_of", "effect", "limit", "flow", "asks_for")},
        ),
        (None, {"fields": ("arguments",)}),
        ("Use", {"fields": ("used_by", "recent", "state", "calls")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[CatalogueTool]:
        """Return the tools that this release has."""
        return super().get_queryset(request).filter(enabled=True)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Say which packages could not be loaded."""
        for broken in broken_packages():
            messages.warning(request, broken.sentence)
        return super().get_changelist_instance(request)

    def look_at(self, request: HttpRequest, rows: Collection[CatalogueTool]) -> None:
        """Set at each tool its use, as far as the person sees it."""
        reach = permissions_for(request)
        workspaces = None if reach.everywhere else list(reach.scopes)
        usage = tool_usage(workspaces)
        stopped = Pause.objects.filter(kind=PauseKind.TOOL).select_related("workspace")
        if workspaces is not None:
            stopped = stopped.filter(Q(workspace=None) | Q(workspace__in=workspaces))
        pauses: dict[str, list[Pause]] = {}
        for pause in stopped:
            pauses.setdefault(pause.tool, []).append(pause)
        for row in rows:
            found = _Seen(workspaces, usage.get(row.name, ToolUsage()), pauses.get(row.name, []))
            row.seen = found  # type: ignore[attr-defined]

    # ------------------------------------------------------------------------------------- columns

    what = Column[CatalogueTool](
        "tool", lambda row: two_lines(row.name, row.definition.description.partition("\n")[0])
    )
    origin_of = Column[CatalogueTool]("from", lambda row: _ORIGINS.get(row.origin, row.origin))
    effect_class = Column[CatalogueTool](
        "effect", lambda row: row.definition.effect.replace("_", " ")
    )
    source_of = Column[CatalogueTool](
        "from", lambda row: two_lines(_ORIGINS.get(row.origin, row.origin), row.source)
    )
    effect = Column[CatalogueTool](
        "effect",
        lambda row: two_lines(
            row.definition.effect.replace("_", " "), describe_effect(Effect(row.definition.effect))
        ),
    )
    description = Column[CatalogueTool](
        "description", lambda row: text_block(row.definition.description)
    )
    says = Column[CatalogueTool]("summary of a call", lambda row: row.summary or "-")
    asks_for = Column[CatalogueTool]("credentials", lambda row: _needs(row) or "-")
    limit = Column[CatalogueTool](
        "time limit",
        lambda row: (
            f"{registry[row.name].timeout_seconds:g} s"
            if row.name in registry
            else "The process that executes it knows."
        ),
    )
    flow = Column[CatalogueTool](
        "data",
        lambda row: " ".join(text for label, text in _LABELS.items() if label in row.labels) or "-",
    )
    arguments = Column[CatalogueTool](
        "arguments",
        lambda row: render_to_string(
            "admin/tools/cataloguetool/arguments.html", {"arguments": argument_rows(_schema(row))}
        ),
    )

    used_by = Column[CatalogueTool]("agents", lambda row: ", ".join(_seen(row).use.agents) or "-")

    @admin.display(description="last calls")
    def recent(self, row: CatalogueTool) -> SafeString | str:
        """Return how many calls the newest runs made, and the share that failed."""
        use = _seen(row).use
        if use.error_rate is None:
            return "-"
        tone: Tone = "danger" if use.error_rate > _MANY else "warning" if use.failed else "success"
        return pill(f"{use.calls}, {use.error_rate:.0%} failed", tone=tone)

    @admin.display(description="state")
    def state(self, row: CatalogueTool) -> SafeString:
        """Return whether it is disabled, and where."""
        pauses = _seen(row).pauses
        if not pauses:
            return pill("Enabled", tone="success")
        where = ", ".join(str(one.workspace or "all workspaces") for one in pauses)
        return pill(f"Disabled in {where}", tone="warning")

    @admin.display(description="newest")
    def calls(self, row: CatalogueTool) -> SafeString | str:
        """Return the newest calls as links to their runs."""
        found = last_calls(row.name, _seen(row).workspaces)[:_SHOWN_CALLS]
        lines = [
            (
                link(run_url(call.run.workspace, call.run_id), call.run.agent),
                CallStatus(call.status).label,
                moment(call.started_at) if call.started_at else "",
            )
            for call in found
        ]
        return format_html_join("", "<p>{} {} {}</p>", lines) or "none"

    # ------------------------------------------------------------------------------------- actions

    @dialog(
        "Try it",
        "The call is a run of its own: the tool acts for real, and its journal shows what it did.",
        icon="play_circle",
        permission="call",
        submit="Call",
        form=TryForm,
        refused_at="arguments",
    )
    def try_tool(self, request: HttpRequest, row: CatalogueTool, form: Any) -> str:
        """Call the tool as an agent that has it, and open the run."""
        agent: Agent = form.cleaned_data["agent"]
        call = call_of(row.name, form.cleaned_data["arguments"] or {})
        wanted = RunRequest(agent.workspace, call=call, agent=agent.name, by=actor_of(request))
        return run_url(agent.workspace, admit(wanted).run_id)

    @dialog(
        "Summary of a call",
        "The sentence that people read where a call of the tool waits for them.",
        icon="short_text",
        permission="stop",
        submit="Save",
        form=SummaryForm,
        refused_at="summary",
        offered=lambda row: row.workspace_id is not None,
    )
    def summarize(self, request: HttpRequest, row: CatalogueTool, form: Any) -> None:
        """Store the sentence."""
        summarize_tool(row, form.cleaned_data["summary"], by=actor_of(request))
        messages.success(request, f"The summary of {row.name} is saved.")

    @dialog(
        "Disable",
        "Its calls are refused: models read why, and their runs continue without it.",
        icon="block",
        permission="stop",
        variant="DANGER",
        form=DisableForm,
    )
    def disable(self, request: HttpRequest, row: CatalogueTool, form: Any) -> None:
        """Disable the tool in a workspace."""
        workspace, reason = form.cleaned_data["workspace"], form.cleaned_data["reason"]
        target = of_tool(row.name, workspace)
        pause_work(target, by=actor_of(request), reason=reason, by_operator=False)
        messages.success(request, f"{row.name} is disabled in {workspace}.")

    @dialog(
        "Enable",
        "Agents may call it again.",
        icon="check_circle",
        permission="stop",
        form=_WorkspaceForm,
        offered=lambda row: bool(_seen(row).pauses),
    )
    def enable(self, request: HttpRequest, row: CatalogueTool, form: Any) -> None:
        """Enable the tool in a workspace."""
        workspace = form.cleaned_data["workspace"]
        resume_work(of_tool(row.name, workspace), by=actor_of(request), by_operator=False)
        messages.success(request, f"{row.name} may be called again in {workspace}.")


@dataclass(frozen=True, slots=True)
class _Seen:
    """Use of a tool in the workspaces that a person sees; None: in all of them."""

    workspaces: list[int] | None
    use: ToolUsage
    pauses: list[Pause]


def _seen(row: Any) -> _Seen:
    found: _Seen = row.seen
    return found


def _schema(row: CatalogueTool) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(row.definition.parameters)
    return found


def _needs(row: CatalogueTool) -> str:
    labels = {kind: known.label for kind, known in credential_types().items()}
    return ", ".join(
        " or ".join(labels.get(kind, kind) for kind in need["kinds"])
        + (" (optional)" if need["optional"] else "")
        for need in row.credentials
    )
