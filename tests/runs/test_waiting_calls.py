"""The calls that wait for people are found by their waits, however many calls there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection, transaction

from agents.choices import Placement
from agents.querysets import calls_waiting, uncertain_calls
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet

    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace

MANY = 20_000


@pytest.mark.parametrize("query", [calls_waiting, uncertain_calls])
def test_given_many_calls_then_those_that_wait_are_found_by_their_waits(
    workspace: Workspace, query: Callable[[Workspace], QuerySet[ToolCall]]
) -> None:
    run_id = start_run(workspace, "Work.", agent="writer", home=Placement.LOCAL)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO agents_toolcall (run_id, call_id, provider_id, tool, arguments, effect,"
            " status, digest, idempotency_key) SELECT %s, n || '.0', '', 'x', '{}', '', 'ok', '',"
            " '' FROM generate_series(1, %s) n",
            [run_id, MANY],
        )
        cursor.execute("ANALYZE agents_toolcall; ANALYZE agents_wait")
        plan = query(workspace).explain()
        transaction.set_rollback(True)
    assert "Seq Scan on agents_toolcall" not in plan, plan
    assert "Index Scan using call_once_per_run on agents_toolcall" in plan, plan
