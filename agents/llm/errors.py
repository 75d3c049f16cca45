"""What can go wrong with a model call, in one tree; no SDK or HTTP exception type leaks past it."""

from __future__ import annotations

from typing import ClassVar

from heartbit_site.base.errors import HeartbitError


class ModelError(HeartbitError):
    """A model call failed.

    Attributes:
        retryable: Whether the same request may succeed later.
        retry_after: How long to wait before that, in seconds; None when nobody said.
    """

    retryable: ClassVar[bool] = False
    retry_after: float | None = None


class ModelConnectionError(ModelError):
    """The server could not be reached, or the connection broke."""

    retryable = True


class ModelTimeoutError(ModelError):
    """The server was silent too long: before the first event, between events, or in all."""

    retryable = True


class RateLimitedError(ModelError):
    """HTTP 429; ``retry_after`` is in seconds when the server named a time."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ThrottledError(ModelError):
    """Heartbit itself says wait: nothing was sent, so this was no attempt."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CircuitOpenError(ThrottledError):
    """The account's provider is unwell and left alone for a while: nothing was sent either."""


class BudgetSpentError(ModelError):
    """A budget has too little left for this call: nothing was sent, and waiting will not help."""


class OverloadedError(ModelError):
    """HTTP 5xx or the provider's overload event, before or inside the stream."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StreamTruncatedError(ModelError):
    """The stream ended, or broke its format, before its final event."""

    retryable = True


class AnswerTooLargeError(StreamTruncatedError):
    """The answer was cut off because it is too large; the next one would be as large, and paid."""

    retryable = False


class AuthenticationError(ModelError):
    """HTTP 401 or 403: the key is missing, wrong, or may not use this model."""


class ModelNotFoundError(ModelError):
    """HTTP 404: the provider has no such model or path."""


class RequestRejectedError(ModelError):
    """HTTP 400 or another 4xx: the request itself is wrong; repeating it cannot help."""
