"""`heartbit channels`, here and against a server, as a person uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest

from agents.models import Channel, Run
from heartbit_site.base import secrets
from heartbit_site.base.models import AuditEntry
from heartbit_site.cli.terminal.errors import USAGE
from tests.cli.terminal import Terminal
from tests.inbound.posts import signed

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.cli.places import Place

MAILBOX = ("--imap-host", "imap.example.org", "--imap-user", "support", "--sender", "*")
PASSWORD = "correct horse"


@pytest.fixture
def place(place: Place) -> Place:
    return place.of("channels")


def channel(workspace: Workspace, name: str) -> Channel:
    return Channel.objects.get(workspace=workspace, name=name)


def test_a_signed_channel_is_made_used_changed_and_removed(
    place: Place, workspace: Workspace, site: WebServer
) -> None:
    mapping = '{"task": "Answer {body}"}'
    made = place("add", "tickets", "--kind", "webhook", "-a", "writer", "--mapping", mapping)
    assert (made.code, made.err) == (0, "")
    facts = dict(line.split(maxsplit=1) for line in made.out.splitlines()[1:])
    secret = facts["secret"].split()[0]
    row = channel(workspace, "tickets")
    assert row.agent == "writer"
    content = json.dumps({"body": "It burns."}).encode()
    path = urlsplit(facts["url"]).path
    posted = httpx.post(
        f"{site.url}{path}",
        content=content,
        headers=signed(secret, content),
        trust_env=False,
        timeout=60,
    )
    assert posted.status_code == 202, posted.text
    run = Run.objects.get(pk=posted.json()["run_id"])
    assert (run.workspace, run.task) == (workspace, "Answer It burns.")

    shown = place("show", "tickets")
    assert (shown.code, secret in shown.out) == (0, False), "the secret is shown once"
    assert f"accepted  -       {run.pk}" in shown.out
    as_json = place("show", str(row.pk), "--json").json
    assert [one["run_id"] for one in as_json["messages"]] == [str(run.pk)]
    assert "secret" not in as_json

    changed = place(
        *("change", "tickets", "--name", "post", "--disable", "--hourly-limit", "7"),
        *("--require-approval", "--deliver-email", "ann@example.org", "--json"),
    )
    assert changed.code == 0
    row.refresh_from_db()
    assert (row.name, row.enabled, row.hourly_limit, row.approve) == ("post", False, 7, True)
    assert row.mapping == json.loads(mapping), "what is not named stays"
    assert row.deliver[0]["to"] == ["ann@example.org"]
    assert "answers to   ann@example.org" in place("show", "post").out
    listed = place("list").out.splitlines()
    assert listed[0].split() == ["CHANNEL", "KIND", "AGENT", "STATE", "WHERE"]
    assert listed[1].split()[:4] == ["post", "webhook", "writer", "disabled"]

    careful = place("remove", "post")
    assert (careful.code, careful.err.count("\n")) == (USAGE, 1)
    assert place("remove", "post", "--yes").code == 0
    assert not Channel.objects.filter(pk=row.pk).exists()
    entries = AuditEntry.objects.filter(target=f"channel:{row.pk}").order_by("number")
    actions = [entry.action.removeprefix("channel.") for entry in entries]
    assert actions == ["create", "change", "remove"]


def test_a_mailboxs_password_comes_by_standard_input_only(
    place: Place, workspace: Workspace
) -> None:
    refused = place("add", "mail", "--kind", "email", *MAILBOX)
    assert (refused.code, refused.err.count("\n")) == (USAGE, 1)
    assert "--password-stdin" in refused.err
    made = place.given(
        f"{PASSWORD}\n", "add", "mail", "--kind", "email", "-a", "writer", *MAILBOX,
        "--password-stdin",
    )  # fmt: skip
    assert (made.code, made.err) == (0, "")
    assert PASSWORD not in made.out
    assert "whsec_" not in made.out, "nothing is posted to it"
    row = channel(workspace, "mail")
    assert secrets.reveal(row, "imap_password") == PASSWORD
    assert (row.imap_host, row.imap_port, row.imap_folder) == ("imap.example.org", 993, "INBOX")

    kept = place("change", "mail", "--imap-folder", "Tickets", "--no-reply")
    assert kept.code == 0, kept.err
    row.refresh_from_db()
    assert (row.imap_folder, row.imap_user, row.reply) == ("Tickets", "support", False)
    assert secrets.reveal(row, "imap_password") == PASSWORD
    wrong = place.given("battery\n", "change", "mail", "--imap-port", "0", "--password-stdin")
    assert (wrong.code, "--imap-port is not right: " in wrong.err) == (USAGE, True)
    moved = place("change", "mail", "--imap-host", "imap.example.com")
    assert moved.code == USAGE, "the password would go to another server"
    again = place.given(
        "battery\n", "change", "mail", "--imap-host", "imap.example.com", "--password-stdin"
    )
    assert again.code == 0, again.err
    row.refresh_from_db()
    assert secrets.reveal(row, "imap_password") == "battery"
    assert place("change", "mail", "--imap-host", "").code == 0
    row.refresh_from_db()
    assert (row.imap_host, row.imap_password) == ("", "")


def test_a_person_is_asked_for_the_password_which_is_not_shown(
    here: Place, workspace: Workspace
) -> None:
    arguments = ("channels", "add", "mail", "--kind", "email", "-a", "writer", *MAILBOX)
    with Terminal(*arguments, env=here.env) as terminal:
        terminal.sees("Password of the mailbox: ")
        terminal.types(PASSWORD)
        assert terminal.ends()[0] == 0
        assert PASSWORD not in terminal.text
    assert secrets.reveal(channel(workspace, "mail"), "imap_password") == PASSWORD


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("show", "tickts"), "tickets"),
        (("change", "tickets"), "--help"),
        (("change", "tickets", "--mapping", "[]"), "JSON object"),
        (("change", "tickets", "--mapping", '{"task": 1}'), "task"),
        (("change", "tickets", "--ask-password"), "--ask-password goes with --kind email"),
        (
            ("add", "b", "--kind", "webhook", "--imap-user", "x"),
            "--imap-user goes with --kind email",
        ),
        (("add", "b", "--kind", "webhook", "--password-stdin"), "--password-stdin goes with"),
        (("add", "b", "--kind", "email", "--imap-user", "x"), "--imap-host"),
        (("add", "b", "--kind", "webhook", "--agent", "writr"), "writer?"),
        (("add", "tickets", "--kind", "webhook"), "`heartbit channels list` lists them."),
        (("add", "b", "--kind", "webhook", "--deliver-webhook", "none"), "no webhook"),
        (("change", "tickets", "--hourly-limit", "0"), "--hourly-limit is not right: input"),
        (("change", "tickets", "--name", ""), "--name is not right: "),
    ],
)
def test_what_cannot_be_is_one_sentence(
    place: Place, workspace: Workspace, arguments: tuple[str, ...], part: str
) -> None:
    assert place("add", "tickets", "--kind", "webhook").code == 0
    ended = place(*arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (USAGE, "", 1), ended
    assert part in ended.err
    assert Channel.objects.filter(workspace=workspace).count() == 1
