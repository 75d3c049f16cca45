"""Steps that name a program's callbacks, alike for runs in the process and on a fleet."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library.approvals import Callbacks


@dataclass(frozen=True, slots=True)
class CallbackSteps:
    """A builder with callbacks.

    Attributes:
        callbacks: The callbacks.
    """

    callbacks: Callbacks = field(default_factory=Callbacks, kw_only=True)

    def on_text(
        self, callback: Callable[[str], Any], *, on_restart: Callable[[], Any] | None = None
    ) -> Self:
        """Stream the text of the agent that got the task.

        Args:
            callback: Called with each piece, sync or async.
            on_restart: Called when a model call is repeated: the text since the last tool call
                is discarded and streamed again from its beginning.
        """
        builder = self._with_callbacks(text=checked_callback(callback, "on_text"))
        if on_restart is None:
            return builder
        return builder._with_callbacks(restart=checked_callback(on_restart, "on_restart"))

    def on_event(self, callback: Callable[..., Any]) -> Self:
        """Deliver each journaled event, of sub-agents too.

        Args:
            callback: Called with each ``Event``, sync or async.
        """
        return self._with_callbacks(event=checked_callback(callback, "on_event"))

    def _with_callbacks(self, **changes: Any) -> Self:
        return replace(self, callbacks=replace(self.callbacks, **changes))


def checked_callback(callback: Any, step: str) -> Any:
    """Return a callback.

    Raises:
        ConfigurationError: It is not a function.
    """
    if not callable(callback) or inspect.isclass(callback):
        raise ConfigurationError(f"{step} needs a function, not {callback!r}.")
    return callback
