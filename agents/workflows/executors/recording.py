"""Implementation of ``Context`` that records what a function does, for the result of its call."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic_core import to_jsonable_python

from agents.workflows.events import NodeFinished
from agents.workflows.executors.context import AskedPersonError
from agents.workflows.records import AskedPerson, MergeName, NodeError, Sent, Write
from agents.workflows.spec.graph import StateKeySpec
from heartbit_site.base.errors import ConfigurationError
from tools.texts.near_names import hint

if TYPE_CHECKING:
    import httpx


def _show_to_no_one(_text: str) -> None:
    """Drop an event where no one watches."""


class RecordingContext:
    """Context of one call (see ``Context``).

    Args:
        call_id: Id of the call.
        node: Name of its node.
        idempotency_key: Key that all attempts share.
        http: The guarded client for requests.
        keys: Keys of the state.
        values: Values of these keys, as of the last commit; None: functions read none.
        previous_errors: Errors of earlier attempts.
        question_state: Data of the question that this call handles the answer to.
        emit: Shows events of the call.
    """

    def __init__(
        self,
        call_id: str,
        node: str,
        *,
        idempotency_key: str,
        http: httpx.AsyncClient,
        keys: Mapping[str, StateKeySpec],
        values: Mapping[str, Any] | None,
        previous_errors: tuple[NodeError, ...] = (),
        question_state: Any = None,
        emit: Callable[[str], None] = _show_to_no_one,
    ) -> None:
        self.call_id = call_id
        self.idempotency_key = idempotency_key
        self.http = http
        self.previous_errors = previous_errors
        self.attempt = len(previous_errors) + 1
        self.question_state = question_state
        self._node = node
        self._keys = keys
        self._values = values
        self._emit = emit
        self._sends: list[Sent] = []
        self._writes: list[Write] = []
        self._yields: list[Any] = []
        self._asked: AskedPerson | None = None

    def get(self, key: str) -> Any:
        """Return a copy of a value of the state (see ``Context``)."""
        self._merge_of(key)
        if self._values is None:
            raise ConfigurationError(
                f'The key "{key}" of the state cannot be read with order = "ready": its value '
                'depends on which node ends first. Pass it in the message, or use "barrier".'
            )
        return copy.deepcopy(self._values.get(key))

    def set(self, key: str, value: Any) -> None:
        """Set a key (see ``Context``)."""
        merge = self._merge_of(key)
        if merge != "set":
            raise ConfigurationError(
                f'The key "{key}" of the state is merged by {merge}: write it with add().'
            )
        self._writes.append(Write(key, merge, to_jsonable_python(value)))

    def add(self, key: str, value: Any) -> None:
        """Contribute to a key (see ``Context``)."""
        merge = self._merge_of(key)
        if merge == "set":
            raise ConfigurationError(
                f'The key "{key}" of the state is merged by set: write it with set(), or declare '
                "another merge."
            )
        self._writes.append(Write(key, merge, to_jsonable_python(value)))

    def send_message(self, message: Any, target: str = "") -> None:
        """Send a message (see ``Context``)."""
        self._sends.append(Sent(to_jsonable_python(message), target=target))

    def yield_output(self, output: Any) -> None:
        """Add an output of the run (see ``Context``)."""
        self._yields.append(to_jsonable_python(output))

    def add_event(self, text: str) -> None:
        """Show an event (see ``Context``)."""
        self._emit(text)

    def ask(
        self,
        text: str,
        *,
        form: Mapping[str, Any] | None = None,
        group: str = "",
        timeout_seconds: float | None = None,
        state: Any = None,
    ) -> NoReturn:
        """Ask a person (see ``Context``)."""
        asked_form = None if form is None else dict(form)
        asked_state = to_jsonable_python(state)
        self._asked = AskedPerson(text, asked_form, group, timeout_seconds, asked_state)
        raise AskedPersonError(f"the call {self.call_id} asks a person, and has ended")

    def finished(self, output: Any, *, duration_ms: int = 0) -> NodeFinished:
        """Return the result of the call, with everything that was recorded.

        Args:
            output: Output as a JSON value; left out if the call has asked a person.
            duration_ms: Time that the call took.
        """
        return NodeFinished(
            self.call_id,
            self._node,
            output=None if self._asked is not None else output,
            sends=tuple(self._sends),
            writes=tuple(self._writes),
            yields=tuple(self._yields),
            asked=self._asked,
            attempt=self.attempt,
            duration_ms=duration_ms,
        )

    def _merge_of(self, key: str) -> MergeName:
        if key not in self._keys:
            near = hint(key, self._keys, most=10)
            raise ConfigurationError(f'The state has no key "{key}": declare it in state; {near}')
        return self._keys[key].merge
