"""`heartbit workflows`: the list, one of them, its faults, and its runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from agents.reads.views import WorkflowFiguresOut
from agents.runtime.execution.installed_executors import installed_workflows
from agents.workflows.drawing.layout import draw
from agents.workflows.drawing.mermaid import to_mermaid
from agents.workflows.drawing.svg import to_svg
from agents.workflows.spec.graph import read_graph
from heartbit_site.base.amounts import duration
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend.chosen import backend, call, print_all
from heartbit_site.cli.commands import agents, run
from heartbit_site.cli.commands.config import check as check_file
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import ChangeHereCommand, RemoteCommand
from heartbit_site.cli.terminal.errors import CANNOT_START, FAILED, OK, UsageError
from heartbit_site.cli.terminal.new_file import write_file
from heartbit_site.cli.terminal.output import as_json, note, write, write_json
from heartbit_site.cli.terminal.table import Table, print_facts, print_list, print_view
from heartbit_site.cli.views.outcome import print_runs
from heartbit_site.contract.agents import LIST_VERSIONS
from heartbit_site.contract.runs import LIST_RUNS
from heartbit_site.contract.workflows import (
    CHANGE_WORKFLOW,
    CHECK_WORKFLOW,
    CREATE_WORKFLOW,
    LIST_WORKFLOWS,
    MOVE_RUNS,
    SHOW_STATISTICS,
    SHOW_WORKFLOW,
    MoveIn,
    MoveOut,
    NamedFiguresOut,
    WorkflowChangeIn,
    WorkflowDetailOut,
    WorkflowIn,
    WorkflowOut,
)

NAME = common.argument("NAME", "The workflow's name.")
ANY = common.argument("[NAME]", "The workflow's name; none: all.", None)
INPUT = common.argument("[INPUT]", "The input: text, or a JSON object or list.", None)
SETTINGS = common.option(
    "--set KEY=VALUE", "Set an entry of the input, a JSON value or text; may be repeated.", None
)
FILE = common.option(
    "--config -C FILE", "Check this file instead of the installation's workflows.", None
)
VERSION = common.option("--to N", "Move to this version; none: the current one.", None, min=1)
RUNS = common.option("--run RUN", "Move this run; may be repeated. Else all.", None)
DRY_RUN = common.flag("--dry-run", "Only say which runs fit, and why others do not.")
BUILT = common.argument("[NAME]...", "The workflows' names; none: all.", None)
SVG = common.option("--svg FILE", "Write an SVG picture into this file instead.", None)
FORCE = common.flag("--force", "Replace an existing file.")
LAST_RUNS: Final = 5

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_workflows() -> int:
    """List the workflows with their state and figures."""
    return print_all(LIST_WORKFLOWS, WORKFLOWS)


@app.command(cls=RemoteCommand)
def show(name: str = NAME) -> int:
    """Show a workflow: its nodes, settings, versions, last runs and statistics."""
    server = backend()
    found = server.call(SHOW_WORKFLOW, workflow=name)
    published = server.every(LIST_VERSIONS, name=name).versions
    runs = server.call(LIST_RUNS, limit=LAST_RUNS, agent=found.name, children=True).runs
    numbers = (f"{one.number}{' (current)' if one.current else ''}" for one in published)

    def print_text() -> None:
        facts = (
            ("state", found.state),
            ("tools", ", ".join(found.tools) or "none"),
            ("agents", ", ".join(found.team) or "none"),
            ("versions", ", ".join(numbers)),
            *_figures(found),
        )
        title = f"{found.name}: {found.description or 'no description'}"
        print_facts(title, facts, width=agents.TITLES)
        for node in found.nodes:
            write(f"  node          {node.name}: {node.work} {node.subject}".rstrip())
        write(f"  definition\n{readable_json(found.definition)}")
        if runs:
            print_runs(runs, none="")

    dumped = {
        "versions": [one.model_dump(mode="json") for one in published],
        "last_runs": [one.model_dump(mode="json") for one in runs],
    }
    return print_view(found, print_text, **dumped)


@app.command(cls=RemoteCommand)
def check(name: str | None = ANY, *, file: Path | None = FILE) -> int:
    """List the faults of a workflow, or of all workflows."""
    if file is not None:
        if name is not None:
            raise UsageError("A file is checked as a whole: leave out the name, or --config.")
        return check_file(file, config=None)
    server = backend()
    names = [name] if name else [one.name for one in server.every(LIST_WORKFLOWS).workflows]
    checked = [server.call(CHECK_WORKFLOW, workflow=one) for one in names]
    faults = [fault for one in checked for fault in one.faults]
    if as_json():
        write_json({"workflows": [one.model_dump(mode="json") for one in checked]})
    for one in () if as_json() else checked:
        write(f"{one.workflow}:" if one.faults else f"{one.workflow} is in order.")
        for fault in one.faults:
            write(f"  {fault.message}")
    return CANNOT_START if faults else OK


@app.command(name="run", cls=ChangeHereCommand)
def run_workflow(
    name: str = NAME,
    given: str | None = INPUT,
    *,
    entries: list[str] | None = SETTINGS,
    approve: bool = common.REQUIRE_APPROVAL,
    config: Path | None = run.CONFIG,
    plain: bool = common.PLAIN,
) -> int:
    """Run a workflow in this process and print its output, as `heartbit run` does.

    Without an input it is an empty object.
    """
    if given is not None and entries:
        raise UsageError("Give the input as a whole, or entry by entry with --set.")
    text = given if given is not None else json.dumps(dict(map(_entry, entries or ())))
    return run.run(
        text, agent=name, model="", approve=approve, config=config, payload="", files=None,
        archives=None, images=None, plain=plain, server_url=None,
    )  # fmt: skip


@app.command(cls=RemoteCommand)
def graph(name: str = NAME, *, svg: Path | None = SVG, force: bool = FORCE) -> int:
    """Draw a workflow as it is saved: as Mermaid text on stdout, or as SVG into a file."""
    found = call(SHOW_WORKFLOW, workflow=name)
    spec = read_graph(found.definition)
    if svg is not None:
        write_file(svg, to_svg(draw(spec), title=found.name).encode(), force=force)
        note(f"Wrote {svg}.")
    elif as_json():
        write_json({"workflow": found.name, "mermaid": to_mermaid(spec)})
    else:
        write(to_mermaid(spec))
    return OK


@app.command(cls=RemoteCommand)
def publish(names: list[str] | None = BUILT) -> int:
    """Publish workflows that the apps of HEARTBIT_EXTRA_APPS here build in Python.

    They are in the apps' modules `agent_workflows`. An unchanged one keeps its version.
    """
    server = backend()
    built = installed_workflows()
    if unknown := [name for name in names or () if name not in built]:
        known = ", ".join(built) or "none"
        raise UsageError(f"No app here builds the workflow {unknown[0]}; they build: {known}.")
    there = {one.name for one in server.every(LIST_WORKFLOWS).workflows}
    done: list[WorkflowDetailOut] = []
    for name in names or built:
        settings = built[name].spec.model_dump(mode="json", by_alias=True, exclude={"enabled"})
        if name in there:
            body = WorkflowChangeIn.model_validate(settings)
            done.append(server.call(CHANGE_WORKFLOW, body, workflow=name))
        else:
            done.append(server.call(CREATE_WORKFLOW, WorkflowIn.model_validate(settings)))
    if as_json():
        write_json({"workflows": [one.model_dump(mode="json") for one in done]})
    for one in () if as_json() else done:
        write(f"{one.name}: v{one.version}")
    return OK


@app.command(cls=RemoteCommand)
def move(
    name: str = NAME,
    *,
    version: int | None = VERSION,
    runs: list[str] | None = RUNS,
    dry_run: bool = DRY_RUN,
) -> int:
    """Move waiting runs of a workflow to another version of it.

    Each is continued by a new run, and cancelled. Open questions are asked again; what has ended is
    not repeated. A run that does not fit stays as it is.
    """
    body = MoveIn(version=version, run_ids=[*map(common.run_id_of, runs or ())], dry_run=dry_run)
    found = call(MOVE_RUNS, body, workflow=name)

    def print_text() -> None:
        for one in found.runs:
            write(f"{one.run_id}: {_fate(one, found.version)}")
            for sentence in one.obstacles:
                write(f"  {sentence}")
        if not found.runs:
            write(f"No live run of {found.workflow} is on another version than v{found.version}.")

    print_view(found, print_text)
    return FAILED if any(one.obstacles for one in found.runs) else OK


@app.command(cls=RemoteCommand)
def statistics() -> int:
    """Show how often each pattern of workflows has succeeded in the last 30 days."""
    return print_list(backend().call(SHOW_STATISTICS), PATTERNS)


def _fate(move: MoveOut, version: int) -> str:
    if move.obstacles:
        return f"stays on v{move.version}."
    if move.moved_to_id is None:
        return f"fits v{version}."
    return f"is moved to v{version}, as run {move.moved_to_id}."


def _entry(text: str) -> tuple[str, Any]:
    key, is_pair, value = text.partition("=")
    if not (key and is_pair):
        raise UsageError(f"--set {text!r} is no entry: write KEY=VALUE, such as topic=owls.")
    try:
        return key, parse_untrusted_json(value)
    except UntrustedJSONError:
        return key, value


def _figures(found: WorkflowDetailOut) -> list[tuple[str, str]]:
    figures = found.statistics
    cost = "unknown: a model has no known price" if figures.cost_usd is None else figures.cost_usd
    counts = f"{figures.succeeded} succeeded, {figures.failed} failed"
    return [
        ("30 days", f"{figures.runs} runs: {counts}"),
        ("success", agents.success_rate(figures)),
        ("median time", _median(figures)),
        ("cost", f"${cost}" if figures.cost_usd is not None else cost),
    ]


def _median(figures: WorkflowFiguresOut) -> str:
    return "-" if figures.median_seconds is None else duration(figures.median_seconds)


WORKFLOWS: Final = Table.of(
    WorkflowOut,
    "WORKFLOW=name STATE RUNS=metrics.runs SUCCESS ACTIVE VERSION DESCRIPTION=description:40",
    styles=agents.STYLES,
    none="There are no workflows: import a file with [[workflows]] (`heartbit config import`).",
    SUCCESS=lambda workflow: agents.success_rate(workflow.metrics),
    ACTIVE=lambda workflow: agents.ago(workflow.metrics.last_activity),
)
PATTERNS: Final = Table.of(
    NamedFiguresOut,
    "PATTERN=name RUNS=figures.runs SUCCESS MEDIAN COST=figures.cost_usd|unknown",
    none="No run of the last 30 days was built from a pattern.",
    SUCCESS=lambda row: agents.success_rate(row.figures),
    MEDIAN=lambda row: _median(row.figures),
)
