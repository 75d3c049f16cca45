"""Rows with a value in each field of their forms, several where there may be several."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from axes.models import AccessAttempt
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.utils import timezone
from django_celery_beat import models as beat

from agents.actions.channels import save_channel
from agents.actions.chat_apps import save_chat_app
from agents.actions.model_prices import save_price
from agents.actions.provider_accounts import save_provider_account
from agents.actions.quotas import save_budget
from agents.actions.save_agent import change_agent, create_agent
from agents.actions.skills import save_skill
from agents.actions.webhooks import save_webhook
from agents.choices import HealthFigure
from agents.definitions.spec import AgentSpec
from agents.models import (
    Agent,
    Budget,
    Channel,
    ChatApp,
    ModelPrice,
    WebhookEndpoint,
    WorkspaceAlert,
)
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import ProviderAccount, Tier, Workspace
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author, MemoryPlace
from memory.knowledge.passages import PassageText
from memory.knowledge.reader import DocumentPart, store_part
from memory.models import Document, KnowledgeBase, MemoryPolicy
from scheduling.actions.save_schedule import save_schedule
from scheduling.models import Schedule
from tests.skills.folders import skill_folder
from tools.actions.credentials import save_credential
from tools.actions.mcp_servers import set_mcp_server
from tools.models import Credential, McpServer

if TYPE_CHECKING:
    from collections.abc import Sequence

LINES = "  First line\n\nSecond line, after an empty one\n"
FAR = datetime(2100, 1, 1, tzinfo=UTC)
ADA, OUTSIDER = "ada@example.org", "customer@example.com"


def create_rich_rows(workspace: Workspace, person: User) -> None:
    """Fill a workspace that has the default team; ``person`` is one of its members."""
    _accounts(workspace, person)
    WorkspaceAlert.objects.create(
        workspace=workspace, figure=HealthFigure.FAILURES, threshold=Decimal("2.5"), mail_to=ADA
    )
    _agents(workspace)
    _workflow(workspace)
    hooks = [_webhook(workspace, f"hook {number}") for number in range(3)]
    _schedules(workspace, hooks)
    _channels(workspace, hooks)
    _chat_app(workspace)
    _knowledge(workspace, person)
    _connections(workspace, person)
    _beat()


def _accounts(workspace: Workspace, person: User) -> None:
    group = Group.objects.create(name=f"readers of {workspace.slug}")
    group.permissions.set(Permission.objects.all()[:2])
    person.groups.add(group)
    person.user_permissions.set(Permission.objects.all()[2:4])
    person.first_name, person.last_name, person.email = "Ada", "Lovelace", ADA
    person.last_login = timezone.now() - timedelta(microseconds=7)
    person.save()
    AccessAttempt.objects.create(username="nobody", failures_since_start=1)
    tier = Tier.objects.create(
        name=f"t-{workspace.slug}", runs_per_day=100, tokens_per_month=10**9, runs_at_once=4,
        usd_per_month=Decimal("12.3400"), retention_days=30, warn_at=70,
    )  # fmt: skip
    given = {"default_model": "openai:fake", "tier": tier, "retention_days": 20}
    Workspace.objects.filter(pk=workspace.pk).update(**given)
    account = ProviderAccount(
        workspace=workspace, provider="openai", label="team", base_url="http://127.0.0.1:1/v1",
        requests_per_minute=60, tokens_per_minute=10_000,
    )  # fmt: skip
    save_provider_account(account, key="sk-0123456789abcdef")
    for agent in (None, Agent.objects.get(workspace=workspace, name="writer")):
        budget = Budget(
            workspace=workspace, agent=agent, period="day", max_tokens=10**6,
            max_usd=Decimal("2.5000"), warn_at=50, ask_at=60,
        )  # fmt: skip
        save_budget(budget)
        now = timezone.now()
        Budget.objects.filter(pk=budget.pk).update(warned_period=now, exceeded_period=now)
    price = ModelPrice(
        workspace=workspace, model="compatible:ours", input_usd=Decimal("1.5"), output_usd=6,
        cached_input_usd=Decimal("0.5"),
    )  # fmt: skip
    save_price(price, by=SYSTEM)


def _agents(workspace: Workspace) -> None:
    save_skill(workspace, skill_folder("greeting"), by=SYSTEM)
    save_base(workspace, "handbook", description="The handbook.", by=SYSTEM)
    group = Group.objects.create(name=f"approvers of {workspace.slug}")
    tool = {
        "name": "search_knowledge", "approval": "when", "approval_when": {"required": ["query"]},
        "approval_timeout_seconds": 3600, "required_approvals": 2, "approver_group": group.name,
        "escalate_after_minutes": 5, "escalation_group": group.name, "defaults": {"limit": 3},
        "timeout_seconds": 20, "requires": "base.view_tier", "knowledge_bases": ["handbook"],
    }  # fmt: skip
    web = {"name": "http_request", "credentials": {"auth": "the token"}}
    settings: dict[str, Any] = {
        "name": "writer", "description": "Writes.", "system_prompt": LINES,
        "model": "openai:fake", "fallback_models": ["openai:other", "anthropic:claude"],
        "strong_model": "openai:strong", "temperature": 0.25, "stop": ["END", "\n\nHuman:"],
        "reasoning_effort": "low", "skills": ["greeting"], "max_retries": 4,
        "context_strategy": {"type": "summarize", "threshold": 50_000, "keep_recent": 4},
        "response_schema": {"type": "object", "properties": {"answer": {"type": "string"}}},
        "approval": "effects", "approval_timeout_seconds": 600, "mixed_data": "allow",
        "uncertain_calls": "retry", "code_mode": True, "memory_weights": {"importance": 0.5},
        "memory_tokens": 500, "extract_memories": True, "extraction_model": "openai:small",
        "max_run_tokens": 10**7, "max_run_cost_usd": Decimal("1.5000"), "max_runs_per_minute": 5,
        "max_wall_seconds": 7_200, "review": "anyone", "review_timeout_seconds": 3_600,
        "review_escalate_after_minutes": 30,
        "team": ["researcher"], "queue": "nobody-serves-this", "tools": [tool, web],
    }  # fmt: skip
    spec = AgentSpec.model_validate(settings)
    change_agent(workspace, "writer", spec, settings.keys() - {"name"}, by=SYSTEM)


def _workflow(workspace: Workspace) -> None:
    steps = {
        "find": {
            "agent": "writer", "task": LINES, "each": "input.topics", "on_error": "continue",
            "retry": 2,
        },
        "send": {
            "needs": ["find"], "ask": "Send it?", "when": "input.send", "timeout": "2d",
            "group": f"approvers of {workspace.slug}", "form": {"type": "boolean"},
        },
    }  # fmt: skip
    settings: dict[str, Any] = {
        "name": "digest", "description": "Sums up.", "queue": "nobody-serves-this",
        "input": {"type": "object"}, "output": "{{ steps.find.output }}",
        "state": {"n": {"merge": "add", "initial": 0}}, "limits": {"cost_usd": "1.50"},
        "steps": steps,
    }  # fmt: skip
    create_agent(workspace, WorkflowSpec.model_validate(settings), by=SYSTEM)


def _webhook(workspace: Workspace, name: str) -> WebhookEndpoint:
    events = ["run.failed", "run.succeeded"]
    made = WebhookEndpoint(workspace=workspace, name=name, url="https://x.example/", events=events)
    save_webhook(made, by=SYSTEM)
    return made


def _targets(hooks: Sequence[WebhookEndpoint]) -> list[dict[str, Any]]:
    first, second, third = ({"kind": "webhook", "endpoint": one.pk} for one in hooks)
    mail = {"kind": "email", "to": [ADA, "ben@example.org"], "attach": False}
    threaded = {"in_reply_to": "<b@example.org>", "references": ["<a@example.org>"]}
    return [
        second,
        {"kind": "artifact", "name": "report"},
        mail | {"subject": "The report, every Monday"} | threaded,
        {"kind": "email", "to": [OUTSIDER], "subject": "Your report", "external": True},
        {"kind": "artifact", "name": "second"},
        third,
        {"kind": "email", "to": ["cleo@example.org"]},
        first,
        {"kind": "drive", "file": "reports/{date}.md", "replace": True},
    ]


def _schedules(workspace: Workspace, hooks: Sequence[WebhookEndpoint]) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    now = timezone.now()
    shared = {
        "workspace": workspace, "agent": agent, "time_zone": "Europe/Berlin", "catch_up": "all",
        "overlap": "queue", "jitter_seconds": 30, "require_approval": True,
        "begins_at": now - timedelta(days=1), "ends_at": now + timedelta(days=400),
        "review": "anyone", "cost_brake": 5,
    }  # fmt: skip
    kinds: list[dict[str, Any]] = [
        {"kind": "cron", "cron": "0 9 * * MON", "task": LINES},
        {"kind": "interval", "every_seconds": 3600, "task": "Post.", "task_type": "message"},
        {
            "kind": "once", "at": now + timedelta(days=200), "task_type": "tool_call",
            "tool": "http_request", "arguments": {"url": "https://x.example/", "method": "POST"},
        },
    ]  # fmt: skip
    orders = (_targets(hooks), _targets(hooks)[3:4], _targets(hooks)[:1])
    for number, (kind, deliver) in enumerate(zip(kinds, orders, strict=True)):
        test = {"when": "last == None"}
        row = Schedule(name=f"Report {number}", deliver=deliver, test=test, **shared, **kind)
        save_schedule(row, by=SYSTEM)


def _chat_app(workspace: Workspace) -> None:
    row = ChatApp(
        workspace=workspace, name="our Slack", place="C0123", api_url="https://x.test/api"
    )
    save_chat_app(row, {"bot_token": "xoxb-1", "signing_secret": "s"}, by=SYSTEM)


def _channels(workspace: Workspace, hooks: Sequence[WebhookEndpoint]) -> None:
    shared = {"workspace": workspace, "agent": "writer", "approve": True, "hourly_limit": 7}
    mapping = {"task": "Answer {subject}:\n{body}", "conversation": "{id}"}
    webhook = Channel(name="tickets", kind="webhook", mapping=mapping, **shared)
    mail = Channel(
        name="mailbox", kind="email", senders=[ADA, "@example.com"], reply=False,
        imap_host="127.0.0.1", imap_port=1143, imap_security="none", imap_user="ada",
        imap_folder="Support", **shared,
    )  # fmt: skip
    for channel in (webhook, mail):
        channel.deliver = _targets(hooks)
        given = {"password": " with blanks "} if channel is mail else {}
        save_channel(channel, by=SYSTEM, **given)


def _knowledge(workspace: Workspace, person: User) -> None:
    by = Author(SYSTEM)
    content: dict[str, Any] = {
        "category": "preference", "importance": 8, "metadata": {"source": [1, 2]},
    }  # fmt: skip
    for place in (
        MemoryPlace(workspace.pk, Scope.AGENT, "writer"),
        MemoryPlace(workspace.pk, Scope.PERSON, "writer", person.pk),
        MemoryPlace(workspace.pk, Scope.CONVERSATION, "writer", person.pk, new_id()),
    ):
        remember(place, LINES, by=by, **content)
    MemoryPolicy.objects.create(
        workspace=workspace, kept_days=30, embedding_model="openai:embedding"
    )
    base = KnowledgeBase.objects.get(workspace=workspace)
    KnowledgeBase.objects.filter(pk=base.pk).update(drive_folder="team/handbook")
    with transaction.atomic():  # so that a worker of another test finds it claimed
        made, _ = save_document(base, "rules.md", b"# Rules\n", by=SYSTEM, source="the wiki")
        Document.objects.filter(pk=made.pk).update(state="reading", claimed_until=FAR)
    part = DocumentPart([PassageText(1, ("Rules",), "Be kind.")], 1, 1)
    made.refresh_from_db()
    assert store_part(made, part)


def _connections(workspace: Workspace, person: User) -> None:
    kinds: dict[str, dict[str, object]] = {
        "signing": {"secret": " s3cret "},
        "smtp": {
            "host": "mail.example", "port": 2525, "security": "tls", "username": "ada",
            "password": "p", "sender": "Ada <ada@example.org>",
        },
    }  # fmt: skip
    for kind, fields in kinds.items():
        row = Credential(workspace=workspace, user=person, name=f"the {kind}", kind=kind)
        save_credential(row, fields, by=SYSTEM)
    limits = {"trusted": True, "private_data": False, "timeout_seconds": 90}
    server = McpServer(workspace=workspace, name="shop")
    set_mcp_server(server, limits | {"url": "https://shop.example/mcp", "sign_in": True}, by=SYSTEM)
    McpServer.objects.create(
        workspace=workspace, name="files", transport="stdio", command="files",
        credential="the signing", **limits,
    )  # fmt: skip
    McpServer.objects.create(
        workspace=workspace, name="weather", transport="openapi",
        openapi="https://weather.example/openapi.json", operations=["getForecast"],
        effects={"getForecast": "idempotent"}, idempotency_header="Idempotency-Key", **limits,
    )  # fmt: skip


def _beat() -> None:
    every = beat.IntervalSchedule.objects.create(every=5, period="minutes")
    crontab = beat.CrontabSchedule.objects.create(minute="0", timezone="Europe/Berlin")
    solar = beat.SolarSchedule.objects.create(event="sunrise", latitude=52, longitude=13)
    clocked = beat.ClockedSchedule.objects.create(clocked_time=timezone.now())
    for name, when in {
        "every": {"interval": every, "args": '["a"]', "kwargs": '{"b": 1}', "headers": '{"h": 1}'},
        "crontab": {
            "crontab": crontab,
            "queue": "agents",
            "priority": 3,
            "exchange": "e",
            "routing_key": "r",
        },
        "solar": {"solar": solar, "expire_seconds": 60, "description": LINES},
        "clocked": {"clocked": clocked, "one_off": True, "expires": timezone.now()},
    }.items():
        beat.PeriodicTask.objects.create(
            name=name, task="agents.execute_run", enabled=False, **when
        )
