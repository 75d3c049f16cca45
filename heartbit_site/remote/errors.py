"""Errors of requests to a Heartbit server, beside ``NotFoundError`` and ``ConflictError``."""

from __future__ import annotations

from agents import errors
from heartbit_site.base.errors import HeartbitError, Remedy


class ServerError(HeartbitError):
    """A server cannot be reached or be used now: its address, its key or the server is at fault."""


class StreamLostError(ServerError):
    """A stream broke off before the run's end: it can be read again."""


class RequestRefusedError(HeartbitError):
    """A server refuses a request; the same request would be refused again.

    Attributes:
        code: The problem's code, such as ``empty_task``; empty if unknown.
    """

    def __init__(self, message: str, *, code: str = "", remedy: Remedy | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


def error_class(code: str, base: type[HeartbitError]) -> type[HeartbitError]:
    """Return the class that a problem's code names, if it is a plain one below ``base``.

    Codes are made of the names of classes: ``run_not_found`` is ``RunNotFoundError``.
    """
    name = "".join(part.capitalize() for part in code.split("_")) + "Error"
    found = getattr(errors, name, base)
    is_plain = isinstance(found, type) and issubclass(found, base)
    return found if is_plain and found.__init__ is HeartbitError.__init__ else base
