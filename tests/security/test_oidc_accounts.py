"""Which account a person of an issuer opens, and which roles their groups give and take."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User

from heartbit_site import environment
from heartbit_site.base.models import Membership, Role
from heartbit_site.web.oidc.admit import SignInRefusedError, admit, roles_of
from heartbit_site.web.oidc.identity import Identity
from tests.web.people import member

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mapping(settings: Settings, workspace: Workspace) -> None:
    settings.HEARTBIT_OIDC_ROLES = {
        "staff": {workspace.slug: "viewer"},
        "leads": {workspace.slug: "admin", "of-nobody": "viewer"},
    }


def identity(*groups: str, name: str = "", email: str = "") -> Identity:
    given = name or f"p-{secrets.token_hex(4)}"
    return Identity(f"subject of {given}", given, email, frozenset(groups))


def test_the_highest_role_counts_and_every_named_workspace_is_decided(workspace: Workspace) -> None:
    assert roles_of(frozenset({"leads", "staff"}))[workspace.slug] == Role.ADMIN
    assert roles_of(frozenset({"others"})) == {workspace.slug: "", "of-nobody": ""}


def test_an_address_links_nothing_unless_the_setting_allows_it(
    workspace: Workspace, settings: Settings
) -> None:
    known = member(workspace)
    known.email = f"{known.username}@example.org"
    known.save()
    assert admit(identity("staff", email=known.email), None).pk != known.pk
    settings.HEARTBIT_OIDC_LINK_EMAIL = True
    with pytest.raises(SignInRefusedError, match="Several accounts"):
        admit(identity("staff", email=known.email), None)


#: The dotless i, the long s and the sign of Kelvin, which a change of case makes other letters;
#: in a domain the last one is a k, as Django and IDNA say.
@pytest.mark.parametrize(("letter", "like"), [("i", "\u0131"), ("s", "\u017f"), ("k", "\u212a")])
def test_an_address_that_looks_alike_links_nothing(
    workspace: Workspace, settings: Settings, letter: str, like: str
) -> None:
    settings.HEARTBIT_OIDC_LINK_EMAIL = True
    known = member(workspace)
    known.email = f"{letter}-{known.username}@example.org"
    known.save()
    other = f"{like}-{known.username}@example.org"
    assert admit(identity("staff", email=other), None).pk != known.pk
    assert admit(identity("leads", email=known.email.upper()), None).pk == known.pk


def test_the_last_admin_keeps_the_role_and_is_refused(workspace: Workspace) -> None:
    chief = member(workspace, Role.ADMIN)
    with pytest.raises(SignInRefusedError, match="the only admin"):
        admit(identity("staff"), chief)
    assert Membership.objects.get(user=chief).role == Role.ADMIN
    member(workspace, Role.ADMIN)
    assert admit(identity("staff"), chief) == chief
    assert Membership.objects.get(user=chief).role == Role.VIEWER


@pytest.mark.parametrize("name", ["", "two words", "x" * 151])
def test_a_name_that_is_none_makes_no_account(name: str) -> None:
    before = User.objects.count()
    with pytest.raises(SignInRefusedError):
        admit(Identity("17", name, "", frozenset({"staff"})), None)
    assert User.objects.count() == before


@pytest.mark.parametrize("groups", [None, 3, {"staff": 1}, [1, None]])
def test_groups_of_another_form_give_nothing(groups: object) -> None:
    assert Identity.of_claims({"sub": "17", "groups": groups}).groups == frozenset()


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"HEARTBIT_OIDC_ONLY": "1"}, "needs HEARTBIT_OIDC_ISSUER"),
        ({"HEARTBIT_OIDC_ISSUER": "https://x.example"}, "needs HEARTBIT_OIDC_CLIENT_ID"),
    ],
)
def test_half_a_setting_is_a_sentence(environ: dict[str, str], sentence: str) -> None:
    assert [one for one in environment.problems(environ) if sentence in one]
