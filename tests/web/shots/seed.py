"""A shop with agents that have worked, failed, and wait for somebody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import connection
from django.utils import timezone

from agents.actions.fleet import pause_work
from agents.actions.provider_accounts import save_provider_account
from agents.actions.publish_agent import publish_agent
from agents.actions.start_conversation import start_conversation
from agents.actions.webhooks import save_webhook
from agents.approvals.links import token_of
from agents.limits.pauses import queue
from agents.models import Agent, Run, ToolCall, WebhookEndpoint
from heartbit_site.base.actions.api_keys import create_api_key, usual_expiry
from heartbit_site.base.actions.members import save_member
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import ProviderAccount, Role, Workspace
from tests.fleet import wait_until
from tests.starts import post_message, start_run
from tests.web.people import person
from tests.web.shots import parts
from tests.web.shots.dealer import connect
from tests.web.shots.house_rules import teach
from tests.web.shots.limits import limit
from tests.web.shots.past import live_through
from tests.web.shots.plans import plan
from tests.web.shots.shelf import fill_shelf
from tests.web.shots.ways_in import open_ways_in
from tools.actions.credentials import save_credential
from tools.models import CatalogueTool, Credential

if TYPE_CHECKING:
    from uuid import UUID

MODEL = "openai:gpt-5-mini"
ADA, MARA = Actor("ada", "admin"), Actor("mara", "web")
OFFER = "Where there is a choice, offer it."  # what the support's second version has been told
PAUSED = "reports"  # a queue that somebody paused
MEMBERS = {
    "orders": ("Knows every order.", ("find_order",)),
    "handbook": ("Knows the shop's rules.", ("search_handbook",)),
    "researcher": ("Finds out facts.", ("current_time",)),
    "analyst": ("Does the sums.", ("calculate", "current_time")),
    "writer": ("Writes friendly replies.", ()),
    "cashier": ("Pays money back, once somebody agreed.", ("find_order", "refund_order")),
    "stock": ("Keeps bikes for customers.", ("reserve_bike",)),
    "workshop": ("Plans the repairs.", ("ask_human",)),
    "clerk": ("Writes scripts that look things up.", ("find_order", "write", "shell")),
}
SCRIPTED = "clerk"  # the agent in code mode
ASKED_ABOUT = {"refund_order", "reserve_bike"}  # tools that wait for somebody
TABLES = """
    CREATE TABLE shop_stock (bike text PRIMARY KEY, free int, reserved int);
    CREATE TABLE shop_reservation (
        number int GENERATED ALWAYS AS IDENTITY (START 318) PRIMARY KEY, bike text, customer text);
    INSERT INTO shop_stock VALUES ('Wren', 4, 1), ('Heron', 2, 0);
"""
WEBHOOKS = {
    "ticket system": ("https://tickets.larkfield.example/hooks/heartbit", ["run.failed"]),
    "team chat": ("https://chat.larkfield.example/in/7f3a", ["approval.requested", "run.failed"]),
}
LEADERS = {
    "support": ("Answers customers.", ("orders", "handbook", "writer")),
    "planner": ("Prepares decisions.", ("researcher", "analyst")),
}


@dataclass(frozen=True, slots=True)
class Demo:
    """What the pictures show.

    Attributes:
        run: The run with sub-agents.
        script: The run with a script that left files.
        talk: The conversation with the support.
        link: The last part of the link in a mail to somebody who may decide a waiting call.
        agent: The key of the agent whose form is shown.
        version: The key of a version that another one has followed.
        schedule: The key of the schedule whose page is shown.
        channel: The key of the channel whose page is shown.
        server: The key of the MCP server whose page is shown.
        tool: The key of the tool whose page is shown.
        skill: The key of the skill whose page is shown.
        passage: The key of the passage whose page is shown.
    """

    workspace: Workspace
    run: UUID
    script: UUID
    talk: UUID
    link: str
    agent: int
    version: int
    schedule: int
    channel: int
    server: int
    tool: int
    skill: int
    passage: int


def seed() -> Demo:
    """Make the shop and let its agents work; the fleet has to be there."""
    workspace = Workspace.objects.create(slug="larkfield", name="Larkfield Bicycles")
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
    _agents(workspace)
    support = Agent.objects.get(workspace=workspace, name="support")
    first = support.current_version_id
    support.system_prompt += f"\n{OFFER}"
    support.save()
    publish_agent(support, by=ADA)
    live_through(workspace, model=MODEL)
    done = {
        agent_task: _start(workspace, *agent_task)
        for agent_task in (
            ("planner", parts.ISLANDS),
            ("analyst", parts.WEEKLY),
            ("analyst", parts.STOCK),
            ("clerk", parts.RETURNS),
            ("support", parts.BENT_WHEEL),
        )
    }
    _ended(list(done.values()), "succeeded")
    _ended([_start(workspace, "writer", parts.LOG)], "failed")
    talk = start_conversation(workspace, agent="support", title="Service of another make")
    for text in (parts.GREETING, parts.SATURDAY):
        posted = post_message(talk, text, by=MARA, model=MODEL)
        _ended([posted.run_id], "succeeded")
    refund = _start(workspace, "cashier", parts.REFUND)
    _ended([refund], "waiting")
    for asking in (("stock", parts.TRIAL), ("workshop", parts.REPAIRS)):  # below it, in this order
        _ended([_start(workspace, *asking)], "waiting")
    _start(workspace, "researcher", parts.CATALOGUE)
    pause_work(queue(PAUSED), by=Actor("ada", "web"), reason="new printer until noon")
    link = _settings(workspace, refund)
    schedule = plan(workspace, by=ADA)
    limit(workspace)
    cashier = Agent.objects.get(workspace=workspace, name="cashier")
    assert first is not None
    run = done["support", parts.BENT_WHEEL]
    channel = open_ways_in(workspace, run, by=ADA)
    server = connect(workspace, by=ADA)
    tool = CatalogueTool.objects.get(name="find_order")
    skill = teach(workspace, by=ADA)
    passage = fill_shelf(workspace, by=ADA)
    keys = (cashier.pk, first, schedule.pk, channel.pk, server.pk, tool.pk, skill.pk, passage.pk)
    script = done["clerk", parts.RETURNS]
    return Demo(workspace, run, script, talk.pk, link, *keys)


def _settings(workspace: Workspace, waits: UUID) -> str:
    """What people set up around the agents; the token of the link to a call of a run that waits."""
    mara = person("mara")
    save_member(workspace, mara, Role.OPERATOR, by=ADA)
    scopes = ["runs:read", "runs:write"]
    create_api_key(workspace, "nightly import", scopes=scopes, expires_at=usual_expiry(), by=ADA)
    for name, (url, events) in WEBHOOKS.items():
        save_webhook(
            WebhookEndpoint(workspace=workspace, name=name, url=url, events=events), by=ADA
        )
    mailbox = Credential(workspace=workspace, name="support mailbox", kind="imap")
    place = {"host": "imap.larkfield.example", "username": "support"}
    save_credential(mailbox, place | {"password": "an example"}, by=ADA)
    accounts = [
        ProviderAccount(
            workspace=workspace, provider="anthropic", label="production",
            requests_per_minute=600, tokens_per_minute=400_000,
        ),
        ProviderAccount(workspace=workspace, provider="openrouter", label="for trials"),
    ]  # fmt: skip
    for number, account in enumerate(accounts):
        save_provider_account(account, key=f"sk-example-0123456{number}789", by=ADA)
    checked = {"healthy": True, "health_message": "The key is accepted."}
    found = ProviderAccount.objects.filter(pk=accounts[0].pk)
    found.update(**checked, checked_at=timezone.now() - timedelta(minutes=3))
    return token_of(ToolCall.objects.get(run_id=waits, status="waiting"), mara.pk)


def _agents(workspace: Workspace) -> None:
    for name, (description, tools) in MEMBERS.items():
        agent = _agent(workspace, name, description)
        for tool in tools:
            approval = "always" if tool in ASKED_ABOUT else ""
            agent.bindings.create(tool=tool, approval=approval)
        agent.code_mode = name == SCRIPTED
        agent.save()
        publish_agent(agent, by=ADA)
    for name, (description, team) in LEADERS.items():
        agent = _agent(workspace, name, description)
        agent.team.set(Agent.objects.filter(workspace=workspace, name__in=team))
        publish_agent(agent, by=ADA)


def _agent(workspace: Workspace, name: str, description: str) -> Agent:
    prompt = f"You work for Larkfield Bicycles. {description} Be brief and kind."
    return Agent.objects.create(
        workspace=workspace, name=name, description=description, system_prompt=prompt
    )


def _start(workspace: Workspace, agent: str, task: str) -> UUID:
    return start_run(workspace, task, agent=agent, model=MODEL, by=MARA)


def _ended(runs: list[UUID], status: str) -> None:
    rows = Run.objects.filter(pk__in=runs, status=status)
    wait_until(lambda: rows.count() == len(runs), seconds=90, what=f"{runs} {status}")
