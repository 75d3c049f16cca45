"""Faults of a skill's folder or archive: all of them at once, each with its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from heartbit_site.base.errors import ConfigurationError

_SHOWN: Final = 5


class InvalidSkillError(ConfigurationError):
    """A skill cannot be used as it is.

    Attributes:
        faults: Sentences, each with the file or setting, what is wrong and how to mend it.
    """

    field = "archive"

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(dict.fromkeys(faults))
        shown = " ".join(self.faults[:_SHOWN])
        more = len(self.faults) - _SHOWN
        super().__init__(f"{shown} ({more} more faults)" if more > 0 else shown)
