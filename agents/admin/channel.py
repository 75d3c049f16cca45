"""Channels in the admin: where messages come in, who answers them, and what came in."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminPasswordWidget

from agents.actions.channels import remove_channel, save_channel
from agents.admin.formatting import kept_run_link
from agents.admin.json_fields import JSONListText, JSONObjectText, json_widget
from agents.admin.webhook import SigningAdmin
from agents.choices import InboundStatus
from agents.models import Channel, InboundMessage
from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.columns import Column, Tone, pill, two_lines
from heartbit_site.admin.saved_by_verb import VerbForm
from heartbit_site.admin.themed import ReadOnlyAdmin, line_widget, text_widget
from heartbit_site.shell.moment import moment

_MAPPING = """{
  "task": "Answer the ticket {ticket.subject}: {ticket.body}",
  "conversation": "{ticket.id}",
  "only": {"type": ["ticket.created", "ticket.answered"]}
}"""


#: Rows of a form for what only an e-mail channel has.
MAIL: tuple[Any, ...] = (
    *("from_whom", "reply", "imap_host", ("imap_port", "imap_security")),
    *(("imap_user", "password"), "imap_folder"),
)


class ChannelForm(VerbForm[Channel]):
    """Form of a channel; a password can be written here and not read."""

    deliver = JSONListText(
        label="Additional recipients",
        required=False,
        widget=json_widget(rows=3, placeholder='[{"kind": "email", "to": ["ada@example.org"]}]'),
        help_text="Besides the sender. Empty: answers are in the conversation.",
    )
    mapping = JSONObjectText(
        label="Mapping",
        required=False,
        widget=json_widget(rows=7, placeholder=_MAPPING),
        help_text=(
            "Texts of the task, with fields of the message's body in braces. Empty: the agent gets "
            "the whole body."
        ),
    )
    from_whom = forms.CharField(
        label="Allowed senders",
        required=False,
        widget=text_widget(rows=3, placeholder="ada@example.org\n@example.com"),
        help_text='One a line: an address, "@example.org" for all of a domain, "*" for all.',
    )
    password = forms.CharField(
        required=False,
        max_length=500,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text="Encrypted when saved, and never shown again.",
    )

    renamed: ClassVar = {"senders": "from_whom"}

    class Meta:
        model = Channel
        fields = (
            *("workspace", "name", "kind", "agent", "enabled", "approve", "hourly_limit"),
            *("deliver", "mapping", "reply"),
            *("imap_host", "imap_port", "imap_security", "imap_user", "imap_folder"),
        )
        widgets = {
            "agent": line_widget(placeholder="orchestrator"),
            "imap_host": line_widget(placeholder="imap.example.org"),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None and "kind" in self.fields:
            # It stays what it is; as a field, for other fields are shown by it.
            self.fields["kind"].disabled = True
        self.initial["from_whom"] = "\n".join(self.instance.senders)
        if "password" in self.fields and self.instance.imap_password:
            self.fields["password"].help_text = "Empty: the present one is kept."

    def _post_clean(self) -> None:
        """Give the row its senders."""
        self.instance.senders = self.cleaned_data.get("from_whom", "").split()
        super()._post_clean()


def conditions() -> dict[str, str]:
    """Return for each conditional field the theme's expression that shows it."""
    return dict.fromkeys(flatten(MAIL), "kind == 'email'") | {"mapping": "kind == 'webhook'"}


TONES: dict[str, Tone] = {InboundStatus.ACCEPTED: "success", InboundStatus.REFUSED: "warning"}
KNOWN = ("state", "url", "both_until", "looked", "created_by", "created_at")


@admin.register(Channel)
class ChannelAdmin(SigningAdmin[Channel]):
    """Ways in. Their secrets are shown when they are made, only then."""

    remove = staticmethod(remove_channel)
    form = ChannelForm
    warn_unsaved_form = True
    list_display = ("what", "workspace", "answers", "state", "created_by")
    list_filter = ("workspace", "kind")
    search_fields = ("name", "agent")
    conditional_fields = conditions()
    readonly_fields = KNOWN

    def get_fieldsets(self, request: HttpRequest, obj: Channel | None = None) -> Any:
        """Return the fields of the channel's kind; its state comes last."""
        kind = obj.kind if obj is not None else None
        first = (("workspace", "name"), ("kind", "agent"), ("enabled", "approve"), "hourly_limit")
        found: list[Any] = [(None, {"fields": first})]
        if kind in (None, "webhook"):
            found.append(("Webhook", {"fields": ("mapping",)}))
        if kind in (None, "email"):
            found.append(("E-mail", {"fields": MAIL}))
        found.append(("Answers", {"fields": ("deliver",)}))
        if obj is not None:
            known = [name for name in KNOWN if name != "looked" or obj.imap_host]
            found.append(("State", {"fields": known}))
        return found

    what = Column[Channel](
        "channel",
        lambda row: two_lines(row.name, row.imap_user if row.imap_host else row.get_kind_display()),
    )
    url = Column[Channel](
        "URL",
        lambda row: format_html("<code>{}{}</code>", settings.HEARTBIT_PUBLIC_URL, row.path),
    )
    looked = Column[Channel](
        "mailbox polled", lambda row: moment(row.last_polled_at, missing="Not yet")
    )
    answers = Column[Channel]("answered by", lambda row: row.agent)

    def state(self, channel: Channel) -> SafeString:
        """Return the state, with the last error of a mailbox."""
        if not channel.enabled:
            return pill("Disabled", tone="warning")
        if channel.last_error:
            return format_html("{} {}", pill("Trouble", tone="danger"), channel.last_error)
        return pill("Enabled", tone="success")

    def save_secret(self, request: HttpRequest, row: Channel, form: Any) -> str | None:
        """Save with ``save_channel``."""
        password = form.cleaned_data.get("password") or None
        return save_channel(row, password=password, by=actor_of(request))


@admin.register(InboundMessage)
class InboundMessageAdmin(ReadOnlyAdmin[InboundMessage]):
    """Messages of the last 90 days: what answers them, or why nothing does."""

    workspace_path = "channel__workspace"
    needs: ClassVar[dict[str, str]] = {"view": "workspace:manage"}
    list_display = ("what", "channel", "state", "reason", "received")
    list_select_related = ("channel",)
    list_filter = ("status", "channel")
    search_fields = ("=external_id", "sender", "title", "=run_id")
    search_help_text = "A Message-ID, sender, title, or the id of a run."
    sortable_by = ()
    show_full_result_count = False
    fields = ("channel", "title", "sender", "external_id", "state", "reason", "run", "received_at")

    what = Column[InboundMessage]("message", lambda row: two_lines(row.title or "-", row.sender))

    state = Column[InboundMessage](
        "state", lambda row: pill(row.get_status_display(), tone=TONES[row.status])
    )
    received = Column[InboundMessage]("received", lambda row: moment(row.received_at))
    run = Column[InboundMessage](
        "run", lambda row: kept_run_link(row.channel.workspace, row.run_id)
    )
