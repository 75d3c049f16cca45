"""Whoever publishes, rolls back or imports agents, or saves an account, is in the audit, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction
from django.urls import reverse

from agents.actions.provider_accounts import save_provider_account
from agents.actions.publish_agent import publish_agent
from agents.actions.rollback_agent import RollbackRefusedError, rollback_agent
from agents.models import Agent, ToolBinding
from heartbit_site.base.audit import Actor, verify
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import AuditEntry, ProviderAccount, Role
from heartbit_site.config.apply import ephemeral_agent, import_config
from heartbit_site.config.read import parse
from tests.admin.forms import filled
from tests.api.server import Caller, key_for
from tests.clients import Client
from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

ADA = Actor("ada", "terminal")
KEY = "sk-canary-0123456789abcdef"
FILE = """
[provider]
name = "openai"
model = "x"

[[agents]]
name = "writer"
description = "Writes."
system_prompt = "You write."
max_turns = 7
tools = ["calculate"]

[[agents]]
name = "scribe"
description = "Copies."
system_prompt = "You copy."

[orchestrator]
name = "editor"
"""


def told(workspace: Workspace) -> list[tuple[str, str, Any]]:
    """What, to which, with which details; the oldest first."""
    rows = AuditEntry.objects.filter(chain=workspace.pk).order_by("number")
    return [(row.action, row.label, row.details) for row in rows]


def writer(workspace: Workspace, **columns: Any) -> Agent:
    """The default team's, changed by hand."""
    Agent.objects.filter(workspace=workspace, name="writer").update(**columns)
    return Agent.objects.get(workspace=workspace, name="writer")


def test_given_a_publication_then_it_is_told_if_another_version_is_current_now(
    workspace: Workspace,
) -> None:
    assert told(workspace) == [], "the default team is nobody's doing"
    publish_agent(writer(workspace), by=ADA)
    assert told(workspace) == [], "nothing has changed"
    publish_agent(writer(workspace, max_turns=7), by=ADA)
    assert told(workspace) == [("agent.publish", "writer", {"version": [1, 2]})]
    with pytest.raises(ConfigurationError):
        publish_agent(writer(workspace, stop=[1]), by=ADA)
    with transaction.atomic():
        publish_agent(writer(workspace, stop=[], max_turns=8), by=ADA)
        transaction.set_rollback(True)
    assert len(told(workspace)) == 1
    entry = AuditEntry.objects.get(chain=workspace.pk)
    agent = writer(workspace)
    assert (entry.actor, entry.via, entry.target) == ("ada", "terminal", f"agent:{agent.pk}")


def test_given_an_import_then_each_agent_is_told_with_what_changed(workspace: Workspace) -> None:
    researcher = Agent.objects.get(workspace=workspace, name="researcher")
    changes = import_config(workspace, parse(FILE), prune=True, by=ADA)
    assert changes.disabled == ("analyst", "orchestrator", "researcher")
    entries = told(workspace)
    leader, editor, second, scribe, *rest = entries
    assert leader == ("agent.publish", "orchestrator", {"version": [1, 2]}), "its member changed"
    assert editor == ("agent.add", "editor", {"version": [None, 1], "source": "import"})
    assert second[:2] == ("agent.change", "writer")
    assert (second[2]["max_turns"], second[2]["version"]) == ([10, 7], [1, 2])
    assert second[2]["tool bindings"]["added"] == ["calculate"]
    assert scribe[:2] == ("agent.add", "scribe")
    stopped = [label for action, label, _ in rest if action == "agent.stop"]
    assert stopped == ["analyst", "orchestrator", "researcher"]
    source = {"source": "import"}
    assert rest[-1] == (
        *("workspace.change", workspace.name),
        {"default_model": ["", "openai:x"], **source},
    )
    assert AuditEntry.objects.filter(target=f"agent:{researcher.pk}", actor="ada").count() == 1
    before = len(entries)
    import_config(workspace, parse(FILE), prune=True, by=ADA)
    assert len(told(workspace)) == before, "nothing has changed"
    ephemeral_agent(workspace, parse(FILE.replace("You copy.", "You draw.")))
    assert len(told(workspace)) == before, "a file's own agents are no change"
    assert verify(workspace) == []


def test_given_an_import_that_cannot_be_published_then_nothing_is_told(
    workspace: Workspace,
) -> None:
    text = FILE.replace(
        'tools = ["calculate"]',
        "approval_timeout_seconds = 60\n"
        + ('tools = [{ name = "calculate", escalate_after_minutes = 5 }]'),
    )
    with pytest.raises(ConfigurationError, match="escalate_after_minutes"):
        import_config(workspace, parse(text), by=ADA)
    assert told(workspace) == []


def test_given_a_rollback_then_whoever_did_it_is_told_also_a_key_without_a_person(
    site: WebServer, workspace: Workspace
) -> None:
    publish_agent(writer(workspace, max_turns=7), by=ADA)
    rollback_agent(writer(workspace), 1, by=ADA)
    with Caller(site, key_for(workspace)).http as http:
        assert http.post("/agents/writer/versions/2/rollback", json={}).status_code == 200
    rows = AuditEntry.objects.filter(chain=workspace.pk, action="agent.rollback")
    assert [(row.actor, row.via, row.details) for row in rows.order_by("number")] == [
        ("ada", "terminal", {"to": 1, "version": [2, 1]}),
        ("API key test", "api", {"to": 2, "version": [1, 2]}),
    ]
    ToolBinding.objects.create(agent=writer(workspace), tool="calculate")
    publish_agent(writer(workspace), by=ADA)
    agent = writer(workspace)
    assert agent.current_version is not None
    snapshot = agent.current_version.snapshot
    snapshot["tools"][0]["name"] = "gone"
    gone = agent.versions.create(number=9, hash="0" * 64, snapshot=snapshot)
    with pytest.raises(RollbackRefusedError):
        rollback_agent(agent, gone.number, by=ADA)
    assert rows.count() == 2


def test_given_an_account_then_it_is_told_without_its_key(workspace: Workspace) -> None:
    account = ProviderAccount(workspace=workspace, provider="openai", label="work")
    save_provider_account(account, key=KEY, by=ADA)
    account.requests_per_minute = 60
    save_provider_account(account, by=ADA)
    save_provider_account(account, by=ADA)
    save_provider_account(account, key=f"{KEY}x", by=ADA)
    name = "openai (work)"
    assert told(workspace) == [
        *(
            (
                "provider_account.add",
                name,
                {"provider": ["", "openai"], "label": ["", "work"], "key": "not shown"},
            ),
            ("provider_account.change", name, {"requests_per_minute": [None, 60]}),
            ("provider_account.change", name, {"key": "not shown"}),
        )
    ]
    rows = str(list(AuditEntry.objects.filter(chain=workspace.pk).values()))
    assert "canary" not in rows
    assert "cdef" not in rows


def test_given_the_admin_then_there_is_one_entry_of_each(workspace: Workspace) -> None:
    boss = member(workspace, Role.ADMIN)
    boss.is_staff = True
    boss.save()
    client = Client(headers={"host": "localhost"})
    client.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
    agent = writer(workspace)
    page = reverse("admin:agents_agent_change", args=[agent.pk])
    data = filled(client.get(page)) | {"description": "Writes.", "max_turns": 7}
    assert client.post(page, data).status_code == 302
    first = agent.versions.get(number=1)
    compare = reverse("admin:agents_agentversion_compare", args=[first.pk])
    assert client.post(compare).status_code == 302
    add = reverse("admin:base_provideraccount_add")
    sent = {"workspace": workspace.pk, "provider": "openai", "key": KEY, "enabled": "on"}
    assert client.post(add, sent).status_code == 302
    account = ProviderAccount.objects.get(workspace=workspace)
    page = reverse("admin:base_provideraccount_change", args=[account.pk])
    assert client.post(page, filled(client.get(page)) | {"label": "work"}).status_code == 302
    found = told(workspace)
    assert [(action, label) for action, label, _ in found] == [
        ("agent.publish", "orchestrator"),  # it is told what its members are
        ("agent.change", "writer"),
        ("agent.rollback", "writer"),
        ("provider_account.add", "openai"),
        ("provider_account.change", "openai (work)"),
    ]
    assert (found[1][2]["max_turns"], found[1][2]["version"]) == ([10, 7], [1, 2])
    assert found[4][2] == {"label": ["", "work"]}
    rows = AuditEntry.objects.filter(chain=workspace.pk)
    assert {(row.actor, row.via) for row in rows} == {(boss.username, "admin")}
