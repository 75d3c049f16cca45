"""What a dry run does not show: secrets, and the rows in which Heartbit keeps its own. Pure."""

from __future__ import annotations

import re

#: Their rows are of every workspace, and some hold secrets.
_OWN = ("agents_", "base_")
#: What a run's team shares is what its tools write: it is the run's own, and its keys are names.
BLACKBOARD = "agents_blackboardentry"

_PARTS = ("password", "passwd", "passphrase", "passcode", "secret", "token", "credential")
_WORDS = {"apikey", "key", "keys", "otp", "pin", "salt", "session"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def is_own(table: str) -> bool:
    """Whether a table is Heartbit's own, so that its rows are not shown."""
    return table.startswith(_OWN) and table != BLACKBOARD


def is_secret(table: str, column: str) -> bool:
    """Whether a column is called like a secret (``password_hash``, ``apiKey``, ``token``)."""
    if table == BLACKBOARD:
        return False
    name = column.lower()
    words = {word.lower() for word in _WORD.findall(column)}
    return any(part in name for part in _PARTS) or not words.isdisjoint(_WORDS)
