"""Plain SQL on Django's connection: each function, and what it returns without rows."""

from __future__ import annotations

import pytest
from django.db import DataError, transaction

from heartbit_site.base import query

pytestmark = pytest.mark.django_db

_NUMBERS = "SELECT number, 'n' || number AS name FROM generate_series(1, %s) AS number"


def test_rows_come_as_tuples_or_by_the_names_of_their_columns() -> None:
    assert query.fetch_all(_NUMBERS, [2]) == [(1, "n1"), (2, "n2")]
    assert query.fetch_named(_NUMBERS, [1]) == [{"number": 1, "name": "n1"}]
    assert query.fetch_all(_NUMBERS, [0]) == query.fetch_named(_NUMBERS, [0]) == []


def test_one_row_is_the_first_or_none() -> None:
    assert query.fetch_one(_NUMBERS, [2]) == (1, "n1")
    assert query.fetch_one(_NUMBERS, [0]) is None
    assert query.fetch_one("SELECT 100 %% 7 + %(more)s", {"more": 1}) == (3,)
    assert query.fetch_one("SELECT '5%'") == ("5%",)  # no values: a percent sign is one


def test_a_statement_counts_the_rows_that_it_concerned() -> None:
    assert query.execute(_NUMBERS, [3]) == 3


def test_a_prepared_statement_is_kept_on_its_connection() -> None:
    kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement = $1"
    for number in (1, 2):
        assert query.fetch_one("SELECT %s + 40", [number], prepare=True) == (40 + number,)
    assert query.fetch_all(kept.replace("$1", "%s"), ["SELECT $1 + 40"]) == [(1,)]


def test_statements_together_return_their_rows_in_order() -> None:
    found = query.fetch_together((_NUMBERS, [2]), ("SELECT 1", None), (_NUMBERS, [0]))
    assert found == [[(1, "n1"), (2, "n2")], [(1,)], []]


def test_an_error_of_statements_together_is_djangos() -> None:
    with pytest.raises(DataError), transaction.atomic():
        query.fetch_together(("SELECT 1", None), ("SELECT 1 / %s", [0]))
    assert query.fetch_one("SELECT 1") == (1,)
