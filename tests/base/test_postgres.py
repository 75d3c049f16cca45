"""The connection to PostgreSQL: a dead one is noticed, and a sound one is not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from django.db import close_old_connections, connection

from heartbit_site.base.query import fetch_one

if TYPE_CHECKING:
    import pytest


def backend() -> int:
    found: int = fetch_one("SELECT pg_backend_pid()")[0]
    return found


def end_from_elsewhere(pid: int) -> None:
    """End a session as a restart of the server does."""
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def test_given_a_session_that_ended_when_used_again_then_a_new_one_is_opened(
    database: None,
) -> None:
    before = backend()
    end_from_elsewhere(before)
    close_old_connections()
    assert backend() != before, "a statement that writes would have been lost as well"


def test_a_session_that_said_nothing_is_not_asked(
    database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, asked = backend(), []
    execute = psycopg.Cursor.execute

    def heard(self: Any, query: Any, *given: Any, **more: Any) -> Any:
        asked.append(str(query))
        return execute(self, query, *given, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", heard)
    close_old_connections()
    assert backend() == before
    assert asked == ["SELECT pg_backend_pid()"]
