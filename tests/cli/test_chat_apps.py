"""Chat apps from the command line, here and at a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import ChatApp
from heartbit_site.base import secrets

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


def test_a_chat_app_is_added_given_its_secrets_changed_and_removed(
    place: Place, workspace: Workspace
) -> None:
    apps = place.of("chat-apps")
    assert "heartbit chat-apps add" in apps("list").err + apps("list").out
    options = ("--channel", "C0OPS", "--bot-token-stdin")
    added = apps.given("xoxb-1\n", "add", "our-slack", *options)
    assert added.code == 0, added.err
    assert "xoxb-1" not in added.out + added.err
    assert apps.given("abc\n", "sign", "our-slack", "--signing-secret-stdin").code == 0
    assert apps.given("xapp-1\n", "connect", "our-slack", "--app-token-stdin").code == 0
    row = ChatApp.objects.get(workspace=workspace)
    found = [secrets.reveal(row, name) for name in ("bot_token", "signing_secret", "app_token")]
    assert found == ["xoxb-1", "abc", "xapp-1"]
    assert apps("change", "our-slack", "--disable").code == 0
    row.refresh_from_db()
    assert (row.enabled, row.place) == (False, "C0OPS")
    listed = apps("list")
    assert "disabled" in listed.out
    assert apps("remove", "our-slack", "--yes").code == 0
    assert not ChatApp.objects.filter(workspace=workspace).exists()
