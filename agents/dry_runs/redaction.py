"""Redaction of dry runs: columns with secrets, and Heartbit's own tables. Pure."""

from __future__ import annotations

import re

#: Tables with rows of every workspace, and with secrets.
_OWN = ("agents_", "base_")
#: Shown, because its rows are the run's own; its keys are entry names, not secrets.
BLACKBOARD = "agents_blackboardentry"

_PARTS = ("password", "passwd", "passphrase", "passcode", "secret", "token", "credential")
_WORDS = {"apikey", "key", "keys", "otp", "pin", "salt", "session"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def is_own(table: str) -> bool:
    """Return True if a table is Heartbit's own, so that its rows are not shown."""
    return table.startswith(_OWN) and table != BLACKBOARD


def is_secret(table: str, column: str) -> bool:
    """Return True if a column is named like a secret (``password_hash``, ``apiKey``, ``token``)."""
    if table == BLACKBOARD:
        return False
    name = column.lower()
    words = {word.lower() for word in _WORD.findall(column)}
    return any(part in name for part in _PARTS) or not words.isdisjoint(_WORDS)
