"""Faults of the database that pass, as the drivers report them, and faults that do not."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.conf import settings
from django.db import Error, connection, transaction

from heartbit_site.base.database_faults import database_fault, is_away
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace


def statement(text: str) -> Callable[[], object]:
    def run() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(text)

    return run


def cut() -> None:
    """Lose the connection of this thread to an administrator."""
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as other:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            other.execute("SELECT pg_terminate_backend(%s)", cursor.fetchone())
        statement("SELECT 1")()


def refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    psycopg.connect(f"postgresql://127.0.0.1:{port}/none")


def raised(fault: Callable[[], object]) -> Exception:
    with pytest.raises((Error, psycopg.Error)) as caught:
        fault()
    connection.close_if_unusable_or_obsolete()
    return caught.value


RAISE = "DO $$ BEGIN RAISE EXCEPTION 'told' USING ERRCODE = '{}'; END $$"
PASSING = ("53100", "53200", "53300", "57P01", "57P02", "57P03", "25006", "40001", "40P01", "08006")
STAYING = ("23505", "22003", "42703", "42P01", "54000", "HB001", "P0001")


@pytest.mark.parametrize("state", PASSING)
def test_a_state_that_passes_is_known_through_django_and_the_driver(
    workspace: Workspace, state: str
) -> None:
    for fault in (statement(RAISE.format(state)), lambda: through_driver(RAISE.format(state))):
        found = database_fault(raised(fault))
        assert found is not None
        assert found.state == state
        assert "\n" not in found.reason
        assert found.is_conflict == (state in ("40001", "40P01"))
        assert found.is_disk_full == (state == "53100")


@pytest.mark.parametrize("state", STAYING)
def test_one_that_stays_is_a_defect_or_a_rule(workspace: Workspace, state: str) -> None:
    assert not is_away(raised(statement(RAISE.format(state))))
    assert not is_away(raised(lambda: through_driver(RAISE.format(state))))


def through_driver(text: str) -> None:
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as own:
        own.execute(text)


def test_a_lost_or_refused_connection_passes(workspace: Workspace) -> None:
    assert is_away(raised(cut))
    assert is_away(raised(refused))


def test_it_is_found_behind_other_errors_and_in_groups(workspace: Workspace) -> None:
    lost, rule = raised(cut), raised(statement(RAISE.format("23505")))
    ours = HeartbitError("It cannot be looked up.")
    ours.__cause__ = lost
    assert is_away(ours)
    assert is_away(BaseExceptionGroup("two", [ValueError("no"), BaseExceptionGroup("in", [ours])]))
    assert not is_away(BaseExceptionGroup("two", [ValueError("no"), rule]))
    ring = ValueError("a ring")
    ring.__cause__ = ring
    assert not is_away(ring)
