"""Digest of an approval, which ties a decision to exactly one call as it was shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

_FORMAT = "heartbit/approval/1"


def digest(
    run_id: UUID,
    call_id: str,
    *,
    definition_hash: str,
    arguments: Mapping[str, Any],
    credentials: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return the SHA-256 (hexadecimal) of a call as it is shown.

    It covers the run and the call (no replay elsewhere), the tool's definition (name, description,
    schema, effect), the parsed arguments, and the credentials that it would use, in canonical JSON:
    the order of keys and the spelling of a text do not matter, any other difference does.

    Args:
        run_id: Id of the run.
        call_id: Id of the call, ``turn.index``.
        definition_hash: ``tools.definitions.registry.definition_hash`` of the tool.
        arguments: The parsed arguments, defaults included.
        credentials: Ids of the credentials, by parameter.
    """
    shown: list[Any] = [_FORMAT, str(run_id), call_id, definition_hash, arguments]
    if credentials:
        shown.append(credentials)
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
