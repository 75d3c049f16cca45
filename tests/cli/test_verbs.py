"""Commands that are derived from their operations, here and against a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.decide_call import Always, approve_call
from agents.models import Agent, Budget, Conversation, Grant, Run, WebhookEndpoint
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry, Membership, ProviderAccount
from heartbit_site.cli.terminal.errors import USAGE
from tests.admin import rows
from tests.starts import serve_nobody, start_run
from tests.web.people import person

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place

KEY = "sk-canary-4f9e-0123456789"


def actions(workspace: Workspace, noun: str) -> list[str]:
    entries = AuditEntry.objects.filter(workspace=workspace, action__startswith=f"{noun}.")
    return list(entries.order_by("number").values_list("action", flat=True))


def test_a_webhook_is_made_changed_and_removed(place: Place, workspace: Workspace) -> None:
    hooks = place.of("webhooks")
    assert "heartbit webhooks add" in hooks("list").out
    made = hooks("add", "tickets", "--to", "https://example.org/x", "--event", "run.*")
    assert (made.code, "The secret is shown only now." in made.err) == (0, True), made.err
    row = WebhookEndpoint.objects.get(workspace=workspace, name="tickets")
    secret = secrets.reveal(row, "secret")
    assert (f"secret {secret}" in " ".join(made.out.split()), row.events) == (True, ["run.*"])
    assert secret not in hooks("list").out
    changed = hooks("change", "tickets", "--name", "desk", "--disable", "--json")
    assert (changed.json["name"], changed.json["enabled"]) == ("desk", False)
    assert hooks("change", "desk").code == USAGE, "nothing is named"
    again = hooks("rotate-secret", str(row.pk), "--json").json
    assert again["secret"] != secret
    assert hooks("deliveries", "desk").out.startswith("Nothing was sent")
    assert hooks("remove", "desk").code == USAGE, "it asks first"
    gone = hooks("remove", "desk", "--yes")
    assert (gone.code, gone.out) == (0, "Removed desk.\n")
    unknown = hooks("ping", "desk")
    assert (unknown.code, unknown.err.count("\n")) == (USAGE, 1)


def test_members_come_change_and_go(place: Place, workspace: Workspace) -> None:
    members, name = place.of("members"), person().username
    added = members("add", name, "--role", "operator")
    assert added.out == f"{name} is a member as operator now.\n", added.err
    assert members("role", name, "admin").code == 0
    assert Membership.objects.get(workspace=workspace, user__username=name).role == "admin"
    assert members("role", name, "viewer").code == USAGE, "the only admin"
    assert name in members("list").out
    other = person().username
    assert members("add", other, "--role", "admin").code == 0
    assert members("remove", name, "--yes", "--json").json == {"removed": name}
    assert actions(workspace, "member") == [
        *("member.add", "member.change", "member.add", "member.remove")
    ]
    assert members("role", other, "boss").code == USAGE
    assert members("me", "--json").json["workspace"]["slug"] == workspace.slug


def test_a_budget_is_set_changed_and_ended(place: Place, workspace: Workspace) -> None:
    budgets = place.of("budgets")
    made = budgets("add", "--max-usd", "0.5", "--period", "day", "--json")
    assert made.code == 0, made.err
    assert (made.json["usd"]["limit"], made.json["tokens"]) == ("0.5", None)
    number = str(made.json["id"])
    assert budgets("add", "--max-usd", "1", "--period", "day").code == USAGE, "there is one"
    assert budgets("add", "--period", "month").code == USAGE, "it limits nothing"
    assert budgets("change", number, "--max-tokens", "900", "--warn-at", "50").code == 0
    row = Budget.objects.get(workspace=workspace)
    assert (row.max_tokens, str(row.max_usd), row.warn_at) == (900, "0.5000", 50)
    assert "0 of 900" in budgets("list").out
    assert budgets("remove", number, "--yes").code == 0
    assert actions(workspace, "budget") == ["budget.add", "budget.change", "budget.delete"]


def test_a_provider_s_key_is_no_argument_and_never_shown(
    place: Place, workspace: Workspace
) -> None:
    accounts = place.of("provider-accounts")
    assert accounts("add", "openai").code == USAGE, "it needs a key"
    made = accounts.given(f"{KEY}\n", "add", "openai", "--label", "main", "--key-stdin")
    assert made.code == 0, made.err
    row = ProviderAccount.objects.get(workspace=workspace)
    assert secrets.reveal(row, "secret") == KEY
    moved = accounts("change", "main", "--base-url", "https://gateway.example/v1")
    assert (moved.code, "Enter the key again" in moved.err) == (USAGE, True)
    bad = accounts.given("k\n", "change", "main", "--base-url", "ftp://x", "--key-stdin")
    assert (bad.code, bad.err.count("\n")) == (USAGE, 1)
    assert accounts("change", "main", "--disable").code == 0
    shown = accounts("list").out + accounts("list", "--json").out + made.out
    assert (KEY in shown, "...6789" in shown) == (False, True)
    assert accounts("remove", "main", "--yes").code == 0
    assert KEY not in str(list(AuditEntry.objects.values_list("details")))


def test_a_grant_is_listed_and_revoked(place: Place, workspace: Workspace) -> None:
    call = rows.asking(workspace)
    approve_call(call, digest=call.digest, by=Actor("ada", "web"), always=Always("agent"))
    grant = Grant.objects.get(workspace=workspace)
    listed = place("grants", "list").out
    assert (grant.tool in listed, "every run" in listed, "ada" in listed) == (True, True, True)
    revoked = place("grants", "revoke", str(grant.pk))
    assert "need approval again" in revoked.out, revoked.err
    assert place("grants", "--json").json == {"grants": []}
    assert place("grants", "revoke", "999999999").code == USAGE


def test_files_go_to_the_drive_and_back(place: Place, workspace: Workspace, tmp_path: Path) -> None:
    drive, file = place.of("drive"), tmp_path / "may.txt"
    file.write_bytes(b"\x00binary\xff")
    sent = drive("upload", str(file), "--name", "reports/may.txt")
    assert sent.out == "reports/may.txt has 8 bytes.\n", sent.err
    file.write_bytes(b"other")
    assert drive("upload", str(file), "--name", "reports/may.txt").code == USAGE
    assert drive("upload", str(file), "--name", "../x").code == USAGE
    assert drive("list", "--folder", "reports", "--json").json["files"][0]["size"] == 8
    back = tmp_path / "back.txt"
    assert drive("download", "reports/may.txt", "--to", str(back)).code == 0
    assert back.read_bytes() == b"\x00binary\xff"
    assert drive("download", "reports/may.txt", "--to", str(back)).code == USAGE, "it is there"
    assert drive("remove", "reports/may.txt", "--yes").code == 0
    assert drive("remove", "reports/may.txt", "--yes").code == USAGE
    assert drive("list").out.startswith("The drive is empty")
    assert actions(workspace, "drive") == ["drive.save", "drive.delete"]


def test_a_conversation_is_begun_shown_and_deleted(place: Place, workspace: Workspace) -> None:
    serve_nobody(workspace)
    threads = place.of("conversations")
    made = threads("add", "--agent", "writer", "--title", "Owls")
    assert made.code == 0, made.err
    number = made.out.strip()
    assert threads("change", number, "--title", "Barn owls").code == 0
    posted = threads("post", number, "What do owls eat?", "--json")
    assert posted.code == 0, posted.err
    shown = threads("show", number).out
    assert ("Barn owls" in shown, "What do owls eat?" in shown) == (True, True)
    assert "Barn owls" in threads("list").out
    assert threads("remove", number, "--yes").code == USAGE, "its run is live"
    run = Run.objects.get(workspace=workspace)
    assert place("runs", "steer", str(run.pk), "Owls only.").code == 0
    assert place("cancel", str(run.pk)).code == 0
    assert threads("remove", number, "--yes").code == 0
    assert not Conversation.objects.filter(workspace=workspace).exists()


def test_an_agent_is_made_changed_and_deleted_and_its_runs_stay(
    place: Place, workspace: Workspace, tmp_path: Path
) -> None:
    agents, prompt = place.of("agents"), tmp_path / "prompt.md"
    prompt.write_text("Be brief.")
    made = agents("add", "scout", "--prompt-file", str(prompt), "--tool", "calculate")
    assert made.out == "The agent scout is made: v1.\n", made.err
    changed = agents("change", "scout", "--temperature", "0.5", "--version", "1", "--json")
    assert changed.json["definition"]["temperature"] == 0.5
    assert changed.json["tools"] == ["calculate"], "what is not named stays"
    assert agents("change", "scout", "--max-turns", "3", "--version", "1").code == USAGE
    wrong = agents("add", "scout2", "--prompt", "x", "--tool", "calculat")
    assert (wrong.code, "calculate" in wrong.err) == (USAGE, True)
    serve_nobody(workspace, "scout")
    run = start_run(workspace, "Look.", agent="scout")
    refused = agents("remove", "scout", "--yes")
    assert (refused.code, "1 live run" in refused.err) == (USAGE, True)
    assert Agent.objects.get(workspace=workspace, name="scout").enabled, "nothing is changed"
    assert place("cancel", str(run)).code == 0
    assert place("budgets", "add", "--agent", "scout", "--max-tokens", "5").code == 0
    gone = agents("remove", "scout", "--yes")
    assert (
        gone.err
        == "What stays: 1 run with all versions, 0 conversations; deleted with it: 1 budget.\n"
    )
    assert gone.code == 0
    assert agents("show", "scout").code == USAGE
    assert "Look." in place("runs", "show", str(run)).out, "its runs stay"
    again = place("runs", "retry", str(run))
    assert (again.code, again.err.count("\n")) == (USAGE, 1)
    assert agents("add", "scout", "--prompt", "Another.").code == 0, "the name is free"
    assert agents("remove", "scout", "--yes").code == 0, "once more"
    assert actions(workspace, "agent").count("agent.delete") == 2


def test_an_agent_that_others_need_is_not_deleted(place: Place, workspace: Workspace) -> None:
    assert place("agents", "add", "lead", "--prompt", "x", "--member", "writer").code == 0
    assert place("channels", "add", "desk", "--kind", "webhook", "-a", "writer").code == 0
    assert place("schedules", "add", "daily", "-a", "writer", "-t", "x", "--in", "3d").code == 0
    refused = place("agents", "remove", "writer", "--yes")
    assert (refused.code, refused.err.count("\n")) == (USAGE, 1)
    for name in ("lead", "desk", "daily"):
        assert name in refused.err
    moved = place("schedules", "change", "daily", "--every", "2d", "--task", "Other.", "--json")
    assert (moved.json["task"], moved.json["every_seconds"]) == ("Other.", 172_800), moved.err
    assert place("schedules", "change", "daily").code == USAGE


def test_the_audit_is_listed(place: Place, workspace: Workspace) -> None:
    assert place("agents", "stop", "writer").code == 0
    listed = place("audit", "list", "--last", "1")
    assert (listed.code, "agent.stop" in listed.out) == (0, True), listed.err


@pytest.mark.parametrize("noun", ["budgets", "grants", "members", "webhooks", "conversations"])
def test_a_noun_alone_lists(here: Place, noun: str) -> None:
    assert here(noun).code == 0
