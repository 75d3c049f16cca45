"""The contents of Settings: the admin's lists that are no place of their own, by subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.apps import apps
from django.contrib import admin
from django.urls import reverse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Page:
    """A list of the admin.

    Attributes:
        model: ``app.name``.
        about: What it is for, in a few words.
    """

    model: str
    title: str
    icon: str
    about: str

    @property
    def address(self) -> str:
        """The list's address."""
        app, name = self.model.split(".")
        return reverse(f"admin:{app}_{name}_changelist")


SUBJECTS: Final[tuple[tuple[str, tuple[Page, ...]], ...]] = (
    (
        "Workspace",
        (
            Page(
                "base.workspace", "Workspaces", "domain", "names, defaults, how long rows are kept"
            ),
            Page("base.membership", "Members", "badge", "who works here, and as what"),
            Page("base.apikey", "API keys", "key", "programs that may call Heartbit"),
            Page("agents.budget", "Budgets", "savings", "limits of runs, tokens and money"),
            Page("base.auditentry", "Audit", "fact_check", "who changed what, and when"),
        ),
    ),
    (
        "Models and tools",
        (
            Page(
                "base.provideraccount",
                "Provider accounts",
                "account_balance_wallet",
                "keys and addresses of model providers",
            ),
            Page(
                "tools.credential",
                "Credentials",
                "passkey",
                "mailboxes, calendars, sign-ins of tools",
            ),
            Page("agents.agentversion", "Versions", "history", "every published agent, to compare"),
            Page("agents.grant", "Grants", "verified_user", "calls that need no approval any more"),
            Page("agents.decision", "Decisions", "gavel", "what people approved and denied"),
        ),
    ),
    (
        "Memory and knowledge",
        (
            Page("memory.memoryitem", "Memories", "psychology", "what agents have learned"),
            Page("memory.memorypolicy", "Memory settings", "tune", "what agents may remember"),
            Page("memory.document", "Documents", "description", "what knowledge bases hold"),
        ),
    ),
    (
        "Channels and deliveries",
        (
            Page(
                "agents.channel",
                "Channels",
                "move_to_inbox",
                "mailboxes and addresses that start runs",
            ),
            Page("agents.inboundmessage", "Inbound messages", "mark_email_read", "what came in"),
            Page(
                "agents.delivery",
                "Deliveries",
                "forward_to_inbox",
                "answers on their way to people",
            ),
            Page("agents.webhookendpoint", "Webhooks", "webhook", "addresses that learn of events"),
            Page(
                "agents.webhookdelivery",
                "Webhook deliveries",
                "outgoing_mail",
                "what they were sent",
            ),
        ),
    ),
    (
        "Installation",
        (
            Page("auth.user", "Users", "person", "accounts of people"),
            Page("auth.group", "Groups", "group", "Django's permissions"),
            Page("base.tier", "Tiers", "layers", "limits shared by workspaces"),
            Page("axes.accessattempt", "Failed logins", "gpp_bad", "and who is locked out"),
        ),
    ),
    (
        "Rows as they are stored",
        (
            Page("agents.run", "Runs", "play_circle", "every run, sub-agents too"),
            Page("agents.toolcall", "Waiting calls", "back_hand", "of every workspace"),
            Page("agents.conversation", "Conversations", "forum", "threads of chats and mails"),
            Page("agents.message", "Messages", "sms", "between agents and people"),
            Page("base.usageentry", "Model calls", "receipt_long", "tokens and cost of each"),
            Page(
                "scheduling.firing",
                "Firings",
                "event_available",
                "times of schedules, and what became of them",
            ),
            Page("agents.workerheartbeat", "Workers", "memory", "processes of the fleet"),
        ),
    ),
    (
        "Celery Beat",
        (
            Page(
                "django_celery_beat.periodictask", "Periodic tasks", "event_repeat", "Celery's own"
            ),
            Page("django_celery_beat.intervalschedule", "Intervals", "timer", "every so often"),
            Page(
                "django_celery_beat.crontabschedule",
                "Crontabs",
                "calendar_month",
                "by the calendar",
            ),
            Page("django_celery_beat.clockedschedule", "Clocked", "alarm", "once"),
            Page("django_celery_beat.solarschedule", "Solar", "wb_twilight", "by the sun"),
        ),
    ),
)


def contents_for(request: HttpRequest) -> Iterator[tuple[str, list[Page]]]:
    """Return the lists that a person may see, by subject."""
    for subject, pages in SUBJECTS:
        seen = [page for page in pages if sees(request, page.model)]
        if seen:
            yield subject, seen


def sees(request: HttpRequest, model: str) -> bool:
    """Return True if the user may see the list of a model (``app.name``)."""
    page = admin.site._registry.get(apps.get_model(model))
    return page is not None and page.has_view_permission(request)
