"""A program configures agents: makes them, reads all of them, changes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from agents.definitions.spec import SETTINGS, AgentSpec, ToolGrant
from agents.models import Agent, AgentVersion, ToolBinding
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.config.export import export
from heartbit_site.config.read import parse

if TYPE_CHECKING:
    import httpx

    from tests.api.server import Caller

CLERK: dict[str, Any] = {
    "name": "clerk",
    "description": "Keeps the books.",
    "system_prompt": "You keep the books.",
}
RULE = {"properties": {"expression": {"pattern": "^1"}}}


def patch(caller: Caller, name: str, /, **fields: Any) -> httpx.Response:
    return caller.http.patch(f"/agents/{name}", json=fields)


def written(workspace: Workspace) -> tuple[Any, ...]:
    """Everything that a request about agents may write."""
    agents = Agent.objects.filter(workspace=workspace).order_by("pk")
    return (
        list(agents.values()),
        list(ToolBinding.objects.filter(agent__workspace=workspace).order_by("pk").values()),
        AgentVersion.objects.filter(agent__workspace=workspace).count(),
        sorted(agents.values_list("pk", "team")),
        AuditEntry.objects.filter(chain=workspace.pk).count(),
    )


def audited(workspace: Workspace, name: str) -> list[tuple[str, str, Any]]:
    rows = AuditEntry.objects.filter(chain=workspace.pk, label=name).order_by("number")
    return [(row.action, row.via, row.details) for row in rows]


def test_given_an_agents_table_then_it_is_made_published_and_takes_a_run(
    caller: Caller, workspace: Workspace
) -> None:
    given = {
        **CLERK,
        "model": "openai:fake",
        "temperature": 1,
        "max_run_cost_usd": "1.5",
        "stop": ["END"],
        "context_strategy": {"type": "last_messages", "count": 8},
        "response_schema": None,
        "tools": [
            "current_time",
            {
                "name": "calculate",
                "approval": "when",
                "approval_when": RULE,
                "required_approvals": 2,
            },
            {
                "name": "http_get",
                "enabled": False,
                "approval_timeout_seconds": 90,
                "escalate_after_minutes": 1,
            },
        ],
        "team": ["writer"],
        "queue": "nobody-serves-this",
    }
    made = caller.post("/agents", given)
    assert made.status_code == 201, made.text
    body = made.json()
    assert (body["version"], body["state"], body["team"]) == (1, "idle", ["writer"])
    assert body["tools"] == ["calculate", "current_time"], "as its runs have them"
    definition = body["definition"]
    expected = {
        **{name: AgentSpec.default_of(name) for name in SETTINGS},
        **given,
        "temperature": 1.0,
    }
    assert {name: definition[name] for name in SETTINGS} == {
        name: expected[name] for name in SETTINGS
    }
    assert (definition["name"], definition["team"]) == ("clerk", ["writer"])
    calculate, time, http_get = definition["tools"]
    assert set(calculate) == set(ToolGrant.model_fields)
    assert (calculate["approval"], calculate["approval_when"]) == ("when", RULE)
    assert (calculate["required_approvals"], calculate["approval_timeout_seconds"]) == (2, None)
    assert (http_get["enabled"], http_get["escalate_after_minutes"]) == (False, 1)
    assert (time["name"], time["approval"], time["defaults"]) == ("current_time", "", {})
    assert caller.get("/agents/clerk").json()["definition"] == definition
    assert caller.submit("Add it up.", agent="clerk")["agent"] == "clerk"
    [entry] = AuditEntry.objects.filter(chain=workspace.pk, label="clerk")
    assert (entry.action, entry.actor, entry.via) == ("agent.add", "API key test", "api")
    assert entry.details == {"version": [None, 1]}


def test_given_what_get_answers_when_it_is_sent_back_then_nothing_changes(
    caller: Caller, workspace: Workspace
) -> None:
    made = caller.post("/agents", {**CLERK, "tools": ["calculate"], "max_run_cost_usd": 0.25})
    before = written(workspace)
    same = caller.http.patch("/agents/clerk", json=made.json()["definition"])
    assert (same.status_code, same.json()["version"]) == (200, 1)
    assert same.json()["definition"] == made.json()["definition"]
    assert written(workspace) == before
    copy = {**made.json()["definition"], "name": "second"}
    twin = caller.post("/agents", copy)
    assert twin.status_code == 201, twin.text
    assert twin.json()["definition"] == copy


def test_given_a_change_then_the_rest_stays_and_it_is_published_with_its_orchestrator(
    caller: Caller, workspace: Workspace
) -> None:
    before = caller.get("/agents/researcher").json()
    leader = caller.get("/agents/orchestrator").json()["version"]
    changed = patch(
        caller, "researcher", description="Finds more.", temperature=0.5, tools=["calculate"]
    )
    assert changed.status_code == 200, changed.text
    after = changed.json()
    assert (after["version"], after["tools"]) == (2, ["calculate"])
    same = {"system_prompt", "max_turns", "team", "queue"}
    assert {name: after["definition"][name] for name in same} == {
        name: before["definition"][name] for name in same
    }
    assert caller.get("/agents/orchestrator").json()["version"] == leader + 1
    assert patch(caller, "researcher", temperature=None).json()["definition"]["temperature"] is None
    first, second = audited(workspace, "researcher")
    assert first[:2] == second[:2] == ("agent.change", "api")
    assert first[2]["description"] == [before["description"], "Finds more."]
    assert (first[2]["temperature"], first[2]["version"]) == ([None, 0.5], [1, 2])
    assert first[2]["tool bindings"]["added"] == ["calculate"]
    assert "http_get" in first[2]["tool bindings"]["removed"]
    assert second[2] == {"temperature": [0.5, None], "version": [2, 3]}
    [(action, _, details)] = audited(workspace, "orchestrator")
    assert (action, details) == ("agent.publish", {"version": [leader, leader + 1]})


def test_given_a_tool_s_rule_when_it_changes_then_its_binding_is_the_same_row(
    caller: Caller, workspace: Workspace
) -> None:
    caller.post("/agents", {**CLERK, "tools": ["calculate", "current_time"]})
    binding = ToolBinding.objects.get(
        agent__workspace=workspace, agent__name="clerk", tool="calculate"
    )
    tools = [{"name": "calculate", "approval": "always"}, {"name": "current_time"}]
    assert patch(caller, "clerk", tools=tools).status_code == 200
    binding.refresh_from_db()
    assert binding.approval == "always"
    *_, (_, _, details) = audited(workspace, "clerk")
    assert details["tool bindings"] == {"changed": [{"row": "calculate", "fields": ["approval"]}]}


def test_given_enabled_then_the_agent_is_stopped_and_started(
    caller: Caller, workspace: Workspace
) -> None:
    assert patch(caller, "writer", enabled=False).json()["state"] == "stopped"
    assert caller.post("/runs", {"task": "x", "agent": "writer"}).status_code == 404
    started = patch(caller, "writer", enabled=True).json()
    assert (started["state"], started["version"]) == ("idle", 1), "no run sees the difference"
    assert [details for _, _, details in audited(workspace, "writer")] == [
        {"enabled": [True, False]},
        {"enabled": [False, True]},
    ]


def calls(tool: dict[str, Any] | str, *more: str) -> dict[str, Any]:
    return {"tools": [tool, *more]}


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": None}, "The field name is not right"),
    ({"name": "Clerk Two"}, "The field name is not right"),
    ({"description": "d" * 301}, "The field description is not right"),
    ({"system_prompt": ""}, "The field system_prompt is not right"),
    ({"system_prompt_file": "x.md"}, "The field system_prompt_file is not right: a request has no"),
    ({"max_turn": 1}, "There is no field max_turn"),
    ({"version": 1}, "There is no field version"),
    ({"max_turns": 0}, "The field max_turns is not right"),
    ({"max_turns": "7"}, "The field max_turns is not right"),
    ({"enabled": 1}, "The field enabled is not right"),
    ({"model": "gpt"}, "The field model is not right: is"),
    ({"fallback_models": ["openai"]}, "The field fallback_models.0 is not right"),
    ({"stop": ["a"] * 5}, "The field stop is not right"),
    ({"max_run_cost_usd": "1e3"}, "The field max_run_cost_usd is not right: must be a number."),
    ({"max_run_cost_usd": -1}, "The field max_run_cost_usd is not right: must be from 0"),
    ({"response_schema": {"type": "nonsense"}}, "The field response_schema is not right"),
    ({"context_strategy": {"type": "x"}}, "The field context_strategy is not right"),
    ({"tools": None}, "The field tools is not right"),
    (calls("calculater"), 'tools[0].name names the unknown tool "calculater"; did you mean calc'),
    (calls("calculate", "calculate"), 'tools[1] names "calculate" twice.'),
    (calls({"name": "calculate", "approval": "when"}), "tools[0] needs both approval"),
    (
        calls({"name": "calculate", "approver_group": "no such"}),
        'Tool calculate: approver_group names the group "no such"',
    ),
    (
        calls({"name": "calculate", "defaults": {"api_key": "x"}}),
        "Tool calculate: defaults.api_key looks like a secret",
    ),
    (
        calls({"name": "calculate", "approval_timeout_seconds": 60, "escalate_after_minutes": 5}),
        "tools[0].escalate_after_minutes is too late: a call is refused after 60 seconds",
    ),
    ({"team": ["nobody"]}, 'team[0] names "nobody", not an agent of this workspace'),
    ({"team": ["writer", "writer"]}, 'team[1] names "writer" twice.'),
    ({"team": ["clerk"]}, 'team[0] names "clerk": an agent cannot be in its own team.'),
    ({"queue": "Q!"}, "The field queue is not right"),
)


@pytest.mark.parametrize(("fields", "sentence"), WRONG, ids=[said for _, said in WRONG])
def test_given_what_no_agent_can_be_then_one_sentence_says_so_and_nothing_is_written(
    caller: Caller, workspace: Workspace, fields: dict[str, Any], sentence: str
) -> None:
    before = written(workspace)
    refused = caller.post("/agents", {**CLERK, **fields})
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["detail"].startswith(sentence)
    assert refused.json()["detail"].endswith((".", "?"))
    assert written(workspace) == before


def test_given_a_change_that_cannot_be_published_then_nothing_of_it_is_written(
    caller: Caller, workspace: Workspace
) -> None:
    assert caller.post("/agents", {**CLERK, "approval_timeout_seconds": 60}).status_code == 201
    before = written(workspace)
    tools = [{"name": "calculate", "escalate_after_minutes": 5}]
    refused = patch(caller, "clerk", description="Half written?", tools=tools, team=["writer"])
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_setting")
    assert "escalate_after_minutes" in refused.json()["detail"]
    other = patch(caller, "clerk", name="scribe")
    assert other.json()["detail"].startswith("name is scribe, but an agent keeps its name, clerk")
    nobody = patch(caller, "clark", description="x")
    assert (nobody.status_code, nobody.json()["code"]) == (404, "agent_not_found")
    assert written(workspace) == before


def test_given_missing_fields_then_the_first_one_is_named(caller: Caller) -> None:
    assert caller.post("/agents", {}).json()["detail"] == "The field name is missing."
    assert caller.http.post("/agents", content=b"").json()["detail"].startswith("The body is miss")


def test_given_an_agent_of_another_workspace_then_it_is_no_team_member(
    caller: Caller, workspace: Workspace
) -> None:
    other = Workspace.objects.create(slug=f"{workspace.slug}-o", name="o")
    Agent.objects.create(workspace=other, name="spy", system_prompt="x")
    refused = caller.post("/agents", {**CLERK, "team": ["spy"]})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_setting")


def test_given_two_who_know_the_same_version_then_the_later_one_overwrites_nothing(
    caller: Caller,
) -> None:
    known = caller.get("/agents/writer").json()["version"]
    prompts = ("You write odes.", "You write haiku.")
    with ThreadPoolExecutor(2) as threads:
        told = list(
            threads.map(
                lambda text: patch(caller, "writer", system_prompt=text, version=known), prompts
            )
        )
    assert sorted(answer.status_code for answer in told) == [200, 409]
    first = next(text for text, answer in zip(prompts, told, strict=True) if answer.is_success)
    late = next(answer.json() for answer in told if answer.status_code == 409)
    assert late["code"] == "version_conflict"
    assert late["detail"].startswith(f"The agent writer is at version {known + 1}, not at version")
    now = caller.get("/agents/writer").json()
    assert (now["definition"]["system_prompt"], now["version"]) == (first, known + 1)


def test_given_a_name_that_is_taken_then_409_and_with_the_same_key_the_same_agent(
    caller: Caller, workspace: Workspace
) -> None:
    key = {"Idempotency-Key": "clerk-1"}
    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(lambda _: caller.post("/agents", CLERK, **key), range(4)))
    assert sorted(answer.status_code for answer in told) == [200, 200, 200, 201]
    assert Agent.objects.filter(workspace=workspace, name="clerk").count() == 1
    assert len(audited(workspace, "clerk")) == 1
    for headers in ({}, {"Idempotency-Key": "clerk-2"}):
        taken = caller.post("/agents", CLERK, **headers)
        assert (taken.status_code, taken.json()["code"]) == (409, "agent_exists")
    assert patch(caller, "clerk", description="By now.").status_code == 200
    again = caller.post("/agents", CLERK, **key)
    assert (again.status_code, again.json()["description"]) == (200, "By now.")
    other = caller.post("/agents", {**CLERK, "description": "Other."}, **key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_mismatch")


def test_the_description_names_every_key_but_the_file_s(caller: Caller) -> None:
    schemas = caller.http.get("/openapi.json").json()["components"]["schemas"]
    made, change = schemas["AgentIn"], schemas["AgentChangeIn"]
    keys = {*SETTINGS, "name", "tools", "team"}
    assert set(made["properties"]) == keys | {"template"}
    assert set(change["properties"]) == keys | {"version"}
    assert sorted(made["required"]) == ["description", "name", "system_prompt"]
    assert "required" not in change
    assert not any("default" in each for each in change["properties"].values())


def test_given_a_tool_that_runs_code_then_answers_run_theirs_by_the_task(
    caller: Caller, workspace: Workspace
) -> None:
    coder = {"name": "coder", "description": "", "system_prompt": "Code.", "tools": ["run_code"]}
    for name, given in (("task", {}), ("never", {"execution_mode": "never"})):
        made = caller.post("/agents", {**coder, "name": f"coder-{name}", **given})
        assert made.status_code == 201, made.text
    assert caller.post("/agents", {**coder, "name": "plain", "tools": []}).status_code == 201
    rows = Agent.objects.filter(workspace=workspace, origin="")
    modes = dict(rows.values_list("name", "execution_mode"))
    assert (modes["coder-task"], modes["coder-never"], modes["plain"]) == ("task", "never", "never")
    text = export(workspace)
    assert [agent.execution_mode for agent in parse(text).agents if "coder" in agent.name] == [
        "never",
        "task",
    ]
