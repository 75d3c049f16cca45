"""Options that many commands share, each of which sets an environment variable.

They are added to the finished command tree, so that no command that needs one can lack it; so is
the note of the commands that work here although a server is named.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
import typer.main
from typer.core import TyperGroup

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.output import note
from heartbit_site.config import locate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

#: Commands that concern the whole installation, or the code; all others work in one workspace.
WHOLE: Final = frozenset(
    {
        *("serve", "web", "beat", "up", "down", "fleet", "doctor"),
        *("audit", "users", "tools", "completion"),
    }
)
#: Commands of such a group that work in a workspace all the same.
PLACED: Final = frozenset({("users", "create")})
#: Commands of a group whose others work in a workspace.
WITHOUT_DATA: Final = frozenset({("config", "check")})

#: Commands without --url that change something; they say that they act here if a server is named.
CHANGES_HERE: Final = frozenset(
    {
        *(("run",), ("resume",), ("runs", "archive"), ("config", "import")),
        *(("users", "create"), ("users", "password"), ("keys", "create"), ("keys", "revoke")),
    }
)

_named_workspaces: list[str] = []  # what --workspace says in this process


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
        _named_workspaces.append(value)


def named_workspace() -> str:
    """Return the workspace that --workspace names; empty: the option was not given."""
    return "".join(_named_workspaces[-1:])


CONFIG: Final = typer.Option(
    None,
    "--config",
    "-C",
    metavar="FILE",
    help="Use [server] url of this file; else HEARTBIT_CONFIG.",
    show_default=False,
    callback=use_config,
    expose_value=False,
)
WORKSPACE: Final = typer.Option(
    None,
    "--workspace",
    metavar="WORKSPACE",
    help="Work in this one (its short name); else HEARTBIT_WORKSPACE, or default.",
    show_default=False,
    callback=_use_workspace,
    expose_value=False,
)


def add_shared_options(root: TyperGroup) -> None:
    """Give each command of a tree the shared options that it lacks."""
    shared = _shared()
    for path, command in _commands(root, ()):
        if _has(command, "--url") and not _has(command, "--config"):
            command.params.append(shared["config"])
        if _is_placed(path):
            command.params.append(shared["workspace"])
        if path in CHANGES_HERE:
            command.callback = _saying_where(path, command.callback)


def _saying_where(path: tuple[str, ...], act: Callable[..., Any]) -> Callable[..., Any]:
    """Return the action, preceded by a note on stderr if a server is named."""

    @functools.wraps(act)
    def act_here(*arguments: Any, **options: Any) -> Any:
        unused = _naming_a_server(options)
        if unused:
            name = f"heartbit {' '.join(path)}"
            note(f"`{name}` works in this installation only: {unused} is not used.")
        return act(*arguments, **options)

    return act_here


def _naming_a_server(options: Mapping[str, Any]) -> str:
    """Return the setting that names a server; empty: none does.

    Args:
        options: Of the command; it may have a configuration file as ``config`` or ``file``.
    """
    if os.environ.get(variables.URL.name, "").strip():
        return variables.URL.name
    named = options.get("config") or options.get("file")
    try:
        file = locate.find(Path(named) if named else None)
        url = locate.server_url(file) if file is not None else ""
    except ConfigurationError:  # a command that needs the file says so itself
        return ""
    return f"[server] url of {file}" if url else ""


def _is_placed(path: tuple[str, ...]) -> bool:
    """Return True if the command works in one workspace."""
    if not path or path in WITHOUT_DATA:
        return False
    return path[0] not in WHOLE or path in PLACED


def _shared() -> dict[str, Any]:
    """Return the options by name, as Typer makes them."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def command(*, config: str | None = CONFIG, workspace: str | None = WORKSPACE) -> None: ...

    return {str(option.name): option for option in typer.main.get_command(app).params}


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from _commands(child, (*path, name))


def _has(command: Any, option: str) -> bool:
    return any(option in parameter.opts for parameter in command.params)
