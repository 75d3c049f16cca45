"""`heartbit tools`. This installation's come from the code: no service is needed."""

from __future__ import annotations

from typing import Final

import typer

from heartbit_site.base.amounts import duration
from heartbit_site.base.effect_text import EFFECT_TEXT
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli import remote
from heartbit_site.cli.backend import ServerBackend
from heartbit_site.cli.escape import visible
from heartbit_site.cli.groups import group
from heartbit_site.cli.invocation import INVOCATION
from heartbit_site.cli.output import one_line, write
from heartbit_site.cli.shared_options import RemoteCommand
from heartbit_site.cli.startup import set_up_django
from heartbit_site.cli.table import Table, print_facts, print_list, print_view
from heartbit_site.contract.tools import LIST_TOOLS, ToolOut, ToolsOut
from heartbit_site.environment import read
from tools.registry import closest, resolve

NAME = typer.Argument(metavar="NAME", help="The tool's name.")

DESCRIPTION_WIDTH: Final = 200

app = group()


class ToolNotFoundError(NotFoundError):
    """No tool has that name."""


@app.command(name="list", cls=RemoteCommand)
def list_tools() -> int:
    """List the tools with their effects."""
    found = _tools()
    return print_list(found, TOOLS, found.tools)


@app.command(cls=RemoteCommand)
def show(name: str = NAME) -> int:
    """Show a tool with its schema."""
    by_name = {tool.name: tool for tool in _tools().tools}
    tool = resolve(by_name, name)
    if tool is None:
        near = closest(name, by_name)
        hint = f": did you mean {near[0]}?" if near else "."
        remedy = None if near else Remedy("tools.list_tools")
        raise ToolNotFoundError(f"There is no tool named {name!r}{hint}", remedy=remedy)
    return print_view(tool, lambda: _print(tool))


def _print(tool: ToolOut) -> None:
    facts = (
        ("effect", f"{tool.effect}: {EFFECT_TEXT.get(tool.effect, '')}"),
        ("approval", _asked_by(tool)),
        ("limit", "unknown" if tool.timeout_seconds is None else duration(tool.timeout_seconds)),
        ("from", visible(tool.source)),
        ("needs", _needs(tool, ", ") or "no credentials"),
        ("tags", ", ".join(map(visible, tool.tags)) or "none"),
    )
    print_facts(visible(tool.name), facts, width=9)
    description = "\n".join(map(visible, tool.description.splitlines()))
    write(f"\n{description}\n\n{readable_json(tool.parameters)}")


def _tools() -> ToolsOut:
    server = remote.server(INVOCATION.url)
    if server is not None:
        return ServerBackend(server).every(LIST_TOOLS)
    set_up_django(read())
    from heartbit_site.operations.tools import installed_tools

    return installed_tools()


def _needs(tool: ToolOut, separator: str) -> str:
    """Return the kinds of credentials that a tool asks for; optional ones end with ?."""
    return visible(
        separator.join("|".join(need.kinds) + "?" * need.optional for need in tool.credentials)
    )


def _approval(tool: ToolOut) -> str:
    if tool.answered_by_person:
        return "answered"
    return "not asked" if tool.effect == "pure" else "asked"


def _asked_by(tool: ToolOut) -> str:
    if tool.answered_by_person:
        return "a person answers each call"
    return f"{_approval(tool)} by agents that ask for effects"


TOOLS: Final = Table[ToolOut](
    {
        "TOOL": lambda tool: tool.name,
        "EFFECT": lambda tool: tool.effect,
        "APPROVAL": _approval,
        "FROM": lambda tool: visible(tool.source),
        "NEEDS": lambda tool: _needs(tool, ","),
        "TAGS": lambda tool: ",".join(tool.tags),
        "": lambda tool: one_line(tool.description.partition("\n")[0], DESCRIPTION_WIDTH),
    }
)
