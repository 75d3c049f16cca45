"""Each page asks the database as often with ten thousand rows as with ten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents.models import Conversation, Run, RunEvent, ToolCall, Wait
from heartbit_site.base.models import UsageEntry
from memory.models import Passage
from tests.admin import rows
from tests.clients import Client
from tests.web.matrix_world import MAKERS
from tests.web.people import member, person

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import Model

    from heartbit_site.base.models import Workspace

FEW, MANY = 10, 10_000
_LISTS = (
    "chat",
    "chat/researcher",
    "health",
    "health/usage",
    "health/alerts",
    "schedules",
    "inbox",
    "agents",
    "agents/researcher",
    "agents/researcher/versions",
    "runs",
    "credentials",
    "account",
)
_ID = "md5(%(count)s::text || 'of' || n)::uuid"
_AT = "clock_timestamp() - n * interval '1 second'"
_POSITION = f"n + %(count)s - {FEW}"  # from 1 on, and again after those
#: Tables, the column that names the template, and what differs in its copies.
_COPIED: tuple[tuple[type[Model], str, dict[str, str]], ...] = (
    (Run, "id", {"id": _ID, "root_id": _ID, "created_at": _AT}),
    (RunEvent, "run_id", {"run_id": _ID}),
    (ToolCall, "run_id", {"run_id": _ID}),
    (Wait, "run_id", {"run_id": _ID}),
    (UsageEntry, "run_id", {"run_id": _ID, "at": _AT}),
)


def test_given_many_rows_then_no_page_asks_more_often(db: None, workspace: Workspace) -> None:
    call = rows.asking(workspace)
    thread = Conversation.objects.create(workspace=workspace, agent="researcher")
    MAKERS["base"](workspace)
    cited = MAKERS["passage_id"](workspace)
    pages = {
        member(workspace): [
            *(f"/w/{workspace.slug}/{path}/" for path in _LISTS),
            f"/w/{workspace.slug}/chat/researcher/{thread.pk}/",
            f"/w/{workspace.slug}/runs/{call.run_id}/",
            f"/w/{workspace.slug}/connect/{MAKERS['server'](workspace)}/",
            f"/w/{workspace.slug}/passages/{cited}/",
            *_admin_pages(),
        ],
        person(operator=True): [f"/w/{workspace.slug}/health/fleet/", *_admin_pages()],
    }
    _copy(call.run_id, thread, cited, FEW)
    _queries(pages)  # what is asked once a process is known then
    few = _queries(pages)
    assert all(count for (_, path), count in few.items() if path.startswith("/w/"))
    _copy(call.run_id, thread, cited, MANY)
    many = _queries(pages)
    assert {page: (few[page], many[page]) for page in few if many[page] > few[page]} == {}


def _admin_pages() -> list[str]:
    lists = (
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in list(admin.site._registry)  # the first address loads the rest of it
    )
    return [reverse("admin:index"), *lists]


def _queries(pages: dict[User, list[str]]) -> dict[tuple[str, str], int]:
    """How often each person's pages ask; 0 for a page that is closed to them."""
    found = {}
    for user, paths in pages.items():
        client = Client(headers={"host": "localhost"})
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        for path in paths:
            cache.clear()
            with CaptureQueriesContext(connection) as queries:
                answer = client.get(path)
            found[user.username, path] = len(queries) if answer.status_code == 200 else 0
    return found


def _copy(template: Any, thread: Conversation, cited: str, count: int) -> None:
    values = {"count": count, "template": template, "thread": thread.pk, "cited": cited}
    with connection.cursor() as cursor:
        # The copies are right by construction: their triggers would write a journal of their own.
        cursor.execute("SET LOCAL session_replication_role = replica")
        for model, key, different in _COPIED:
            cursor.execute(_statement(model, f"t.{key} = %(template)s", different), values)
        cursor.execute(_statement(Conversation, "t.id = %(thread)s", {"id": _ID}), values)
        cursor.execute(_statement(Passage, "t.id = %(cited)s", {"position": _POSITION}), values)
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
        cursor.execute("ANALYZE")  # autovacuum's work, which does not see this transaction's rows


def _statement(model: type[Model], chosen: str, different: dict[str, str]) -> str:
    columns = [
        field.column
        for field in model._meta.local_concrete_fields
        if not field.primary_key or field.column in different
    ]
    values = ", ".join(different.get(str(column), f"t.{column}") for column in columns)
    table = model._meta.db_table
    return (
        f"INSERT INTO {table} ({', '.join(map(str, columns))}) SELECT {values} "  # noqa: S608  names
        f"FROM generate_series(1, %(count)s) n, {table} t WHERE {chosen}"
    )
