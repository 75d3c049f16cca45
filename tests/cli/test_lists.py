"""`agents`, `tools`, `runs`, `run --config`, structured answers, completion."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.models import Agent, Run
from agents.reads.agent_status import agents_with_metrics
from agents.reads.outcome import metrics_of, result_of
from heartbit_site.base.credentials import BasicCredential, BearerCredential, ImapCredential
from heartbit_site.base.models import UsageEntry
from heartbit_site.base.toolspec import spec_of
from heartbit_site.cli.commands import tools
from heartbit_site.cli.main import COMMANDS
from heartbit_site.cli.terminal.errors import USAGE
from heartbit_site.cli.terminal.output import INVOCATION
from tests.command import HEARTBIT
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place
    from tests.command import Command

CONFIG = """
[orchestrator]
team = ["counter"]

[[agents]]
name = "counter"
description = "Counts."
system_prompt = "You count."
response_schema = { type = "object", properties = { n = { type = "integer" } }, required = ["n"] }
"""


def ran(agent: Agent, status: str, *, seconds: float = 2.0, cost: str | None = "0.5") -> Run:
    """A run of an agent with one model call, as the journal would have left it."""
    now = timezone.now()
    live = status in ("queued", "running", "waiting")
    run = Run(
        workspace=agent.workspace,
        version=agent.current_version,
        agent=agent.name,
        status=status,
        task="Do it.",
        output="Done." if status == "succeeded" else None,
        error={"message": "It broke."} if status == "failed" else None,
        started_at=now - timedelta(seconds=seconds),
        finished_at=None if live else now,
    )
    run.root = run
    run.save()
    UsageEntry.objects.create(
        workspace=agent.workspace,
        run_id=run.pk,
        turn=1,
        model="m",
        input_tokens=10,
        output_tokens=5,
        cost_usd=cost,
        at=now,
    )
    return run


def test_figures_and_states_come_from_three_queries_for_all_agents(workspace: Workspace) -> None:
    analyst, writer, researcher = (
        Agent.objects.select_related("workspace").get(workspace=workspace, name=name)
        for name in ("analyst", "writer", "researcher")
    )
    for status in ("succeeded", "succeeded", "failed"):
        ran(analyst, status)
    ran(writer, "failed", cost=None)
    live = ran(writer, "queued", cost=None)
    Agent.objects.filter(pk=researcher.pk).update(
        enabled=False, enabled_at=timezone.now() - timedelta(days=1)
    )
    Agent.objects.filter(pk=analyst.pk).update(enabled_at=timezone.now() - timedelta(hours=1))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = {overview.agent.name: overview for overview in agents_with_metrics(workspace)}
    assert len(queries) == 3
    metrics = found["analyst"].metrics
    assert (metrics.runs, metrics.succeeded, metrics.failed) == (3, 2, 1)
    assert metrics.success_rate == pytest.approx(2 / 3)
    assert metrics.average_seconds == pytest.approx(2.0, abs=0.1)
    assert (metrics.input_tokens, metrics.output_tokens) == (30, 15)
    assert metrics.cost_usd is not None
    assert float(metrics.cost_usd) == 1.5
    assert 3600 <= metrics.uptime_seconds < 3700
    assert found["analyst"].state == "error", "its last run failed"
    assert (found["writer"].state, found["writer"].current_run) == ("busy", live.pk)
    assert found["writer"].metrics.cost_usd is None, "a price is unknown"
    assert (found["researcher"].state, found["researcher"].metrics.uptime_seconds) == ("stopped", 0)
    assert found["orchestrator"].state == "idle"
    assert found["orchestrator"].metrics.success_rate is None


def test_a_result_has_the_common_form(workspace: Workspace) -> None:
    agent = Agent.objects.select_related("workspace").get(workspace=workspace, name="writer")
    good = result_of(ran(agent, "succeeded")).model_dump()
    assert (good["status"], good["text"], good["error"]) == ("success", "Done.", None)
    assert good["metrics"]["cost_usd"] == "0.5"
    assert good["metrics"]["model_calls"] == 1
    bad = result_of(ran(agent, "failed", cost=None)).model_dump()
    assert (bad["status"], bad["error"]) == ("failure", "It broke.")
    assert bad["metrics"]["cost_usd"] is None
    live = ran(agent, "queued")
    assert metrics_of(live).model_calls == 1
    with pytest.raises(ValueError, match="queued"):
        result_of(live)


def test_a_root_takes_what_its_tree_takes_and_a_sub_agent_what_it_takes_itself(
    workspace: Workspace,
) -> None:
    agent = Agent.objects.select_related("workspace").get(workspace=workspace, name="writer")
    root, free = ran(agent, "succeeded"), ran(agent, "succeeded", cost="0")
    Run.objects.filter(pk=free.pk).update(parent=root, root=root)
    free.refresh_from_db()
    assert (metrics_of(root).model_calls, metrics_of(root).cost_usd) == (2, "0.5")
    assert (metrics_of(free).model_calls, metrics_of(free).cost_usd) == (1, "0")
    dear = ran(agent, "succeeded", cost=None)
    Run.objects.filter(pk=dear.pk).update(parent=root, root=root)
    assert metrics_of(root).cost_usd is None, "a part of it is unknown"


def test_runs_and_tools_are_listed(heartbit: Command) -> None:
    heartbit("run", "x [[text: Written.]]", "--agent", "writer")
    shown = heartbit("agents", "show", "writer", "--json").json
    assert shown["metrics"]["runs"] >= 1
    runs = heartbit("runs", "list", "--agent", "writer", "--status", "succeeded", "--json").json
    assert {run["agent"] for run in runs["runs"]} == {"writer"}
    for words, count in (("writ", 1), ("WRITTEN x", 1), ("written nowhere", 0)):
        found = heartbit("runs", "--search", words, "--last", "1", "--json").json["runs"]
        assert len(found) == count, words
    tools = heartbit("tools", "--json").json["tools"]
    effects = {row["name"]: row["effect"] for row in tools}
    assert effects["http_request"] == "at_most_once"


def test_agents_and_tools_are_listed_and_shown_here_and_at_a_server(place: Place) -> None:
    listed = place("agents")
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.splitlines()[0].split()[:3] == ["AGENT", "STATE", "RUNS"]
    assert any(line.startswith("writer ") for line in listed.out.splitlines())
    assert place("agents", "list").out.splitlines()[0] == listed.out.splitlines()[0]
    rows = place("agents", "--json").json["agents"]
    assert {"orchestrator", "writer"} <= {row["name"] for row in rows}
    shown = place("agents", "show", "writer", "--json").json
    assert (shown["name"], shown["definition"]["max_turns"]) == ("writer", 10)
    assert [version["current"] for version in shown["versions"]] == [True]
    text = place("agents", "show", "writer").out
    assert text.startswith("writer: ")
    assert "  versions      1 (current)\n" in text
    unknown = place("agents", "show", "zzzzzz")
    assert unknown.code == USAGE
    assert unknown.err.endswith(": `heartbit agents list` lists them.\n")
    tools = place("tools", "--json").json["tools"]
    [found] = [row for row in tools if row["name"] == "http_request"]
    assert (found["effect"], found["answered_by_person"]) == ("at_most_once", False)
    shown = place("tools", "show", "http_request", "--json").json
    assert found.items() <= shown.items()
    assert (shown["origin"], shown["disabled"]) == ("code", "")
    assert shown["labels"] == ["outbound", "untrusted"]
    assert '"expression": {' in place("tools", "show", "calculate").out
    unknown = place("tools", "show", "zzzzzz")
    assert unknown.code == USAGE
    assert unknown.err.endswith(": `heartbit tools` lists them.\n")


def test_options_before_the_name_of_a_command_are_its_group_s(place: Place) -> None:
    assert place("runs", "--last", "1").code == 0
    assert place("agents", "--json", "show", "writer").code == USAGE, "the group has no --json"


def test_a_tool_says_what_it_needs_and_where_it_is_from(
    database: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find_order(
        shop: BearerCredential | BasicCredential, note: ImapCredential | None, number: int
    ) -> str:
        """Find an order."""
        return str(number)

    spec = spec_of(find_order, effect="pure", tags=("shop", "read"))
    spec = dataclasses.replace(spec, source="shop-tools 1.2")
    monkeypatch.setitem(registry, "find_order", spec)
    tools.show("find_order")
    shown = capsys.readouterr().out
    assert "  needs     bearer|basic, imap?\n" in shown
    assert "  from      shop-tools 1.2\n" in shown
    assert "  tags      shop, read\n" in shown
    tools.list_tools()
    listed = " ".join(capsys.readouterr().out.split())
    assert "shop-tools 1.2 bearer|basic,imap? shop,read Find an order." in listed
    monkeypatch.setattr(INVOCATION, "as_json", True)
    tools.list_tools()
    rows = json.loads(capsys.readouterr().out)["tools"]
    [row] = [one for one in rows if one["name"] == "find_order"]
    assert row["credentials"] == [
        {"parameter": "shop", "kinds": ["bearer", "basic"], "optional": False},
        {"parameter": "note", "kinds": ["imap"], "optional": True},
    ]
    assert (row["source"], row["tags"]) == ("shop-tools 1.2", ["shop", "read"])


def test_a_configuration_file_brings_its_own_team(heartbit: Command, tmp_path: Path) -> None:
    file = tmp_path / "heartbit.toml"
    file.write_text(CONFIG)
    before = set(Agent.objects.filter(origin="").values_list("pk", flat=True))
    task = f'x [[text: {{"n": 3}}]] [[run: {uuid4()}]]'
    done = heartbit("run", task, "--agent", "counter", "--config", str(file))
    assert (done.code, done.out) == (0, '{\n  "n": 3\n}\n'), done.err
    assert f"Using the agents of {file}." in done.err.splitlines()
    run = Run.objects.get(task=task)
    assert run.version.agent.origin != ""
    assert set(Agent.objects.filter(origin="").values_list("pk", flat=True)) == before
    unknown = heartbit("run", "x", "--agent", "writer", env={"HEARTBIT_CONFIG": str(file)})
    assert unknown.code == 2
    assert "There is no agent named 'writer' in this run's own team: there are" in unknown.err


@pytest.mark.parametrize(
    ("words", "at", "expected"),
    [
        ("heartbit re", 1, {"resolve", "restore", "result", "resume"}),
        ("heartbit agents s", 2, {"show", "start", "status", "stop"}),
        ("heartbit 'a task' ", 2, set(COMMANDS)),
    ],
)
def test_a_shell_completes_commands(words: str, at: int, expected: set[str]) -> None:
    script = subprocess.run([HEARTBIT, "completion", "bash"], capture_output=True, check=True)
    assert b"_HEARTBIT_COMPLETE=complete_bash" in script.stdout
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(at), "_HEARTBIT_COMPLETE": "complete_bash"}
    found = subprocess.run(
        [HEARTBIT], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert set(found.stdout.split()) == expected
