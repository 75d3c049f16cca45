"""The chat services that Heartbit can ask in, each with its adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from agents.chat_apps.adapter import ChatAdapter
from agents.chat_apps.slack import Slack
from agents.choices import ChatKind

if TYPE_CHECKING:
    import httpx

    from agents.models import ChatApp

_ADAPTERS: Final[dict[str, Callable[[ChatApp, httpx.AsyncClient | None], ChatAdapter]]] = {
    ChatKind.SLACK: Slack,
}


def adapter_of(app: ChatApp, client: httpx.AsyncClient | None = None) -> ChatAdapter:
    """Return the adapter of an app's service.

    Args:
        app: The chat app.
        client: Guarded client for its requests; None: it only reads.
    """
    return _ADAPTERS[app.kind](app, client)
