"""Options that many commands share, and the classes of commands that have them.

::

    @agents.command(cls=RemoteCommand)  # has --url, --config and --json
    def start(name: str = NAME) -> int:
        found = backend().call(START_AGENT, name=name)
        return print_done(found, "It is started.")  # or as JSON

Options that some commands share are fields of a dataclass::

    @agents.command(cls=RemoteCommand)
    @with_groups
    def add(name: str = NAME, *, deliver: TargetOptions) -> int: ...

``--workspace`` is added to the finished commands, so that none that works in one can lack it.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, Final, get_args

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.output import INVOCATION, note
from heartbit_site.config import locate

#: Commands that concern the whole installation, or the code; all others work in one workspace.
WHOLE: Final = frozenset(
    {
        *("serve", "web", "beat", "up", "down", "fleet", "doctor"),
        *("audit", "users", "workspaces", "completion", "backup", "restore"),
    }
)
#: Commands of such a group that work in a workspace all the same.
PLACED: Final = frozenset(
    {("users", "create"), ("audit", "list"), ("workspaces", "show"), ("workspaces", "change")}
)
#: Commands of a group whose others work in a workspace.
WITHOUT_DATA: Final = frozenset({("config", "check")})


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Options that several commands share, whose values a command takes as one.

    Attributes:
        parameters: The options as parameters of a command.
        read: Returns what the command takes, of the parameters' values.
    """

    parameters: list[inspect.Parameter]
    read: Callable[..., Any]


def with_groups(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of the groups that it takes: dataclasses, and ``OptionGroup``."""
    declared = _parameters(command)
    groups = {each.name: group for each in declared if (group := _group(each.annotation))}

    @functools.wraps(command)
    def run(**given: Any) -> int:
        made = {
            name: group.read(**{each.name: given.pop(each.name) for each in group.parameters})
            for name, group in groups.items()
        }
        return command(**given, **made)

    spread: list[inspect.Parameter] = []
    for each in declared:
        spread += groups[each.name].parameters if each.name in groups else [each]
    typed: Any = run
    typed.__signature__ = inspect.Signature(spread)
    typed.__annotations__ = {each.name: each.annotation for each in spread}
    return run


def _group(kind: Any) -> OptionGroup | None:
    if isinstance(kind, type) and is_dataclass(kind):
        return OptionGroup([one.replace(kind=one.KEYWORD_ONLY) for one in _parameters(kind)], kind)
    return next((each for each in get_args(kind) if isinstance(each, OptionGroup)), None)


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


class PrintingCommand(TyperCommand):
    """A command with --json, whose result is for people or for machines."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.add("as_json")

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a sentence about a field can name the option that was typed."""
        INVOCATION.command = ctx.command_path
        INVOCATION.options = {
            str(each.name): max(each.opts, key=len)
            if each.param_type_name == "option"
            else str(each.metavar or each.name)
            for each in self.params
        }
        return super().invoke(ctx)

    def add(self, *names: str) -> None:
        """Add shared options, unless the command has options of its own that are named so."""
        shared = _shared()
        own = {option for parameter in self.params for option in parameter.opts}
        self.params += [shared[name] for name in names if own.isdisjoint(shared[name].opts)]


class RemoteCommand(PrintingCommand):
    """A command that works in this installation or, by --url, at a server."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.add("server_url", "config")


class ChangeHereCommand(PrintingCommand):
    """A command that changes this installation; it says so on stderr if a server is named."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        unused = _naming_a_server(ctx.params)
        if unused:
            name = ctx.command_path
            note(f"`{name}` works in this installation only: {unused} is not used.")
        return super().invoke(ctx)


def use_config(value: str | None) -> None:
    """Let a file be the configuration, as if HEARTBIT_CONFIG named it.

    Raises:
        ConfigurationError: The file is not there.
    """
    if value is not None:
        locate.find(Path(value))
        os.environ[variables.CONFIG.name] = value


def _use_workspace(value: str | None) -> None:
    """Work in a workspace, as if HEARTBIT_WORKSPACE named it."""
    if value is not None:
        os.environ[variables.WORKSPACE.name] = value
        INVOCATION.workspace = value


def use_url(value: str | None) -> None:
    """Talk to a server, as if HEARTBIT_URL named it; empty: work in this installation."""
    INVOCATION.url = value


def _use_json(value: bool) -> None:  # noqa: FBT001  Typer calls it
    INVOCATION.as_json = value


@functools.cache
def _shared() -> dict[str, Any]:
    """Return the options by name, as Typer makes them."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def command(
        *,
        server_url: str | None = common.option(
            "--url URL",
            "Use this server ('': none); else HEARTBIT_URL, or [server] url of HEARTBIT_CONFIG.",
            None,
            callback=use_url,
            expose_value=False,
        ),
        config: str | None = common.option(
            "--config -C FILE",
            "Use [server] url of this file; else HEARTBIT_CONFIG.",
            None,
            callback=use_config,
            expose_value=False,
        ),
        workspace: str | None = common.option(
            "--workspace WORKSPACE",
            "Use this workspace (its short name); else HEARTBIT_WORKSPACE, or default.",
            None,
            callback=_use_workspace,
            expose_value=False,
        ),
        as_json: bool = common.option(
            "--json", "Print JSON for programs.", common.OFF, callback=_use_json, expose_value=False
        ),
    ) -> None: ...

    return {str(option.name): option for option in typer.main.get_command(app).params}


def _naming_a_server(given: Mapping[str, Any]) -> str:
    """Return the setting that names a server; empty: none does.

    Args:
        given: Options of the command; it may have a configuration file as ``config`` or ``file``.
    """
    if os.environ.get(variables.URL.name, "").strip():
        return variables.URL.name
    named = given.get("config") or given.get("file")
    try:
        file = locate.find(Path(named) if named else None)
        url = locate.server_url(file) if file is not None else ""
    except ConfigurationError:  # a command that needs the file says so itself
        return ""
    return f"[server] url of {file}" if url else ""


def add_workspace(command: Any, *path: str) -> None:
    """Give a command, and those below it, the option --workspace if it works in one."""
    for place, found in _commands(command, path):
        if place not in WITHOUT_DATA and (place[0] not in WHOLE or place in PLACED):
            found.params.append(_shared()["workspace"])


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from _commands(child, (*path, name))
