"""One environment variable: its name, default, parser and help text."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from heartbit_site.base import variable_formats as formats
from heartbit_site.base.errors import ConfigurationError

T = TypeVar("T")

LONGEST_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Variable(Generic[T]):
    """One environment variable.

    Attributes:
        name: Its name in the environment.
        default: Its value while it is unset.
        parse: Parses the text, without white space around it, or raises ValueError with the remedy.
        help: Its meaning, in Markdown, with links from the root of the repository.
        unset: Value while it is unset, in Markdown, if the default does not say it.
        secret: True if no message may repeat the value: a key, or an address with a password. It
            may be in a file, which ``NAME_FILE`` names.
        exact: True if white space around the value belongs to it.
    """

    name: str
    default: T
    parse: Callable[[str], T]
    help: str
    unset: str = ""
    secret: bool = False
    exact: bool = False

    def read(self, environ: Mapping[str, str] | None = None) -> T:
        """Return the value.

        Args:
            environ: Environment to read; the process's own if None.

        Raises:
            ConfigurationError: The text cannot be used.
        """
        environ = os.environ if environ is None else environ
        text = environ.get(self.name, "")
        if self.secret and environ.get(self.file_name, "").strip():
            text = self._in_file(environ)
        if not text.strip():
            return self.default
        try:
            return self.parse(text if self.exact else text.strip())
        except ValueError as error:
            found = "cannot be used" if self.secret else f"is {_shown(text)}"
            raise ConfigurationError(f"{self.name} {found}: {error}.") from None

    @property
    def file_name(self) -> str:
        """Name of the variable that may name a file with the value, if it is secret."""
        return f"{self.name}_FILE"

    def _in_file(self, environ: Mapping[str, str]) -> str:
        """Return the text of the file, without the end of its last line.

        Raises:
            ConfigurationError: The file cannot be read, or the value is in the environment too.
        """
        if environ.get(self.name, "").strip():
            raise ConfigurationError(
                f"{self.name} and {self.file_name} are both set: unset one of them."
            )
        path = Path(environ[self.file_name].strip())
        try:
            return path.read_text(encoding="utf-8").rstrip("\r\n")
        except OSError as error:
            raise ConfigurationError(
                f"{self.file_name} is {_shown(str(path))}: that file cannot be read "
                f"({error.strerror})."
            ) from None
        except UnicodeDecodeError:
            raise ConfigurationError(
                f"{self.file_name} is {_shown(str(path))}: that file is no text."
            ) from None


def switch(name: str, *, help: str) -> Variable[bool]:
    """Return a variable that is on or off; off while it is unset."""
    return Variable(name, default=False, parse=formats.flag, help=help)


def text(
    name: str,
    parse: Callable[[str], str] = str,
    *,
    help: str,
    unset: str = "",
    secret: bool = False,
    exact: bool = False,
) -> Variable[str]:
    """Return a variable that is a text; empty while it is unset."""
    return Variable(name, "", parse, help, unset, secret, exact)


def _shown(text: str) -> str:
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}...")
