"""`heartbit users`: accounts are created, listed and given passwords, and the audit has it."""

from __future__ import annotations

import secrets
import sys
from typing import TYPE_CHECKING

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.utils import timezone

from heartbit_site.base.models import AuditEntry, Membership
from heartbit_site.cli.serving.all_in_one import login_hint
from heartbit_site.first_start import Admin, default_workspace, unused_admin
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.command import Command, Ended

STRONG = "correct horse battery"


@pytest.fixture
def name(database: None) -> Iterator[str]:
    """A name that nobody has; whoever gets it is deleted."""
    free = f"person-{secrets.token_hex(4)}"
    yield free
    User.objects.filter(username=free).delete()


@pytest.fixture
def person(name: str) -> User:
    """Somebody with a password."""
    return User.objects.create_user(name, password=STRONG)


def actions(user: User) -> list[str]:
    entries = AuditEntry.objects.filter(target=f"user:{user.pk}").order_by("pk")
    return [entry.action for entry in entries]


def test_a_created_user_is_a_member_with_a_generated_password(heartbit: Command, name: str) -> None:
    ended = heartbit("users", "create", name, "--role", "editor", "--generate", "--json")
    assert (ended.code, ended.err) == (0, "")
    user = User.objects.get(username=name)
    assert user.check_password(ended.json["password"])
    assert (user.is_superuser, user.is_staff) == (False, False)
    assert Membership.objects.get(user=user, workspace=default_workspace()).role == "editor"
    assert actions(user) == ["user.add", "member.add"]
    assert ended.json["password"] not in str(list(AuditEntry.objects.values_list("details")))


@pytest.mark.parametrize("through", ["option", "variable"])
def test_a_member_is_created_in_the_workspace_that_is_named_and_told_of(
    heartbit: Command, name: str, workspace: Workspace, through: str
) -> None:
    extra = ("--workspace", workspace.slug) if through == "option" else ()
    env = {"HEARTBIT_WORKSPACE": workspace.slug if through == "variable" else "no-such"}
    ended = heartbit("users", "create", name, "--generate", *extra, env=env)
    assert ended.code == 0, ended.err
    assert f"{name} as viewer in the workspace {workspace.slug}." in ended.err
    [membership] = Membership.objects.filter(user__username=name)
    assert (membership.workspace, membership.role) == (workspace, "viewer")


def test_a_superuser_needs_no_membership(heartbit: Command, name: str) -> None:
    ended = heartbit("users", "create", name, "--superuser", "--generate")
    assert ended.code == 0
    user = User.objects.get(username=name)
    assert (user.is_superuser, user.is_staff) == (True, True)
    assert user.check_password(ended.out.strip())
    assert f"Created the superuser {name}." in ended.err
    assert not Membership.objects.filter(user=user).exists()


def test_a_password_is_read_from_standard_input(heartbit: Command, name: str) -> None:
    def given(text: str, *words: str) -> Ended:
        return heartbit.end(heartbit.start("users", *words, "--password-stdin", said=text))

    assert given("another fine phrase\n", "create", name, "--role", "editor").code == 0
    user = User.objects.get(username=name)
    assert user.check_password("another fine phrase")
    assert given(f"{STRONG}\nno part of it", "password", name).code == 0
    user.refresh_from_db()
    assert user.check_password(STRONG)
    for text, words in (("", ()), ("short", ()), ("another fine phrase", ("--generate",))):
        refused = given(text, "password", name, *words)
        assert (refused.code, refused.out) == (2, ""), text
    user.refresh_from_db()
    assert user.check_password(STRONG)


def test_a_role_that_does_not_exist_is_refused_before_the_password_is_asked_for(name: str) -> None:
    with Terminal("users", "create", name, "--role", "boss") as terminal:
        assert terminal.ends()[0] == 2
        assert "--role is not right: input should be 'viewer', 'operator'" in terminal.text
        assert "New password" not in terminal.text
    assert not User.objects.filter(username=name).exists()


def test_a_typed_password_is_asked_for_twice_and_never_shown(person: User) -> None:
    with Terminal("users", "password", person.username) as terminal:
        terminal.sees("New password: ")
        terminal.types("another fine phrase")
        terminal.sees("again: ")
        terminal.types("another fine phrase")
        assert terminal.ends() == (0, "")
        assert "fine phrase" not in terminal.raw
    person.refresh_from_db()
    assert person.check_password("another fine phrase")
    assert actions(person) == ["user.password"]


@pytest.mark.parametrize(
    "typed", [("short", "short"), ("another fine phrase", "another fine phrasf")]
)
def test_a_weak_or_mistyped_password_changes_nothing(person: User, typed: tuple[str, ...]) -> None:
    with Terminal("users", "password", person.username) as terminal:
        for line, prompt in zip(typed, ("New password: ", "again: "), strict=False):
            terminal.sees(prompt)
            terminal.types(line)
        assert terminal.ends() == (2, "")
    person.refresh_from_db()
    assert person.check_password(STRONG)


def test_a_new_password_ends_a_lockout(heartbit: Command, person: User) -> None:
    AccessAttempt.objects.create(
        username=person.username, ip_address="127.0.0.1", failures_since_start=5, get_data=""
    )
    ended = heartbit("users", "password", person.username, "--generate")
    assert ended.code == 0
    person.refresh_from_db()
    assert person.check_password(ended.out.strip())
    assert not AccessAttempt.objects.filter(username=person.username).exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "NAME"),
        ("create", "a name", "--generate"),
        ("create", "", "--generate"),
        ("create", "NAME", "--generate", "--role", "owner"),
        ("create", "NAME", "--generate", "--email", "nowhere"),
        ("create", "NAME", "--generate", "--superuser", "--role", "viewer"),
        ("create", "NAME", "--generate", "--superuser", "--workspace", "default"),
        ("create", "NAME", "--generate", "--workspace", "no-such"),
        ("create", "NAME", STRONG),
        ("password", "NAME", "--generate"),
        ("password", "PERSON", STRONG),
        ("password", "PERSON"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    heartbit: Command, name: str, arguments: tuple[str, ...]
) -> None:
    admin = User.objects.create_user(f"{name}-2", password=STRONG)
    words = [{"NAME": name, "PERSON": admin.username}.get(word, word) for word in arguments]
    before = User.objects.count()
    ended = heartbit("users", *words)
    admin.refresh_from_db()
    kept = admin.check_password(STRONG)
    admin.delete()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert kept
    assert User.objects.count() == before - 1


def test_a_taken_name_is_refused(heartbit: Command, person: User) -> None:
    ended = heartbit("users", "create", person.username, "--generate")
    assert (ended.code, ended.out) == (2, "")


def test_the_list_names_rights_and_last_logins(heartbit: Command, person: User) -> None:
    listed = heartbit("users", "list", "--json").json["users"]
    found = next(row for row in listed if row["name"] == person.username)
    assert found["last_login"] is None
    assert found["rights"] == []
    assert person.username in heartbit("users", "list").out


@pytest.mark.django_db
def test_the_way_in_is_said_until_the_first_admin_has_logged_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    User.objects.update(last_login=timezone.now(), is_superuser=False)
    assert unused_admin() is None
    admin = User.objects.create_superuser("first-of-all", "", STRONG)
    assert unused_admin() == "first-of-all"
    assert "heartbit users password first-of-all" in login_hint(None)
    first = Admin("first-of-all", "word-1")
    assert "heartbit users password first-of-all" in login_hint(first), "no terminal, no password"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "word-1" in login_hint(first)
    admin.last_login = timezone.now()
    admin.save()
    User.objects.create_superuser("second", "", STRONG)
    assert login_hint(None) == ""
