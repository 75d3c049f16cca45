"""A check of PL/pgSQL functions, as ``plpgsql_check`` does it: plan each statement, run none.

PostgreSQL plans a statement of a function when the function first comes to it: a misspelt column in
a branch that no test enters waits for a user. So each function is written once more, without its
branches and with ``EXPLAIN`` before each statement and expression, and is called with nulls. Its
variables, and what they may mean in a statement, stay PostgreSQL's own business.

Usage::

    assert problems(cursor) == []
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db import DatabaseError, transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.backends.utils import CursorWrapper

_COMMENT = re.compile(r"'(?:[^']|'')*'|--[^\n]*")
_TOKEN = re.compile(r"'(?:[^']|'')*'|:=|\.\.|[A-Za-z_]\w*|\d+(?:\.\d+)?|[^\s]")
_QUERIES: Final = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
_BLOCK_ENDS: Final = ("END", "ELSE", "ELSIF", "WHEN")
_DEEPER: Final = ("(", "[", "CASE")
_HIGHER: Final = (")", "]", "END")

_FUNCTIONS = """
    SELECT p.proname, l.lanname, p.prosrc, pg_get_functiondef(p.oid),
           pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
           array_to_string(ARRAY(
               SELECT 'NULL::' || format_type(t.type, NULL)
               FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t(type, n) ORDER BY t.n), ', '),
           ARRAY(SELECT DISTINCT t.tgrelid::regclass::text FROM pg_trigger t
                 WHERE t.tgfoid = p.oid),
           p.proretset OR p.proallargtypes IS NOT NULL
           OR p.prorettype IN ('void'::regtype, 'trigger'::regtype)
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = current_schema()::regnamespace
          AND l.lanname IN ('sql', 'plpgsql') AND p.proname LIKE %s
          AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    ORDER BY p.proname
"""


class UnreadableError(Exception):
    """A statement that this check does not know: teach it, or write the function without it."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function as the database holds it.

    Attributes:
        nulls: A null of each parameter's type, to call it with.
        tables: The tables that it is a trigger of.
        ends_bare: Its ``RETURN`` names no value.
    """

    name: str
    language: str
    body: str
    definition: str
    parameters: str
    result: str
    nulls: str
    tables: list[str]
    ends_bare: bool


def problems(cursor: CursorWrapper, *, name: str = "%") -> list[str]:
    """Check the functions of the current schema; what is wrong, each with its function's name.

    Args:
        cursor: Of a connection that may create functions; nothing is kept.
        name: Only functions whose names are like this.
    """
    cursor.execute(_FUNCTIONS, [name])
    return [found for row in cursor.fetchall() for found in _problems_of(cursor, Function(*row))]


def _problems_of(cursor: CursorWrapper, function: Function) -> Iterator[str]:
    for script in _scripts(function):
        try:
            with transaction.atomic():
                cursor.execute("SET LOCAL check_function_bodies = on")
                cursor.execute("SET LOCAL plpgsql.extra_errors = 'all'")
                for statement in script:
                    cursor.execute(statement)
                transaction.set_rollback(True)
        except DatabaseError as error:
            yield f"{function.name}: {error}"


def _scripts(function: Function) -> Iterator[tuple[str, ...]]:
    """What to execute, and to roll back, in order to check a function."""
    if function.language == "sql":
        yield (function.definition,)  # PostgreSQL analyses these as it creates them
    elif function.result == "trigger":
        for table in function.tables:
            parameters = f"new {table}, old {table}, tg_table_name text"
            yield _script(function, parameters, "void", f"NULL::{table}, NULL::{table}, NULL::text")
    else:
        yield _script(function, function.parameters, function.result, function.nulls)


def _script(function: Function, parameters: str, result: str, nulls: str) -> tuple[str, ...]:
    body = Body(function.body).straightened(end="RETURN" if function.ends_bare else "RETURN NULL")
    return (
        f"CREATE FUNCTION pg_temp.checked({parameters}) RETURNS {result}"
        f" LANGUAGE plpgsql AS $checked${body}$checked$",
        f"SELECT pg_temp.checked({nulls})",
    )


class Body:
    """The source of a function, read from its beginning to its end."""

    def __init__(self, source: str) -> None:
        # Comments become spaces; a string that looks like one stays.
        self._source = _COMMENT.sub(
            lambda found: found[0] if found[0].startswith("'") else " " * len(found[0]), source
        )
        self._tokens = list(_TOKEN.finditer(self._source))
        self._at = 0
        self._declared: list[str] = []
        self._lines: list[str] = []

    def straightened(self, *, end: str = "RETURN") -> str:
        """The same declarations, and all statements one after the other, explained.

        Args:
            end: The last statement.

        Raises:
            UnreadableError: There is a statement that is not known here.
        """
        if self._took("DECLARE"):
            while not self._took("BEGIN"):
                self._declare()
        else:
            self._expect("BEGIN")
        self._statements()
        self._expect("END")
        declared = "; ".join(["hb_line text", *self._declared])
        lines = "\n".join(self._lines)
        return f"DECLARE {declared};\nBEGIN\n{lines}\n{end};\nEND"

    def _declare(self) -> None:
        """A variable; what it begins with is planned, and not computed."""
        self._declared.append(self._until(":=", ";"))
        if self._took(":="):
            self._express(self._until(";"))
        self._expect(";")

    # ---------------------------------------------------------------------------------- statements

    def _statements(self) -> None:
        while self._word() not in _BLOCK_ENDS:
            self._statement()

    def _statement(self) -> None:
        word = self._word()
        if word in _QUERIES:
            self._explain(self._without_targets())
            return
        known = {
            "IF": self._if,
            "CASE": self._case,
            "WHILE": self._while,
            "LOOP": self._loop,
            "FOR": self._for,
            "FOREACH": self._foreach,
            "EXIT": self._leave,
            "CONTINUE": self._leave,
            "RETURN": self._return,
            "RAISE": self._raise,
            "PERFORM": self._perform,
            "NULL": self._nothing,
        }
        known.get(word, self._assign)()

    def _if(self) -> None:
        while self._took("IF") or self._took("ELSIF"):
            self._express(self._until("THEN"))
            self._expect("THEN")
            self._statements()
        if self._took("ELSE"):
            self._statements()
        self._expect("END", "IF", ";")

    def _case(self) -> None:
        self._expect("CASE")
        subject = self._until("WHEN")
        while self._took("WHEN"):
            values = self._until("THEN")
            self._express(f"({subject}) IN ({values})" if subject else values)
            self._expect("THEN")
            self._statements()
        if self._took("ELSE"):
            self._statements()
        self._expect("END", "CASE", ";")

    def _while(self) -> None:
        self._expect("WHILE")
        self._express(self._until("LOOP"))
        self._loop()

    def _loop(self) -> None:
        self._expect("LOOP")
        self._statements()
        self._expect("END", "LOOP", ";")

    def _for(self) -> None:
        self._expect("FOR")
        name = self._until("IN")
        self._expect("IN")
        query = self._until("LOOP", "..")
        if self._took(".."):
            self._declared.append(f"{name} int")
            self._express(f"{query}, {self._until('LOOP')}")
        else:
            self._explain(query)
            self._shape(f"SELECT * INTO {name}", query)
        self._loop()

    def _foreach(self) -> None:
        self._expect("FOREACH")
        self._express(self._until("IN"))
        self._expect("IN", "ARRAY")
        self._express(self._until("LOOP"))
        self._loop()

    def _leave(self) -> None:
        self._at += 1
        if self._took("WHEN"):
            self._express(self._until(";"))
        self._expect(";")

    def _return(self) -> None:
        self._expect("RETURN")
        if self._took("QUERY"):
            is_read = self._word() == "SELECT"
            query = self._until(";")
            self._explain(query)
            if is_read:  # and its columns are those of the result
                self._shape("RETURN QUERY SELECT *", query)
        elif not self._took("NEXT") and self._word() != ";":
            self._express(self._until(";"))
        self._expect(";")

    def _raise(self) -> None:
        self._expect("RAISE", "EXCEPTION")
        self._at += 1  # the sentence
        while self._took(","):
            self._express(self._until(",", "USING", ";"))
        if self._took("USING"):
            while not self._took(";"):
                self._at += 1  # the option
                self._expect("=")
                self._express(self._until(",", ";"))
                self._took(",")
        else:
            self._expect(";")

    def _perform(self) -> None:
        self._expect("PERFORM")
        self._explain(f"SELECT {self._until(';')}")
        self._expect(";")

    def _nothing(self) -> None:
        self._expect("NULL", ";")

    def _assign(self) -> None:
        self._express(self._until(":=", ";"))
        self._expect(":=")
        self._express(self._until(";"))
        self._expect(";")

    def _without_targets(self) -> str:
        """A query up to its end; the variables of its INTO were checked when it was created."""
        start = self._at
        query = self._until(";")
        end = self._at
        self._expect(";")
        depth = 0
        for index in range(start, end):
            word = self._tokens[index][0].upper()
            depth += (word in _DEEPER) - (word in _HIGHER)
            if word == "INTO" and depth == 0 and self._tokens[index - 1][0].upper() != "INSERT":
                after = self._after_targets(index + 1)
                return f"{self._text(start, index)} {self._text(after, end)}"
        return query

    def _after_targets(self, index: int) -> int:
        """The first token after ``a, b.c``."""
        while self._tokens[index + 1][0] in (".", ","):
            index += 2
        return index + 1

    # --------------------------------------------------------------------------------------- tools

    def _explain(self, query: str) -> None:
        self._lines.append(f"FOR hb_line IN EXPLAIN {query} LOOP END LOOP;")

    def _express(self, expression: str) -> None:
        self._explain(f"SELECT {expression}")

    def _shape(self, use: str, query: str) -> None:
        """Give the columns of a query to what uses them, and no row."""
        self._lines.append(f"{use} FROM ({query}) hb WHERE false;")

    def _word(self) -> str:
        return self._tokens[self._at][0].upper() if self._at < len(self._tokens) else ""

    def _took(self, word: str) -> bool:
        if self._word() != word:
            return False
        self._at += 1
        return True

    def _expect(self, *words: str) -> None:
        for word in words:
            if not self._took(word):
                near = self._text(max(self._at - 5, 0), min(self._at + 5, len(self._tokens)))
                raise UnreadableError(f"{word} was expected, not {self._word()}: ... {near} ...")

    def _until(self, *stops: str) -> str:
        """The text up to one of these words, which is not inside of brackets or of a CASE."""
        start, depth = self._at, 0
        while (word := self._word()) not in stops or depth:
            if not word:
                raise UnreadableError(f"{' or '.join(stops)} was expected before the end.")
            depth += (word in _DEEPER) - (word in _HIGHER)
            self._at += 1
        return self._text(start, self._at)

    def _text(self, start: int, end: int) -> str:
        if start >= end:
            return ""
        return self._source[self._tokens[start].start() : self._tokens[end - 1].end()]
