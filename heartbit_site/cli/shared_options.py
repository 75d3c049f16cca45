"""Options that many commands share without handing them on: they act as environment variables do.

They are added to the finished command tree, so that no command that needs one can lack it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
import typer.main
from typer.core import TyperGroup

from heartbit_site.config import locate

if TYPE_CHECKING:
    from collections.abc import Iterator


def _use_config(value: str | None) -> None:
    """Let a file be the configuration, as if HEARTBIT_CONFIG named it.

    Raises:
        ConfigurationError: The file is not there.
    """
    if value is not None:
        locate.find(Path(value))
        os.environ["HEARTBIT_CONFIG"] = value


CONFIG: Final = typer.Option(
    None,
    "--config",
    "-C",
    metavar="FILE",
    help="Use [server] url of this file; else HEARTBIT_CONFIG.",
    show_default=False,
    callback=_use_config,
    expose_value=False,
)


def add_shared_options(root: TyperGroup) -> None:
    """Give each command of a tree the shared options that it lacks."""
    shared = _shared()
    for command in _commands(root):
        if _has(command, "--url") and not _has(command, "--config"):
            command.params.append(shared["config"])


def _shared() -> dict[str, Any]:
    """Return the options by name, as Typer makes them."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def command(*, config: str | None = CONFIG) -> None: ...

    return {str(option.name): option for option in typer.main.get_command(app).params}


def _commands(command: Any) -> Iterator[Any]:
    yield command
    if isinstance(command, TyperGroup):
        for child in command.commands.values():
            yield from _commands(child)


def _has(command: Any, option: str) -> bool:
    return any(option in parameter.opts for parameter in command.params)
