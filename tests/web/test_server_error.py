"""The page of a failed request: 503 and one sentence while the database is away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, RequestFactory
from django.utils.html import escape

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.web.errors import server_error

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

SENTENCE = "There is no agent named <packer>."
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


@pytest.mark.parametrize(("path", "status"), [("/admin/auth/group/add/", 409), ("/api/v1/x", 500)])
def test_given_a_refusal_that_no_page_expects_then_a_person_reads_its_sentence(
    workspace: Workspace, path: str, status: int
) -> None:
    """A trigger's is raised where an app's own admin saves a row."""
    request = RequestFactory().get(path)
    request.user = User.objects.create(username=workspace.slug)
    try:
        raise ConfigurationError(SENTENCE)
    except ConfigurationError:
        response = server_error(request)
    page = response.content.decode()
    assert response.status_code == status
    assert (escape(SENTENCE) in page) is (status == 409)
