"""Frame of one evaluation: the values that an expression reads, and the work that it may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from agents.workflows.expressions.errors import OperationError

#: Units of work of one evaluation; a unit is at most about a microsecond.
MAX_UNITS: Final = 20_000
MAX_PARTS: Final = 100_000  # entries and texts of data that an expression or a template builds
MAX_RESULT_DEPTH: Final = 100
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

    def check_result(self, value: Any) -> None:
        """Reject a result whose parts, each counted where it stands, are too many.

        A list of few entries may hold one list many times: it is small here, and not in a journal.

        Raises:
            OperationError: The result is too large, or nested too deeply.
        """
        left, pending = MAX_PARTS, [(value, 0)]
        while pending:
            part, depth = pending.pop()
            left -= 1 + (len(part) // _CHARACTERS_PER_UNIT if isinstance(part, str) else 0)
            if left < 0:
                raise OperationError(f"makes data of more than {MAX_PARTS:,} parts")
            if depth > MAX_RESULT_DEPTH:
                raise OperationError(f"makes data of more than {MAX_RESULT_DEPTH} levels")
            if isinstance(part, Mapping):
                left -= len(part)
                pending += ((one, depth + 1) for one in part.values())
            elif isinstance(part, list | tuple):
                left -= len(part)
                if left >= 0:
                    pending += ((one, depth + 1) for one in part)


#: A compiled part of an expression.
Evaluate: TypeAlias = Callable[[Frame], Any]
