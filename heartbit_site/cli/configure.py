"""Actions of `heartbit config`."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agents.definitions.spec import GROUPS
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.os_user import terminal_user
from heartbit_site.base.terminal_text import clean
from heartbit_site.cli import errors
from heartbit_site.cli.output import note, write, write_exactly, write_json
from heartbit_site.config import export as exporting
from heartbit_site.config.apply import import_config
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.locate import NAME, find
from heartbit_site.config.read import load
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from agents.definitions.spec import AgentSpec
    from heartbit_site.config.definition import Configuration
    from heartbit_site.config.schedule_rows import ScheduleChanges

STANDARD_OUTPUT: Final = Path("-")


def check(file: Path | None, *, as_json: bool) -> int:
    """Print a summary of the file, or every problem with it."""
    path = _found(file)
    try:
        configuration = load(path)
    except ConfigurationError as error:
        _print_problems(path, error, as_json=as_json)
        return errors.CANNOT_START
    notes = _notes(configuration)
    if as_json:
        names = [agent.name for agent in configuration.agents]
        model = configuration.default_model
        write_json(
            {"file": str(path), "problems": [], "agents": names, "model": model}
            | {"entry": configuration.entry}
            | {"schedules": [schedule.name for schedule in configuration.schedules]}
            | {"notes": notes}
        )
    else:
        write("\n".join([f"{path} is in order.", *_summary(configuration)]))
        for sentence in notes:
            note(sentence)
    return errors.OK


def _notes(configuration: Configuration) -> list[str]:
    """Return what a file in order says without effect, and what only an installation can tell."""
    tools = [tool for agent in configuration.agents for tool in agent.tools]
    groups = sorted({getattr(tool, setting) for tool in tools for setting in GROUPS} - {"", None})
    if not groups:
        return list(configuration.notes)
    names = ", ".join(f'"{name}"' for name in groups)
    return [
        *configuration.notes,
        f"An import needs these groups of approvers, which only a database knows: {names}.",
    ]


def configuration_of(file: Path | None) -> Configuration | None:
    """Return the content of the file; None if it cannot be used, for `check` to say why."""
    try:
        return load(_found(file))
    except ConfigurationError:
        return None


def import_(configuration: Configuration, *, prune: bool, as_json: bool) -> int:
    """Import it into the workspace of the command line and say what changed."""
    changes = import_config(default_workspace(), configuration, prune=prune, by=terminal_user())
    if as_json:
        write_json(asdict(changes))
        return errors.OK
    rows = [
        ("created", changes.created),
        ("updated", changes.updated),
        ("unchanged", changes.unchanged),
        ("stopped", changes.disabled),
        *_of_schedules(changes.schedules),
        ("default model", (changes.default_model,) if changes.default_model else ()),
    ]
    width = max((len(title) for title, names in rows if names), default=0)
    lines = [f"{title:<{max(13, width)}} {', '.join(names)}" for title, names in rows if names]
    write("\n".join(lines or ["The file says nothing to import."]))
    for sentence in changes.notes:
        note(sentence)
    return errors.OK


def export(file: Path, *, force: bool) -> int:
    """Write the workspace of the command line to a file, whole or not at all.

    Raises:
        CommandError: It is there already, or cannot be written.
    """
    text = exporting.export(default_workspace())
    if file == STANDARD_OUTPUT:
        write_exactly(text)  # the terminal's encoding must not change a prompt
        return errors.OK
    content = text.encode()
    try:
        _replace(file, content) if force else _create(file, content)
    except FileExistsError:
        raise errors.CommandError(
            f"{file} is there already: add --force to replace it.", errors.USAGE
        ) from None
    except OSError as error:
        raise errors.CommandError(f"{file} cannot be written: {error.strerror}.") from error
    note(f"Wrote {file}.")
    return errors.OK


def _found(file: Path | None) -> Path:
    path = find(file)
    if path is None:
        raise errors.CommandError(
            f"There is no {NAME} in this directory: name the file, or set HEARTBIT_CONFIG; "
            f"`heartbit config export {NAME}` makes one.",
            errors.USAGE,
        )
    return path


def _print_problems(path: Path, error: ConfigurationError, *, as_json: bool) -> None:
    problems = error.problems if isinstance(error, ConfigFileError) else ()
    if as_json:
        found = [asdict(problem) for problem in problems]
        found = found or [{"line": 0, "column": 0, "message": str(error)}]
        write_json({"file": str(path), "problems": found})
        return
    lines = error.lines if isinstance(error, ConfigFileError) else [str(error)]
    for line in lines:
        sys.stderr.write(f"{clean(line)}\n")


def _summary(configuration: Configuration) -> list[str]:
    rows = [("model", configuration.default_model), ("server", configuration.server_url)]
    rows += [(agent.name, _described(agent)) for agent in configuration.agents]
    rows += [(one.name, f"schedule of {one.agent}") for one in configuration.schedules]
    width = max((len(name) for name, value in rows if value), default=0)
    return [f"  {name:<{width}}  {value}" for name, value in rows if value]


def _of_schedules(changes: ScheduleChanges) -> list[tuple[str, tuple[str, ...]]]:
    return [
        ("new schedules", changes.created),
        ("changed schedules", changes.updated),
        ("same schedules", changes.unchanged),
        ("paused schedules", changes.paused),
    ]


def _described(agent: AgentSpec) -> str:
    parts = [
        f"{title}: {', '.join(names)}"
        for title, names in (("team", agent.team), ("tools", [tool.name for tool in agent.tools]))
        if names
    ]
    return "; ".join(parts) or "no tools"


def _create(file: Path, content: bytes) -> None:
    with file.open("xb") as target:
        target.write(content)


def _replace(file: Path, content: bytes) -> None:
    """Replace a file at once: a reader sees the old file or the new one, never half of it."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(content)
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
