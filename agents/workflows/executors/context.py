"""Context of an executor: messages, outputs, state, and questions to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from agents.workflows.records import NodeError

if TYPE_CHECKING:
    import httpx


class AskedPersonError(Exception):
    """Ends the call of a function that has asked a person; nothing is to catch it."""


class Context(Protocol):
    """Context of one call of an executor.

    Attributes:
        call_id: Id of the call within its run.
        attempt: Number of the attempt, from 1.
        previous_errors: Errors of the attempts before it.
        idempotency_key: Key that all attempts of the call share, for requests with an effect.
        question_state: Data that the question had, in the call that handles its answer.
        http: The guarded client for requests.
    """

    call_id: str
    attempt: int
    previous_errors: tuple[NodeError, ...]
    idempotency_key: str
    question_state: Any
    http: httpx.AsyncClient

    def get(self, key: str) -> Any:
        """Return a copy of the value of a key of the state, as of the last commit."""
        ...

    def set(self, key: str, value: Any) -> None:
        """Set a key whose merge is ``set``; other nodes see the value after the next commit."""
        ...

    def add(self, key: str, value: Any) -> None:
        """Contribute to a key by its merge: add to a number, append to a list, and so on."""
        ...

    def send_message(self, message: Any, target: str = "") -> None:
        """Send a message along the node's edges, or only along those to one node."""
        ...

    def yield_output(self, output: Any) -> None:
        """Add an output of the run."""
        ...

    def add_event(self, text: str) -> None:
        """Show people who watch the run what the call has done so far."""
        ...

    def ask(
        self,
        text: str,
        *,
        form: Mapping[str, Any] | None = None,
        group: str = "",
        timeout_seconds: float | None = None,
        state: Any = None,
    ) -> NoReturn:
        """Ask a person and end the call; the answer is passed to the executor's ``reply``.

        Args:
            text: The question.
            form: JSON Schema of the answer.
            group: Group whose members may answer; empty: all who may decide.
            timeout_seconds: Seconds until the question expires; None: never.
            state: Data that ``reply`` finds as ``question_state``.

        Raises:
            AskedPersonError: Always.
        """
        ...
