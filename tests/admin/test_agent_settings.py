"""An agent's settings beyond plain fields: JSON, the context strategy, tools, and its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse

from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.admin.bindings import ToolBindingForm
from agents.admin.forms import AgentForm
from agents.models import Agent, AgentVersion, ToolBinding
from tests.admin import rows
from tests.admin.forms import filled_undrawn, values
from tests.starts import start_run

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

LIST = "/admin/agents/agent/"


@pytest.fixture
def writer(workspace: Workspace) -> Agent:
    return Agent.objects.get(workspace=workspace, name="writer")


def page(agent: Agent) -> str:
    return reverse("admin:agents_agent_change", args=[agent.pk])


def save(browser: Client, agent: Agent, **changes: Any) -> Any:
    return browser.post(page(agent), filled_undrawn(browser, page(agent)) | changes)


def refused(agent: Agent, **changes: Any) -> AgentForm:
    """The agent's form with these changes, which it does not take."""
    form = AgentForm(values(AgentForm(instance=agent)) | changes, instance=agent)
    assert not form.is_valid()
    return form


def bound(agent: Agent, tool: str = "calculate", **settings: Any) -> dict[str, Any]:
    """The fields of one more tool in the page's form."""
    number = agent.bindings.count()
    fields = {"tool": tool, "enabled": "on", "approval": "", "approval_when": "", "defaults": ""}
    data = {f"bindings-{number}-{name}": value for name, value in (fields | settings).items()}
    return data | {"bindings-TOTAL_FORMS": number + 1}


def test_every_setting_is_saved_and_published(browser: Client, writer: Agent) -> None:
    response = save(
        browser,
        writer,
        model="openai:gpt-6-sol",
        fallback_models='["anthropic:claude"]',
        strong_model="anthropic:claude-opus",
        max_run_tokens="50000",
        max_run_cost_usd="2.5",
        uncertain_calls="tell_model",
        temperature="0.5",
        stop='["END", "\\n\\nHuman:"]',
        reasoning_effort="low",
        max_retries="5",
        retry_base_delay_ms="100",
        retry_max_delay_ms="2000",
        approval="effects",
        response_schema='{"type": "object", "properties": {"a": {"type": "string"}}}',
        context_type="summarize",
        context_threshold="50000",
        context_keep_recent="4",
        **bound(
            writer,
            approval="when",
            approval_when='{"properties": {"expression": {"pattern": "9"}}}',
            defaults='{"expression": "1"}',
        ),
    )
    assert response.status_code == 302
    writer.refresh_from_db()
    assert writer.current_version is not None
    published = writer.current_version.snapshot
    assert published["fallback_models"] == ["anthropic:claude"]
    assert published["strong_model"] == "anthropic:claude-opus"
    assert published["limits"]["max_run_tokens"] == 50_000
    assert published["limits"]["max_run_cost_usd"] == "2.5000"
    assert published["uncertain_calls"] == "tell_model"
    assert published["stop"] == ["END", "\n\nHuman:"]
    assert published["retry"] == {"max_retries": 5, "base_delay_ms": 100, "max_delay_ms": 2000}
    assert published["context_strategy"] == {
        "type": "summarize",
        "threshold": 50000,
        "keep_recent": 4,
    }
    assert published["approval"] == "effects"
    assert published["response_schema"]["properties"] == {"a": {"type": "string"}}
    [tool] = [tool for tool in published["tools"] if tool["name"] == "calculate"]
    assert tool["approval_when"] == {"properties": {"expression": {"pattern": "9"}}}
    assert tool["defaults"] == {"expression": "1"}
    assert save(browser, writer).status_code == 302  # what the form shows is what was saved
    assert writer.versions.count() == 2


def test_json_is_shown_indented_and_nothing_as_nothing(browser: Client, writer: Agent) -> None:
    schema = {"type": "object", "description": "What was found, and how sure it is: " + "." * 20}
    Agent.objects.filter(pk=writer.pk).update(response_schema=schema)
    form = browser.get(page(writer)).context["adminform"].form
    assert form["response_schema"].value().startswith('{\n  "type": "object",\n')
    assert form["stop"].value() == form["fallback_models"].value() == ""


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("stop", '["END"', "malformed at line 1"),
        ("stop", '["END", 7]', "stop[1] must be text"),
        ("stop", '["a", "b", "c", "d", "e"]', "at most 4 entries"),
        ("fallback_models", '["nobody:x"]', 'unknown provider "nobody"'),
        ("response_schema", '{"type": "objekt"}', "objekt"),
        ("response_schema", "[" * 2000, "too deeply"),
        ("reasoning_effort", "endless", "Select a valid choice"),
    ],
)
def test_what_cannot_be_used_is_said_at_its_field(
    writer: Agent, field: str, value: str, said: str
) -> None:
    form = refused(writer, **{field: value})
    assert said in form.errors[field][0]
    assert list(form.errors) == [field]
    assert form[field].value() == value, "as it was typed"


def test_the_page_says_it_and_saves_nothing(browser: Client, writer: Agent) -> None:
    sent = bound(writer, defaults="[1]") | {"stop": '["END", 7]', "system_prompt": "Half?"}
    text = save(browser, writer, **sent).content.decode()
    assert "stop[1] must be text" in text
    assert "The value must be a JSON object." in text
    writer.refresh_from_db()
    assert writer.system_prompt != "Half?"
    assert writer.versions.count() == 1


class TestContextStrategy:
    def test_its_numbers_are_fields(self, browser: Client, writer: Agent) -> None:
        kept = {"type": "sliding_window", "max_tokens": 5000}
        Agent.objects.filter(pk=writer.pk).update(context_strategy=kept)
        form = browser.get(page(writer)).context["adminform"].form
        assert form["context_type"].value() == "sliding_window"
        assert form["context_max_tokens"].value() == 5000

    @pytest.mark.parametrize(
        ("kind", "field"),
        [
            ("sliding_window", "context_max_tokens"),
            ("last_messages", "context_count"),
            ("important_recent", "context_max_tokens"),
            ("summarize", "context_threshold"),
        ],
    )
    def test_a_number_that_is_needed_is_asked_for(
        self, writer: Agent, kind: str, field: str
    ) -> None:
        for value in ("", "0"):
            form = refused(writer, context_type=kind, **{field: value})
            assert list(form.errors) == [field]

    def test_numbers_of_other_strategies_are_forgotten(
        self, browser: Client, writer: Agent
    ) -> None:
        sent = {"context_type": "last_messages", "context_count": "9", "context_max_tokens": "7"}
        assert save(browser, writer, **sent).status_code == 302
        writer.refresh_from_db()
        assert writer.context_strategy == {"type": "last_messages", "count": 9}


class TestTools:
    @pytest.mark.parametrize(
        ("settings", "field", "said"),
        [
            ({"approval": "when"}, "approval_when", "Write the rule"),
            ({"approval": "when", "approval_when": "{"}, "approval_when", "malformed at line 1"),
            ({"approval": "when", "approval_when": "[]"}, "approval_when", "a JSON object."),
            (
                {"approval": "when", "approval_when": '{"type": "objekt"}'},
                *("approval_when", "JSON Schema"),
            ),
            ({"defaults": "[1]"}, "defaults", "The value must be a JSON object."),
        ],
    )
    def test_what_cannot_be_used_is_said_at_its_field(
        self, settings: dict[str, str], field: str, said: str
    ) -> None:
        form = ToolBindingForm({"tool": "calculate", "enabled": "on"} | settings)
        assert list(form.errors) == [field]
        assert said in form.errors[field][0]

    def test_a_rule_is_forgotten_with_its_choice(self, browser: Client, writer: Agent) -> None:
        sent = bound(writer, approval="always", approval_when='{"half": ')
        assert save(browser, writer, **sent).status_code == 302
        binding = ToolBinding.objects.get(agent=writer, tool="calculate")
        assert (binding.approval, binding.approval_when, binding.defaults) == ("always", None, {})


class TestState:
    def state(self, browser: Client, agent: Agent) -> str:
        shown = browser.get(f"{LIST}?workspace__id__exact={agent.workspace_id}")
        [row] = [row for row in shown.context["cl"].result_list if row.pk == agent.pk]
        pill: str = shown.context["cl"].model_admin.state(row)
        return " ".join(pill.split(">")[1].split("<", maxsplit=1)[0].split())

    def test_it_follows_the_runs(self, browser: Client, writer: Agent) -> None:
        assert self.state(browser, writer) == "Idle"
        run_id = start_run(writer.workspace, "Write.", agent="writer")
        assert self.state(browser, writer) == "Busy"
        cancel_run(writer.workspace, run_id, reason="enough")
        assert self.state(browser, writer) == "Idle"
        again = start_run(writer.workspace, "Write.", agent="writer")
        rows.Held(again).fail("It broke.")
        assert self.state(browser, writer) == "Error"

    def test_chosen_agents_are_stopped_and_enabled(self, browser: Client, writer: Agent) -> None:
        before = writer.enabled_at
        chosen = {"action": "stop", "_selected_action": [writer.pk]}
        told = list(get_messages(browser.post(LIST, chosen).wsgi_request))
        assert str(told[0]).startswith("1 agent stopped. Live runs are kept")
        assert self.state(browser, writer) == "Stopped"
        browser.post(LIST, chosen | {"action": "start_again"})
        assert self.state(browser, writer) == "Idle"
        writer.refresh_from_db()
        assert writer.enabled_at > before

    def test_its_page_offers_what_does_something(self, browser: Client, writer: Agent) -> None:
        before = writer.enabled_at
        shown = browser.get(page(writer)).content.decode()
        assert "/stop_agent/" in shown
        assert "/start_agent/" not in shown
        self.press(browser, writer, "stop_agent")
        assert self.state(browser, writer) == "Stopped"
        shown = browser.get(page(writer)).content.decode()
        assert "/start_agent/" in shown
        assert "/stop_agent/" not in shown
        assert save(browser, writer).status_code == 302
        assert self.state(browser, writer) == "Stopped", "saving it does not start it"
        self.press(browser, writer, "start_agent")
        writer.refresh_from_db()
        assert writer.enabled
        assert writer.enabled_at > before

    def press(self, browser: Client, agent: Agent, action: str) -> None:
        url = page(agent).replace("/change/", f"/{action}/")
        assert browser.post(url, {"_form_submitted": "True"}).status_code == 200


def test_agents_of_configuration_files_do_not_show(browser: Client, writer: Agent) -> None:
    other = Agent.objects.create(
        workspace=writer.workspace, name="writer", system_prompt="You write.", origin="abc"
    )
    version: AgentVersion = publish_agent(other)
    assert other not in browser.get(LIST).context["cl"].result_list
    assert browser.get(page(other), follow=True).redirect_chain
    versions = browser.get("/admin/agents/agentversion/").context["cl"].result_list
    assert version not in versions
    leader = Agent.objects.get(workspace=writer.workspace, name="orchestrator")
    form = browser.get(page(leader)).context["adminform"].form
    assert other not in form.fields["team"].queryset
