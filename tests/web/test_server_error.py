"""The page of a failed request: 503 and one sentence while the database is away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

RAISE = "DO $$ BEGIN RAISE EXCEPTION 'told' USING ERRCODE = '{}'; END $$"


@pytest.mark.parametrize(
    ("state", "status", "again", "says"),
    [
        ("57P01", 503, "2", "The database is unavailable: try again in a moment."),
        ("53100", 503, "30", "disk is full"),
        ("42703", 500, "", "Server Error"),
    ],
)
def test_a_page_says_that_the_database_is_away(
    workspace: Workspace, state: str, status: int, again: str, says: str
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create(username=workspace.slug))

    def refuse(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        return execute(RAISE.format(state), None, many, context)

    with connection.execute_wrapper(refuse):
        response = client.get("/")
    assert response.status_code == status
    assert response.headers.get("Retry-After", "") == again
    assert says in response.content.decode()
