"""Reading of a configuration file: all problems are reported at once, with their positions.

Usage::

    configuration = load(Path("heartbit.toml"))     # ConfigFileError: .lines has every problem

The names of tools are checked too, so Django has to be set up. Without a workspace nothing queries
the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path as File
from typing import Any, Final

from agents.definitions import validation_messages, validators
from agents.definitions.validation_messages import Complaint
from agents.reads.agents import grantable
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace
from heartbit_site.base.spec import Spec
from heartbit_site.config import consistency, toml_text
from heartbit_site.config.build import Configuration, ScheduleSection, build
from heartbit_site.config.consistency import agents_of
from heartbit_site.config.errors import ConfigFileError, Problem, describe_malformed
from heartbit_site.config.locate import MAX_DOTS, NAME, TooManyDotsError, parse_toml, read_text
from heartbit_site.config.positions import Path, Position, positions
from heartbit_site.config.rust_original import translate
from heartbit_site.config.sections import (
    AgentSection,
    OrchestratorSection,
    ProviderSection,
    ServerSection,
    TelemetrySection,
    is_array,
    other_kinds,
)
from heartbit_site.config.workspace_sections import ARRAYS, MemorySection, check_parts
from tools.definitions.catalogue import catalogue
from tools.server_spec import McpServerSpec

MOST_PROBLEMS: Final = 200  # people fix no more at once, and a megabyte of nonsense has 100,000
EMPTY: Final = (
    "The file is empty: write [[agents]], [provider] or another section, or remove the file; "
    "`heartbit config export` shows an example."
)

SECTIONS: Final[dict[str, type[Spec]]] = {
    "provider": ProviderSection,
    "orchestrator": OrchestratorSection,
    "agents": AgentSection,
    "schedules": ScheduleSection,
    "mcp_servers": McpServerSpec,
    "server": ServerSection,
    "telemetry": TelemetrySection,
    "memory": MemorySection,
    **ARRAYS,
}


def load(path: File, workspace: Workspace | None = None) -> Configuration:
    """Read a file.

    Args:
        path: The file.
        workspace: A workspace whose tools the file may name, besides those of its own MCP servers.

    Raises:
        ConfigFileError: Its content cannot be used.
        ConfigurationError: It cannot be read, is larger than 1 MB, or is not UTF-8.
    """
    text = read_text(path)
    tools = None if workspace is None else grantable(workspace.pk, catalogue(workspace.pk))
    configuration = parse(text, name=str(path), folder=path.parent, tools=tools)
    if not parse_toml(text):  # an empty file is a mistake
        raise ConfigFileError(str(path), [Problem(1, 1, EMPTY)])
    return configuration


def read_prompts(path: File) -> dict[str, str]:
    """Return the texts of the ``system_prompt_file``s of a file that is in order, by name."""
    texts: dict[str, str] = {}
    content = translate(parse_toml(read_text(path))).content
    for _ in _read_prompts(content, path.parent, texts):
        pass
    return texts


def parse(
    text: str,
    *,
    name: str = NAME,
    folder: File | None = None,
    prompts: Mapping[str, str] | None = None,
    tools: Collection[str] | None = None,
) -> Configuration:
    """Parse the text of a file.

    Args:
        text: TOML.
        name: Name of the file in problems.
        folder: Folder of the ``system_prompt_file``s; None refuses those that ``prompts`` lacks.
        prompts: Texts of ``system_prompt_file``s, by the name that the file gives them.
        tools: Names of the workspace's tools, especially of its MCP servers, if the workspace is
            known.

    Raises:
        ConfigFileError: The content cannot be used.
    """
    content, places = _parse_toml(text, name)
    texts = dict(prompts or {})
    translated = translate(content)
    content = translated.content
    every = chain(
        translated.complaints,
        _table_complaints(content),
        consistency.check(content, tools),
        consistency.check_schedules(content, tools),
        consistency.check_mcp_servers(content),
        check_parts(content, {name for name, _ in consistency.named_agents(content)}),
        _read_prompts(content, folder, texts),
    )
    found = list(islice(every, MOST_PROBLEMS + 1))
    if found:
        problems = [
            Problem(*_nearest(path, places), _sentence(path, message, content))
            for path, message in found[:MOST_PROBLEMS]
        ]
        raise ConfigFileError(name, problems, cut=len(found) > MOST_PROBLEMS)
    return build(content, texts, translated.notes)


def _parse_toml(text: str, name: str) -> tuple[dict[str, Any], dict[Path, Position]]:
    """Return the tables, and the positions of their keys."""
    try:
        return parse_toml(text), positions(text)
    except TooManyDotsError as error:
        problem = f"The line has more than {MAX_DOTS:,} dots: break it up."
        raise ConfigFileError(name, [Problem(error.line, 1, problem)]) from None
    except ValueError as error:  # tomllib's own error, or a number of thousands of digits
        raise ConfigFileError(name, [describe_malformed(str(error), text)]) from None
    except RecursionError:
        raise ConfigFileError(name, [Problem(0, 0, "Values are nested too deeply.")]) from None


def _table_complaints(content: dict[str, Any]) -> Iterator[Complaint]:
    sections = {**SECTIONS, **{kind.section: kind.spec for kind in other_kinds()}}
    for key, table in content.items():
        if key not in sections:
            yield (key,), validation_messages.unknown(key, sections, kind="section")
        elif not is_array(key):
            yield from validation_messages.check(sections[key], table, (key,))
        elif not isinstance(table, list):
            each = key.removesuffix("s")
            yield (
                (key,),
                f"must be an array of tables: write [[{key}]], with two brackets, for each {each}",
            )
        else:
            for index, element in enumerate(table):
                yield from validation_messages.check(sections[key], element, (key, index))


def _nearest(path: Path, places: dict[Path, Position]) -> Position:
    """Return the position of a path, or of the nearest part that encloses it."""
    while path and path not in places:
        path = path[:-1]
    return places.get(path, (0, 0))


def _sentence(path: Path, message: str, content: dict[str, Any]) -> str:
    return validation_messages.sentence_of((_label(path, content),), message)


def _label(path: Path, content: dict[str, Any]) -> str:
    """Return a path with indexes from 1: `agents.writer.tools[1].name`, `agents[1].name`."""
    label = ""
    for depth, part in enumerate(path):
        if isinstance(part, str):
            label += f".{part}" if label else part
            continue
        name = _name(content, str(path[0]), part) if is_array(str(path[0])) and depth == 1 else ""
        label += f".{toml_text.key(name)}" if name and path[2:] != ("name",) else f"[{part + 1}]"
    return label


def _name(content: dict[str, Any], array: str, index: int) -> str:
    table = content[array][index]
    name = table.get("name") if isinstance(table, dict) else None
    return name if isinstance(name, str) else ""


def _read_prompts(
    content: dict[str, Any], folder: File | None, texts: dict[str, str]
) -> Iterator[Complaint]:
    """Read every prompt file that a configuration names; yield the problems.

    Args:
        content: The configuration.
        folder: Its folder; None if the configuration is not a file.
        texts: Filled with the texts, by the name that the configuration gives them.
    """
    for path, table in agents_of(content):
        name = table.get("system_prompt_file")
        if isinstance(name, str) and name not in texts:
            try:
                texts[name] = _prompt(folder, name)
            except ValueError as error:
                yield (*path, "system_prompt_file"), str(error)


def _prompt(folder: File | None, name: str) -> str:
    if folder is None:
        raise ValueError("needs a configuration that is itself a file: use system_prompt")
    if "\x00" in name:
        raise ValueError("contains a NUL character, which no file name can have")
    file = (folder / name).resolve()
    if File(name).is_absolute() or not file.is_relative_to(folder.resolve()):
        raise ValueError(f'is "{name}", which is outside the folder of this file')
    if file.exists() and not file.is_file():  # reading a pipe would wait for its writer
        raise ValueError(f'names "{name}", which is not a file')
    try:
        text = validators.storable(read_text(file))
    except ConfigurationError as error:
        raise ValueError(f"names a file that cannot be used: {str(error).rstrip('.')}") from error
    if not text.strip():
        raise ValueError(f'names "{name}", which is empty')
    return text
