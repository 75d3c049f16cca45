"""`heartbit agents`: the list, one of them, its versions, and starting and stopping them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from agents.definitions.snapshot_diff import FieldChangeOut, PartChangeOut
from agents.reads.views import AgentMetricsOut, AgentStatusOut, WorkflowFiguresOut
from heartbit_site.base.amounts import counted, duration
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.visible_text import readable_json, visible
from heartbit_site.cli.backend.chosen import backend, call, print_all, send_change
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options
from heartbit_site.cli.options.shared import RemoteCommand, with_groups
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.margin import margined, text_width
from heartbit_site.cli.terminal.output import as_json, listed, note, one_line, write
from heartbit_site.cli.terminal.table import Table, print_done, print_facts, print_list, print_view
from heartbit_site.cli.terminal.times import format_relative
from heartbit_site.config.locate import read_text
from heartbit_site.contract import agents as contract
from heartbit_site.contract.agents import LIST_AGENTS, SHOW_AGENT, AgentOut, DiffOut, VersionOut

NAME = common.argument("NAME", "The agent's name.")
ANY = common.argument("[NAME]", "The agent's name; none: all.", None)
NEW = common.argument("NAME", "Name for people and other agents, such as researcher.")
TEMPLATE = common.option(
    "--template NAME", "Start from this template, as `heartbit agents templates` lists them.", None
)
READ_VERSION = common.option(
    "--version N", "Refuse if this is no longer the current version.", None, min=1
)
NUMBER = common.argument("NUMBER", "The version to restore.", min=1)
FROM = common.argument("[FROM]", "A version's number; none: the one before TO.", None, min=1)
TO = common.argument("[TO]", "The second version's number; none: the current version.", None, min=1)
FORCE = common.flag(
    "--force",
    "Roll back even if tools, team or skills have changed: with today's, as a new version.",
)

STYLES: Final = {"idle": "green", "busy": "cyan", "error": "red", "stopped": "dim"}
TITLES: Final = 13  # characters of the longest title of a fact

AGENTS: Final = Table.of(
    AgentOut,
    "AGENT=name STATE RUNS=metrics.runs SUCCESS AVERAGE TOKENS ACTIVE MODEL=model:40|default TOOLS",
    styles=STYLES,
    SUCCESS=lambda agent: success_rate(agent.metrics),
    AVERAGE=lambda agent: _average(agent.metrics),
    TOKENS=lambda agent: f"{agent.metrics.input_tokens + agent.metrics.output_tokens:,}",
    ACTIVE=lambda agent: ago(agent.metrics.last_activity),
    TOOLS=lambda agent: _now(agent),
)

TEMPLATES: Final = Table.of(
    contract.TemplateOut,
    "TEMPLATE=name TOOLS DESCRIPTION=description:300",
    TOOLS=lambda one: _tools_of(one),
)

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_agents() -> int:
    """List the agents with their state and figures."""
    return print_all(LIST_AGENTS, AGENTS)


@app.command(name="templates", cls=RemoteCommand)
def list_templates() -> int:
    """List the templates that `heartbit agents add NAME --template TEMPLATE` begins with."""
    return print_all(contract.LIST_AGENT_TEMPLATES, TEMPLATES)


@app.command(cls=RemoteCommand)
def show(name: str = NAME) -> int:
    """Show an agent: its definition, versions and figures."""
    server = backend()
    agent = server.call(SHOW_AGENT, name=name)
    published = server.every(contract.LIST_VERSIONS, name=name).versions
    busy = f" with run {agent.current_run_id}" if agent.current_run_id else ""
    numbers = (f"{one.number}{' (current)' if one.current else ''}" for one in published)
    facts = (
        ("state", f"{agent.state}{busy}"),
        ("model", agent.model or "the default one"),
        ("tools", ", ".join(agent.tools) or "none"),
        ("team", ", ".join(agent.team) or "none"),
        *_figures(agent.metrics),
        ("uptime", "-" if agent.state == "stopped" else duration(agent.metrics.uptime_seconds)),
        ("last active", ago(agent.metrics.last_activity)),
        ("versions", ", ".join(numbers)),
    )

    def print_text() -> None:
        print_facts(f"{agent.name}: {agent.description or 'no description'}", facts, width=TITLES)
        write(f"  definition\n{readable_json(agent.definition)}")

    dumped = [one.model_dump(mode="json") for one in published]
    return print_view(agent, print_text, versions=dumped)


PROMPT_FILE = common.option("--prompt-file FILE", "Read the system prompt from this file.", None)
SETTINGS: Final = body_options(
    contract.AgentIn,
    *("name", "system_prompt_file", "template"),
    system_prompt=common.option("--prompt -p TEXT", "Set the agent's role and instructions.", None),
    tools=common.option("--tool NAME", "Give it this tool and no other; may be repeated.", []),
    team=common.option("--member NAME", "Let it delegate to this agent; may be repeated.", []),
    enabled=typer.Option(None, "--enable/--disable", help="A stopped agent takes no new runs."),
    skills=common.option("--skill NAME", "Give it this skill; may be repeated.", []),
    fallback_models=common.option(
        "--fallback-model MODEL", "Use this when the model fails; may be repeated.", []
    ),
    stop=common.option("--stop TEXT", "End an answer at this text; may be repeated.", []),
    temperature=common.option("--temperature", "Set the randomness of answers, from 0 to 2.", None),
    memory=typer.Option(
        None,
        "--memory/--no-memory",
        help="Let it remember across runs: it gets memories at a run's start, and stores new ones.",
    ),
    code_mode=typer.Option(
        None, "--code-mode/--no-code-mode", help="Let the model call tools from Python scripts."
    ),
    extract_memories=typer.Option(
        None,
        "--extract-memories/--no-extract-memories",
        help="Store what is worth remembering after each run that succeeded.",
    ),
)


@app.command(cls=RemoteCommand)
@with_groups
def add(
    name: str = NEW,
    *,
    settings: Annotated[Given, SETTINGS],
    prompt_file: Path | None = PROMPT_FILE,
    template: str | None = TEMPLATE,
) -> int:
    """Make an agent and publish it."""
    begun = {"description": ""} if template is None else {"template": template}
    given = {"name": name, **begun, **_with_prompt(settings, prompt_file)}
    made = call(contract.CREATE_AGENT, given)
    return print_done(made, f"The agent {one_line(made.name)} is made: v{made.version}.")


@app.command(cls=RemoteCommand)
@with_groups
def change(
    name: str = NAME,
    *,
    settings: Annotated[Given, SETTINGS],
    prompt_file: Path | None = PROMPT_FILE,
    version: int | None = READ_VERSION,
) -> int:
    """Change the given settings of an agent and publish it; the others stay."""
    given = _with_prompt(settings, prompt_file)
    if given and version is not None:
        given["version"] = version
    changed = send_change(contract.CHANGE_AGENT, given, name=name)
    said = f"The agent {one_line(changed.name)} is at v{changed.version}: its next runs use it."
    return print_done(changed, said)


def _tools_of(template: contract.TemplateOut) -> str:
    tools = template.definition.get("tools")
    return str(len(tools)) if isinstance(tools, list) else "0"


def _with_prompt(settings: Given, file: Path | None) -> Given:
    if file is None:
        return settings
    if "system_prompt" in settings:
        raise UsageError("--prompt and --prompt-file contradict each other: give one.")
    return {**settings, "system_prompt": read_text(file)}


def _touched(server: Backend, given: dict[str, Any]) -> str:
    """Return what a deletion would touch, to be said before it."""
    uses = server.call(contract.SHOW_AGENT_USES, **given)
    if uses.refusal:
        raise ConflictError(uses.refusal)
    gone = [
        counted(number, noun)
        for number, noun in ((uses.budgets, "budget"), (uses.grants, "grant"))
        if number
    ]
    with_it = f"; deleted with it: {listed(gone)}" if gone else ""
    runs, threads = counted(uses.runs, "run"), counted(uses.conversations, "conversation")
    return f"What stays: {runs} with all versions, {threads}{with_it}."


VERBS: Final = Verbs(app, "agent", LIST_AGENTS, AGENTS)
VERBS.remove(
    contract.REMOVE_AGENT,
    "Remove an agent or a workflow that nothing needs; its runs and versions stay.",
    stays="its runs and versions stay",
    touched=_touched,
)
VERBS.do(
    "version",
    contract.SHOW_VERSION,
    "Show what a version of an agent pins.",
    show=lambda one: write(readable_json(one.snapshot)),
)


@app.command(name="versions", cls=RemoteCommand)
def list_versions(name: str = NAME) -> int:
    """List the published versions of an agent, the newest first."""
    found = backend().every(contract.LIST_VERSIONS, name=name)
    none = f"The agent {one_line(found.agent)} was never published."
    return print_list(found, VERSIONS, none=none)


@app.command(cls=RemoteCommand)
def diff(name: str = NAME, older: int | None = FROM, newer: int | None = TO) -> int:
    """Show what changed between two versions of an agent."""
    found = call(contract.COMPARE_VERSIONS, name=name, older=older, newer=newer)
    return print_view(found, lambda: _print_diff(found))


@app.command(cls=RemoteCommand)
def rollback(name: str = NAME, number: int = NUMBER, *, force: bool = FORCE) -> int:
    """Restore an earlier version of an agent; its runs keep theirs."""
    body = contract.RollbackIn(force=force)
    done = call(contract.ROLL_BACK, body, name=name, number=number)
    print_done(done, f"{done.agent} is v{done.version} now: its next runs use it.")
    if done.differs and not as_json():
        note(f"Not as in v{done.requested_version}: {done.differs}.")
    return OK


@app.command(cls=RemoteCommand)
def status(name: str | None = ANY) -> int:
    """Show what an agent is doing: its runs, queue, uptime and tools."""
    if name is None:
        return print_all(contract.LIST_AGENT_STATUSES, STATUSES)
    found = call(contract.SHOW_AGENT_STATUS, name=name)
    return print_view(found, lambda: print_facts(found.name, _facts(found), width=TITLES))


@app.command(cls=RemoteCommand)
def start(name: str = NAME) -> int:
    """Start a stopped agent: it accepts runs again, and its runs resume."""
    found = call(contract.START_AGENT, name=name)
    return print_done(found, f"The agent {one_line(found.name)} is started.")


@app.command(cls=RemoteCommand)
def stop(name: str = NAME) -> int:
    """Stop an agent: it takes no runs, and running ones are requeued.

    Nothing is lost: queued and waiting runs stay, and continue when it is started.
    """
    found = call(contract.STOP_AGENT, name=name)
    print_done(found, f"The agent {one_line(found.name)} is stopped.")
    queue = found.queue
    if not as_json() and (queue.running or queue.queued):
        note(
            f"{queue.running} of its runs are interrupted at once and requeued; {queue.queued} "
            "are queued. All of them go on when it is started; what was interrupted begins again."
        )
    return OK


@app.command(cls=RemoteCommand)
def restart(name: str = NAME) -> int:
    """Requeue an agent's running runs, so that they are claimed again; start a stopped one."""
    found = call(contract.RESTART_AGENT, name=name)
    return print_done(found, f"The agent {one_line(found.name)} is restarted.")


def _print_diff(diff: DiffOut) -> None:
    """Print what changed, setting by setting."""
    agent, older, newer = one_line(diff.agent), diff.older, diff.newer
    if not diff.changed:
        write(f"{agent}: v{older} and v{newer} are the same.")
        return
    write(f"{agent}: from v{older} to v{newer}")
    if diff.prompt:
        write("  system prompt")
        write("\n".join(margined(visible(diff.prompt), text_width())))
    for change in diff.fields:
        write(f"  {_change(change)}")
    for noun, parts in (
        ("tool", diff.tools),
        ("team member", diff.team),
        ("skill", diff.skills),
    ):
        for part in parts:
            for line in _part(noun, part):
                write(f"  {line}")


def _change(change: FieldChangeOut) -> str:
    return f"{change.name}: {_value(change.before)} -> {_value(change.after)}"


def _value(value: Any) -> str:
    return "-" if value is None else one_line(readable_json(value))


def _part(noun: str, part: PartChangeOut) -> Iterator[str]:
    if part.kind != "changed":
        yield f"{noun} {one_line(part.name)}: {part.kind}"
        return
    if part.definition:
        yield f"{noun} {one_line(part.name)}: described differently"
    for change in part.fields:
        yield f"{noun} {one_line(part.name)}: {_change(change)}"


def _facts(found: AgentStatusOut) -> Iterator[tuple[str, str]]:
    queue, tools = found.queue, found.tools
    oldest = queue.oldest_seconds
    yield "state", found.state
    yield from (("", f"run {run.id} on {run.worker}") for run in found.runs)
    yield "problem", found.problem
    yield "uptime", _uptime(found)
    yield "last active", ago(found.last_activity)
    yield "tools loaded", ", ".join(tools.loaded) or "none"
    yield "changed", ", ".join(tools.changed)
    yield "unknown", ", ".join(tools.unknown)
    yield "stopped", ", ".join(tools.stopped)
    waiting = f", the oldest for {duration(oldest)}" if oldest is not None else ""
    yield "queue", f"{queue.name}: {queue.queued} queued{waiting}"
    yield "", f"{queue.running} running, {queue.waiting} waiting"
    yield from _figures(found.metrics)


def _figures(metrics: AgentMetricsOut) -> Iterator[tuple[str, str]]:
    yield "runs", f"{metrics.runs}: {metrics.succeeded} succeeded, {metrics.failed} failed"
    yield "success", success_rate(metrics)
    yield "average time", _average(metrics)
    yield "tokens", f"{metrics.input_tokens:,} in, {metrics.output_tokens:,} out"
    cost = metrics.cost_usd
    yield "cost", "unknown: a model has no known price" if cost is None else f"${cost}"


def success_rate(metrics: AgentMetricsOut | WorkflowFiguresOut) -> str:
    """Return the share of successes as text."""
    return "-" if metrics.success_rate is None else f"{metrics.success_rate:.0%}"


def _average(metrics: AgentMetricsOut) -> str:
    return "-" if metrics.average_seconds is None else duration(metrics.average_seconds)


def _uptime(found: AgentStatusOut) -> str:
    return duration(found.uptime_seconds) if found.enabled else "-"


def ago(moment: datetime | None) -> str:
    """Return how long ago something was."""
    return "never" if moment is None else format_relative(moment)


def _now(agent: AgentOut) -> str:
    busy = f"run {agent.current_run_id[: common.SHORT_ID]}  " if agent.current_run_id else ""
    return busy + ", ".join(agent.tools)


def _loaded(found: AgentStatusOut) -> str:
    tools = found.tools
    bad = len(tools.changed) + len(tools.unknown)
    return f"{len(tools.loaded)} loaded{f', {bad} not' if bad else ''}"


STATUSES: Final = Table.of(
    AgentStatusOut,
    "AGENT=name STATE UPTIME QUEUED=queue.queued RUNNING=queue.running "
    "WAITING=queue.waiting ACTIVE TOOLS",
    styles=STYLES,
    UPTIME=_uptime,
    ACTIVE=lambda found: ago(found.last_activity),
    TOOLS=_loaded,
)
VERSIONS: Final = Table.of(
    VersionOut,
    "VERSION=number PUBLISHED=created_at RUNS HASH=hash:.12 _=current",
    styles={"current": "green"},
)
