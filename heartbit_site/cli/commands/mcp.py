"""`heartbit mcp`: servers whose tools agents can be given, and a server of our own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from agents.definitions.advice import publish_again
from heartbit_site.base.amounts import counted
from heartbit_site.cli.backend import chosen
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options
from heartbit_site.cli.options.shared import RemoteCommand, with_groups
from heartbit_site.cli.options.targets import no_such
from heartbit_site.cli.terminal.errors import FAILED, OK, CommandError, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.margin import visible
from heartbit_site.cli.terminal.output import NAME_WIDTH, TEXT_WIDTH, note, one_line, write
from heartbit_site.cli.terminal.table import Table, print_done, print_facts, print_view
from heartbit_site.contract import mcp_servers as contract

NEW = common.argument("NAME", "Name that its tools' names begin with, such as git.")
NAME = common.argument("NAME", "The server's name, or its number.")
TOOL = common.option("--tool TOOL", "Accept only this tool's change; may be repeated.", [])
YES = common.flag("--yes -y", "Accept without asking.")
OPERATOR = common.flag("--operator", "Serve the operations of the REST API instead.")
POLL_SECONDS: Final = 0.5


SETTINGS: Final = body_options(
    contract.McpServerIn,
    "name",
    command=common.option("--program NAME", "A program that HEARTBIT_MCP_COMMANDS names.", None),
    credential=common.option("--credential", "Send this credential to the URL; '' for none.", None),
    trusted=typer.Option(
        None, "--trust/--no-trust", help="Believe its hints that a tool only reads."
    ),
    private_data=typer.Option(
        None,
        "--private/--no-private",
        help="Count its answers as private data, which leaves only with a person's consent.",
    ),
    shared=typer.Option(
        None,
        "--shared/--no-shared",
        help="Outsiders write or read there, too: ask before its private data goes back to it.",
    ),
    enabled=common.option("--enable/--disable", "A disabled server's tools are not called.", None),
    document=typer.Option(
        None, "--document", metavar="FILE", help="Read an OpenAPI document here."
    ),
    timeout_seconds=typer.Option(None, "--timeout", metavar="SECONDS"),
)

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_servers() -> int:
    """List the MCP servers with their states."""
    return chosen.print_all(contract.LIST_MCP_SERVERS, SERVERS)


@app.command(cls=RemoteCommand)
def show(name: str = NAME) -> int:
    """Show a server with its tools and their changes."""
    found = chosen.call(contract.SHOW_MCP_SERVER, server=name)
    return print_view(found, lambda: _print(found))


@app.command(cls=RemoteCommand)
@with_groups
def add(name: str = NEW, *, settings: Annotated[Given, SETTINGS]) -> int:
    """Add a server, and read its tools."""
    server = chosen.backend()
    body = {"name": name, **_with_document(settings)}
    made = server.call(contract.CREATE_MCP_SERVER, body)
    return _refreshed(server, made.name) if made.enabled else _done(made)


@app.command(cls=RemoteCommand)
@with_groups
def change(name: str = NAME, *, settings: Annotated[Given, SETTINGS]) -> int:
    """Change the given settings of a server; the others stay. A URL replaces a program.

    An API's document is then read again.
    """
    body = _with_document(settings)
    changed = chosen.send_change(contract.CHANGE_MCP_SERVER, body, server=name)
    if changed.transport == "openapi" and changed.enabled:
        return _refreshed(chosen.backend(), changed.name)
    return _done(changed)


@app.command(cls=RemoteCommand)
def refresh(name: str = NAME) -> int:
    """Read a server's tools, with the progress on standard error; 1: it cannot be used."""
    return _refreshed(chosen.backend(), name)


@app.command(cls=RemoteCommand)
def connect(name: str = NAME) -> int:
    """Print the page where you sign in to a server in the browser."""
    found = chosen.call(contract.SHOW_MCP_SERVER, server=name)
    if not found.connect_url:
        raise CommandError(
            f"People do not sign in to {found.name}: `heartbit mcp change {found.name} --sign-in`."
        )
    return print_view(found, lambda: write(found.connect_url))


@app.command(cls=RemoteCommand)
def accept(name: str = NAME, *, tools: list[str] = TOOL, yes: bool = YES) -> int:
    """Show a server's changes of its tools, and accept them after a confirmation."""
    server = chosen.backend()
    found = server.call(contract.SHOW_MCP_SERVER, server=name)
    changed = _changed(found, tools)
    if not yes:
        if not is_interactive():
            raise UsageError(
                f"Say --yes if the changes that `heartbit mcp show {found.name}` shows are fine."
            )
        for tool in changed:
            _print_tool(tool, write=lambda line: typer.echo(line, err=True))
        if not typer.confirm(f"Accept {counted(len(changed), 'change')}?", err=True):
            raise CommandError("Nothing was accepted.")
    hashes = {tool.name: tool.change.hash for tool in changed if tool.change is not None}
    done = server.call(contract.ACCEPT_MCP_CHANGES, {"changes": hashes}, server=found.name)
    names = ", ".join(hashes)
    return print_done(done, f"Accepted {names}. {publish_again(done.outdated_agents)}")


@app.command(cls=RemoteCommand)
def remove(name: str = NAME, *, yes: bool = common.YES) -> int:
    """Remove a server with its tools."""
    server = chosen.backend()
    found = server.call(contract.SHOW_MCP_SERVER, server=name)
    chosen.confirm_removal(one_line(found.name), yes=yes)
    server.call(contract.REMOVE_MCP_SERVER, server=found.name)
    return chosen.print_removed(found.id, found.name, stays="its tools are not called any more")


@app.command(cls=RemoteCommand)
def serve(*, operator: bool = OPERATOR) -> int:
    """Serve the agents and workflows to the MCP client that starts this command.

    It speaks MCP on standard input and output; workers execute the runs.
    """
    backend = chosen.backend()
    if isinstance(backend, ServerBackend):
        raise UsageError(
            f"Point the client at {backend.server.url}/mcp, with a key: it serves MCP."
        )
    from django.conf import settings

    from heartbit_site.base.log_output import log_to_stderr
    from heartbit_site.cli.backend.local import LocalBackend
    from heartbit_site.cli.installation.startup import kept
    from heartbit_site.doors.mcp.answering import answer_stdio
    from heartbit_site.doors.mcp.http import Caller
    from heartbit_site.doors.mcp.operator import make_server as make_operator_server
    from heartbit_site.doors.mcp.server import make_server

    log_to_stderr(logging.WARNING, force=True)  # standard output is the client's
    with kept(settings.ENVIRONMENT):
        make = make_operator_server if operator else make_server
        asyncio.run(answer_stdio(make(Caller(LocalBackend().access))))
    return OK


def _with_document(settings: Given) -> Given:
    """Return the settings with the text of the file that `--document` names."""
    path = settings.get("document")
    if not path:
        return settings
    try:
        return settings | {"document": Path(path).read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The document {path} cannot be read: {error}.") from None


def _refreshed(server: Backend, name: str) -> int:
    """Refresh a server, follow the progress and print the result; return the exit code."""
    state = server.call(contract.REFRESH_MCP_SERVER, server=name)
    said = ""
    while state.state == "refreshing":
        if state.progress != said:
            said = state.progress
            note(f"{state.name}: {said}")
        time.sleep(POLL_SECONDS)
        state = server.call(contract.SHOW_MCP_SERVER, server=state.name)
    _done(state)
    return FAILED if state.state in ("failed", "interrupted") else OK


def _done(state: contract.McpServerOut) -> int:
    return print_view(state, lambda: _print_state(state))


def _changed(found: contract.McpServerDetailOut, names: Sequence[str]) -> list[contract.McpToolOut]:
    """Return the tools whose change waits: those that are named, else all.

    Raises:
        CommandError: None is waiting, or one that is named.
    """
    waiting = {tool.name: tool for tool in found.tools if tool.change is not None}
    if not waiting:
        raise CommandError(f"No change of {found.name} waits to be accepted.")
    for name in names:
        if name not in waiting:
            raise no_such("changed tool", name, waiting)
    return [waiting[name] for name in names or waiting]


def _print(found: contract.McpServerDetailOut) -> None:
    _print_state(found)
    if found.outdated_agents:
        write(publish_again(found.outdated_agents))
    for tool in found.tools:
        _print_tool(tool)
    picked = {tool.remote_name for tool in found.tools}
    others = [one for one in found.offered if one.operation not in picked]
    if others:
        write(f"\nOther operations, for --operation of `heartbit mcp change {found.name}`:")
    for one in others:
        head = "" if one.operation == one.request else f"{one_line(one.operation)}: "
        write(f"  {head}{one_line(one.request)}  {one_line(one.summary, TEXT_WIDTH)}")


def _print_state(one: contract.McpServerOut) -> None:
    named = "".join(f" {one.facts[key]}" for key in ("server", "version") if key in one.facts)
    facts = [
        ("number", one.id),
        ("address", _address(one)),
        ("credential", one.credential),
        ("people sign in at", one.connect_url),
        ("says it is", named.strip()),
        ("asks for", one.facts.get("credentials", "")),
        ("state", one.state if one.enabled else f"{one.state}, disabled"),
        ("result", one.message),
        ("trusted", "its hints are believed" if one.trusted else "no"),
        ("private data", "yes" if one.private_data else "no"),
        ("shared with outsiders", "yes" if one.shared else "no"),
        ("timeout", f"{one.timeout_seconds} s"),
    ]
    print_facts(one.name, facts)


def _print_tool(tool: contract.McpToolOut, *, write: Any = write) -> None:
    head = f"\n{visible(tool.name)} ({tool.effect.replace('_', ' ')})"
    write(f"{head}: {one_line(tool.description.partition(chr(10))[0], TEXT_WIDTH)}")
    if tool.change is not None:
        write("  changed, and not called until it is accepted:")
        for line in tool.change.diff:
            write(f"  {visible(line)}")


def _address(one: contract.McpServerOut) -> str:
    if one.transport == "openapi":
        return one.openapi or "an OpenAPI document"
    return one.url or f"program {one.command}"


STYLES: Final = {
    "read": "green",
    "failed": "red",
    "interrupted": "red",
    "changed": "yellow",
    "to be refreshed": "yellow",
    "refreshing": "cyan",
    "disabled": "dim",
}
SERVERS: Final = Table.of(
    contract.McpServerOut,
    "SERVER=name STATE TOOLS=tool_count CHANGED ADDRESS RESULT=message:300",
    styles=STYLES,
    none="No MCP servers yet: `heartbit mcp add NAME --url URL` adds one.",
    STATE=lambda one: one.state if one.enabled else "disabled",
    CHANGED=lambda one: one.pending_count or "",
    ADDRESS=lambda one: one_line(_address(one), NAME_WIDTH),
)
