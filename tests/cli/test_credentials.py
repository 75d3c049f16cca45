"""`heartbit credentials`, here and against a server, as a person uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base import secrets
from heartbit_site.base.models import AuditEntry
from heartbit_site.cli.terminal.errors import USAGE
from tools.models import Credential

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place

TOKEN = "tok-5f2c-canary"
URL = "https://api.example.com/v1"


@pytest.fixture
def place(place: Place) -> Place:
    return place.of("credentials")


def add(place: Place, name: str, *more: str) -> None:
    given = ("add", name, "--kind", "bearer", "--set", f"url={URL}", "--secrets-stdin", *more)
    done = place.given(json.dumps({"token": TOKEN}), *given)
    assert (done.code, done.err) == (0, "")
    assert TOKEN not in done.out


def test_a_credential_is_added_listed_changed_and_removed(
    place: Place, workspace: Workspace
) -> None:
    add(place, "main shop")
    row = Credential.objects.get(workspace=workspace, name="main shop")
    assert json.loads(secrets.reveal(row, "secret")) == {"token": TOKEN}
    listed = place("list")
    assert "main shop   bearer  workspace  not checked" in listed.out
    changed = place("change", "main shop", "--name", "shop", "--disable")
    assert (changed.code, changed.err) == (0, "")
    assert "  state        disabled\n" in changed.out
    assert place("remove", "shop", "--yes").code == 0
    assert not Credential.objects.filter(workspace=workspace).exists()
    actions = AuditEntry.objects.filter(workspace=workspace, action__startswith="credential.")
    assert list(actions.order_by("pk").values_list("action", flat=True)) == [
        "credential.add",
        "credential.change",
        "credential.delete",
    ]
    assert TOKEN not in str(list(actions.values()))


def test_secrets_are_no_arguments_and_are_asked_for_again_elsewhere(
    place: Place, workspace: Workspace
) -> None:
    told = place("add", "x", "--kind", "bearer", "--set", f"url={URL}", "--set", f"token={TOKEN}")
    assert told.code == USAGE
    assert "token is never an argument" in told.err
    assert place("add", "x", "--kind", "bearer").code == USAGE, "no terminal"
    add(place, "main shop")
    moved = place("change", "main shop", "--set", "url=https://evil.example")
    assert moved.code == USAGE
    assert "Enter token again: url changed" in moved.err
    assert Credential.objects.get(workspace=workspace).settings == {"url": URL}


def test_wrong_names_are_answered_with_those_there_are(place: Place, workspace: Workspace) -> None:
    wrong = place.given("{}", "add", "x", "--kind", "berer", "--secrets-stdin")
    assert "berer" in wrong.err
    assert "bearer" in wrong.err
    add(place, "main shop")
    assert "main shop" in place("check", "shop").err
    missing = place.given("{}", "add", "x", "--kind", "bearer", "--secrets-stdin")
    assert "Bearer token needs url." in missing.err


def test_types_are_listed_with_their_fields(place: Place, workspace: Workspace) -> None:
    listed = place("types")
    [line] = [one for one in listed.out.splitlines() if one.startswith("smtp")]
    assert "host [port] [security] [username] [password] sender" in line
    assert line.endswith("password")
