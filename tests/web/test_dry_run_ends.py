"""A tool that is tried and ends its transaction: it cannot, or whoever asks is warned (E6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction
from django.db.transaction import TransactionManagementError
from psycopg import sql

from agents.actions.dry_run_call import dry_run_call
from agents.dry_runs.limits import Limits
from agents.errors import DryRunStoppedError
from heartbit_site.base.audit import Actor
from tests.web import books
from tests.web.books import nothing_is_kept, shop, waiting

if TYPE_CHECKING:
    from agents.dry_runs.changes_view import DryRunOut
    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace

__all__ = ["nothing_is_kept", "shop"]

ANN = Actor("ann", "web")


def tried(call: ToolCall) -> DryRunOut:
    return dry_run_call(call, digest=call.digest, by=ANN)


@pytest.mark.parametrize(
    "end",
    [
        "COMMIT",
        " end",
        "rollback work",
        "SELECT 1; COMMIT",
        "SAVEPOINT one; COMMIT",
        "/* of /* all */ that */ COMMIT",
        "-- of that; all\nCOMMIT",
        "SELECT ';', E'\\';', $a$;$a$ AS \";\"; abort",
    ],
)
def test_given_a_tool_that_ends_its_transaction_when_tried_then_it_cannot(
    workspace: Workspace, end: str
) -> None:
    found = tried(waiting(workspace, "DELETE FROM book_log", end))
    assert found.status == "error"
    assert "must not end the transaction" in found.result


@pytest.mark.parametrize(
    "end", [b"COMMIT", sql.SQL("COMMIT"), sql.SQL("; {}").format(sql.SQL("END"))]
)
def test_given_an_end_that_is_no_text_when_tried_then_it_does_not_pass_either(
    workspace: Workspace, end: Any
) -> None:
    with transaction.atomic(), connection.execute_wrapper(Limits(5)), connection.cursor() as cursor:
        with pytest.raises(TransactionManagementError, match="must not end the transaction"):
            cursor.execute(end)
        cursor.execute(sql.SQL("SELECT {}").format("; COMMIT"))
        assert cursor.fetchone() == ("; COMMIT",)


@pytest.mark.parametrize(
    "words",
    ["'; commit'", "E'\\'; commit'", "$$; end; $$", "$a$ $$; end $a$", "'--' /* ; commit */"],
)
def test_given_words_that_only_look_like_an_end_when_tried_then_they_are_written(
    workspace: Workspace, words: str
) -> None:
    found = tried(waiting(workspace, f"INSERT INTO book_log VALUES ({words})"))  # noqa: S608
    assert (found.status, len(found.tables)) == ("ok", 1)


@pytest.mark.parametrize("seconds", [0, books.SECONDS + 1])
def test_given_a_tool_that_ends_it_all_the_same_when_tried_then_whoever_asks_is_warned(
    workspace: Workspace, seconds: float
) -> None:
    call = waiting(workspace, "DELETE FROM book_log", commit=True, seconds=seconds)
    with pytest.raises(DryRunStoppedError, match="may have been kept"):
        tried(call)


def test_given_a_key_of_letters_when_tried_then_each_row_is_found_by_all_of_it(
    workspace: Workspace,
) -> None:
    columns = "code char(5), bits bit(4), name text, PRIMARY KEY (code, bits)"
    books.run(f"CREATE TABLE book_code ({columns})")
    books.run("INSERT INTO book_code VALUES ('AB1', '1010', 'a'), ('AB2', '1011', 'b')")
    try:
        found = tried(
            waiting(
                workspace,
                "UPDATE book_code SET name = 'c' WHERE code = 'AB1'",
                "DELETE FROM book_code WHERE code = 'AB2'",
            )
        )
    finally:
        books.run("DROP TABLE book_code")
    [table] = found.tables
    rows = [(row.kind, [part.value.text for part in row.key]) for row in table.rows]
    assert rows == [("updated", ["AB1", "1010"]), ("deleted", ["AB2", "1011"])]
