"""A transactional tool with tables of its own, and calls of it that wait for a person."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding, ToolCall
from heartbit_site.base.toolspec import Effect, ToolContext, spec_of
from tests.web.waiting_calls import unserved
from tools.calls import call_parsing
from tools.calls.approval import digest
from tools.calls.call_parsing import ParsedCall
from tools.definitions.registry import definition_hash, registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace

_TABLES = """
    CREATE TABLE book_customer (id bigint PRIMARY KEY, name text, api_key text);
    CREATE TABLE "book order %s" (
        region text, number int, amount numeric, customer bigint
        REFERENCES book_customer DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY (region, number));
    CREATE TABLE book_log (line text);
    INSERT INTO book_customer VALUES (1, 'Ann', 'sk-ann'), (2, 'Bob', 'sk-bob'), (3, 'Cy', 'sk-cy');
    INSERT INTO "book order %s" VALUES ('EU', 1, 10, 1), ('EU', 2, 20, 2), ('US', 1, 30, 2);
"""
ORDERS = '"book order %s"'  # a name that has to be quoted, and no parameter
SECONDS = 3
#: What was to be told once the transaction is committed.
told: list[str] = []


def bookkeeping(
    context: ToolContext,
    statements: list[str],
    elsewhere: str = "",
    request: str = "",
    fail: str = "",
    commit: bool = False,  # noqa: FBT001, FBT002  given by name, as a model does
    seconds: float = 0,
) -> str:
    """Change the books, each statement in a savepoint within the one before."""
    transaction.on_commit(lambda: told.append(context.idempotency_key))
    _nested(statements)
    if commit:
        connection.connection.commit()  # the driver's own, of which Django knows nothing
    if elsewhere:
        with session() as other:
            other.execute(elsewhere)
    if request:
        asyncio.run(context.http.get(request))
    time.sleep(seconds)
    if fail:
        raise ValueError(fail)
    return f"done as {context.idempotency_key}"


def _nested(statements: list[str]) -> None:
    if statements:
        with transaction.atomic():
            run(statements[0])
            _nested(statements[1:])


def run(statement: str) -> None:
    """A statement of this session."""
    with connection.cursor() as cursor:
        cursor.execute(statement)


@contextmanager
def session() -> Iterator[Any]:
    """A cursor of somebody else, who commits what they do."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            yield cursor
    finally:
        other.close()


@pytest.fixture(scope="module", autouse=True)
def shop(database: None) -> Iterator[None]:
    """The tables and the tool, for every test of a module that imports this."""
    run(_TABLES)
    spec = spec_of(bookkeeping, effect=Effect.TRANSACTIONAL, timeout_seconds=SECONDS)
    registry.register(spec)
    yield
    del registry[spec.name]
    run(f"DROP TABLE book_customer, {ORDERS}, book_log")


def books() -> list[list[tuple[Any, ...]]]:
    """Every row of the tables."""
    found = []
    with connection.cursor() as cursor:
        for table in ("book_customer", ORDERS, "book_log"):
            cursor.execute(f"SELECT t::text FROM {table} AS t ORDER BY 1")  # noqa: S608
            found.append(cursor.fetchall())
    return found


@pytest.fixture(autouse=True)
def nothing_is_kept(shop: None) -> Iterator[None]:
    """Whatever a test tries, the books are the same after it, and nobody was told anything."""
    before = books()
    yield
    assert books() == before
    assert told == []


def waiting(workspace: Workspace, *statements: str, **more: Any) -> ToolCall:
    """A call of the tool that waits for a person."""
    if not Agent.objects.filter(workspace=workspace, name="clerk").exists():
        agent = Agent.objects.create(
            workspace=workspace, name="clerk", system_prompt="Keep books.", queue="nobodys"
        )
        ToolBinding.objects.create(agent=agent, tool="bookkeeping", approval="always")
        publish_agent(agent)
    given = {"statements": list(statements), **more}
    call = unserved(workspace, agent="clerk", tool="bookkeeping", arguments=given)
    found = call_parsing.read(registry, name="bookkeeping", arguments=json.dumps(given))
    assert isinstance(found, ParsedCall)
    call.effect = "transactional"
    call.digest = digest(
        call.run_id,
        call.call_id,
        definition_hash=definition_hash(found.spec),
        arguments=found.arguments,
    )
    call.save()
    return call
