"""The contents of Settings: the admin's lists that are no place of their own, by subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.apps import apps
from django.contrib import admin
from django.urls import reverse
from django.utils.text import capfirst

from heartbit_site.admin.permissions import permissions_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of the admin.

    Attributes:
        model: ``app.name``.
        about: What it is for, in a few words.
    """

    model: str
    icon: str
    about: str

    @property
    def title(self) -> str:
        """The list's name."""
        return capfirst(str(apps.get_model(self.model)._meta.verbose_name_plural))

    @property
    def address(self) -> str:
        """The list's address."""
        app, name = self.model.split(".")
        return reverse(f"admin:{app}_{name}_changelist")


SUBJECTS: Final = {
    "Workspace": (
        Listing("base.workspace", "domain", "names, defaults, how long rows are kept"),
        Listing("base.membership", "badge", "who works here, and as what"),
        Listing("base.apikey", "key", "programs that may call Heartbit"),
        Listing("agents.budget", "savings", "limits of runs, tokens and money"),
        Listing("agents.modelprice", "sell", "prices of models, set by the workspace"),
        Listing("agents.workspacealert", "notifications", "thresholds of figures"),
        Listing("base.auditentry", "fact_check", "who changed what, and when"),
    ),
    "Definitions, with all their fields": (
        Listing("agents.agent", "smart_toy", "start, stop, templates"),
        Listing("scheduling.schedule", "event_repeat", "begin, end, past times"),
    ),
    "Models and tools": (
        Listing("base.provideraccount", "account_balance_wallet", "keys of model providers"),
        Listing("tools.credential", "passkey", "mailboxes, calendars, sign-ins of tools"),
        Listing("agents.agentversion", "history", "every published agent, to compare"),
        Listing("agents.grant", "verified_user", "calls that need no approval any more"),
        Listing("agents.decision", "gavel", "what people approved and denied"),
    ),
    "Memory and knowledge": (
        Listing("memory.memoryitem", "psychology", "what agents have learned"),
        Listing("memory.memorypolicy", "tune", "what agents may remember"),
        Listing("memory.document", "description", "what knowledge bases hold"),
    ),
    "Channels and deliveries": (
        Listing("agents.channel", "move_to_inbox", "mailboxes and addresses that start runs"),
        Listing("agents.inboundmessage", "mark_email_read", "what came in"),
        Listing("agents.delivery", "forward_to_inbox", "answers on their way to people"),
        Listing("agents.chatapp", "chat", "Slack, where members decide"),
        Listing("agents.webhookendpoint", "webhook", "addresses that learn of events"),
        Listing("agents.webhookdelivery", "outgoing_mail", "what they were sent"),
    ),
    "Installation": (
        Listing("auth.user", "person", "accounts of people"),
        Listing("auth.group", "group", "people who decide and review"),
        Listing("base.tier", "layers", "limits shared by workspaces"),
        Listing("axes.accessattempt", "gpp_bad", "and who is locked out"),
    ),
    "Rows as they are stored": (
        Listing("agents.run", "play_circle", "every run, sub-agents too"),
        Listing("agents.toolcall", "back_hand", "those that wait for a person"),
        Listing("agents.conversation", "forum", "threads of chats and mails"),
        Listing("agents.message", "sms", "between agents and people"),
        Listing("base.usageentry", "receipt_long", "tokens and cost of each"),
        Listing("scheduling.firing", "event_available", "what became of each time"),
        Listing("agents.workerheartbeat", "memory", "processes of the fleet"),
    ),
    "Celery Beat": (
        Listing("django_celery_beat.periodictask", "event_repeat", "Celery's own"),
        Listing("django_celery_beat.intervalschedule", "timer", "every so often"),
        Listing("django_celery_beat.crontabschedule", "calendar_month", "by the calendar"),
        Listing("django_celery_beat.clockedschedule", "alarm", "once"),
        Listing("django_celery_beat.solarschedule", "wb_twilight", "by the sun"),
    ),
}


def contents_for(request: HttpRequest) -> Iterator[tuple[str, list[Listing]]]:
    """Return the lists that a person may see, by subject."""
    for subject, pages in SUBJECTS.items():
        seen = [page for page in pages if sees(request, page.model)]
        if seen:
            yield subject, seen


def sees(request: HttpRequest, model: str) -> bool:
    """Return True if the user may see the list of a model (``app.name``)."""
    page = admin.site._registry.get(apps.get_model(model))
    if page is None or not page.has_view_permission(request):
        return False
    return not getattr(page, "work_page", "") or permissions_for(request).everywhere
