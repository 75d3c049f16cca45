"""The form of a workflow: steps in rows, patterns and text, which store what a file would."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import change_agent, create_agent
from agents.admin.workflow.rows import WORKS
from agents.admin.workflow.steps import read_data
from agents.models import Agent, Workflow
from agents.workflows.builder.steps import step, steps
from agents.workflows.spec.node import WORK
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Membership, Role, Workspace
from heartbit_site.config.apply import import_config
from heartbit_site.config.read import parse
from tests.admin.forms import filled, values
from tests.clients import Client
from tests.web.people import member

pytestmark = pytest.mark.django_db
ADD = reverse("admin:agents_workflow_add")
BACKEND = "django.contrib.auth.backends.ModelBackend"
DRAW = reverse("admin:agents_workflow_draw")
SCRIBE = '[[agents]]\nname = "scribe"\nsystem_prompt = "Write."\ndescription = "Writes."\n'


@pytest.fixture
def scribe(workspace: Workspace) -> Agent:
    row = Agent.objects.create(
        workspace=workspace, name="scribe", system_prompt="Write.", description="Writes."
    )
    publish_agent(row)
    return row


def page_of(row: Agent) -> str:
    return reverse("admin:agents_workflow_change", args=[row.pk])


def sent(response: Any) -> dict[str, Any]:
    """Return what a browser would send back from the page."""
    form = response.context["workflow"]
    rows = [form.rows.management_form, *form.rows.forms]
    agents = [form.agents.management_form, *form.agents.forms]
    return filled(response) | values(*rows, *agents, form.patterns)


def rows(*given: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of steps as a browser sends them."""
    data: dict[str, Any] = {"steps-TOTAL_FORMS": len(given), "steps-INITIAL_FORMS": 0}
    for number, row in enumerate(given):
        first = {"does": "agent", "on_error": "fail", "position": number + 1}
        data |= {f"steps-{number}-{name}": value for name, value in (first | row).items()}
    return data


FIND = {"name": "find", "subject": "agent:scribe", "text": "Facts on {{ input.topic }}"}


def start(workspace: Workspace, name: str = "digest", **more: Any) -> dict[str, Any]:
    names = ("agents", "versions")
    agents = {f"{name}-{kind}_FORMS": 0 for name in names for kind in ("TOTAL", "INITIAL")}
    more = {"steps-TOTAL_FORMS": 0, "steps-INITIAL_FORMS": 0, **more}
    return {"workspace": workspace.pk, "name": name, "mode": "steps", "queue": "agents"} | (
        agents | {"order": "ready", "failure": "fast"} | more
    )


def test_a_workflow_is_added_listed_and_changed(
    browser: Client, workspace: Workspace, scribe: Agent
) -> None:
    assert browser.get(ADD).status_code == 200
    data = start(workspace, **rows(FIND))
    answer = browser.post(ADD, data)
    assert answer.status_code == 302, answer.context["workflow"].errors
    row = Workflow.objects.get(workspace=workspace, name="digest")
    assert row.kind == "workflow"
    assert [one.name for one in row.team.all()] == ["scribe"]
    listed = browser.get(reverse("admin:agents_workflow_changelist"), {"q": "dig"})
    assert page_of(row) in listed.content.decode()
    agents = browser.get(reverse("admin:agents_agent_changelist"), {"q": "digest"})
    assert f"/agent/{row.pk}/" not in agents.content.decode()
    page = browser.get(page_of(row))
    data = sent(page) | {"description": "Sums up.", "steps-0-text": "Say it"}
    assert browser.post(page_of(row), data).status_code == 302
    row.refresh_from_db()
    assert (row.description, row.definition["nodes"][0]["task"]) == ("Sums up.", "Say it")
    assert row.versions.count() == 2


TOML = f"""
{SCRIBE}
[[workflows]]
name = "digest"
description = "Sums up."
limits = {{ cost_usd = "1.50" }}
[workflows.steps.sum]
tool = "calculate"
arguments = {{ expression = "{{{{ input.n }}}} * 7" }}
[workflows.steps.fact]
agent = "scribe"
task = "Name one fact on {{{{ item }}}}."
each = "input.topics"
retry = 2
on_error = "continue"
[workflows.steps.send]
needs = ["sum", "fact"]
ask = "Publish {{{{ steps.fact.output }}}}?"
when = "input.publish"
timeout = "2d"
[workflows.steps.rest]
needs = "send"
pause = "90m"
"""
ROWS = rows(
    {"name": "sum", "does": "tool", "subject": "tool:calculate"}
    | {"text": '{"expression": "{{ input.n }} * 7"}'},
    {"name": "fact", "subject": "agent:scribe", "text": "Name one fact on {{ item }}."}
    | {"each": "input.topics", "on_error": "continue", "more": '{"retry": 2}'},
    {"name": "send", "does": "ask", "text": "Publish {{ steps.fact.output }}?", "after": ["0", "1"]}
    | {"when": "input.publish", "more": '{"timeout": "2d"}'},
    {"name": "rest", "does": "pause", "text": "90m", "after": ["2"]},
)
SEND = {"when": "input.publish", "timeout": "2d"}
FACT: dict[str, Any] = {"task": "Name one fact on {{ item }}.", "each": "input.topics", "retry": 2}
PYTHON = steps(
    "digest",
    step("sum", tool="calculate", arguments={"expression": "{{ input.n }} * 7"}),
    step("fact", agent="scribe", on_error="continue", **FACT),
    step("send", needs=["sum", "fact"], ask="Publish {{ steps.fact.output }}?", **SEND),
    step("rest", needs="send", pause="90m"),
    description="Sums up.",
    limits={"cost_usd": "1.50"},
)


def test_the_form_stores_what_toml_and_python_say(
    browser: Client, workspace: Workspace, scribe: Agent
) -> None:
    given = {"description": "Sums up.", "limits": '{"cost_usd": "1.50"}', **ROWS}
    answer = browser.post(ADD, start(workspace, **given))
    assert answer.status_code == 302, answer.context["workflow"].loose
    row = Workflow.objects.get(workspace=workspace, name="digest")
    assert import_config(workspace, parse(TOML)).updated == ()
    every = WorkflowSpec.model_fields
    assert not change_agent(workspace, "digest", PYTHON.spec, every, by=SYSTEM).made
    assert row.versions.count() == 1
    before = stored(row)
    page = browser.get(page_of(row))
    assert page.context["workflow"].is_expressible
    assert browser.post(page_of(row), sent(page)).status_code == 302
    as_text = sent(page) | {"mode": "text"}
    assert browser.post(page_of(row), as_text).status_code == 302
    again = browser.post(page_of(row), as_text | {"text": TOML.split("\n\n", 1)[1]})
    assert again.status_code == 302
    assert stored(row) == before


def stored(row: Agent) -> dict[str, Any]:
    """Return the row with its versions."""
    found = Agent.objects.filter(pk=row.pk).values().get()
    return found | {"hashes": list(row.versions.values_list("hash", flat=True))}


PATTERNS: dict[str, dict[str, Any]] = {
    "sequential": {},
    "concurrent": {"then": "agent:scribe", "on_error": "continue"},
    "group_chat": {"select": "smart", "end": '{"max_messages": 6}'},
    "handoff": {"max_handoffs": 4, "routes": '{"scribe": ["critic"]}'},
    "magentic": {"manager": "agent:scribe"},
    "squad": {"lead": "agent:scribe", "rounds": 3},
}


def read_value(value: Any) -> Any:
    return read_data(value.removeprefix("agent:")) if isinstance(value, str) else value


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_gives_what_its_table_says(
    browser: Client, workspace: Workspace, scribe: Agent, name: str
) -> None:
    publish_agent(Agent.objects.create(workspace=workspace, name="critic", system_prompt="Judge."))
    team = ["critic"] if name == "magentic" else ["scribe", "critic"]
    agents = {"agents-TOTAL_FORMS": len(team)} | {
        f"agents-{number}-agent": f"agent:{one}" for number, one in enumerate(team)
    }
    given = {f"pattern-{name}-{key}": value for key, value in PATTERNS[name].items()}
    more: dict[str, Any] = {**agents, **given, "mode": "pattern", "pattern-pattern": name}
    data = start(workspace, **more)
    answer = browser.post(ADD, data)
    assert answer.status_code == 302, answer.context["workflow"].loose
    settings = {key: read_value(value) for key, value in PATTERNS[name].items()}
    table = {"name": "digest", name: {"agents": team, **settings}}
    spec = WorkflowSpec.model_validate(table)
    assert not change_agent(workspace, "digest", spec, WorkflowSpec.model_fields, by=SYSTEM).made
    row = Workflow.objects.get(workspace=workspace, name="digest")
    before = stored(row)
    assert browser.post(page_of(row), sent(browser.get(page_of(row)))).status_code == 302
    assert stored(row) == before


LOOP = """
start = "up"
state.n = { merge = "add", initial = 0 }
nodes.up = { set = { n = 1 } }
nodes.far = { set = {} }
edges = [
    { from = "up", cases = [{ when = "state.n < 3", to = "up" }], default = "far" },
    { from = "far", output = "{{ state.n }}" },
]
"""


def test_a_graph_that_rows_cannot_express_is_edited_as_text(
    browser: Client, workspace: Workspace
) -> None:
    assert browser.post(ADD, start(workspace, mode="text", text=LOOP)).status_code == 302
    row = Workflow.objects.get(workspace=workspace, name="digest")
    page = browser.get(page_of(row))
    form = page.context["workflow"]
    assert not form.is_expressible
    assert form["mode"].value() == "text"
    assert 'data-node="far"' in page.content.decode()
    before = stored(row)
    data = sent(page) | {"description": "Counts."}
    assert browser.post(page_of(row), data).status_code == 302
    after = stored(row)
    assert after["definition"] == before["definition"]
    assert after["description"] == "Counts."
    refused = browser.post(page_of(row), data | {"text": LOOP.replace('to = "up"', 'to = "down"')})
    assert "down" in str(refused.context["adminform"].form.errors["text"])
    assert 'data-state="failed"' in refused.content.decode()


def test_all_faults_are_named_at_their_rows_and_nothing_is_lost(
    browser: Client, workspace: Workspace, scribe: Agent
) -> None:
    elsewhere = Workspace.objects.create(slug="elsewhere", name="Elsewhere")
    Agent.objects.create(workspace=elsewhere, name="foreigner", system_prompt="Write.")
    given = rows(
        FIND | {"when": "input. +"},
        {"name": "find", "subject": "agent:foreigner", "text": "Hello"},
        {"does": "ask", "after": ["0"]},
        {"name": "call", "does": "tool", "subject": "tool:calculate", "text": "[1"},
    )
    answer = browser.post(ADD, start(workspace, **given))
    assert answer.status_code == 200
    form = answer.context["workflow"]
    faults = {one.prefix: set(one.errors) for one in form.rows.forms}
    assert faults == {
        "steps-0": {"when"},
        "steps-1": {"name", "subject"},
        "steps-2": {"name", "text"},
        "steps-3": {"text"},
    }
    text = answer.content.decode()
    assert all(piece in text for piece in ("input. +", "foreigner", "[1"))
    assert text.count('data-state="failed"') >= 2
    assert "agent:foreigner" not in str(form.subjects)
    assert not Workflow.objects.filter(workspace=workspace).exists()
    drawn = browser.post(DRAW, start(workspace, **given)).json()
    assert {one["field"] for one in drawn["rows"]} >= {"steps-0-when", "steps-1-subject"}
    assert 'data-node="call"' in drawn["drawing"]
    assert not Workflow.objects.filter(workspace=workspace).exists()


def test_a_question_has_the_answer_and_the_group_of_its_row(
    browser: Client, workspace: Workspace
) -> None:
    ask = {"name": "send", "does": "ask", "text": "Send?", "answer": "boolean", "timeout": "90m"}
    ask |= {"group": "senders", "more": '{"on_timeout": false}'}
    call = {"name": "now", "does": "tool", "subject": "tool:current_time", "text": "{}"}
    data = start(workspace, **rows(ask, call))
    refused = browser.post(ADD, data)
    assert "group &quot;senders&quot;, which does not exist" in refused.content.decode()
    assert not Workflow.objects.filter(workspace=workspace).exists()
    group = Group.objects.create(name="senders")
    assert browser.post(ADD, data).status_code == 302
    row = Workflow.objects.get(workspace=workspace, name="digest")
    node, _ = row.definition["nodes"]
    assert (node["form"], node["group"], node["timeout"]) == ({"type": "boolean"}, "senders", 5400)
    changed = sent(browser.get(page_of(row))) | {"steps-0-does": "set", "steps-0-text": ""}
    changed |= {"steps-0-more": "", "steps-0-timeout": ""}
    draw = browser.post(f"{DRAW}?workflow={row.pk}", changed).json()
    assert not draw["rows"], "what a row hides is not a fault"
    group.delete()  # as it may be later: the workflow stays editable
    before = stored(row)
    page = browser.get(page_of(row))
    assert "senders (gone)" in page.content.decode()
    assert page.context["workflow"].is_expressible
    assert browser.post(page_of(row), sent(page)).status_code == 302
    assert stored(row) == before


def test_rows_are_moved_renamed_and_removed(
    browser: Client, workspace: Workspace, scribe: Agent
) -> None:
    call = {"name": "call", "does": "tool", "subject": "tool:calculate"}
    given = rows(FIND, call | {"text": '{"expression": "1"}', "after": ["0"], "on_error": "2"})
    third = rows(FIND, FIND, {"name": "mend", "does": "set", "after": ["0"]})
    browser.post(
        ADD, start(workspace, **(third | given | {"steps-TOTAL_FORMS": 3, "order": "barrier"}))
    )
    row = Workflow.objects.get(workspace=workspace, name="digest")
    data = sent(browser.get(page_of(row)))
    data |= {"steps-0-name": "seek", "steps-0-position": 9, "steps-1-position": 1}
    data |= {"steps-2-remove": "on", "steps-1-on_error": "continue"}
    answer = browser.post(page_of(row), data)
    assert answer.status_code == 302, [one.errors for one in answer.context["workflow"].rows.forms]
    row.refresh_from_db()
    assert [node["name"] for node in row.definition["nodes"]] == ["call", "seek"]
    assert row.definition["edges"] == [{"from": "seek", "to": "call"}]
    assert row.definition["nodes"][0]["on_error"] == "continue"


def test_only_editors_of_the_workspace_change_and_draw(workspace: Workspace, scribe: Agent) -> None:
    spec = WorkflowSpec.model_validate({"name": "digest", "steps": {"a": {"set": {}}}})
    row = create_agent(workspace, spec, by=SYSTEM).row
    other = Workspace.objects.create(slug="other-one", name="Other")
    pages = {"change": page_of(row), "draw": f"{DRAW}?workflow={row.pk}"}
    for role, status in ((Role.VIEWER, 403), (Role.EDITOR, 200)):
        client = Client(headers={"host": "localhost"})
        client.force_login(member(workspace, role), backend=BACKEND)
        assert client.get(pages["change"]).status_code == status
        assert client.post(pages["draw"], start(workspace)).status_code == status
        assert client.post(DRAW, start(workspace)).status_code == status
    assert client.post(DRAW, start(other, **rows(FIND))).json()["drawing"] == ""
    assert client.get(DRAW).status_code == 405
    large = start(workspace, text="x" * 1_100_000)
    assert client.post(DRAW, large).status_code == 413
    stranger = member(other, Role.EDITOR)
    Membership.objects.create(user=stranger, workspace=workspace, role=Role.VIEWER)
    client.force_login(stranger, backend=BACKEND)
    seen = client.get(pages["change"])
    assert "Graph of v1" in seen.content.decode()
    assert 'name="_save"' not in seen.content.decode()
    assert client.post(pages["change"], start(workspace)).status_code == 403
    assert client.post(pages["draw"], start(workspace)).status_code == 403


def test_a_version_is_compared_and_rolled_back(
    browser: Client, workspace: Workspace, scribe: Agent
) -> None:
    browser.post(ADD, start(workspace, **rows(FIND)))
    row = Workflow.objects.get(workspace=workspace, name="digest")
    changed = sent(browser.get(page_of(row))) | {"steps-0-name": "seek"}
    assert browser.post(page_of(row), changed).status_code == 302
    first = row.versions.get(number=1)
    compare = reverse("admin:agents_agentversion_compare", args=[first.pk])
    assert 'data-state="added"' in browser.get(compare).content.decode()
    assert browser.post(compare).headers["location"] == page_of(row)
    page = browser.get(page_of(row))
    assert page.context["workflow"].rows.forms[0]["name"].value() == "find"


def test_a_form_that_somebody_else_has_saved_since_is_refused(
    browser: Client, workspace: Workspace, scribe: Agent
) -> None:
    browser.post(ADD, start(workspace, **rows(FIND)))
    row = Workflow.objects.get(workspace=workspace, name="digest")
    mine = sent(browser.get(page_of(row)))
    assert browser.post(page_of(row), mine | {"description": "Theirs."}).status_code == 302
    answer = browser.post(page_of(row), mine | {"description": "Mine."})
    assert "Somebody saved this workflow" in answer.content.decode()
    row.refresh_from_db()
    assert row.description == "Theirs."


MALFORMED = (
    *('{"nodes": 5}', '{"nodes": [1]}', '{"steps": {"a": 1}}', '{"nodes": null}', "{" * 3000),
    *('{"nodes": {"a": {"set": {}}}, "edges": [1]}', '{"sequential": 3}', "a = 2026-01-01"),
)
ROW_FIELDS = (
    *({"does": "zz"}, {"subject": "x"}, {"on_error": "77"}, {"after": ["99"]}, {"name": "fail"}),
    {"more": '{"needs": 3}'},
)


@pytest.mark.parametrize(
    "given",
    [{"mode": "text", "text": text} for text in MALFORMED]
    + [{f"steps-0-{name}": value for name, value in row.items()} for row in ROW_FIELDS],
)
def test_what_is_malformed_is_a_fault(
    browser: Client, workspace: Workspace, scribe: Agent, given: dict[str, Any]
) -> None:
    found = browser.post(DRAW, start(workspace, **rows(FIND)) | given).json()
    assert found["faults"] or found["rows"]


def test_each_kind_of_work_has_a_label() -> None:
    assert set(WORKS) == set(WORK)
