"""`heartbit workflows`, here and against a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.run_request import start_conversation
from agents.models import Agent, Run
from heartbit_site.config.apply import import_config
from heartbit_site.config.read import parse
from tests.cli.places import NOWHERE, Place
from tests.fleet import Worker, wait_until
from tests.starts import post_message
from tests.workflows import shop

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.command import Command

TEXT = """
[[workflows]]
name = "sums"
description = "Multiplies."
[workflows.steps.product]
tool = "calculate"
arguments = { expression = "{{ input.n }} * {{ input.by }}" }
[workflows.steps.said]
needs = "product"
set = {}
"""
STEPS = '\n[workflows.steps.again]\nagent = "nobody"\n[workflows.steps.more]\nneeds = "x"\nset = {}'


@pytest.fixture
def sums(workspace: Workspace) -> Agent:
    import_config(workspace, parse(TEXT))
    return Agent.objects.get(workspace=workspace, name="sums")


def test_they_are_listed_shown_and_run(place: Place, here: Place, sums: Agent) -> None:
    ran = here("workflows", "run", "sums", "--set", "n=6", "--set", "by=7", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["output"] == "42"
    listed = place("workflows")
    assert listed.out.splitlines()[0].split()[:3] == ["WORKFLOW", "STATE", "RUNS"]
    assert [line.split()[:4] for line in listed.out.splitlines()[1:]] == [
        ["sums", "idle", "1", "100%"]
    ]
    shown = place("workflows", "show", "sums")
    for said in (
        "sums: Multiplies.\n",
        "  tools         calculate\n",
        "  versions      1 (current)\n",
        "  30 days       1 runs: 1 succeeded, 0 failed\n",
        "  success       100%\n",
        "  cost          $0\n",
        "  node          product: tool calculate\n  node          said: set\n",
        ran.json["id"][:8],
    ):
        assert said in shown.out, said
    found = place("workflows", "show", "sums", "--json").json
    assert found["nodes"][0] == {"name": "product", "work": "tool", "subject": "calculate"}
    assert [run["id"] for run in found["last_runs"]] == [ran.json["id"]]
    assert found["statistics"]["success_rate"] == 1
    unknown = place("workflows", "show", "writer")
    assert unknown.code == 2
    assert "There is no workflow named 'writer'" in unknown.err, unknown.err


def test_the_whole_input_is_text_or_data(here: Place, sums: Agent) -> None:
    assert here("workflows", "run", "sums", '{"n": 2, "by": 4}').out == "8\n"
    both = here("workflows", "run", "sums", "{}", "--set", "n=1")
    assert (both.code, "entry by entry" in both.err) == (2, True)
    wrong = here("workflows", "run", "sums", "--set", "n")
    assert (wrong.code, "write KEY=VALUE" in wrong.err) == (2, True)
    assert Run.objects.filter(version__agent=sums).count() == 1


def test_a_check_names_all_faults_of_a_row(place: Place, sums: Agent) -> None:
    good = place("workflows", "check")
    assert (good.code, good.out) == (0, "sums is in order.\n")
    sums.definition["nodes"][0]["tool"] = "calculat"
    sums.definition["nodes"][1] = {"name": "said", "agent": "nobody"}
    sums.save()
    found = place("workflows", "check", "sums")
    assert found.code == 3
    assert 'unknown tool "calculat"' in found.out
    assert 'unknown agent "nobody"' in found.out
    faults = place("workflows", "check", "--json").json["workflows"][0]["faults"]
    assert [one["place"] for one in faults] == ["nodes[0].tool", "nodes[1].agent"]


def test_a_check_names_all_faults_of_a_file(heartbit: Command, tmp_path: Path) -> None:
    file = tmp_path / "flows.toml"
    file.write_text(TEXT)
    asked = ("workflows", "check", "--config", str(file))
    assert heartbit(*asked, env=NOWHERE).code == 0
    file.write_text(TEXT + STEPS)
    found = heartbit(*asked, env=NOWHERE)
    assert (found.code, found.err.count("flows.toml:")) == (3, 2), found.err
    named = heartbit(*asked, "sums", env=NOWHERE)
    assert named.code == 2


def test_it_is_drawn(place: Place, sums: Agent, tmp_path: Path) -> None:
    drawn = place("workflows", "graph", "sums").out
    assert drawn.startswith("flowchart")
    assert "product" in drawn
    assert place("workflows", "graph", "sums", "--json").json["mermaid"].strip() == drawn.strip()
    file = tmp_path / "sums.svg"
    assert place("workflows", "graph", "sums", "--svg", str(file)).err == f"Wrote {file}.\n"
    assert file.read_text().startswith("<svg")


def test_its_nodes_are_shown_while_it_runs_and_afterwards(
    place: Place, sums: Agent, worker: Worker
) -> None:
    ran = place("submit", '{"n": 6, "by": 7}', "--agent", "sums", "--watch", "--plain")
    assert (ran.code, ran.out) == (0, "42\n"), ran.err
    assert 'sums          product finished: "42"' in ran.err
    run = Run.objects.get(version__agent=sums)
    shown = place("runs", "show", str(run.pk))
    assert '\n  product → "42" (' in shown.out
    assert "\nsums   1.0   ok                said {}\n" in shown.out


def test_it_answers_a_conversation_and_a_schedule(
    here: Place, workspace: Workspace, sums: Agent, worker: Worker
) -> None:
    thread = start_conversation(workspace, agent="sums")
    for n in (2, 3):
        run_id = post_message(thread, f'{{"n": {n}, "by": 7}}').run_id
        wait_until(Run.objects.filter(pk=run_id, finished_at__isnull=False).exists)
        run = Run.objects.get(pk=run_id)
        assert (run.output, run.conversation_id, run.error) == (str(n * 7), thread.pk, None)
    task = ("--agent", "sums", "--task", '{"n": 5, "by": 7}')
    added = here("schedules", "add", "weekly", *task, "--cron", "0 0 1 1 *")
    assert added.code == 0, added.err
    started = here("schedules", "run", "weekly", "--json")
    assert started.code == 0, started.err
    fired = Run.objects.filter(version__agent=sums).latest("created_at")
    wait_until(Run.objects.filter(pk=fired.pk, finished_at__isnull=False).exists)
    assert Run.objects.get(pk=fired.pk).output == "35"


def test_those_of_apps_are_published(here: Place, workspace: Workspace) -> None:
    nothing = here("workflows", "publish", "traced")
    assert (nothing.code, "they build: none" in nothing.err) == (2, True), nothing.err
    place = Place(here.command, here.env | {"HEARTBIT_EXTRA_APPS": shop.__name__})
    for _ in range(2):  # the second time it is as it was
        published = place("workflows", "publish")
        assert published.out == "traced: v1\n", published.err
    row = Agent.objects.get(workspace=workspace, name="traced")
    assert row.definition["nodes"][0]["function"] == "leave_trace"
