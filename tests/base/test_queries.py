"""One SQL statement on Django's connection: each function, and what it returns without rows."""

from __future__ import annotations

import pytest

from heartbit_site.base import queries

pytestmark = pytest.mark.django_db

_TWO = "SELECT number, 'n' || number AS name FROM generate_series(1, %s) AS number"


def test_rows_come_as_tuples_as_dictionaries_or_as_their_first_column() -> None:
    assert queries.rows(_TWO, [2]) == [(1, "n1"), (2, "n2")]
    assert queries.named_rows(_TWO, [1]) == [{"number": 1, "name": "n1"}]
    assert queries.values(_TWO, [2]) == [1, 2]
    assert queries.rows(_TWO, [0]) == queries.named_rows(_TWO, [0]) == queries.values(_TWO, [0])


def test_one_row_and_one_value() -> None:
    assert queries.row(_TWO, [2]) == (1, "n1")
    assert queries.row(_TWO, [0]) is None
    assert queries.value("SELECT 100 %% 7 + %(more)s", {"more": 1}) == 3
    assert queries.value("SELECT '5%'") == "5%"  # no parameters: a percent sign is one


def test_execute_counts_the_rows() -> None:
    assert queries.execute(_TWO, [3]) == 3
