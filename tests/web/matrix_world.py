"""Two workspaces with something at every address, and everybody who asks for it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
from django.db.models import Value

from agents.actions.channels import save_channel
from agents.actions.chat_apps import save_chat_app
from agents.actions.model_prices import save_price
from agents.actions.provider_accounts import save_provider_account
from agents.actions.publish_agent import publish_agent
from agents.actions.quotas import save_budget
from agents.actions.run_request import start_conversation
from agents.actions.save_agent import create_agent
from agents.actions.send_message import send_message
from agents.actions.skills import save_skill
from agents.actions.webhooks import save_webhook
from agents.delivery.sending import new_message_id
from agents.journal.events import ModelAnswered, encode
from agents.llm.messages import AssistantMessage, Usage
from agents.messaging.addresses import sender_of_person
from agents.models import (
    Agent,
    BlackboardEntry,
    Budget,
    Channel,
    ChatApp,
    Conversation,
    Delivery,
    Grant,
    Message,
    ModelPrice,
    Run,
    RunEvent,
    ToolCall,
    WebhookDelivery,
    WebhookEndpoint,
    WorkFile,
)
from agents.models.draft import DRAFT
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.actions.api_keys import create_api_key, revoke_api_keys
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import (
    ApiKey,
    AuditEntry,
    Membership,
    ProviderAccount,
    Role,
    Workspace,
)
from heartbit_site.base.scopes import SCOPES
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.memories import remember, supersede
from memory.choices import Scope
from memory.history import Author, MemoryPlace
from memory.models import Collection, Document, KnowledgeBase, Passage
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import FiringStatus
from scheduling.firings import record_firing
from scheduling.models import Firing, Schedule
from tests.skills.folders import skill_folder
from tests.starts import start_run
from tests.web.matrix_routes import ROUTES
from tests.web.people import member, person, session_of
from tools.actions.credentials import save_credential
from tools.actions.mcp_servers import set_mcp_server
from tools.connectors.drive.folder import workspace_drive
from tools.models import Credential, McpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.api.server import WebServer

CSRF = "c" * 32


def agent_of(workspace: Workspace, name: str) -> Agent:
    agent = Agent.objects.create(
        workspace=workspace, name=name, system_prompt="Wait.", queue="nobody-serves-this"
    )
    publish_agent(agent)
    return agent


def _run(workspace: Workspace) -> str:
    run = Run.objects.get(pk=start_run(workspace, f"canary of {workspace.slug}", agent="parked"))
    call_id = f"1.{workspace.pk}"  # nothing of one workspace is called as in the other
    ToolCall.objects.create(run=run, call_id=call_id, tool="x", arguments="{}", idempotency_key="k")
    answer = encode(ModelAnswered(1, AssistantMessage("x"), Usage(), "stop", "openai:fake"))
    RunEvent.objects.create(run=run, seq=2, **answer)
    Run.objects.filter(pk=run.pk).update(last_seq=2)
    BlackboardEntry.objects.create(root=run, key="target", value=run.task, author="program")
    WorkFile.objects.create(root=run, path="kept.txt", call="k", content=run.task.encode())
    return str(run.pk)


def _message(workspace: Workspace) -> str:
    sender = sender_of_person(workspace, SYSTEM)
    return str(send_message(sender, "parked", f"canary of {workspace.slug}").pk)


def _name(workspace: Workspace) -> str:
    return agent_of(workspace, f"a-{new_id().hex[-10:]}").name


def _workflow(workspace: Workspace) -> str:
    content = {"name": f"w-{new_id().hex[-10:]}", "steps": {"a": {"set": {}}}}
    spec = WorkflowSpec.model_validate(content)
    return create_agent(workspace, spec, by=SYSTEM).row.name


def _prefix(workspace: Workspace) -> str:
    return create_api_key(workspace, "target", scopes=["runs:read"])[0].prefix


def _webhook(workspace: Workspace) -> str:
    url, events = "https://127.0.0.1/", ["run.failed"]
    made = WebhookEndpoint(workspace=workspace, name="target", url=url, events=events)
    save_webhook(made, by=SYSTEM)
    return str(made.pk)


def _server(workspace: Workspace) -> str:
    made = McpServer(workspace=workspace, name=f"s{new_id().hex[-20:]}")
    set_mcp_server(made, {"url": "http://127.0.0.1:1/mcp", "sign_in": True}, by=SYSTEM)
    # It is being refreshed as long as the tests last: a refresh would write an audit entry later.
    made.refresh_beat_at = datetime.now(UTC) + timedelta(hours=1)
    made.save(update_fields=["refresh_beat_at"])
    return made.name


def _skill(workspace: Workspace) -> str:
    folder = skill_folder(f"s{new_id().hex[-20:]}", f"canary of {workspace.slug}")
    return save_skill(workspace, folder, by=SYSTEM).version.skill.name


def _price(workspace: Workspace) -> str:
    row = ModelPrice(
        workspace=workspace, model=f"compatible:{secrets.token_hex(4)}", input_usd=1, output_usd=2
    )
    return str(save_price(row, by=SYSTEM).pk)


def _credential(workspace: Workspace) -> str:
    name = f"canary of {workspace.slug} {new_id().hex[-10:]}"
    made = Credential(workspace=workspace, name=name, kind="signing")
    save_credential(made, {"secret": name}, by=SYSTEM)
    return str(made.pk)


def _memory(workspace: Workspace) -> str:
    """Changed once, so that there is a change to undo."""
    by = Author(SYSTEM)
    text = f"canary of {workspace.slug} {new_id().hex[-10:]}"
    made = remember(MemoryPlace(workspace.pk, Scope.AGENT, "parked"), text, by=by)
    return str(supersede(made, by=by, importance=9).pk)


def _base(workspace: Workspace) -> str:
    name, about = f"b{new_id().hex[-20:]}", f"canary of {workspace.slug}"
    return save_base(workspace, name, description=about, by=SYSTEM)[0].name


def _document(workspace: Workspace) -> Document:
    """Of the base that was made last; with one passage."""
    base = KnowledgeBase.objects.filter(workspace=workspace).latest("pk")
    made, _ = save_document(base, f"d{new_id().hex[-20:]}.md", b"x", by=SYSTEM)
    Document.objects.filter(pk=made.pk).update(state="ready")
    text = f"A passage of {workspace.slug}."  # which its page shows
    Passage.objects.create(
        document=made, base=base, position=0, text=text, language="english", search=Value("passag")
    )
    return made


def _channel(workspace: Workspace) -> Channel:
    name = f"canary of {workspace.slug} {new_id().hex[-10:]}"
    made = Channel(workspace=workspace, name=name, kind="webhook", agent="parked")
    save_channel(made, by=SYSTEM)
    return made


def _chat_app(workspace: Workspace) -> ChatApp:
    """Disabled, and with an API that nobody may reach."""
    name = f"canary of {workspace.slug} {new_id().hex[-10:]}"
    made = ChatApp(workspace=workspace, name=name, enabled=False, api_url="https://127.0.0.1/api")
    save_chat_app(made, {"bot_token": "xoxb-canary"}, by=SYSTEM)
    return made


def _schedule_number(workspace: Workspace) -> str:
    """The number of a schedule of its own, which is in the address of its page."""
    return str(Schedule.objects.get(workspace=workspace, name=_schedule(workspace)).pk)


def _schedule(workspace: Workspace) -> str:
    """Paused, with what became of one slot, and a run that waits for a worker for ever.

    While that is at work no slot that somebody makes up for begins: a worker's clock, if there is
    one, writes nothing here.
    """
    made = Schedule(
        workspace=workspace,
        agent=Agent.objects.get(workspace=workspace, name="parked"),
        name=f"s-{new_id().hex[-10:]}",
        task=f"canary of {workspace.slug}",
        cron="0 0 1 1 *",
        enabled=False,
    )
    save_schedule(made, by=SYSTEM)
    run_schedule_now(made, by=SYSTEM)
    record_firing(made, datetime(2025, 1, 1, tzinfo=UTC), FiringStatus.SKIPPED, made.task)
    return made.name


def _delivery(workspace: Workspace) -> str:
    """Of the webhook that was made last."""
    endpoint = WebhookEndpoint.objects.filter(workspace=workspace).latest("pk")
    message_id, data = new_message_id(), {"canary": f"canary of {workspace.slug}"}
    made = WebhookDelivery.objects.create(
        endpoint=endpoint,
        event="run.failed",
        event_key=message_id,
        message_id=message_id,
        payload=data,
        status="failed",
    )
    return str(made.pk)


def _result(workspace: Workspace) -> str:
    """A mail that was given up."""
    target = {"kind": "email", "to": ["ada@example.org"], "subject": f"canary of {workspace.slug}"}
    made = Delivery.objects.create(
        workspace=workspace,
        run_id=new_id(),
        position=0,
        kind="email",
        target=target,
        status="failed",
        error="The mail server refused ada@example.org: 550 no",
    )
    return str(made.pk)


def _budget(workspace: Workspace) -> str:
    """Of an agent of its own: there is one budget of each agent and period."""
    agent = agent_of(workspace, f"b-{new_id().hex[-10:]}")
    made = Budget(workspace=workspace, agent=agent, period="day", max_tokens=9)
    save_budget(made)
    return str(made.pk)


def _account(workspace: Workspace) -> str:
    made = ProviderAccount(
        workspace=workspace,
        provider="openai",
        label=f"canary of {workspace.slug}",
        base_url="http://127.0.0.1:1/v1",
        enabled=False,
    )
    save_provider_account(made, key="sk-x")
    return str(made.pk)


def _grant(workspace: Workspace) -> str:
    agent = Agent.objects.get(workspace=workspace, name="parked")
    made = Grant.objects.create(
        workspace=workspace, agent=agent, tool="x", granted_by=f"canary of {workspace.slug}"
    )
    return str(made.pk)


#: How something is made that an address names.
MAKERS: dict[str, Callable[[Workspace], str]] = {
    "run_id": _run,
    "call_id": lambda workspace: f"1.{workspace.pk}",
    "collection": lambda workspace: (
        Collection.objects.create(workspace=workspace, name=secrets.token_hex(8)).name
    ),
    "conversation_id": lambda workspace: str(start_conversation(workspace, agent="parked").pk),
    "test_id": lambda workspace: str(
        Conversation.objects.create(workspace=workspace, agent="parked", origin=DRAFT).pk
    ),
    "message_id": _message,
    "name": _name,
    "workflow": _workflow,
    "number": lambda _: "1",
    "artifact": lambda _: "code-1",
    "worker_id": lambda _: str(2**62),
    "queue": lambda _: "nobody-serves-this",
    "slug": lambda workspace: workspace.slug,
    "tool": lambda _: "http_request",
    "username": lambda workspace: member(workspace, Role.VIEWER).username,
    "prefix": _prefix,
    "webhook_id": _webhook,
    "delivery_id": _delivery,
    "schedule": _schedule,
    "schedule_number": _schedule_number,
    "credential_id": _credential,
    "price_id": _price,
    "server": _server,
    "memory_id": _memory,
    "base": _base,
    "document_id": lambda workspace: str(_document(workspace).pk),
    "passage_id": lambda workspace: str(_document(workspace).passages.get().pk),
    "skill": _skill,
    "channel_id": lambda workspace: str(_channel(workspace).pk),
    "endpoint": lambda workspace: _channel(workspace).url_token,
    "chat_app_id": lambda workspace: str(_chat_app(workspace).pk),
    "events_token": lambda workspace: _chat_app(workspace).url_token,
    "delivery": _result,
    "key": lambda _: "signal:1.0",
    "budget_id": _budget,
    "account_id": _account,
    "grant_id": _grant,
    "account": lambda _: person().username,
    "newcomer": lambda _: person().username,
}


@dataclass(slots=True)
class World:
    """All of it.

    Attributes:
        mine: What everybody wants to see.
        other: Where the stranger is an admin.
        targets: Something at every address of mine, which only those look at who may not.
    """

    site: WebServer
    mine: Workspace
    other: Workspace
    cookies: dict[str, str]
    keys: dict[str, str]
    targets: dict[str, str]
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    def client(self, asker: str, scope: str | None) -> httpx.Client:
        """Whoever asks; ``scope`` is the one that a narrow key has not."""
        name = f"without {scope}" if asker == "narrow key" else asker
        if name not in self.clients:
            self.clients[name] = httpx.Client(
                base_url=self.site.url,
                timeout=60,
                verify=False,  # noqa: S501
                headers=self._headers(name),
            )
        return self.clients[name]

    def _headers(self, name: str) -> dict[str, str]:
        if name in self.keys:
            return {"Authorization": f"Bearer {self.keys[name]}"}
        slug = self.other.slug if name == "stranger in their own" else self.mine.slug
        cookies = f"csrftoken={CSRF}"
        if name in self.cookies:
            cookies += f"; sessionid={self.cookies[name]}"
        return {"Cookie": cookies, "X-CSRFToken": CSRF, "Heartbit-Workspace": slug}

    def fingerprint(self) -> tuple[Any, ...]:
        """What a write in mine would change."""
        runs = Run.objects.filter(workspace=self.mine)
        return (
            runs.count(),
            runs.filter(finished_at__isnull=False).count(),
            RunEvent.objects.filter(run__workspace=self.mine).count(),
            list(Conversation.objects.filter(workspace=self.mine).values_list("pk", "title")),
            Message.objects.filter(workspace=self.mine).count(),
            list(Membership.objects.filter(workspace=self.mine).values_list("user_id", "role")),
            list(Agent.objects.filter(workspace=self.mine).values_list("pk", "enabled")),
            list(Schedule.objects.filter(workspace=self.mine).values_list("pk", "enabled")),
            Firing.objects.filter(schedule__workspace=self.mine).count(),
            ApiKey.objects.filter(workspace=self.mine, revoked_at__isnull=True).count(),
            AuditEntry.objects.filter(chain=self.mine.pk).count(),
        )


def build(site: WebServer) -> Iterator[World]:
    """Make it, and close its connections at the end."""
    mine, other = (
        Workspace.objects.create(slug=f"m-{new_id()}"[:50], name=name) for name in ("mine", "other")
    )
    for workspace in (mine, other):
        parked = agent_of(workspace, "parked")
        save_budget(Budget(workspace=workspace, agent=parked, period="month", max_tokens=9))
        workspace_drive(workspace.pk).write_whole("kept.txt", b"x", replace=True)
    people = {str(role): member(mine, role) for role in Role.values}
    stranger = member(other, Role.ADMIN)
    people |= {"stranger who names mine": stranger, "stranger in their own": stranger}
    people["superuser"] = person(operator=True)
    keys = {
        "wrong key": "hb_0123456789_" + "A" * 43,
        "right key": create_api_key(mine, "right", scopes=SCOPES)[1],
        "foreign key": create_api_key(other, "foreign", scopes=SCOPES)[1],
    }
    row, keys["revoked key"] = create_api_key(mine, "revoked", scopes=SCOPES)
    revoke_api_keys([row.pk])
    for scope in SCOPES:
        rest = [name for name in SCOPES if name != scope]
        keys[f"without {scope}"] = create_api_key(mine, "narrow", scopes=rest)[1]
    cookies = {name: session_of(user) for name, user in people.items()}
    targets = {name: make(mine) for name, make in MAKERS.items()}
    world = World(site, mine, other, cookies, keys, targets)
    yield world
    for client in world.clients.values():
        client.close()


def places(path: str) -> list[str]:
    """The names in braces."""
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


assert all(name in MAKERS for route in ROUTES for name in places(route.path))
