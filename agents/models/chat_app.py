"""Chat apps that ask members what waits for them, their members' accounts, and the questions."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import ChatKind, DeliveryStatus
from agents.models.attempted import Attempted
from agents.models.journal import Wait
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, unique
from heartbit_site.base.models.provider_account import check_base_url
from heartbit_site.base.models.secret_text import SecretTextField

_ADDRESS_BYTES = 24


def new_events_token() -> str:
    """Return a random, unguessable token for the last part of a chat app's URL."""
    return secrets.token_urlsafe(_ADDRESS_BYTES)


class ChatApp(models.Model):
    """An app in a chat service that asks members of a workspace (``actions.chat_apps``).

    Attributes:
        place: Id of the chat's channel that is asked; empty: each decider is asked directly.
        api_url: URL of the service's API; empty: the service's usual one.
        bot_token: Encrypted token that sends messages.
        signing_secret: Encrypted secret that signs the service's requests; empty: none is taken.
        app_token: Encrypted token that opens a connection (Socket Mode); empty: none is opened.
        url_token: Last part of the URL for the service's requests.
        asks_from: Time of creation, or of the last enabling; earlier waits are not asked.
        last_polled_at: Time at which its waits were last looked for.
        connected_until: End of the lease of the process that holds the connection.
        last_error: Reason for the last failure, as a sentence; empty: the last try succeeded.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="chat_apps")
    name = models.CharField(max_length=100, help_text="Name in lists, e.g. our Slack.")
    kind = models.CharField(max_length=12, choices=ChatKind.choices, default=ChatKind.SLACK)
    enabled = models.BooleanField(default=True, help_text="A disabled chat app asks no one.")
    place = models.CharField(
        "channel",
        max_length=100,
        blank=True,
        help_text="Id of a channel, e.g. C0123456789, whose members read what is asked. Empty: "
        "each linked member who may decide is asked in a direct message.",
    )
    api_url = models.CharField(
        "API URL",
        max_length=200,
        blank=True,
        validators=[check_base_url],
        help_text="URL of the service's API. Empty: https://slack.com/api.",
    )
    bot_token = SecretTextField()
    signing_secret = SecretTextField()
    app_token = SecretTextField()
    url_token = models.CharField(
        max_length=40, unique=True, editable=False, default=new_events_token
    )
    asks_from = models.DateTimeField(db_default=Now(), editable=False)
    last_polled_at = models.DateTimeField(db_default=Now(), editable=False)
    connected_until = models.DateTimeField(null=True, editable=False)
    last_error = models.CharField(max_length=500, blank=True, default="", editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            unique("chat_app_named_once", "workspace", "name"),
            one_of("kind", ChatKind.values, name="chat_app_kind_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def takes_clicks(self) -> bool:
        """True if what people click reaches Heartbit: by signed requests, or by a connection."""
        return bool(self.signing_secret or self.app_token)

    @property
    def url(self) -> str:
        """URL for the service's signed requests."""
        return f"{settings.HEARTBIT_PUBLIC_URL}/api/v1/chat-apps/{self.url_token}/events"


class ChatAccount(models.Model):
    """A member's account in a chat app: what it decides, the member has decided.

    Attributes:
        external_id: Id of the account, ``TEAM:USER`` in Slack; empty: not linked yet.
        code_digest: SHA-256 of the code that links an account, once; empty: none is open.
        linked_at: Time of the link; null: not linked yet.
    """

    app = models.ForeignKey(ChatApp, on_delete=models.CASCADE, related_name="accounts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    external_id = models.CharField("account", max_length=100, blank=True, default="")
    code_digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    code_expires_at = models.DateTimeField(null=True, editable=False)
    linked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        verbose_name = "account in a chat app"
        verbose_name_plural = "accounts in chat apps"
        constraints = [
            unique("chat_account_of_member", "app", "user"),
            unique("chat_account_linked_once", "app", "external_id", where=~Q(external_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.app}"

    @property
    def workspace(self) -> Workspace:
        """Workspace of the chat app."""
        return self.app.workspace


class ChatQuestion(Attempted):
    """A message that asks about a wait; pending until it shows how the wait ended.

    Attributes:
        account: The member that is asked directly; null: the channel of the app is asked.
        place: Id of the conversation that the message is in; empty: not sent yet.
        message: Id of the message there.
    """

    app = models.ForeignKey(ChatApp, on_delete=models.CASCADE, related_name="questions")
    wait = models.ForeignKey(Wait, on_delete=models.CASCADE, related_name="+")
    account = models.ForeignKey(
        ChatAccount, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    place = models.CharField(max_length=100, blank=True, default="")
    message = models.CharField(max_length=100, blank=True, default="")

    class Meta:
        ordering = ["pk"]
        verbose_name = "question in a chat app"
        verbose_name_plural = "questions in chat apps"
        constraints = [
            unique("chat_asked_once", "app", "wait", "account", nulls_distinct=False),
            one_of("status", DeliveryStatus.values, name="chat_question_status_known"),
        ]
        indexes = [index("chat_question_due", "next_at", where=Q(status=DeliveryStatus.PENDING))]

    def __str__(self) -> str:
        return f"{self.app}: {self.wait}"
