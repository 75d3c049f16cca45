"""Names of headers that only the client sets. Pure."""

from __future__ import annotations

from typing import Final

#: They control the connection, not the request: a virtual host or a second message in the body.
REFUSED_HEADERS: Final = frozenset(
    {"connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)
