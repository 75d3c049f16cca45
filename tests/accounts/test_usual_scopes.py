"""A key for which nobody names scopes starts runs and sees them, wherever it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from heartbit_site.base.models import ApiKey, Workspace
from tests.api.conftest import caller
from tests.clients import Client
from tests.web.people import person

if TYPE_CHECKING:
    from tests.api.server import Caller
    from tests.command import Command

__all__ = ["caller"]

USUAL = ["runs:read", "runs:write"]


def test_the_command_gives_the_usual_scopes_and_says_so(heartbit: Command, database: None) -> None:
    assert heartbit("keys", "create", "usual", "--json").json["scopes"] == USUAL
    made = heartbit("keys", "create", "usual")
    assert made.code == 0
    assert all(scope in made.err for scope in [*USUAL, "--scope"])


def test_the_command_says_nothing_of_scopes_that_were_named(
    heartbit: Command, database: None
) -> None:
    made = heartbit("keys", "create", "named", "--scope", "audit:read")
    assert (made.code, "scope" in made.err) == (0, False)


def test_the_api_gives_the_usual_scopes(caller: Caller, workspace: Workspace) -> None:
    made = caller.post("/keys", {"name": "usual"})
    assert (made.status_code, sorted(made.json()["scopes"])) == (201, USUAL)
    assert ApiKey.objects.get(workspace=workspace, name="usual").scopes == USUAL
    assert caller.post("/keys", {"name": "none", "scopes": []}).status_code == 422


@pytest.mark.django_db
def test_the_admins_form_has_the_usual_scopes_checked() -> None:
    client = Client(headers={"host": "localhost"})
    client.force_login(person(operator=True), backend="django.contrib.auth.backends.ModelBackend")
    form = client.get(reverse("admin:base_apikey_add")).context["adminform"].form
    assert form.get_initial_for_field(form.fields["scopes"], "scopes") == USUAL
