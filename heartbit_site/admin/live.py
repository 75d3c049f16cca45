"""Pages that reload in the background when their socket announces changed rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.http import HttpRequest

#: Sent by ``static/heartbit/admin/live.js`` with each of its requests.
HEADER = "Heartbit-Live"


def messages(request: HttpRequest) -> dict[str, Any]:
    """Context processor: keep Django's messages for a page that a person opens and reads."""
    return {"messages": ()} if HEADER in request.headers else {}
