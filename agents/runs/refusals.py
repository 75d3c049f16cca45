"""What the journal's functions refuse to people, as one of our errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from agents.errors import NoLongerOpenError

if TYPE_CHECKING:
    from django.db import DatabaseError

_NO_LONGER_OPEN = "HB005"


def refusal(error: DatabaseError) -> Exception:
    """What to raise for what Django raised: ours when a rule of ours said no, else the same."""
    cause = error.__cause__
    if isinstance(cause, psycopg.Error) and cause.sqlstate == _NO_LONGER_OPEN:
        return NoLongerOpenError(str(cause.diag.message_primary))
    return error
