"""`GET /metrics`: who may read it, what it says of rows, and that its documents know each name."""

from __future__ import annotations

import json
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from django.db import connection, transaction
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.models import Agent, Budget, Run, Wait, WebhookDelivery, WebhookEndpoint
from heartbit_site.base.models import UsageEntry
from heartbit_site.base.scopes import OPERATORS_SCOPE, SCOPES
from heartbit_site.monitoring.collector import FRESH_SECONDS, InstallationCollector
from heartbit_site.monitoring.metrics import METRICS, VALUES
from tests.api.server import key_for
from tests.starts import start_run

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

ROOT = Path(__file__).parents[2]
NAMES = {metric.name for metric in METRICS}
QUEUE = "q-metrics"  # no worker serves it


def values() -> dict[tuple[str, ...], float]:
    """The collected samples by their name and labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in InstallationCollector().collect()
        for sample in family.samples
    }


def queued(workspace: Workspace, queue: str = QUEUE) -> UUID:
    """A run in a queue that no worker serves."""
    name = f"a-{uuid4().hex[:8]}"
    agent = Agent.objects.create(workspace=workspace, name=name, system_prompt="x", queue=queue)
    publish_agent(agent)
    return start_run(workspace, "wait", agent=agent.name, model="openai:fake")


def ask(site: WebServer, key: str, method: str = "GET") -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.request(method, f"{site.url}/metrics", headers=headers, trust_env=False)


def test_given_an_operators_key_then_each_declared_family_is_served(
    site: WebServer, workspace: Workspace
) -> None:
    response = ask(site, key_for(workspace, [OPERATORS_SCOPE]))
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {family.name: family for family in text_string_to_metric_families(response.text)}
    declared = {metric.name.removesuffix("_total"): metric for metric in METRICS}
    assert found.keys() == declared.keys()
    for name, family in found.items():
        assert (family.type, family.documentation) == (declared[name].kind, declared[name].help)
    assert workspace.slug not in response.text, "no tenant is named"


@pytest.mark.parametrize(
    ("scopes", "status"), [(None, 401), (sorted(SCOPES.keys() - {OPERATORS_SCOPE}), 403)]
)
def test_given_another_caller_then_nothing_is_shown(
    site: WebServer, workspace: Workspace, scopes: list[str] | None, status: int
) -> None:
    response = ask(site, "" if scopes is None else key_for(workspace, scopes))
    assert response.status_code == status
    assert response.json()["status"] == status
    assert "heartbit_" not in response.text


def test_given_another_method_then_it_is_refused(site: WebServer, workspace: Workspace) -> None:
    refused = ask(site, key_for(workspace, [OPERATORS_SCOPE]), "DELETE")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


def test_given_two_scrapes_in_a_row_then_the_database_is_read_once(
    site: WebServer, workspace: Workspace
) -> None:
    key = key_for(workspace, [OPERATORS_SCOPE])
    first, begun = ask(site, key).text, time.monotonic()
    queued(workspace, "q-metrics-later")
    second = ask(site, key).text
    if time.monotonic() - begun < FRESH_SECONDS:
        assert second == first
    deadline = begun + FRESH_SECONDS + 20
    while 'queue="q-metrics-later"' not in ask(site, key).text:
        assert time.monotonic() < deadline


def test_given_a_queued_run_then_its_queue_has_an_age_and_no_worker(workspace: Workspace) -> None:
    run = queued(workspace)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agents_run SET available_at = clock_timestamp() - interval '90 seconds' "
            "WHERE id = %s",
            [run],
        )
    found = values()
    assert found["heartbit_queue_runs", QUEUE] == 1
    assert 90 <= found["heartbit_queue_oldest_seconds", QUEUE] < 120
    assert found["heartbit_queue_workers", QUEUE] == 0
    assert found["heartbit_runs", "queued"] >= 1


def test_given_an_open_outcome_then_the_call_counts_as_uncertain(workspace: Workspace) -> None:
    run = queued(workspace)
    before = values()
    created = timezone.now() - timedelta(hours=200)
    kind = {"kind": "outcome", "asks_person": True}
    wait = Wait.objects.create(run_id=run, key="outcome:1.0:1", created_at=created, **kind)
    found = values()
    assert found["heartbit_uncertain_calls",] == before["heartbit_uncertain_calls",] + 1
    assert found["heartbit_waits", "outcome"] == found["heartbit_uncertain_calls",]
    assert found["heartbit_wait_oldest_seconds", "outcome"] >= 200 * 3600
    wait.delete()


def test_given_usage_then_tokens_and_dollars_of_today_count(workspace: Workspace) -> None:
    model = f"openai:m-{uuid4().hex}"
    now = timezone.now()
    usage: dict[str, Any] = {"workspace": workspace, "run_id": uuid4(), "turn": 1, "model": model}
    tokens = {"input_tokens": 100, "output_tokens": 7, "cached_input_tokens": 40}
    UsageEntry.objects.create(**usage, **tokens, cost_usd="0.5", at=now)
    UsageEntry.objects.create(**usage, **tokens, cost_usd=None, at=now)
    UsageEntry.objects.create(**usage, **tokens, cost_usd="9", at=now - timedelta(days=1))
    found = values()
    assert found["heartbit_model_calls_total", model] == 2
    assert found["heartbit_model_unpriced_calls_total", model] == 1
    assert found["heartbit_model_cost_usd_total", model] == 0.5
    kinds = ("input", "cached_input", "output")
    assert [found["heartbit_model_tokens_total", model, kind] for kind in kinds] == [200, 80, 14]


def test_given_failed_messages_and_a_spent_budget_then_both_count(workspace: Workspace) -> None:
    before = values()
    endpoint = WebhookEndpoint.objects.create(
        workspace=workspace, name="x", url="https://x.example"
    )
    for age, status in ((1, "failed"), (90, "failed"), (1, "pending")):
        WebhookDelivery.objects.create(
            endpoint=endpoint,
            event="ping",
            event_key=str(uuid4()),
            message_id=uuid4().hex,
            payload={},
            status=status,
            created_at=timezone.now() - timedelta(hours=age),
        )
    for spent, agent_period in ((100, "day"), (85, "month")):
        Budget.objects.create(
            workspace=workspace,
            period=agent_period,
            max_tokens=100,
            spent_tokens=spent,
            period_start=timezone.now(),
        )
    found = values()

    def more(*name: str) -> float:
        return found[name] - before.get(name, 0)

    assert more("heartbit_deliveries_failed", "webhook") == 1, "the older one is out of the window"
    assert more("heartbit_deliveries_pending", "webhook") == 1
    assert more("heartbit_budgets", "exceeded") == 1
    assert more("heartbit_budgets", "warning") == 1
    endpoint.delete()


def test_given_ended_and_quarantined_runs_then_statuses_count(workspace: Workspace) -> None:
    before = values()
    cancel_run(workspace, queued(workspace), reason="")
    crashed = Run.objects.filter(pk=queued(workspace))
    for status, ended in (("running", None), ("quarantined", timezone.now())):
        crashed.update(status=status, finished_at=ended)
    found = values()

    def more(*name: str) -> float:
        return found[name] - before.get(name, 0)

    assert more("heartbit_runs_ended_total", "cancelled") == 1
    assert more("heartbit_runs", "quarantined") == 1
    assert more("heartbit_runs_ended_total", "quarantined") == 1


def test_given_a_long_history_then_no_part_reads_all_of_it() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN (FORMAT JSON) " + VALUES)
        plan: Any = cursor.fetchall()[0][0]
    plan = json.loads(plan) if isinstance(plan, str) else plan

    def scans(node: dict[str, Any]) -> list[tuple[str, str]]:
        found = [scan for child in node.get("Plans", ()) for scan in scans(child)]
        if node.get("Relation Name") in BIG:
            index = node.get("Index Name", "")
            is_bounded = "Index Cond" in node or node["Node Type"] == "Bitmap Heap Scan"
            if not is_bounded and index not in PARTIAL:
                found.append(
                    (node["Relation Name"], f"{node['Node Type']} {index} {node.get('Filter')}")
                )
        return found

    assert scans(plan[0]["Plan"]) == []


BIG = {"agents_run", "base_usageentry", "agents_webhookdelivery", "agents_delivery", "agents_wait"}
#: Indexes of live rows alone.
PARTIAL = {"wait_for_people", "delivery_due", "run_live", "run_quarantined", "webhook_due"}


LINE = re.compile(r"^\| `(heartbit_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)


def test_each_metric_has_its_line_in_the_document() -> None:
    text = (ROOT / "docs/howto/monitoring.md").read_text()
    rows = re.findall(
        r"^\| `(heartbit_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$", text, re.MULTILINE
    )
    declared = [
        (one.name, one.kind, ", ".join(f"`{label}`" for label in one.labels), one.help)
        for one in METRICS
    ]
    assert [tuple(map(str.strip, row)) for row in rows] == declared
