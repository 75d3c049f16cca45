"""What operators do from anywhere: workspaces, users, people's own keys, and a whole file."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from django.contrib.auth.models import User

from agents.models import Agent, Run
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.models import ApiKey, AuditEntry, Membership, Role, Workspace
from heartbit_site.cli.terminal.errors import USAGE
from tests.cli.places import Place
from tests.fleet import wait_until
from tests.web.people import member

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.server import WebServer

FILE = """
[[agents]]
name = "scout"
description = "Looks."
system_prompt_file = "prompts/scout.md"
"""


def test_a_workspace_is_made_and_changed(place: Place, workspace: Workspace) -> None:
    spaces, slug = place.of("workspaces"), f"w-{secrets.token_hex(4)}"
    made = spaces("add", slug, "--retention-days", "30")
    assert made.out.startswith(f"Created the workspace {slug}"), made.err
    row = Workspace.objects.get(slug=slug)
    assert (row.name, row.retention_days) == (slug, 30)
    assert spaces("add", slug).code == USAGE, "it is there"
    assert spaces("add", "no/slug").err.count("\n") == 1
    assert slug in spaces("list").out
    assert spaces("change", "--name", "Research", "--unknown-prices", "refuse").code == 0
    workspace.refresh_from_db()
    assert (workspace.name, workspace.unknown_prices) == ("Research", "refuse")
    assert spaces("change", "--unknown-prices", "guess").code == USAGE
    shown = spaces("show", "--json").json
    assert (shown["name"], shown["unknown_prices"]) == ("Research", "refuse")
    assert spaces("change", "--tier", "none-such").code == USAGE
    actions = AuditEntry.objects.filter(
        workspace__in=(row, workspace), action__startswith="workspace."
    )
    found = actions.order_by("pk").values_list("action", flat=True)
    assert list(found) == ["workspace.add", "workspace.change"]


def test_a_user_is_made_and_gets_a_password(place: Place, workspace: Workspace) -> None:
    users, name = place.of("users"), f"person-{secrets.token_hex(4)}"
    made = users("create", name, "--role", "editor", "--generate", "--json")
    assert made.code == 0, made.err
    user = User.objects.get(username=name)
    assert user.check_password(made.json["password"])
    assert Membership.objects.get(user=user, workspace=workspace).role == "editor"
    assert users("create", name, "--generate").code == USAGE
    changed = users("password", name, "--generate", "--json")
    user.refresh_from_db()
    assert user.check_password(changed.json["password"])
    assert name in users("list").out
    details = str(list(AuditEntry.objects.values_list("details")))
    assert changed.json["password"] not in details


def test_no_key_makes_a_superuser_or_takes_one_over(there: Place) -> None:
    refused = there("users", "create", f"p-{secrets.token_hex(4)}", "--superuser", "--generate")
    assert (refused.code, "command line of the installation" in refused.err) == (USAGE, True)
    root = User.objects.create_superuser(f"root-{secrets.token_hex(4)}", password="correct horse")
    assert there("users", "password", root.username, "--generate").code == USAGE
    root.refresh_from_db()
    assert root.check_password("correct horse")


def test_an_operator_has_keys_of_their_own_within_their_role(
    here: Place, there: Place, workspace: Workspace, site: WebServer
) -> None:
    anne, bob = member(workspace, Role.OPERATOR), member(workspace, Role.OPERATOR)
    own = ("--as", anne.username)
    made = here("keys", "create", "laptop", *own)
    assert made.code == 0, made.err
    mine = Place(there.command, {**there.env, "HEARTBIT_API_KEY": made.out.strip()})
    assert mine("keys", "list").code == USAGE, "those of others are not theirs"
    assert here("keys", "create", "script", *own, "--scope", "runs:read").code == 0
    row = ApiKey.objects.get(name="script", user=anne)
    boss = here("keys", "create", "boss", *own, "--scope", "workspace:manage").out.strip()
    bosses = Place(there.command, {**there.env, "HEARTBIT_API_KEY": boss})
    assert bosses("members", "list").code == USAGE, "it can do no more than its person"
    other, _ = create_api_key(workspace, "bob's", scopes=["runs:read"], user=bob)
    listed = mine("keys", "list", "--mine", "--json").json["keys"]
    assert {one["name"] for one in listed} == {"laptop", "script", "boss"}
    assert here("keys", "revoke", other.beginning, *own).code == USAGE, "it is another's"
    assert mine("keys", "revoke", row.beginning).code == USAGE, "a key revokes none"
    assert here("keys", "revoke", row.beginning, *own).code == 0
    assert there("keys", "list", "--mine").code == USAGE, "this key is no person's"
    entries = AuditEntry.objects.filter(workspace=workspace, action__startswith="api_key.")
    found = list(entries.order_by("number").values_list("action", "label"))
    assert [action for action, _ in found].count("api_key.create") == 5
    assert "api_key.revoke" in dict(found)


def test_a_file_is_imported_with_its_prompts_and_exported(
    place: Place, workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "scout.md").write_text("Look around.")
    file = tmp_path / "team.toml"
    file.write_text(FILE)
    planned = place("config", "import", str(file), "--dry-run", "--json")
    assert planned.json["created"] == ["scout"], planned.err
    assert not Agent.objects.filter(workspace=workspace, name="scout").exists()
    assert place("config", "import", str(file)).code == 0
    assert Agent.objects.get(workspace=workspace, name="scout").system_prompt == "Look around."
    written = place("config", "export", "-")
    assert 'name = "scout"' in written.out
    file.write_text(FILE.replace("description", "descripton"))
    wrong = place("config", "import", str(file))
    assert (wrong.code, f"{file}:4:1: " in wrong.err) == (3, True), wrong.err


def test_run_at_a_server_submits_there_and_follows(there: Place, workspace: Workspace) -> None:
    # No worker takes the run, so it is there to be cancelled.
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    env = {**there.env, "HEARTBIT_URL": ""}
    named = ("--url", there.env["HEARTBIT_URL"])
    missing = Place(there.command, env)("run", "Look.", "-a", "no-such", *named)
    assert (missing.code, missing.err.count("\n")) == (USAGE, 1)
    started = there.command.start("run", "Look.", "-a", "writer", "--plain", env=there.env)
    try:
        run = wait_until(lambda: Run.objects.filter(workspace=workspace).first(), seconds=60)
        assert run.home == "fleet"
        assert there("cancel", str(run.pk)).code == 0
    finally:
        ended = there.command.end(started)
    assert (ended.code, f"Run {run.pk}" in ended.err) == (130, True), ended
