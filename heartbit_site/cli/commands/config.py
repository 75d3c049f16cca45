"""`heartbit config`: check, import and export a configuration file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from agents.definitions.advice import advice
from agents.definitions.server_grants import ALL
from agents.definitions.spec import GROUPS, DefinitionSpec
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.review_policy import ANYONE
from heartbit_site.base.terminal_text import clean
from heartbit_site.cli.backend.chosen import backend, call
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.installation.startup import set_up_django
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import PrintingCommand, RemoteCommand
from heartbit_site.cli.terminal.errors import CANNOT_START, OK, CommandError, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.new_file import write_file
from heartbit_site.cli.terminal.output import (
    as_json,
    note,
    write,
    write_exactly,
    write_json,
    write_view,
)
from heartbit_site.cli.terminal.table import print_facts
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.locate import NAME, find, read_text
from heartbit_site.contract import configuration as contract
from heartbit_site.environment import read

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from heartbit_site.config.build import Configuration

FILE = common.argument("FILE", "The file; none: HEARTBIT_CONFIG, or heartbit.toml here.", None)
CONFIG = common.option("--config -C FILE", "The same as FILE.", None)
TARGET = common.argument("FILE", "Write to this file; - is standard output.", "-")
PRUNE = common.flag(
    "--prune",
    "Stop the agents, pause the schedules and disable the MCP servers, webhooks and channels that "
    "the file does not name.",
)
DRY_RUN = common.flag("--dry-run", "Show what an import would change, and change nothing.")
FORCE = common.flag("--force", "Replace an existing file.")
STANDARD_OUTPUT: Final = Path("-")

app = common.group_without_default()


@app.command(cls=PrintingCommand)
def check(file: Path | None = FILE, *, config: Path | None = CONFIG) -> int:
    """List the faults of a file; no service is needed."""
    path = _found(file, config)
    set_up_django(read())
    configuration = _load(path)
    if configuration is None:
        return CANNOT_START
    notes = _notes(configuration)
    if as_json():
        write_json(
            {
                "file": str(path),
                "problems": [],
                "agents": [agent.name for agent in configuration.everyone],
                "model": configuration.default_model,
                "entry": configuration.entry,
                "schedules": [schedule.name for schedule in configuration.schedules],
                "mcp_servers": [server.name for server in configuration.mcp_servers],
                **{
                    section: [one.name for one in found]
                    for section, found in configuration.parts.items()
                },
                "notes": notes,
            }
        )
    else:
        servers = configuration.mcp_servers
        rows = [("model", configuration.default_model), ("server", configuration.server_url)]
        rows += [(agent.name, _described(agent)) for agent in configuration.everyone]
        rows += [(one.name, f"schedule of {one.agent}") for one in configuration.schedules]
        rows += [(one.name, f"MCP server {one.url or one.command}") for one in servers]
        rows += [
            (one.name, section[:-1].replace("_", " "))
            for section, found in configuration.parts.items()
            for one in found
        ]
        width = max((len(name) for name, value in rows if value), default=0) + 1
        print_facts(f"{path} is in order.", rows, width=width)
        for sentence in notes:
            note(sentence)
    return OK


@app.command(name="import", cls=RemoteCommand)
def import_(
    file: Path | None = FILE,
    *,
    config: Path | None = CONFIG,
    prune: bool = PRUNE,
    dry_run: bool = DRY_RUN,
    yes: bool = common.YES,
) -> int:
    """Create and change the agents, schedules and other definitions of a workspace from a file.

    At a terminal it asks first if it removes something: tools, team members, settings.
    """
    path = _found(file, config)
    server = backend()
    if isinstance(server, ServerBackend):
        set_up_django(read())  # no service is needed to read a file
    workspace = None if isinstance(server, ServerBackend) else _workspace()
    if _load(path, workspace) is None:
        return CANNOT_START
    from heartbit_site.config.read import read_prompts

    body = {"toml": read_text(path), "prompts": read_prompts(path), "prune": prune}
    if is_interactive() and not (yes or dry_run):
        _confirm(server.call(contract.IMPORT_CONFIGURATION, {**body, "dry_run": True}).losses)
    changes = server.call(contract.IMPORT_CONFIGURATION, {**body, "dry_run": dry_run})
    if as_json():
        write_view(changes)
        return OK
    _print_changes(changes)
    if dry_run:
        note("Nothing was changed.")
    return OK


def _workspace() -> Workspace:
    from heartbit_site.first_start import default_workspace

    return default_workspace()


@app.command(cls=RemoteCommand)
def export(file: Path = TARGET, *, force: bool = FORCE) -> int:
    """Write the agents, schedules and other definitions of a workspace as a file."""
    text = call(contract.EXPORT_CONFIGURATION).toml
    if file == STANDARD_OUTPUT:
        write_exactly(text)  # the terminal's encoding must not change a prompt
        return OK
    write_file(file, text.encode(), force=force)
    note(f"Wrote {file}.")
    return OK


def _confirm(losses: Sequence[str]) -> None:
    """Ask a person whether an import may remove these settings.

    Raises:
        CommandError: The answer is no.
    """
    for sentence in losses:
        note(f"Removes: {sentence}")
    if losses and not typer.confirm("Import the file?", err=True):
        raise CommandError("Nothing was imported.")


def _print_changes(changes: contract.ChangesOut) -> None:
    rows = [
        ("created", changes.created),
        ("updated", _with_fields(changes.updated, changes.fields)),
        ("published again", changes.republished),
        ("unchanged", changes.unchanged),
        ("stopped", changes.disabled),
        ("new schedules", changes.schedules.created),
        ("changed schedules", _with_fields(changes.schedules.updated, changes.schedules.fields)),
        ("same schedules", changes.schedules.unchanged),
        ("paused schedules", changes.schedules.paused),
        ("new MCP servers", changes.mcp_servers.created),
        ("changed MCP servers", changes.mcp_servers.updated),
        ("same MCP servers", changes.mcp_servers.unchanged),
        ("disabled MCP servers", changes.mcp_servers.disabled),
        *_part_rows(changes),
        ("memory settings", changes.memory),
        ("default model", (changes.default_model,) if changes.default_model else ()),
        *(("removes", (sentence,)) for sentence in changes.losses),
    ]
    width = max((len(title) for title, names in rows if names), default=0)
    lines = [f"{title:<{max(13, width)}} {', '.join(names)}" for title, names in rows if names]
    write("\n".join(lines or ["The file says nothing to import."]))
    for sentence in changes.notes:
        note(sentence)


def _part_rows(changes: contract.ChangesOut) -> list[tuple[str, Sequence[str]]]:
    return [
        (f"{title} {section.replace('_', ' ')}", names)
        for section, found in changes.parts.items()
        for title, names in (
            ("new", found.created),
            ("changed", _with_fields(found.updated, found.fields)),
            ("same", found.unchanged),
            ("disabled", found.disabled),
        )
    ]


def _with_fields(names: Sequence[str], fields: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{name} ({', '.join(fields[name])})" for name in names]


def _found(file: Path | None, config: Path | None) -> Path:
    """Return the configuration file that is named, by an argument or by --config, or found."""
    if file is not None and config is not None and file != config:
        raise UsageError(f"FILE is {file} and --config is {config}: name one configuration file.")
    path = find(file or config)
    if path is None:
        raise ConfigurationError(
            f"There is no {NAME} in this directory: name the file, or set HEARTBIT_CONFIG; "
            f"`heartbit config export {NAME}` makes one."
        )
    return path


def _load(path: Path, workspace: Workspace | None = None) -> Configuration | None:
    """Return the content of the file; None: it cannot be used, and every problem was printed.

    Args:
        path: The file.
        workspace: A workspace whose tools the file may name too.
    """
    from heartbit_site.config.read import load

    try:
        return load(path, workspace)
    except ConfigurationError as error:
        _print_problems(path, error)
        return None


def _notes(configuration: Configuration) -> list[str]:
    """Return what a file in order says without effect, and what only an installation can tell."""
    from tools.definitions.registry import registry
    from tools.server_spec import tool_prefix

    notes = [
        *configuration.notes,
        *(each for agent in configuration.agents for each in advice(agent, registry)),
    ]
    tools = [tool for agent in configuration.everyone for tool in agent.tools]
    servers = {f"{tool_prefix(server.name)}*" for server in configuration.mcp_servers}
    needed = {
        "groups of approvers": {getattr(tool, setting) for tool in tools for setting in GROUPS},
        "reviewers": {agent.review for agent in configuration.everyone}.union(
            schedule.review for schedule in configuration.schedules
        )
        - {ANYONE},
        "MCP servers": {tool.name for tool in tools if tool.name.endswith(ALL)} - servers,
    }
    for kind, names in needed.items():
        if quoted := [f'"{name}"' for name in sorted(names - {"", None})]:
            listing = ", ".join(quoted)
            notes.append(f"An import needs these {kind}, which only a database knows: {listing}.")
    return notes


def _print_problems(path: Path, error: ConfigurationError) -> None:
    problems = error.problems if isinstance(error, ConfigFileError) else ()
    if as_json():
        found = [asdict(problem) for problem in problems]
        found = found or [{"line": 0, "column": 0, "message": str(error)}]
        write_json({"file": str(path), "problems": found})
        return
    lines = error.lines if isinstance(error, ConfigFileError) else [str(error)]
    for line in lines:
        sys.stderr.write(f"{clean(line)}\n")


def _described(agent: DefinitionSpec) -> str:
    named = {"team": agent.team, "tools": [tool.name for tool in agent.tools]}
    return "; ".join(f"{one}: {', '.join(names)}" for one, names in named.items() if names) or (
        "no tools"
    )
