"""Prompts of agents in files of their own, next to the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

from agents.definitions import validators
from agents.definitions.validation_messages import Complaint
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.config.consistency import agents_of
from heartbit_site.config.locate import read_text


def check(
    content: dict[str, Any], folder: File | None, texts: dict[str, str]
) -> Iterator[Complaint]:
    """Read every prompt file that a configuration names; yield the problems.

    Args:
        content: The configuration.
        folder: Its folder; None: it is no file.
        texts: Filled with the texts, by the name that the configuration gives them.
    """
    for path, table in agents_of(content):
        name = table.get("system_prompt_file")
        if isinstance(name, str):
            try:
                texts[name] = _read(folder, name)
            except ValueError as error:
                yield (*path, "system_prompt_file"), str(error)


def _read(folder: File | None, name: str) -> str:
    if folder is None:
        raise ValueError("needs a configuration that is a file itself: use system_prompt")
    if "\x00" in name:
        raise ValueError("holds a NUL character, which no file name has")
    file = (folder / name).resolve()
    if File(name).is_absolute() or not file.is_relative_to(folder.resolve()):
        raise ValueError(f'is "{name}", which leads out of the folder of this file')
    if file.exists() and not file.is_file():  # reading a pipe would wait for its writer
        raise ValueError(f'names "{name}", which is no file')
    try:
        text = validators.storable(read_text(file))
    except ConfigurationError as error:
        raise ValueError(f"names a file that cannot be used: {str(error).rstrip('.')}") from error
    if not text.strip():
        raise ValueError(f'names "{name}", which is empty')
    return text
