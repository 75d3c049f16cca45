"""The clients, each with what it is driven through; ``make interop`` has a row for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.interop.doors import openai_python

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.interop.doors.heartbit import Heartbit


@dataclass(frozen=True)
class Client:
    """A client.

    Attributes:
        name: Its row's.
        package: What it is installed from, ``npm:NAME`` or ``pypi:NAME``.
        drive: Drives it; returns the number of its calls or checks, or raises.
        declines: What of it Heartbit declines, and why.
    """

    name: str
    package: str
    drive: Callable[[Heartbit], int]
    declines: Mapping[str, str] = field(default_factory=dict)


CLIENTS: Final = (
    Client("openai (Python)", "pypi:openai", openai_python.drive),
    Client("openresponses-types", "pypi:openresponses-types", openai_python.validate),
)
