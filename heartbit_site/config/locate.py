"""Choice of the configuration file: `--config`, HEARTBIT_CONFIG, or ./heartbit.toml. No Django.

Usage::

    file = find(option)           # None if there is no file and none was requested
    url = server_url(file)        # without checking the rest
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError

NAME: Final = "heartbit.toml"
MAX_BYTES: Final = 1_000_000
MAX_DOTS: Final = 1_000  # per line: the time for a dotted key grows with the square of its dots


class TooManyDotsError(ValueError):
    """A line has more than ``MAX_DOTS`` dots."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line} has more than {MAX_DOTS:,} dots")


def find(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the configuration file, or None.

    Args:
        path: The file of ``--config``, which takes precedence.
        environ: Environment to read; the process's own if None.

    Raises:
        ConfigurationError: The requested file does not exist.
    """
    variable = variables.CONFIG.read(environ)
    if path is None and not variable:
        here = Path(NAME)
        return here if here.is_file() else None
    asked, source = (path, "The file") if path else (Path(variable), "HEARTBIT_CONFIG names")
    if not asked.is_file():
        problem = "is not a file" if asked.exists() else "does not exist"
        linking = " " if path else ", which "
        raise ConfigurationError(f"{source} {asked}{linking}{problem}: name your {NAME}.")
    return asked


def read_text(path: Path) -> str:
    """Return the file's text.

    Raises:
        ConfigurationError: It cannot be read, is larger than 1 MB, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    if len(content) > MAX_BYTES:
        raise ConfigurationError(f"{path} is larger than 1 MB, the limit for a configuration.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(
            f"{path}:{line} is not UTF-8: save the file in that encoding."
        ) from error
    return text.replace("\r\n", "\n")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML with bounded effort.

    Raises:
        TooManyDotsError: A line could keep ``tomllib`` busy for hours.
        ValueError: The text is not TOML; ``tomllib``'s message ends with the position.
        RecursionError: Its values are nested too deeply.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MAX_DOTS:
            raise TooManyDotsError(number)
    return tomllib.loads(text)


def server_url(path: Path) -> str:
    """Return `[server] url` of a file, empty if it has none, without checking the rest.

    Raises:
        ConfigurationError: The file cannot be read, or is not TOML.
    """
    url = read_section(path, "server").get("url")
    return url.strip() if isinstance(url, str) else ""


def read_section(path: Path, name: str) -> dict[str, Any]:
    """Return a table of a file, empty if it has none, without checking it or the rest.

    Raises:
        ConfigurationError: The file cannot be read, or is not TOML.
    """
    try:
        found = parse_toml(read_text(path)).get(name)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is not TOML ({error}): `heartbit config check {path}` shows details."
        ) from error
    return found if isinstance(found, dict) else {}
