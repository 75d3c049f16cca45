"""`heartbit tools`: what agents can be given."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.amounts import duration
from heartbit_site.base.effect_text import EFFECT_TEXT
from heartbit_site.base.untrusted import clean_text
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend.chosen import backend, call, print_all
from heartbit_site.cli.commands.one_run import result
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import json_object
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.terminal.margin import visible
from heartbit_site.cli.terminal.output import one_line, write
from heartbit_site.cli.terminal.table import Table, print_done, print_facts, print_view
from heartbit_site.contract import tools
from heartbit_site.contract.fleet import TOOL_IN_WORKSPACE

NAME = common.argument("NAME", "The tool's name.")
REASON = common.option("TEXT", "Say why; models and people read it.")
AGENT = common.option("--agent -a AGENT", "Call it as this agent, which has the tool.", ...)
AS = common.option("--as NAME", "Call it with the permissions and credentials of this member.")
ARGUMENTS = common.option("JSON", "Call it with these arguments.", "{}")
APPROVE = common.flag("--approve", "Let the call wait for an approval.")
NO_WAIT = common.flag("--no-wait", "Print the run's id, without waiting for the end.")

DESCRIPTION_WIDTH: Final = 200
EXAMPLE: Final = '{"city": "Bergen"}'

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_tools() -> int:
    """List the tools with their effects."""
    return print_all(tools.LIST_TOOLS, TOOLS)


@app.command(cls=RemoteCommand)
def show(name: str = NAME) -> int:
    """Show a tool with its schema, the agents that have it, and its last calls."""
    tool = call(tools.SHOW_TOOL, tool=clean_text(name))
    return print_view(tool, lambda: _print(tool))


@app.command(cls=RemoteCommand)
def disable(name: str = NAME, *, reason: str = REASON) -> int:
    """Disable a tool in the workspace: models read why, and runs continue without it."""
    done = call(TOOL_IN_WORKSPACE.hold, {"reason": reason}, tool=clean_text(name))
    was = "is" if done.changed else "was already"
    return print_done(done, f"The tool {one_line(done.name)} {was} disabled.")


@app.command(cls=RemoteCommand)
def enable(name: str = NAME) -> int:
    """Enable a disabled tool in the workspace."""
    done = call(TOOL_IN_WORKSPACE.free, tool=clean_text(name))
    said = "may be called again" if done.changed else "was not disabled"
    return print_done(done, f"The tool {one_line(done.name)} {said}.")


@app.command(name="try", cls=RemoteCommand)
def try_tool(
    name: str = NAME,
    *,
    agent: str = AGENT,
    arguments: str = ARGUMENTS,
    as_: str = AS,
    approve: bool = APPROVE,
    no_wait: bool = NO_WAIT,
) -> int:
    """Call a tool as an agent that has it, and print the result; the call is a run of its own."""
    server = backend()
    if as_:
        server.act_for(as_)
    given = {
        "agent": agent,
        "arguments": json_object(arguments, "--arguments", EXAMPLE),
        "require_approval": approve,
    }
    run = server.call(tools.TRY_TOOL, given, tool=clean_text(name))
    if no_wait:
        return print_done(run, run.id)
    return result(run.id, wait=True)


def _print(tool: tools.ToolDetailOut) -> None:
    failed = f", {tool.failed} of them failed" if tool.failed else ""
    facts = (
        ("effect", f"{tool.effect}: {EFFECT_TEXT.get(tool.effect, '')}"),
        ("approval", _asked_by(tool)),
        ("limit", "unknown" if tool.timeout_seconds is None else duration(tool.timeout_seconds)),
        ("from", visible(tool.source)),
        ("needs", _needs(tool, ", ") or "no credentials"),
        ("tags", ", ".join(map(visible, tool.tags)) or "none"),
        ("data", ", ".join(tool.labels)),
        ("agents", ", ".join(map(visible, tool.agents)) or "none has it"),
        ("calls", f"{tool.calls} lately{failed}" if tool.calls else "none lately"),
        ("disabled", visible(tool.disabled)),
    )
    print_facts(visible(tool.name), facts, width=9)
    description = "\n".join(map(visible, tool.description.splitlines()))
    write(f"\n{description}\n\n{readable_json(tool.parameters)}")


def _needs(tool: tools.ToolOut, separator: str) -> str:
    """Return the kinds of credentials that a tool asks for; optional ones end with ?."""
    return visible(
        separator.join("|".join(need.kinds) + "?" * need.optional for need in tool.credentials)
    )


def _approval(tool: tools.ToolOut) -> str:
    if tool.answered_by_person:
        return "answered"
    return "not asked" if tool.effect == "pure" else "asked"


def _asked_by(tool: tools.ToolOut) -> str:
    if tool.answered_by_person:
        return "a person answers each call"
    return f"{_approval(tool)} by agents that ask for effects"


TOOLS: Final = Table.of(
    tools.ToolOut,
    "TOOL=name EFFECT APPROVAL FROM NEEDS TAGS _",
    APPROVAL=_approval,
    FROM=lambda tool: visible(tool.source),
    NEEDS=lambda tool: _needs(tool, ","),
    TAGS=lambda tool: ",".join(tool.tags),
    _=lambda tool: one_line(tool.description.partition("\n")[0], DESCRIPTION_WIDTH),
)
