"""The form of a channel's page."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib.admin.utils import flatten
from unfold.widgets import UnfoldAdminPasswordWidget

from agents.admin.json_fields import JSONListText, JSONObjectText, json_widget
from agents.models import Channel
from heartbit_site.admin.saved_by_verb import VerbForm
from heartbit_site.admin.themed import line_widget, text_widget

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
