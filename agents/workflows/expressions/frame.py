"""Frame of one evaluation: the values that an expression reads, and the work that it may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from agents.workflows.expressions.errors import OperationError

#: Units of work of one evaluation; a unit is at most about a microsecond.
MAX_UNITS: Final = 20_000
MAX_PARTS: Final = 100_000  # entries and texts of data that an expression or a template builds
MAX_DEPTH: Final = 100  # of nested data that an expression builds, compares or writes
MAX_TEXT: Final = 1_000_000  # characters of a text that an expression builds
MAX_ITEMS: Final = 10_000  # entries of a list that an expression builds
MAX_INTEGER: Final = 2**63
#: Characters that are copied or compared for one unit.
_CHARACTERS_PER_UNIT: Final = 256


class Frame:
    """Values and budget of one evaluation.

    Attributes:
        roots: Values by root name, such as ``message``.
        variables: Values of the variables of comprehensions.
    """

    __slots__ = ("_left", "roots", "variables")

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self.roots = roots
        self.variables: dict[str, Any] = {}
        self._left = MAX_UNITS

    def spend(self, units: int) -> None:
        """Take units of work from the budget.

        Raises:
            OperationError: The budget is used up.
        """
        self._left -= units
        if self._left < 0:
            raise OperationError("takes too much work: read less data, or use a function")

    def spend_text(self, characters: int) -> None:
        """Take the work on a text from the budget.

        Raises:
            OperationError: The text is too long, or the budget is used up.
        """
        if characters > MAX_TEXT:
            raise OperationError(f"makes a text of more than {MAX_TEXT:,} characters")
        self.spend(1 + characters // _CHARACTERS_PER_UNIT)

    def spend_items(self, items: int) -> None:
        """Take the work on a list from the budget.

        Raises:
            OperationError: The list is too long, or the budget is used up.
        """
        if items > MAX_ITEMS:
            raise OperationError(f"makes a list of more than {MAX_ITEMS:,} entries")
        self.spend(1 + items // 4)


def weigh(value: Any, most: int) -> int:
    """Return the number of parts of data, each counted where it stands; long texts count more.

    A list of few entries may hold one list many times: it is small here, and not in a journal.

    Raises:
        OperationError: There are more than ``most`` parts, or they are nested too deeply.
    """
    weight, pending = 1, [(value, 0)]
    while pending:
        part, depth = pending.pop()
        is_text, is_list = isinstance(part, str), isinstance(part, Mapping | list | tuple)
        weight += len(part) // _CHARACTERS_PER_UNIT if is_text else len(part) if is_list else 0
        if weight > most:
            raise OperationError(f"makes data of more than {most:,} parts")
        if is_list:
            if depth == MAX_DEPTH:
                raise OperationError(f"makes data of more than {MAX_DEPTH} levels")
            entries = part.values() if isinstance(part, Mapping) else part
            pending += ((one, depth + 1) for one in entries)
    return weight


#: A compiled part of an expression.
Evaluate: TypeAlias = Callable[[Frame], Any]
