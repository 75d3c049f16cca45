"""Runs in the admin: a list with filters, and a page with the journal; both only to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold.contrib.filters.admin import ChoicesCheckboxFilter, RadioFilter
from unfold.paginator import InfinitePaginator

from agents.actions.cancel_run import cancel_run
from agents.admin import deciding, run_page, run_views, words
from agents.admin.approval_card import Refused
from agents.admin.quarantine import QuarantineActions
from agents.admin.travel import TravelPages
from agents.choices import LIVE
from agents.errors import CallClosedError
from agents.models import Agent, Run, ToolCall
from heartbit_site.base.access import visible_to
from heartbit_site.base.admin.themed import DialogForm, ReadOnlyAdmin, dialog, page_action
from heartbit_site.base.admin.trail import actor_of
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.urls import URLPattern
    from django.utils.safestring import SafeString


class TreeFilter(RadioFilter):  # type: ignore[misc]  # unfold has no types
    """Runs that people started, unless sub-agents' are asked for (or something is searched)."""

    title = "sub-agents"
    parameter_name = "runs"
    all_option = ("", "Without sub-agents")

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """The choices beside the default."""
        return [("all", "All runs"), ("children", "Sub-agents only")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        """Leave children out, in or alone."""
        if self.value() == "children":
            return queryset.filter(parent__isnull=False)
        if self.value() == "all" or request.GET.get("q"):
            return queryset
        return queryset.filter(parent__isnull=True)


class AgentFilter(RadioFilter):  # type: ignore[misc]
    """Runs of one agent; the names come from the agents, not from a scan of all runs."""

    title = "agent"
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """The names of all agents."""
        agents = visible_to(Agent.objects.all(), request.user)
        names = agents.order_by("name").values_list("name", flat=True).distinct()
        return [(name, name) for name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        """Runs of the agent."""
        return queryset.filter(agent=self.value()) if self.value() else queryset


@admin.register(Run)
class RunAdmin(TravelPages, QuarantineActions, ReadOnlyAdmin[Run]):
    """What happened, and what is happening."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {
        "view": "runs:read",
        "cancel": "runs:write",
        "settle": "runs:write",
        "fork": "runs:write",
        "decide": "approvals:decide",
    }
    list_display = ("what", "state", "amount", "lasted", "accepted", "started_by", "watch")
    list_display_links = ("what",)
    list_filter = (
        ("status", ChoicesCheckboxFilter),
        AgentFilter,
        TreeFilter,
        run_views.ViewFilter,
        ("home", ChoicesCheckboxFilter),
    )
    list_filter_submit = True
    search_fields = ("task", "agent", "started_by", "^id")
    search_help_text = (
        "Words of the task, an agent, who started it, or the beginning of an id; sub-agents count."
    )
    ordering = ("-id",)  # time-ordered, and an index: pages cost the same in a full table
    paginator = InfinitePaginator
    show_full_result_count = False
    list_before_template = "admin/agents/run/views.html"
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_fullwidth = True
    live = "runs"
    fields = ("task",)
    actions_detail = ("open_live", "cancel", *QuarantineActions.settling)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list below the searches that people make every day."""
        context = {"quick_links": run_views.links(request)} | (extra_context or {})
        return super().changelist_view(request, context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Long texts stay in the table until a page needs them."""
        runs = super().get_queryset(request)
        if request.resolver_match and request.resolver_match.url_name == "agents_run_changelist":
            runs = runs.select_related("workspace")
            return runs.defer("output", "error", "payload", "structured")
        return runs.select_related("version", "workspace", "worker", "parent", "conversation")

    @admin.display(description="run")
    def what(self, run: Run) -> SafeString:
        """Who does what."""
        return format_html(
            '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>',
            run.agent,
            run.task[:200],
        )

    @admin.display(description="status", ordering="status")
    def state(self, run: Run) -> SafeString:
        """The status in colour."""
        return words.run_pill(run.status)

    @admin.display(description="tokens")
    def amount(self, run: Run) -> str:
        """Tokens of this run alone."""
        return words.tokens(run.input_tokens, run.output_tokens)

    @admin.display(description="duration")
    def lasted(self, run: Run) -> str:
        """From acceptance to the end, or until now."""
        return words.lasted(run)

    @admin.display(description="accepted", ordering="id")
    def accepted(self, run: Run) -> str:
        """When."""
        return words.clock(run.created_at)

    @admin.display(description="live page")
    def watch(self, run: Run) -> SafeString:
        """The page of its workspace where it is watched."""
        url = reverse("web:run", args=[run.workspace.slug, run.pk])
        return format_html('<a class="hb-link" href="{}">Open</a>', url)

    def has_cancel_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may change runs, if the admin let anybody change them by hand, may cancel them."""
        return self.may(request, "cancel", object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Cancel is offered while there is something to cancel, the others when it has ended."""
        offered: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        run = self.get_object(request, object_id)
        if run is None:
            return []
        now = {"cancel"} if run.status in LIVE else self.offered_settling(run)
        own = {"cancel", *self.settling}
        return [one for one in offered if one.path not in own or one.path in now]

    @page_action(label="Open live page", icon="monitor_heart", permissions=["view"])
    def open_live(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The page of its workspace where it is watched, decided and forked."""
        run = self.get_object(request, object_id)
        if run is None:
            return redirect("admin:agents_run_changelist")
        return redirect("web:run", run.workspace.slug, run.pk)

    @dialog(
        DialogForm,
        label="Stop run",
        explanation="It is cancelled with its sub-agents. What they have produced stays here.",
        submit="Stop",
        icon="stop_circle",
        permissions=["cancel"],
        variant="DANGER",
    )
    def cancel(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Cancel, and show the run again."""
        run = self.get_object(request, object_id)
        if run is not None:
            by = actor_of(request)
            cancel_run(run.workspace, run.pk, reason=f"cancelled by {by.name}", by=by)
            messages.success(request, "The run was asked to stop.")
        return _redirect(reverse("admin:agents_run_change", args=[object_id]))

    def get_urls(self) -> list[URLPattern]:
        """Where the forms of the waiting calls send what somebody decides."""
        decide = path(
            "<path:object_id>/decide/<int:call_pk>/",
            self.admin_site.admin_view(self.decide),
            name="agents_run_decide",
        )
        return [decide, *super().get_urls()]

    def decide(self, request: HttpRequest, object_id: str, call_pk: int) -> HttpResponse:
        """Take a decision and show the run again, or show what is wrong with the decision."""
        run = self.get_object(request, object_id)
        if not (self.has_view_permission(request, run) and self.may(request, "decide", run)):
            raise PermissionDenied
        if run is None:
            raise Http404
        page = redirect("admin:agents_run_change", run.pk)
        if request.method != "POST":
            return page
        call = get_object_or_404(
            ToolCall.objects.select_related("run__workspace", "run__version__agent"),
            pk=call_pk,
            run__root=run.root_id,
        )
        form = deciding.form_of(request.POST)
        if not form.is_valid():
            return self._ask_again(request, object_id, call_pk, form.problem())
        try:
            messages.success(request, deciding.decide(call, form, request))
        except CallClosedError as lost:
            messages.warning(request, str(lost))
        except HeartbitError as error:
            return self._ask_again(request, object_id, call_pk, str(error))
        return page

    def _ask_again(
        self, request: HttpRequest, object_id: str, call_pk: int, problem: str
    ) -> HttpResponse:
        """The page with what was written still in the call's form."""
        sent = request.POST
        refused = Refused(
            call_pk,
            sent.get("verdict") or sent.get("outcome", ""),
            problem,
            sent.get("arguments", ""),
            sent.get("reason") or sent.get("result", ""),
            sent.get("answer", ""),
        )
        request.method = "GET"  # to Django a POST to this page would be a change of the row
        return self.change_view(request, object_id, extra_context={"refused": refused})

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,  # noqa: FBT001, FBT002
        change: bool = False,  # noqa: FBT001, FBT002  Django's signature
        form_url: str = "",
        obj: Run | None = None,
    ) -> HttpResponse:
        """The page: header, tree, calls and journal instead of form fields."""
        if obj is not None:
            after = _number(request.GET.get("after", ""))
            context |= {
                "page": run_page.read(obj, after=after, refused=context.get("refused")),
                "title": f"{obj.agent} · {words.short(obj.pk)}",
                "may_decide": self.may(request, "decide", obj),
                "may_fork": self.may(request, "fork", obj),
                "zone": timezone.get_current_timezone_name(),
            }
        response = super().render_change_form(request, context, add, change, form_url, obj)
        if obj is not None and "HX-Request" in request.headers and obj.status not in LIVE:
            response["HX-Refresh"] = "true"  # it has ended: the page's actions change as well
        return response


def _redirect(url: str) -> HttpResponse:
    """Leave a dialog for another page."""
    return HttpResponse(headers={"HX-Redirect": url})


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 0
