"""The dashboard and the alert rules name metrics and labels that exist; the document lists them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from heartbit_site.monitoring.metrics import METRICS
from heartbit_site.monitoring.rules import RULES as RULE_LIST

ROOT = Path(__file__).parents[2]
RULES = yaml.safe_load((ROOT / "deploy/prometheus/heartbit-rules.yml").read_text())
DASHBOARD = json.loads((ROOT / "deploy/grafana/heartbit.json").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
TARGETS = [
    (f"{panel['title']} {target['refId']}", target["expr"], target["legendFormat"])
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
]
USES = [(one["alert"], one["expr"], one["annotations"]["summary"]) for one in ALERTS] + TARGETS
LABELS = {metric.name: set(metric.labels) for metric in METRICS}
METRIC = re.compile(r"heartbit_\w+")
LABEL = re.compile(r"(\w+)=|by \(([^)]*)\)|\$labels\.(\w+)|\{\{(\w+)\}\}")


@pytest.mark.parametrize(("name", "expression", "text"), USES, ids=[use[0] for use in USES])
def test_each_expression_names_what_is_collected(name: str, expression: str, text: str) -> None:
    metrics = METRIC.findall(expression)
    if name == "HeartbitDown":
        assert expression == 'up{job="heartbit"} == 0'
        return
    assert metrics
    assert set(metrics) <= LABELS.keys()
    named = {
        label.strip()
        for groups in LABEL.findall(f"{expression} {text}")
        for label in ",".join(groups).split(",")
        if label.strip()
    }
    assert named <= set.union(*(LABELS[metric] for metric in metrics))


def test_prometheus_s_rules_are_those_that_heartbit_evaluates() -> None:
    assert ALERTS[0]["alert"] == "HeartbitDown", "which Heartbit cannot say of itself"
    assert ALERTS[1:] == [rule.prometheus() for rule in RULE_LIST]


def test_rates_are_of_counters_alone() -> None:
    for _, expression, _ in USES:
        for metric in re.findall(r"rate\((heartbit_\w+)", expression):
            assert metric.endswith("_total")


def test_each_alert_is_explained_and_each_explained_alert_exists() -> None:
    text = (ROOT / "docs/howto/monitoring.md").read_text()
    assert set(re.findall(r"^\| `(Heartbit\w+)`", text, re.MULTILINE)) == {
        alert["alert"] for alert in ALERTS
    }


def test_panels_have_places_of_their_own() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids) == len(set(places))
