"""Runs whose agents have operations of an OpenAPI document as tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.publish_agent import publish_agent
from agents.choices import RunStatus
from agents.models import Agent, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry
from heartbit_site.base.toolspec import Effect
from tests.openapi.server import Api, api_server, document, parsed
from tools.actions.credentials import save_credential
from tools.actions.mcp_servers import accept_mcp_change, set_mcp_server
from tools.actions.refresh_mcp_server import Refresh, refresh_mcp_server
from tools.models import CatalogueTool, Credential, McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
ANNE = Actor("anne", via="admin")
SECRET = "key-71c9-canary"


@pytest.fixture(autouse=True)
def _allowed(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"


@pytest.fixture
def api() -> Iterator[Api]:
    with api_server() as api:
        yield api


def added(workspace: Workspace, name: str, **settings: Any) -> Refresh:
    row = McpServer(workspace=workspace, name=name)
    set_mcp_server(row, settings, by=ANNE)
    assert row.transport == "openapi"
    return refresh_mcp_server(row, by=ANNE)


def with_credential(workspace: Workspace, kind: str, **fields: str) -> None:
    row = Credential(workspace=workspace, name="account", kind=kind)
    save_credential(row, fields, by=ANNE)


async def ran(studio: Studio, calls: str) -> tuple[Run, list[str]]:
    run = await studio.run(f"[[calls: {calls}]] [[text: Done.]]")
    return run, await orm.run_in_thread(
        lambda: [call.result or "" for call in run.calls.order_by("id")]
    )


async def test_an_agent_calls_operations_with_the_credential_of_the_document(
    studio: Studio, agent: Create, workspace: Workspace, api: Api
) -> None:
    def made() -> None:
        with_credential(workspace, "bearer", url=api.url, token=SECRET)
        names = ["issues/list", "createIssue", "GET /repos/{owner}/{repo}/issues/{number}"]
        found = added(
            workspace,
            "tracker",
            document=document("issues.yaml"),
            url=f"{api.url}/v3",
            credential="account",
            operations=names,
        )
        assert found.message == "3 of 5 operations are tools."
        effects = dict(
            CatalogueTool.objects.filter(workspace=workspace, server__name="tracker").values_list(
                "name", "definition__effect"
            )
        )
        assert effects == {
            "tracker_issues_list": Effect.PURE,
            "tracker_create_issue": Effect.AT_MOST_ONCE,
            "tracker_get_repos_owner_repo_issues_number": Effect.PURE,
        }
        agent(tools=tuple(effects))

    await orm.run_in_thread(made)
    path = '"owner": "ann/b", "repo": "r"'
    run, results = await ran(
        studio,
        f'tracker_issues_list {{{path}, "labels": ["bug", "a,b"], "X-Api-Version": "2026-01-02"}}, '
        f'tracker_create_issue {{"owner": "a", "repo": "r", "body": {{"title": "ü"}}}}, '
        f'tracker_create_issue {{"owner": "a", "repo": "..", "body": {{"title": "x"}}}}, '
        f'tracker_create_issue {{"owner": "a", "repo": "r", "body": {{"title": 5}}}}',
    )
    assert run.status == RunStatus.SUCCEEDED
    listed, created = sorted(api.received, key=lambda one: one.method)
    assert listed.target == "/v3/repos/ann%2Fb/r/issues?labels=bug,a%2Cb"
    assert listed.headers["x-api-version"] == "2026-01-02"
    assert listed.headers["authorization"] == f"Bearer {SECRET}"
    assert created.target == "/v3/repos/a/r/issues"
    assert parsed(created) == {"title": "ü"}
    assert created.headers["content-type"] == "application/json"
    assert '{"ok": true}' in results[0]
    assert "repo is '..', which would call another path" in results[2]
    assert "is not of type string" in results[3]


async def test_forms_and_keys_in_urls_are_sent_and_not_shown(
    studio: Studio, agent: Create, workspace: Workspace, api: Api
) -> None:
    api.documents["/weather.json"] = document("weather.json")
    api.answers["/data/2.5/alerts/x"] = (404, {}, f"no region for appid={SECRET}")

    def made() -> None:
        with_credential(workspace, "query_key", url=api.url, parameter="appid", key=SECRET)
        weather = ["getForecast", "getAlerts", "muteAlerts"]
        found = added(
            workspace,
            "sky",
            openapi=f"{api.url}/weather.json",
            operations=weather,
            credential="account",
        )
        assert found.message == (
            "2 of 3 operations are tools. Left out: muteAlerts, because it refers to "
            "'elsewhere.json#/parameters/region', which is not fetched: bundle the document into "
            "one file."
        )
        row = McpServer.objects.get(workspace=workspace, name="sky")
        assert row.facts["credentials"] == "an API key in the query parameter appid"
        added(
            workspace,
            "pay",
            document=document("payments.yaml"),
            url=api.url,
            operations=["CreateCharge"],
        )
        agent(tools=("sky_get_forecast", "sky_get_alerts", "pay_create_charge"))

    await orm.run_in_thread(made)
    forecast = (
        '{"q": "Köln & Bonn", "fields": ["wind", "rain"], "box": {"north": 51.5}, "days": null, '
        '"filter": {"a": [1]}, "stations": ["1", "2"]}'
    )
    body = (
        '{"amount": 5, "currency": "eur", "capture": false, "expand": ["a"], '
        '"metadata": {"k": "v w"}}'
    )
    run, results = await ran(
        studio,
        f'sky_get_forecast {forecast}, sky_get_alerts {{"region": "x"}}, '
        f'pay_create_charge {{"body": {body}}}',
    )
    by_path = {one.target.partition("?")[0]: one for one in api.received}
    assert by_path["/data/2.5/forecast"].target.partition("?")[2] == (
        "q=K%C3%B6ln%20%26%20Bonn&fields=wind&fields=rain&box[north]=51.5&filter=%7B%22a%22%3A%5B1"
        f"%5D%7D&stations=1%7C2&appid={SECRET}"
    )
    charge = by_path["/v1/charges"]
    assert charge.body == "amount=5&currency=eur&capture=false&expand[0]=a&metadata[k]=v%20w"
    assert charge.headers["idempotency-key"].startswith(str(run.id))
    assert "404 Not Found" in results[1]
    assert "appid=[secret]" in results[1]
    assert SECRET not in str(results)
    stored = await orm.run_in_thread(
        lambda: str(
            [
                list(AuditEntry.objects.values_list("details", flat=True)),
                list(run.events.values_list("payload", flat=True)),
            ]
        )
    )
    assert SECRET not in stored


async def test_a_changed_operation_stands_still_until_a_person_accepts_it(
    studio: Studio, agent: Create, workspace: Workspace, api: Api
) -> None:
    api.documents["/w"] = document("weather.json")
    call = 'sky_get_forecast {"q": "a"}'

    def made() -> None:
        added(workspace, "sky", openapi=f"{api.url}/w", operations=["getForecast"])
        agent(tools=("sky_get_forecast",))

    await orm.run_in_thread(made)
    await ran(studio, call)
    assert len(api.received) == 1

    moved = json.loads(document("weather.json"))
    moved["servers"] = [{"url": f"{api.url}/elsewhere"}]
    api.documents["/w"] = json.dumps(moved)

    def refreshed() -> None:
        row = McpServer.objects.get(workspace=workspace, name="sky")
        assert refresh_mcp_server(row, by=ANNE).changed == ("sky_get_forecast",)

    await orm.run_in_thread(refreshed)
    _, results = await ran(studio, call)
    assert "changed the tool sky_get_forecast, so it is not called" in results[0]
    assert len(api.received) == 1

    def accepted() -> None:
        row = McpServer.objects.get(workspace=workspace, name="sky")
        tool = CatalogueTool.objects.get(workspace=workspace, name="sky_get_forecast")
        accept_mcp_change(row, tool.name, tool.pending_id or "", by=ANNE)
        publish_agent(Agent.objects.get(workspace=workspace, name="solo"))

    await orm.run_in_thread(accepted)
    await ran(studio, call)
    assert api.received[-1].target == "/elsewhere/forecast?q=a"
