"""The agent's page: saving publishes, a refusal saves nothing, a dialog starts a run."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group
from django.contrib.messages import get_messages
from django.urls import reverse

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import change_agent
from agents.actions.write_agents import create_default_team
from agents.admin.bindings import ToolBindingForm
from agents.definitions.spec import AgentSpec
from agents.live.changes import notify
from agents.models import Agent, Run, ToolBinding
from agents.reads.agents import table_of
from agents.runs import wake_messages
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Workspace
from tests.admin.forms import filled, filled_undrawn

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db


def url_of(agent: Agent, page: str = "change") -> str:
    return reverse(f"admin:agents_agent_{page}", args=[agent.pk])


def save(browser: Client, agent: Agent, **changes: Any) -> Any:
    data = filled_undrawn(browser, url_of(agent)) | changes
    return browser.post(url_of(agent), data)


def told(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def test_saving_publishes_a_new_version_and_says_its_number(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    response = save(browser, agent, system_prompt="You write haiku.")
    assert response.status_code == 302
    agent.refresh_from_db()
    assert agent.current_version is not None
    assert agent.current_version.number == 2
    assert agent.current_version.snapshot["system_prompt"] == "You write haiku."
    assert "v2" in told(response)


def test_saving_what_is_there_publishes_nothing(browser: Client, workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    response = save(browser, agent)
    assert response.status_code == 302
    assert agent.versions.count() == 1
    assert "has changed" in told(response)


def test_who_edits_an_older_version_is_told_before_it_replaces_what_somebody_else_saved(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    opened = filled_undrawn(browser, url_of(agent))
    save(browser, agent, system_prompt="Theirs.")
    told_so = browser.post(url_of(agent), opened | {"system_prompt": "Mine."})
    assert told_so.status_code == 200
    assert "Its current version is 2" in told_so.content.decode()
    agent.refresh_from_db()
    assert agent.system_prompt == "Theirs."
    assert browser.post(url_of(agent), filled(told_so)).status_code == 302
    agent.refresh_from_db()
    assert agent.system_prompt == "Mine."


def test_an_imported_prompt_stays_as_the_file_has_it_when_a_browser_sends_it_back(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    prompt = "  You write.\n\n* Briefly.\n"
    Agent.objects.filter(pk=agent.pk).update(system_prompt=prompt)
    agent.refresh_from_db()
    publish_agent(agent)
    before = agent.versions.count()
    response = save(browser, agent, system_prompt=prompt.replace("\n", "\r\n"))
    assert response.status_code == 302
    agent.refresh_from_db()
    assert agent.system_prompt == prompt
    assert agent.versions.count() == before
    blank = save(browser, agent, system_prompt=" \r\n ")
    assert "This field is required." in blank.content.decode()


def test_an_orchestrator_learns_of_its_members_new_description(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    response = save(browser, agent, description="Writes haiku.")
    assert "Published as well: orchestrator v2." in told(response)
    leader = Agent.objects.get(workspace=workspace, name="orchestrator")
    assert leader.current_version is not None
    team = leader.current_version.snapshot["team"]
    assert {"name": "writer", "description": "Writes haiku."} in team


def test_a_refusal_becomes_the_forms_error_and_nothing_is_saved(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    ToolBinding.objects.create(agent=agent, tool="calculater")
    response = save(browser, agent, system_prompt="Half saved?")
    assert response.status_code == 200
    assert "did you mean calculate?" in response.content.decode()
    agent.refresh_from_db()
    assert agent.system_prompt != "Half saved?"
    assert agent.versions.count() == 1


def test_a_new_agent_is_published_with_its_tools(browser: Client, workspace: Workspace) -> None:
    url = reverse("admin:agents_agent_add")
    data = filled_undrawn(browser, url) | {
        "workspace": workspace.pk,
        "name": "poet",
        "system_prompt": "You write.",
        "bindings-TOTAL_FORMS": 1,
        "bindings-0-tool": "calculate",
        "bindings-0-enabled": "on",
    }
    response = browser.post(url, data)
    assert response.status_code == 302
    poet = Agent.objects.get(workspace=workspace, name="poet")
    assert poet.current_version is not None
    assert [tool["name"] for tool in poet.current_version.snapshot["tools"]] == ["calculate"]


def test_tools_are_chosen_by_what_they_do(browser: Client, workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    page = browser.get(url_of(agent)).content.decode()
    assert '<optgroup label="At most once: ' in page
    assert "calculate · Work out an arithmetic expression" in page


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("gpt", "model is &quot;gpt&quot;; write provider:model"),
        ("opnai:gpt", "did you mean openai?"),
        ("openai:", "names no model; write provider:model"),
    ],
)
def test_a_model_names_a_known_provider(
    browser: Client, workspace: Workspace, model: str, says: str
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    response = save(browser, agent, model=model)
    assert says in response.content.decode()


def test_a_model_of_a_bridged_provider_is_accepted(browser: Client, workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    assert save(browser, agent, model="bedrock:claude").status_code == 302
    agent.refresh_from_db()
    assert agent.model == "bedrock:claude"


def test_a_team_is_chosen_from_the_agents_own_workspace(
    browser: Client, workspace: Workspace
) -> None:
    slug = f"t-{secrets.token_hex(4)}"
    elsewhere = Workspace.objects.create(slug=slug, name=slug)
    create_default_team(elsewhere)
    stranger = Agent.objects.get(workspace=elsewhere, name="writer")
    leader = Agent.objects.get(workspace=workspace, name="orchestrator")
    form = browser.get(url_of(leader)).context["adminform"].form
    offered = set(form.fields["team"].queryset)
    assert offered == set(Agent.objects.filter(workspace=workspace).exclude(pk=leader.pk))
    assert save(browser, leader, team=[stranger.pk]).status_code == 200
    assert stranger not in leader.team.all()


def test_a_new_agents_team_comes_from_its_workspace(browser: Client, workspace: Workspace) -> None:
    slug = f"t-{secrets.token_hex(4)}"
    elsewhere = Workspace.objects.create(slug=slug, name=slug)
    url = reverse("admin:agents_agent_add")
    member = Agent.objects.get(workspace=workspace, name="writer")
    data = filled_undrawn(browser, url) | {
        "workspace": elsewhere.pk,
        "name": "poet",
        "system_prompt": "You write.",
        "team": [member.pk],
    }
    response = browser.post(url, data)
    assert "writer belongs to another workspace." in response.content.decode()


def test_the_dialog_starts_a_run_and_leads_to_it(
    browser: Client, workspace: Workspace, django_capture_on_commit_callbacks: Any
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    url = url_of(agent, "start")
    assert "What should the agent do?" in browser.get(url).content.decode()
    with django_capture_on_commit_callbacks() as rung:
        response = browser.post(
            url, {"task": "Write.", "model": "openai:fake", "_form_submitted": "True"}
        )
    run = Run.objects.get(workspace=workspace)
    assert response.headers["HX-Redirect"] == f"/w/{workspace.slug}/runs/{run.pk}/"
    assert (run.agent, run.task, run.model_override) == ("writer", "Write.", "openai:fake")
    assert [one.func for one in rung] == [wake_messages.wake_run, notify, notify]


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"task": ""}, "Say what the agent should do."),
        ({"task": "Write.", "model": "gpt"}, "The provider &quot;gpt&quot; in the model"),
    ],
)
def test_the_dialog_says_what_is_wrong(
    browser: Client, workspace: Workspace, answers: dict[str, str], says: str
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    response = browser.post(url_of(agent, "start"), {**answers, "_form_submitted": "True"})
    assert says in response.content.decode()
    assert not Run.objects.filter(workspace=workspace).exists()


def test_an_unpublished_agent_is_not_started(browser: Client, workspace: Workspace) -> None:
    agent = Agent.objects.create(workspace=workspace, name="raw", system_prompt="You wait.")
    asked = {"task": "Go.", "_form_submitted": "True"}
    response = browser.post(url_of(agent, "start"), asked)
    assert "There is no agent named" in response.content.decode()
    publish_agent(agent)
    assert "HX-Redirect" in browser.post(url_of(agent, "start"), asked).headers


def test_starting_needs_the_permission(guest: Client, workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    asked = {"task": "Go.", "_form_submitted": "True"}
    assert guest.post(url_of(agent, "start"), asked).status_code == 403
    assert not Run.objects.filter(workspace=workspace).exists()


def test_an_agent_is_deleted_once_nothing_needs_it(browser: Client, workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    lead = Agent.objects.get(workspace=workspace, name="orchestrator")
    lead.team.add(agent)
    page = url_of(agent, "delete")
    assert b"is in use by the teams orchestrator" in browser.get(page).content
    refused = browser.post(page, {"post": "yes"}, follow=True)
    assert b"is in use by the teams orchestrator" in refused.content
    lead.team.remove(agent)
    assert b"What stays: 0 runs" in browser.get(page).content
    assert browser.post(page, {"post": "yes"}).status_code == 302
    agent.refresh_from_db()
    assert (agent.origin, agent.enabled) == (f"deleted-{agent.pk:x}", False)
    entry = AuditEntry.objects.get(workspace=workspace, action="agent.delete")
    assert entry.target == f"agent:{agent.pk}"


def test_who_decides_and_until_when_is_saved_and_published(
    browser: Client, workspace: Workspace
) -> None:
    Group.objects.create(name="treasurers")
    agent = Agent.objects.get(workspace=workspace, name="writer")
    number = agent.bindings.count()
    bound = {
        "tool": "http_request",
        "enabled": "on",
        "approval": "always",
        "approval_timeout_seconds": "3600",
        "required_approvals": "2",
        "approver_group": "treasurers",
        "escalate_after_minutes": "30",
        "escalation_group": "treasurers",
        "timeout_seconds": "20",
    }
    fields = {f"bindings-{number}-{name}": value for name, value in bound.items()}
    sent = fields | {"bindings-TOTAL_FORMS": number + 1, "approval_timeout_seconds": "7200"}
    assert save(browser, agent, **sent).status_code == 302
    agent.refresh_from_db()
    assert agent.current_version is not None
    published = agent.current_version.snapshot
    assert published["approval_seconds"] == 7200
    [tool] = [tool for tool in published["tools"] if tool["name"] == "http_request"]
    assert (
        tool["approval_seconds"],
        tool["approvals"],
        tool["approvers"],
    ) == (
        *(3600, 2),
        "treasurers",
    )
    assert (tool["escalate_minutes"], tool["escalate_group"]) == (30, "treasurers")
    assert tool["timeout_seconds"] == 20
    assert save(browser, agent).status_code == 302  # what the form shows is what was saved
    assert agent.versions.count() == 2


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("required_approvals", "none", "Enter a whole number"),
        ("required_approvals", "0", "greater than or equal to 1"),
        ("required_approvals", "21", "less than or equal to 20"),
        ("approval_timeout_seconds", "0", "greater than or equal to 1"),
        ("escalate_after_minutes", "0", "greater than or equal to 1"),
    ],
)
def test_given_a_quorum_that_cannot_be_then_it_is_said_at_its_field(
    db: None, field: str, value: str, said: str
) -> None:
    form = ToolBindingForm(
        {"tool": "calculate", "enabled": "on", "required_approvals": "1", field: value}
    )
    assert list(form.errors) == [field]
    assert said in form.errors[field][0]


@pytest.mark.parametrize(
    ("sent", "field", "said"),
    [
        ({"approver_group": "none"}, "approver_group", 'names the group "none", which does not'),
        (
            {"escalation_group": "none", "escalate_after_minutes": "60"},
            *("escalation_group", 'names the group "none", which does not'),
        ),
        ({"escalation_group": "chiefs"}, "escalation_group", "needs escalate_after_minutes"),
        (
            {"escalate_after_minutes": "60", "approval_timeout_seconds": "3600"},
            "escalate_after_minutes",
            "is too late: a call is refused after 3600 seconds",
        ),
        ({"tool": "calculater"}, "tool", "did you mean calculate?"),
        ({"defaults": '{"api_key": "x"}'}, "defaults", "looks like a secret"),
    ],
)
def test_when_the_verb_refuses_a_tool_then_it_is_said_at_its_field_and_nothing_is_saved(
    browser: Client, workspace: Workspace, sent: dict[str, str], field: str, said: str
) -> None:
    Group.objects.get_or_create(name="chiefs")
    agent = Agent.objects.get(workspace=workspace, name="researcher")
    number = agent.bindings.count()
    assert number > 0
    bound = {"tool": "calculate", "enabled": "on"} | sent
    changes = {f"bindings-{number}-{name}": value for name, value in bound.items()}
    removed = {"bindings-0-DELETE": "on"}  # so that places in the form and in the agent differ
    more = {"bindings-TOTAL_FORMS": number + 1, "system_prompt": "Half saved?"}
    shown = save(browser, agent, **changes, **removed, **more)
    assert shown.status_code == 200
    [bindings, *_] = shown.context["inline_admin_formsets"]
    errors = bindings.formset.errors[-1]
    assert list(errors) == [field]
    assert said in errors[field][0]
    agent.refresh_from_db()
    assert agent.system_prompt != "Half saved?"
    assert agent.bindings.count() == number


def test_given_an_agent_when_its_form_is_sent_with_another_name_then_it_keeps_its_own(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    assert save(browser, agent, name="scribe", max_turns=7).status_code == 302
    agent.refresh_from_db()
    assert (agent.name, agent.max_turns) == ("writer", 7), "channels and runs refer to the name"


def test_given_tools_saved_by_the_api_then_a_form_that_was_open_does_not_undo_it(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    opened = filled_undrawn(browser, url_of(agent))
    table = table_of(agent)
    theirs = AgentSpec.model_validate({**table, "tools": [*table["tools"], "calculate"]})
    change_agent(workspace, "writer", theirs, {"tools"}, by=SYSTEM)
    shown = browser.post(url_of(agent), opened | {"system_prompt": "Mine."})
    assert "Its current version is 2" in shown.content.decode()
    assert agent.bindings.filter(tool="calculate").exists()
    agent.refresh_from_db()
    assert agent.system_prompt != "Mine."


def test_given_a_taken_name_then_it_is_said_at_its_field(
    browser: Client, workspace: Workspace
) -> None:
    url = reverse("admin:agents_agent_add")
    new = {"workspace": workspace.pk, "name": "writer", "system_prompt": "You write."}
    shown = browser.post(url, filled_undrawn(browser, url) | new)
    errors = shown.context["adminform"].form.errors
    assert list(errors) == ["name"]
    assert "already has an agent named writer" in errors["name"][0]


def test_every_editable_field_of_an_agent_and_of_its_tools_is_on_the_page(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="researcher")
    shown = browser.get(url_of(agent))
    [bindings, versions, schedules] = shown.context["inline_admin_formsets"]
    own = {name for _, options in shown.context["adminform"].fieldsets for name in _flat(options)}
    by_numbers = {"context_strategy"}  # its choice and numbers stand for it
    by_switches = {"enabled"}  # the buttons above the page
    assert _editable(Agent) - by_numbers - by_switches <= own
    tools = {name for _, options in bindings.fieldsets for name in _flat(options)}
    assert _editable(ToolBinding) - {"agent"} <= tools
    assert versions.opts.verbose_name_plural == "versions"
    assert schedules.opts.verbose_name_plural == "schedules"


def test_the_versions_lead_to_the_page_that_compares_and_rolls_back(
    browser: Client, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    first = agent.current_version
    assert first is not None
    save(browser, agent, system_prompt="You write haiku.")
    compare = reverse("admin:agents_agentversion_compare", args=[first.pk])
    assert f'href="{compare}"' in browser.get(url_of(agent)).content.decode()
    browser.post(compare)
    agent.refresh_from_db()
    assert agent.system_prompt == first.snapshot["system_prompt"]


def _flat(options: Any) -> list[str]:
    rows = options["fields"]
    return [name for row in rows for name in ((row,) if isinstance(row, str) else row)]


def _editable(model: Any) -> set[str]:
    fields = (*model._meta.fields, *model._meta.many_to_many)
    return {field.name for field in fields if field.editable and not field.primary_key} - {
        "created_at",
        "updated_at",
    }
