"""The root of Heartbit's exception tree: every error for a person is one clear sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Remedy:
    """An operation that helps a person out of an error.

    Attributes:
        operation: Its name in ``heartbit_site.contract``, such as ``agents.list_agents``.
        effect: A predicate that follows the operation in a sentence.
        values: The parameters of the operation's path, as texts.
    """

    operation: str
    effect: str = "lists them"
    values: Mapping[str, str] = field(default_factory=dict)


class HeartbitError(Exception):
    """An error that a person can fix; ``str(error)`` says what is wrong, where, and the fix.

    Surfaces (CLI, API, admin) show the sentence and nothing else; a traceback appears only with
    ``--debug``. Any other exception is a defect of Heartbit's own.

    Attributes:
        field: The column that is wrong, for forms; empty if it is not a single one.
        remedy: The operation that helps. The API answers its request as ``remedy``, the command
            line adds its command.
    """

    field: str = ""

    def __init__(self, message: str = "", *, remedy: Remedy | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy

    def sentence(self, remedy: str) -> str:
        """Return the sentence, ended by a remedy in the words of a surface; empty: without one."""
        if self.remedy is None or not remedy:
            return str(self)
        return f"{str(self).removesuffix('.')}: {remedy} {self.remedy.effect}."


@contextmanager
def about(field: str) -> Iterator[None]:
    """Name the field that the errors of a block concern, unless they name one themselves."""
    try:
        yield
    except HeartbitError as error:
        error.field = error.field or field
        raise


class ConfigurationError(HeartbitError):
    """A setting, an environment variable or a definition cannot be used as it is."""


class NotFoundError(HeartbitError):
    """The requested object does not exist in this workspace."""


class ConflictError(HeartbitError):
    """The row has changed: the action is not possible in its current state."""


class ForbiddenError(HeartbitError):
    """The API key does not have the scope, or the member's role does not.

    Attributes:
        scope: The missing scope, for programs; None if something else is missing.
    """

    def __init__(self, message: str, scope: str | None = None) -> None:
        super().__init__(message)
        self.scope = scope
