"""Errors of model calls, in one tree; no SDK or HTTP exception type leaks past it."""

from __future__ import annotations

from typing import ClassVar

from heartbit_site.base.errors import HeartbitError


class ModelError(HeartbitError):
    """A model call failed.

    Attributes:
        retryable: True if the same request may succeed later.
        retry_after: Seconds to wait before that; None if unknown.
    """

    retryable: ClassVar[bool] = False
    retry_after: float | None = None


class ModelConnectionError(ModelError):
    """The server could not be reached, or the connection broke."""

    retryable = True


class ModelTimeoutError(ModelError):
    """The server was silent too long: before the first event, between events, or in total."""

    retryable = True


class BusyError(ModelError):
    """The server takes no request now; ``retry_after`` is in seconds if it named a time."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimitedError(BusyError):
    """HTTP 429."""


class ThrottledError(ModelError):
    """Heartbit's own limit delays the call: nothing was sent, so this was no attempt."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CircuitOpenError(ThrottledError):
    """The circuit of the provider's account is open: nothing was sent."""


class BudgetSpentError(ModelError):
    """A budget has too little left for this call: nothing was sent, and waiting will not help."""


class BudgetAsksError(BudgetSpentError):
    """A budget has reached the threshold from which on an owner decides whether runs go on.

    Attributes:
        budget: Id of the budget.
    """

    def __init__(self, message: str, budget: int) -> None:
        super().__init__(message)
        self.budget = budget


class OverloadedError(BusyError):
    """HTTP 5xx or the provider's overload event, before or inside the stream."""


class StreamTruncatedError(ModelError):
    """The stream ended, or broke its format, before the reason for the answer's end."""

    retryable = True


class AnswerTooLargeError(StreamTruncatedError):
    """The answer was cut off because of its size; a retry would be as large, and billed."""

    retryable = False


class AuthenticationError(ModelError):
    """HTTP 401 or 403: the key is missing, wrong, or may not use this model."""


class ModelNotFoundError(ModelError):
    """HTTP 404: the provider has no such model or path."""


class RequestRejectedError(ModelError):
    """HTTP 400 or another 4xx: the request itself is wrong; repeating it cannot help."""
