"""MCP servers in the admin: add one, read its tools, and look at what it changed."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextareaWidget,
)

from agents.definitions.advice import publish_again
from agents.reads.agents import outdated_agents
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, Tone, pill, text_block, two_lines
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.visible_text import visible
from heartbit_site.shell.moment import moment
from tools.actions.mcp_servers import accept_mcp_change, remove_mcp_server, save_mcp_server
from tools.actions.refresh_mcp_server import start_mcp_refresh
from tools.mcp.definition_text import difference
from tools.models import CatalogueTool, McpServer
from tools.models.mcp_server import McpServerQuerySet
from tools.openapi.document import MAX_BYTES

_API = ("openapi", "file", "operations", "effects", "idempotency_header")
_FIELDS = (
    *("workspace", "name", "protocol", "transport", *_API[:2], "url", "command", "credential"),
    *("sign_in", *_API[2:]),
)
_LIMITS = ("trusted", "private_data", "timeout_seconds", "enabled")
_TONES: dict[str, Tone] = {
    **dict.fromkeys(("failed", "interrupted"), "danger"),
    "to be refreshed": "warning",
    "read": "success",
}
_LINE = 110
_KINDS = {"+": "added", "-": "removed", "@": "place"}
_FOUND = ("state", "about", "last_refresh", "tools_shown")


_FILE_HELP = "Upload JSON or YAML of OpenAPI 3.0 or 3.1 instead of naming its address."
_OPERATIONS_HELP = "Operations that are tools. The list is there once the document was read."


#: The answers to the one question about a server's data: ``private_data`` and ``shared``.
_HOLDS: Final = {
    "own": (True, False),
    "shared": (True, True),
    "public": (False, False),
}
_HOLDS_TEXTS: Final = (
    ("own", "Private data that only your people write and read: files, records, a database"),
    ("shared", "Private data where outsiders write or read, too: mails, tickets, issues, chats"),
    ("public", "Only what anybody may read: documentation, search, the weather"),
)


class McpServerForm(VerbForm[McpServer]):
    """Address of a server, and what is believed of it."""

    file = forms.FileField(
        required=False, label="Upload", help_text=_FILE_HELP, widget=UnfoldAdminFileFieldWidget
    )
    operations = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, help_text=_OPERATIONS_HELP
    )
    private_data = forms.ChoiceField(
        label="What does it hold?",
        choices=_HOLDS_TEXTS,
        widget=UnfoldAdminRadioSelectWidget,
        help_text="Private data stays here: once an agent has read some, and text by outsiders, it "
        "asks a person before it sends data out. What only your people write and read may go back "
        "to where it came from without asking.",
    )
    renamed: ClassVar = {"document": "file"}

    class Meta:
        model = McpServer
        fields = (*(name for name in _FIELDS if name != "file"), *_LIMITS)
        widgets: ClassVar = {"effects": UnfoldAdminTextareaWidget(attrs={"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "operations" in self.fields:
            self.fields["operations"].choices = _choices(self.instance)  # type: ignore[attr-defined]

        row = self.instance
        if row.pk is not None:
            holds = (row.private_data, row.private_data and row.shared)
            self.initial["private_data"] = next(key for key, one in _HOLDS.items() if one == holds)

    def clean(self) -> None:
        """Take the answer apart into the settings that it stands for."""
        super().clean()
        if (answer := self.cleaned_data.get("private_data")) in _HOLDS:
            private, self.instance.shared = _HOLDS[answer]
            self.cleaned_data["private_data"] = private

    def clean_effects(self) -> Any:
        """Return the effects; none for an empty text."""
        return self.cleaned_data["effects"] or {}

    def clean_file(self) -> Any:
        """Return the text of a document to replace the stored one; None: it stays."""
        file = self.cleaned_data["file"]
        try:
            return None if file is None else file.read(MAX_BYTES + 1).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise forms.ValidationError(
                "The document is not UTF-8 text: save it as UTF-8."
            ) from None


class AcceptForm(DialogForm):
    """Consent to the changes that were shown, and to no later ones."""

    seen = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if str(self.object_id).isdecimal():
            self.fields["seen"].initial = _mark(_pending(int(str(self.object_id))))


@admin.register(McpServer)
class McpServerAdmin(VerbAdmin[McpServer]):
    """Servers of other people whose tools agents can be given."""

    needs: ClassVar = rights(
        *("agents:read", "workspace:manage"),
        connect="agents:read",
        refresh="workspace:manage",
        accept="workspace:manage",
    )
    form = McpServerForm
    remove = staticmethod(remove_mcp_server)
    list_display = ("what", "workspace", "state", "counted", "last_refresh", "enabled")
    list_select_related = ("workspace",)
    list_filter = ("workspace", "protocol", "transport", "enabled")
    search_fields = ("name", "url", "command")
    actions_row = ("refresh",)
    actions_detail = ("connect", "refresh", "accept")
    fixed = ("workspace", "name")
    conditional_fields: ClassVar = dict.fromkeys(_API, "transport == 'openapi'")
    readonly_fields = _FOUND
    fieldsets = (
        (None, {"fields": _FIELDS}),
        ("Calls", {"fields": _LIMITS}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: McpServer | None = None) -> Any:
        """Return the fields; a new server has said nothing yet."""
        shown = super().get_fieldsets(request, obj)
        return shown if obj is None else ((None, {"fields": _FOUND}), *shown)

    def get_queryset(self, request: HttpRequest) -> McpServerQuerySet:
        """Return the servers with the numbers of their tools and changes."""
        rows: Any = super().get_queryset(request)
        counted: McpServerQuerySet = rows.counted()
        return counted

    def get_urls(self) -> list[URLPattern]:
        """Add the address of a refresh's progress."""
        view = self.admin_site.admin_view(self.progress)
        own = path("<int:object_id>/progress/", view, name="tools_mcpserver_progress")
        return [own, *super().get_urls()]

    def progress(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Return a refresh's progress; at its end the page is loaded again."""
        server = self.get_object(request, str(object_id))
        if server is None or not self.has_view_permission(request, server):
            raise PermissionDenied
        if server.is_refreshing:
            return HttpResponse(_progress(server))
        return HttpResponse(headers={"HX-Refresh": "true"})

    def save_row(self, request: HttpRequest, row: McpServer, form: Any) -> None:
        """Save the server; nothing is connected yet."""
        if form.cleaned_data.get("file"):
            row.document = form.cleaned_data["file"]
        elif row.openapi:
            row.document = ""
        save_mcp_server(row, by=actor_of(request))
        if row.transport == McpServer.Transport.OPENAPI and row.enabled:
            transaction.on_commit(partial(_read_again, row, actor_of(request)))

    # ------------------------------------------------------------------------------------- columns

    what = Column[McpServer]("server", lambda row: two_lines(row.name, _address(row)))
    counted = Column[McpServer]("tools", lambda row: getattr(row, "tool_count", 0))
    last_refresh = Column[McpServer](
        "last refresh", lambda row: moment(row.refreshed_at, missing="Never")
    )

    def state(self, server: McpServer) -> SafeString:
        """Return whether the server could be read, and whether something waits for consent."""
        if server.state == "refreshing":
            return _progress(server)
        if server.state == "changed":
            return pill(f"{getattr(server, 'pending_count', 0)} changed", tone="warning")
        return pill(server.state.capitalize(), tone=_TONES.get(server.state, ""))

    @admin.display(description="about")
    def about(self, server: McpServer) -> SafeString:
        """Return what the server said of itself, and the result of the last refresh."""
        facts = ", ".join(f"{name} {value}" for name, value in sorted(server.facts.items()))
        result = server.refresh_message or "Refresh it to read its tools."
        if server.is_refreshing:
            result = server.refresh_message or "It is being read."
        elif server.state == "interrupted":
            result = "The process that refreshed it has ended: refresh it again."
        return text_block(visible(f"{result}\n{facts}".strip()))

    @admin.display(description="tools")
    def tools_shown(self, server: McpServer) -> SafeString:
        """Return each tool with its effect, and what the server changed about it."""
        rows = CatalogueTool.objects.filter(server=server).select_related("definition", "pending")
        found = format_html_join("", "<div>{}{}</div>", ((_head(row), _diff(row)) for row in rows))
        return format_html('<div class="stack">{}</div>', found or "none")

    # ------------------------------------------------------------------------------------- actions

    @dialog(
        "Connect",
        "You sign in to the server in the browser, for your own runs or, if you manage the "
        "workspace, for all of its runs.",
        icon="login",
        permission="connect",
        offered=lambda row: bool(row.sign_in),
    )
    def connect(self, request: HttpRequest, row: McpServer, form: DialogForm) -> str:
        """Open the page of signing in."""
        return row.connect_url

    @dialog(
        "Refresh",
        "The server is asked for its tools. New ones can be given to agents; changed ones are not "
        "called until you accept them.",
        icon="sync",
        permission="refresh",
    )
    def refresh(self, request: HttpRequest, row: McpServer, form: DialogForm) -> None:
        """Begin to refresh, and show the same page again, which follows the progress."""
        start_mcp_refresh(row, by=actor_of(request))

    @dialog(
        "Accept changes",
        "The tools below whose definition changed are called again as the server describes them "
        "now. The answer names the agents to publish again.",
        icon="verified",
        permission="accept",
        form=AcceptForm,
        offered=lambda row: bool(getattr(row, "pending_count", 0)),
    )
    def accept(self, request: HttpRequest, row: McpServer, form: DialogForm) -> None:
        """Accept every change that was shown."""
        changed = _pending(row.pk)
        if _mark(changed) != form.cleaned_data["seen"]:
            raise ConflictError("The server changed again meanwhile: look at the changes again.")
        with transaction.atomic():
            for name, digest in changed:
                accept_mcp_change(row, name, digest, by=actor_of(request))
        names = ", ".join(name for name, _ in changed)
        messages.success(request, f"{names}: accepted. {publish_again(outdated_agents(row))}")


def _choices(server: McpServer) -> list[tuple[str, str]]:
    """Return the operations to pick from, and those picked that the document does not have."""
    lines = {one["operation"]: _line(one) for one in server.offered}
    return [(name, lines.get(name, name)) for name in dict.fromkeys([*lines, *server.operations])]


def _line(operation: dict[str, str]) -> str:
    parts = dict.fromkeys(operation[name] for name in ("operation", "request", "summary"))
    line = " · ".join(visible(part) for part in parts if part)
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def _read_again(server: McpServer, by: Actor) -> None:
    """Read an API after its settings changed, unless this process reads too many already."""
    with contextlib.suppress(ConflictError):  # the page shows that it is to be refreshed
        start_mcp_refresh(server, by=by)


def _address(row: McpServer) -> str:
    if row.transport == McpServer.Transport.OPENAPI:
        return row.openapi or "an OpenAPI document"
    return row.url or f"program {row.command}"


def _pending(server_id: int) -> list[tuple[str, str]]:
    rows = CatalogueTool.objects.filter(server_id=server_id, pending__isnull=False)
    return [(name, digest or "") for name, digest in rows.values_list("name", "pending_id")]


def _mark(changed: Iterable[tuple[str, str]]) -> str:
    return hashlib.sha256(repr(sorted(changed)).encode()).hexdigest()


def _head(row: CatalogueTool) -> SafeString:
    waits = pill("Changed", tone="warning") if row.pending is not None else ""
    effect = row.definition.effect.replace("_", " ")
    head = format_html("<b>{}</b> {} {}", row.name, pill(effect), waits)
    description = row.definition.description.partition("\n")[0]
    return format_html('{}<p class="quiet text">{}</p>', head, visible(description)[:300])


def _diff(row: CatalogueTool) -> SafeString | str:
    if row.pending is None:
        return ""
    lines = difference(row.definition, row.pending)
    spans = format_html_join(
        "", '<span class="hb-{}">{}\n</span>', ((_KINDS.get(x[:1], "same"), x) for x in lines)
    )
    return format_html('<pre class="code hb-diff" dir="auto">{}</pre>', spans)


def _progress(server: McpServer) -> SafeString:
    """Return what a refresh has done so far; the page asks for it again each second."""
    return format_html(
        '<span class="hb-two" hx-get="{}" hx-trigger="every 1s" hx-swap="outerHTML">'
        '<span>{}</span><span class="hb-wrapped" role="status">{}</span></span>',
        reverse("admin:tools_mcpserver_progress", args=[server.pk]),
        pill("Refreshing", tone="info"),
        server.refresh_progress,
    )
