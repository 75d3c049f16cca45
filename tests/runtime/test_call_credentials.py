"""Calls with a credential and for a person, through the real runtime."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Permission, User

from agents.actions.decide_call import approve_call, edit_call
from agents.actions.publish_agent import publish_agent
from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Agent, ToolBinding
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.credentials import BearerCredential
from heartbit_site.base.toolspec import Effect, ToolContext, spec_of
from tests.runtime.deciding import ANNA, waiting
from tests.starts import start_run
from tools.actions.credentials import save_credential
from tools.definitions.registry import registry
from tools.models import Credential

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from agents.models import Run
    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

CANARY = "tok-canary-7d1f"
NOTIFY = '[[calls: notify {"text": "Hello."}]] [[text: Done.]]'
TWICE = '[[calls: notify {"text": "1"}]] [[calls: notify {"text": "2"}]] [[text: Done.]]'


class Sent(list[tuple[str, int | None]]):
    """What was sent, with the token and the person of each call."""

    after: Callable[[], None] | None = None


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """A tool of this process that needs a token."""
    found = Sent()

    def notify(channel: BearerCredential, context: ToolContext, text: str) -> str:
        """Send a text."""
        assert context.deadline is not None
        found.append((channel.token.get_secret_value(), context.user_id))
        if found.after is not None:
            found.after()
        return f"Sent {text}"

    spec = spec_of(notify, effect=Effect.AT_MOST_ONCE)
    monkeypatch.setitem(registry._specs, "notify", spec)
    return found


def stored(workspace: Workspace, name: str, token: str = CANARY) -> Credential:
    row = Credential(workspace=workspace, name=name, kind="bearer")
    save_credential(row, {"url": "https://example.com", "token": token}, by=SYSTEM)
    return row


def results(run: Run) -> list[tuple[str, str]]:
    return [(call.status, call.result or "") for call in run.calls.order_by("id")]


async def test_the_tool_gets_the_secret_and_nothing_else_does(
    studio: Studio, sent: Sent, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: stored(studio.workspace, "chat"))
    await orm.run_in_thread(lambda: agent(tools=("notify",)))
    run = await studio.run(NOTIFY)
    assert sent == [(CANARY, None)]
    assert await orm.run_in_thread(lambda: results(run)) == [("ok", "Sent Hello.")]
    journal = [str(event.payload) for event in await studio.events(run)]
    assert not any(CANARY in text for text in journal)
    row = await orm.run_in_thread(lambda: Agent.objects.get(name="solo", workspace=run.workspace))
    snapshot = await orm.run_in_thread(
        lambda: str(row.current_version and row.current_version.snapshot)
    )
    assert CANARY not in snapshot


async def test_a_call_without_its_credential_is_answered_with_what_to_add(
    studio: Studio, sent: Sent, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("notify",)))
    run = await studio.run(NOTIFY)
    [(status, said)] = await orm.run_in_thread(lambda: results(run))
    assert status == "refused"
    assert said.startswith("notify needs a credential that the workspace does not have: add one")
    assert (run.status, sent) == (RunStatus.SUCCEEDED, [])


async def test_what_was_approved_with_one_credential_is_not_done_with_another(
    studio: Studio, sent: Sent, agent: Callable[..., Agent]
) -> None:
    first = await orm.run_in_thread(lambda: stored(studio.workspace, "chat"))
    await orm.run_in_thread(lambda: agent(tools=("notify",), approval="always"))
    run_id = await studio.start(NOTIFY)
    [call] = await waiting(studio, run_id)
    assert (call.approval_view or {})["reason"] == (
        "solo asks before it uses notify. It uses the credential chat (Bearer token)."
    )

    def replace() -> None:
        first.enabled = False
        save_credential(first, {}, by=SYSTEM)
        stored(studio.workspace, "another", "tok-another")
        approve_call(call, digest=call.digest, by=ANNA)

    await orm.run_in_thread(replace)
    run = await wait_for_end(run_id, studio.host.window)
    assert await orm.run_in_thread(lambda: results(run)) == [
        ("refused", "notify has changed since it was approved: it was not run.")
    ]
    assert sent == []


async def test_an_edited_call_runs_with_the_credential_that_was_shown(
    studio: Studio, sent: Sent, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: stored(studio.workspace, "chat"))
    await orm.run_in_thread(lambda: agent(tools=("notify",), approval="always"))
    run_id = await studio.start(NOTIFY)
    [call] = await waiting(studio, run_id)
    edit = partial(edit_call, call, digest=call.digest, by=ANNA, arguments='{"text": "Hi."}')
    await orm.run_in_thread(edit)
    run = await wait_for_end(run_id, studio.host.window)
    assert await orm.run_in_thread(lambda: results(run)) == [("ok", "Sent Hi.")]
    assert sent == [(CANARY, None)]


async def start_for(studio: Studio, user: User | None, task: str = NOTIFY) -> UUID:
    by = Actor("bert", "web", None if user is None else user.pk)
    run_id = await orm.run_in_thread(
        lambda: start_run(
            studio.workspace, task, agent="solo", model="openai:fake", home=Placement.LOCAL, by=by
        )
    )
    studio.host.execute(run_id)
    return run_id


async def ended(studio: Studio, run_id: UUID) -> list[tuple[str, str]]:
    run: Any = await wait_for_end(run_id, studio.host.window)
    return await orm.run_in_thread(lambda: results(run))


async def test_a_tool_is_for_people_with_the_permission_and_only_as_long_as_they_have_it(
    studio: Studio, sent: Sent, agent: Callable[..., Agent]
) -> None:
    def prepared() -> User:
        stored(studio.workspace, "chat")
        row = agent(tools=("notify",))
        ToolBinding.objects.filter(agent=row).update(requires="auth.view_group")
        publish_agent(row)
        user = User.objects.create(username=f"bert-{studio.workspace.slug}")
        user.user_permissions.add(Permission.objects.get(codename="view_group"))
        return user

    user = await orm.run_in_thread(prepared)
    assert await ended(studio, await start_for(studio, None)) == [], "it is not offered"
    assert await ended(studio, await start_for(studio, user)) == [("ok", "Sent Hello.")]
    assert sent == [(CANARY, user.pk)]
    sent.after = lambda: user.user_permissions.clear()
    [first, second] = await ended(studio, await start_for(studio, user, TWICE))
    assert first == ("ok", "Sent 1")
    assert second == (
        "refused",
        f"{user.username} may not use notify: the permission auth.view_group is missing.",
    )
