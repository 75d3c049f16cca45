"""All SQL functions can be planned, also in branches that no other test enters."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from tests.plpgsql import Body, UnreadableError, problems

#: What is planted: a function, what it says, what it says then, and what is found.
PLANTED = {
    "a column": ("heartbit_cancel", "SET cancel_requested =", "SET cancel_requestd =", "requestd"),
    "a field of a row": ("heartbit_recover", "WHEN r.home = 'fleet'", "WHEN r.hom = 'x'", '"hom"'),
    "a field of a record": ("heartbit_expire_waits", "w.child IS NOT", "w.chld IS NOT", "chld"),
    "a function": ("heartbit_revive", "heartbit_suspicious()", "heartbit_suspicius()", "suspicius"),
    "an argument": ("heartbit_discard", "r.workspace_id, r.last_seq,", "r.last_seq,", "exist"),
    "a result": ("heartbit_claim", "c.state, v_limited", "c.state", "structure"),
    "an ambiguous name": (
        "heartbit_fork",
        "WHERE t.id = p_source",
        "WHERE queue = ''",
        "ambiguous",
    ),
    "a trigger's field": ("heartbit_fit_tier", "w.tier_id = NEW.id", "w.tier_id = NEW.pk", '"pk"'),
    "a plain query": ("heartbit_usage", "u.cost_usd", "u.cost_us", "cost_us"),
}


def test_each_statement_of_each_function_can_be_planned(database: None) -> None:
    with connection.cursor() as cursor:
        assert problems(cursor) == []


@pytest.mark.parametrize(("name", "was", "planted", "found"), PLANTED.values(), ids=PLANTED)
def test_given_a_mistake_in_a_branch_then_it_is_found(
    database: None, name: str, was: str, planted: str, found: str
) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL check_function_bodies = off")
        cursor.execute(
            "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = %s"
            " AND pronamespace = current_schema()::regnamespace",
            [name],
        )
        (definition,) = cursor.fetchone()
        assert was in definition
        cursor.execute(definition.replace(was, planted))
        said = problems(cursor, name=name)
        transaction.set_rollback(True)
    assert said
    assert all(found in line for line in said), said


def test_what_cannot_be_read_is_no_pass() -> None:
    with pytest.raises(UnreadableError, match=":= was expected"):
        Body("BEGIN EXECUTE 'SELECT 1'; END").straightened()
