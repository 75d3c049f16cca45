"""A program configures workflows: makes them, reads them, changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Agent, Run
from heartbit_site.base.models import UsageEntry, Workspace
from tests.cli.test_lists import ran

if TYPE_CHECKING:
    from tests.api.server import Caller

STEPS: dict[str, Any] = {
    "name": "digest",
    "steps": {
        "sum": {"tool": "calculate", "arguments": {"expression": "{{ input.n }} * 7"}},
        "fact": {"agent": "writer", "needs": "sum"},
    },
}


def test_a_table_is_made_published_and_takes_a_run(caller: Caller, workspace: Workspace) -> None:
    key = {"Idempotency-Key": "digest-1"}
    made = caller.post("/workflows", STEPS, **key)
    assert made.status_code == 201, made.text
    body = made.json()
    assert (body["kind"], body["version"], body["state"]) == ("workflow", 1, "idle")
    assert (body["tools"], body["team"]) == (["calculate"], ["writer"])
    assert [node["name"] for node in body["nodes"]] == ["sum", "fact"]
    assert caller.post("/workflows", STEPS, **key).status_code == 200
    assert caller.post("/workflows", STEPS).json()["code"] == "agent_exists"
    assert [one["name"] for one in caller.get("/workflows").json()["workflows"]] == ["digest"]
    assert caller.get("/agents/digest/versions").json()["versions"][0]["current"]
    assert caller.submit('{"n": 6}', agent="digest")["kind"] == "workflow"
    same = caller.http.patch("/workflows/digest", json=body["definition"])
    assert (same.status_code, same.json()["version"]) == (200, 1)


def test_a_change_replaces_what_it_names_alone(caller: Caller, workspace: Workspace) -> None:
    caller.post("/workflows", {**STEPS, "pattern": "panel"})
    tools = [{"name": "calculate", "approval": "always"}]
    changed = caller.http.patch("/workflows/digest", json={"description": "Adds.", "tools": tools})
    assert changed.status_code == 200, changed.text
    steps = {"sum": STEPS["steps"]["sum"], "asked": {"agent": "analyst"}}
    body = {"steps": steps, "version": changed.json()["version"]}
    after = caller.http.patch("/workflows/digest", json=body).json()
    assert (after["description"], after["team"], after["version"]) == ("Adds.", ["analyst"], 3)
    assert (changed.json()["definition"]["pattern"], after["definition"]["pattern"]) == (
        "panel",
        "",
    )
    assert after["definition"]["tools"][0]["approval"] == "always"
    late = caller.http.patch("/workflows/digest", json=body)
    assert (late.status_code, late.json()["code"]) == (409, "version_conflict")
    assert caller.http.patch("/agents/digest", json={"max_turns": 3}).status_code == 422
    assert caller.http.patch("/workflows/writer", json={}).status_code == 404


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "The field nodes is missing"),
    ({"steps": {"a": {}}}, "The field nodes.0 is not right"),
    ({"steps": {"a": {"set": {}}}, "start": ["a"]}, "has both steps and start"),
    ({"steps": {"a": {"set": {}, "needs": "b"}}}, "start is not valid: no node is sent"),
    ({"steps": {"a": {"agent": "nobody"}}}, "nobody"),
    ({"steps": {"a": {"set": {}}}, "max_turns": 3}, "There is no field max_turns"),
)


@pytest.mark.parametrize(("fields", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_no_workflow_can_be_is_refused_and_nothing_is_written(
    caller: Caller, workspace: Workspace, fields: dict[str, Any], said: str
) -> None:
    refused = caller.post("/workflows", {"name": "wrong", **fields})
    assert refused.status_code == 422, refused.text
    assert said in refused.json()["detail"]
    caller.post("/workflows", STEPS)
    if fields.get("steps"):
        assert caller.http.patch("/workflows/digest", json=fields).status_code == 422
    assert not Agent.objects.filter(workspace=workspace, name="wrong").exists()
    assert caller.get("/workflows/digest").json()["version"] == 1


MEDIANS = {"bare": 1, "one": 2, "two": 6, "panel": 4}


def test_statistics_count_runs_by_workflow_and_by_pattern(
    caller: Caller, workspace: Workspace
) -> None:
    for name, pattern in (("one", "panel"), ("two", "panel"), ("bare", "")):
        content = {"name": name, "steps": {"a": {"agent": "writer"}}, "pattern": pattern}
        assert caller.post("/workflows", content).status_code == 201
    writer = Agent.objects.get(workspace=workspace, name="writer")
    for name, status, seconds, cost in (
        *(("one", "succeeded", 2, "0.5"), ("one", "failed", 4, "0.5"), ("one", "queued", 9, "0")),
        *(("two", "succeeded", 6, "0"), ("bare", "cancelled", 1, None)),
    ):
        flow = ran(Agent.objects.get(workspace=workspace, name=name), status, seconds=seconds)
        Run.objects.filter(pk=flow.pk).update(kind="workflow")
        UsageEntry.objects.filter(run_id=flow.pk).delete()  # a workflow asks no model
        child = ran(writer, "succeeded", cost=cost)
        Run.objects.filter(pk=child.pk).update(parent=flow, root=flow)
    found = caller.get("/workflow-statistics").json()
    figures = {one["name"]: one["figures"] for kind in found for one in found[kind]}
    assert {name: round(one.pop("median_seconds")) for name, one in figures.items()} == MEDIANS
    assert {name: [*one.values()] for name, one in figures.items()} == {
        "bare": [1, 0, 0, None, None],
        "one": [3, 1, 1, 0.5, "1"],
        "two": [1, 1, 0, 1.0, "0"],
        "panel": [4, 2, 1, 2 / 3, "1"],
    }
    assert caller.get("/workflows/one").json()["statistics"]["runs"] == 3
