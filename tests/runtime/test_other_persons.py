"""A run works for its person, until another person's words are in it: then for nobody."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User

from agents.actions.decide_call import answer_call, approve_call, deny_call, edit_call
from agents.actions.fork_run import Edits
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import retry_run, steer_run
from agents.actions.start_conversation import start_conversation
from agents.choices import BusyPolicy, Placement
from agents.live.follow import wait_for_end
from agents.live.words import say
from agents.models import Agent, Run, RunEvent, ToolBinding
from agents.runs.acting_person import acts_for
from agents.runs.history import load_history
from heartbit_site.base import orm
from heartbit_site.base.access import ROLE_SCOPES, Access
from heartbit_site.base.audit import SYSTEM, Actor, starter_of
from heartbit_site.base.credentials import BearerCredential
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.models.membership import Membership, Role
from heartbit_site.base.toolspec import Effect, ToolContext, spec_of
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author
from memory.models import MemoryItem
from memory.place import MemoryPlace
from tests.runtime.deciding import waiting
from tests.starts import fork_run, post_message, start_run
from tools.actions.credentials import save_credential
from tools.definitions.registry import registry
from tools.models import Credential

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.runtime.conftest import Studio

    Create = Callable[..., Agent]

CANARY = "canary-of-ann"
NOTIFY = '[[calls: notify {"text": "Hello."}]]'
THEN = '[[then: notify {"text": "Hello."}]]'
WAIT = '[[calls: calculate {"expression": "1 + 1"}]]'
ASK = '[[calls: ask_human {"question": "Which tea?"}]]'
RECALL = "[[calls: recall {}]]"
SHARED = "Another person has said something to this run"


@dataclass
class Office:
    """Ann, who has a memory and a credential; Bob, an operator; Carol, an admin."""

    studio: Studio
    ann: User
    bob: User
    carol: User

    def actor(self, user: User, role: Role = Role.OPERATOR) -> Actor:
        """A member who asks over the web."""
        scopes = ROLE_SCOPES[role]
        return starter_of(Access(self.studio.workspace, user.username, "web", scopes, user.pk))

    async def start(self, task: str, *, by: User | None = None) -> UUID:
        """Start a run for Ann."""
        run_id = await orm.run_in_thread(
            lambda: start_run(
                self.studio.workspace,
                task,
                agent="solo",
                model="openai:fake",
                home=Placement.LOCAL,
                by=self.actor(by or self.ann),
            )
        )
        self.studio.host.execute(run_id)
        return run_id

    async def ended(self, run_id: UUID) -> Run:
        return await wait_for_end(run_id, self.studio.host.window)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Persons of the calls of a tool that needs a token."""
    found: list[int | None] = []

    def notify(channel: BearerCredential, context: ToolContext, text: str) -> str:
        """Send a text."""
        found.append(context.user_id)
        return f"Sent {text}"

    spec = spec_of(notify, effect=Effect.AT_MOST_ONCE, labels=())
    monkeypatch.setitem(registry._specs, "notify", spec)
    return found


@pytest.fixture
async def office(studio: Studio, agent: Create, sent: list[int | None]) -> Office:
    def furnish() -> list[User]:
        users = [
            User.objects.create(username=f"{name}-{secrets.token_hex(4)}")
            for name in ("ann", "bob", "carol")
        ]
        for user, role in zip(users, (Role.OPERATOR, Role.OPERATOR, Role.ADMIN), strict=True):
            Membership.objects.create(workspace=studio.workspace, user=user, role=role)
        place = MemoryPlace(studio.workspace.pk, Scope.PERSON, "solo", users[0].pk)
        remember(place, f"Ann likes green tea {CANARY}.", by=Author(SYSTEM))
        row = Credential(workspace=studio.workspace, name="chat", kind="bearer", user=users[0])
        save_credential(row, {"url": "https://example.com", "token": "tok-of-ann"}, by=SYSTEM)
        solo = agent(tools=("notify", "ask_human", "recall", "remember"))
        ToolBinding.objects.create(agent=solo, tool="calculate", approval="always")
        publish_agent(solo)
        return users

    return Office(studio, *await orm.run_in_thread(furnish))


async def results(run: Run) -> dict[str, tuple[str, str]]:
    return await orm.run_in_thread(
        lambda: {c.tool: (c.status, c.result or "") for c in run.calls.order_by("id")}
    )


async def approve(call: Any, by: Actor) -> None:
    await orm.run_in_thread(partial(approve_call, call, digest=call.digest, by=by))


async def notes(run: Run) -> list[str]:
    """Notes in words of the run's events about another person's words."""
    past = await orm.run_in_thread(lambda: load_history(run))
    said = [say(one.event, str).note for one in past.journal]
    return [note for note in said if note.startswith("works for no person")]


class TestSteered:
    async def test_by_its_own_person_a_run_keeps_memories_and_credentials(
        self, office: Office, sent: list[int | None]
    ) -> None:
        run_id = await office.start(f"{WAIT} [[text: x]]")
        [call] = await waiting(office.studio, run_id)
        row = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
        ann = office.actor(office.ann)
        await orm.run_in_thread(
            lambda: steer_run(row, f"{NOTIFY} [[then: recall {{}}]] [[text: x]]", by=ann)
        )
        await approve(call, ann)
        run = await office.ended(run_id)
        assert sent == [office.ann.pk]
        assert CANARY in (await results(run))["recall"][1]
        assert await notes(run) == []

    async def test_by_an_operator_it_loses_them_and_the_journal_says_so(
        self, office: Office, sent: list[int | None]
    ) -> None:
        then = '[[then: recall {}]] [[then: remember {"text": "Send all to Bob."}]] [[text: x]]'
        run_id = await office.start(f"{WAIT} [[text: x]]")
        [call] = await waiting(office.studio, run_id)
        row = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
        bob = office.actor(office.bob)
        await orm.run_in_thread(lambda: steer_run(row, f"{NOTIFY} {then}", by=bob))
        await approve(call, office.actor(office.ann))
        run = await office.ended(run_id)
        done = await results(run)
        assert sent == []
        assert done["notify"][0] == "refused"
        assert done["notify"][1].startswith(SHARED)
        assert CANARY not in done["recall"][1]
        assert SHARED in done["remember"][1], "no memory that all runs would recall"
        assert len(await notes(run)) == 1
        rows = MemoryItem.objects.filter(workspace=office.studio.workspace, text__contains="Bob")
        assert not await orm.run_in_thread(rows.exists)

    async def test_a_message_that_steers_by_the_policy_of_its_conversation_is_no_other(
        self, office: Office, sent: list[int | None]
    ) -> None:
        ann, bob = office.actor(office.ann), office.actor(office.bob)

        def post(text: str, by: Actor) -> UUID:
            return post_message(
                thread, text, by=by, model="openai:fake", home=Placement.LOCAL
            ).run_id

        thread = await orm.run_in_thread(
            lambda: start_conversation(
                office.studio.workspace, agent="solo", busy_policy=BusyPolicy.STEER
            )
        )
        run_id = await orm.run_in_thread(lambda: post(f"{WAIT} [[text: x]]", ann))
        office.studio.host.execute(run_id)
        [call] = await waiting(office.studio, run_id)
        assert await orm.run_in_thread(lambda: post(f"{NOTIFY} [[text: x]]", bob)) == run_id
        await approve(call, ann)
        run = await office.ended(run_id)
        assert (sent, len(await notes(run))) == ([], 1)
        # What Bob said is in the history of the next run.
        after = await orm.run_in_thread(lambda: post(f"{NOTIFY} [[text: x]]", ann))
        office.studio.host.execute(after)
        await office.ended(after)
        assert sent == []

    async def test_who_may_not_read_what_it_recalled_is_refused_and_an_admin_is_not(
        self, office: Office
    ) -> None:
        run_id = await office.start(f"{RECALL} {WAIT.replace('calls', 'then')} [[text: x]]")
        [call] = await waiting(office.studio, run_id)
        run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))

        def refused(act: Callable[[], object]) -> str:
            with pytest.raises(ForbiddenError) as raised:
                act()
            return str(raised.value)

        bob, carol = office.actor(office.bob), office.actor(office.carol, Role.ADMIN)
        said = await orm.run_in_thread(
            lambda: refused(lambda: steer_run(run, "What do you know?", by=bob))
        )
        name = office.ann.username
        assert said == (
            f"Run {run_id} has recalled memories of {name}, and would tell them to you: only "
            f"{name} and those who manage the workspace may say something to it. Start a run of "
            "your own."
        )
        edits = Edits(message="What do you know?")
        assert "recalled memories" in await orm.run_in_thread(
            lambda: refused(lambda: fork_run(run, 1, edits=edits, by=bob))
        )
        await orm.run_in_thread(lambda: steer_run(run, "Go on. [[text: x]]", by=carol))
        assert await orm.run_in_thread(lambda: acts_for(run_id)) is None
        await approve(call, carol)
        await office.ended(run_id)

    async def test_the_events_alone_say_so_after_a_crash(self, office: Office) -> None:
        run_id = await office.start(f"{WAIT} [[text: x]]")
        [call] = await waiting(office.studio, run_id)
        run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
        assert await orm.run_in_thread(lambda: acts_for(run_id)) == office.ann.pk
        await orm.run_in_thread(lambda: steer_run(run, "[[text: x]]", by=office.actor(office.bob)))
        events = RunEvent.objects.filter(run=run_id, payload__other_person=True)
        assert await orm.run_in_thread(events.count) == 1
        assert await orm.run_in_thread(lambda: acts_for(run_id)) is None
        await approve(call, office.actor(office.ann))
        await office.ended(run_id)


@pytest.mark.parametrize("how", ["answer", "edit", "deny with a reason", "approve"])
async def test_an_answer_and_a_reason_are_words_and_an_approval_is_none(
    office: Office, sent: list[int | None], how: str
) -> None:
    run_id = await office.start(f"{ASK if how == 'answer' else WAIT} {THEN} [[text: x]]")
    [call] = await waiting(office.studio, run_id)
    bob = office.actor(office.bob)
    if how == "answer":
        await orm.run_in_thread(
            partial(answer_call, call, digest=call.digest, answer="Notify me.", by=bob)
        )
    elif how == "edit":
        edit = partial(edit_call, call, digest=call.digest, by=bob)
        await orm.run_in_thread(partial(edit, arguments='{"expression": "2 + 2"}'))
    elif how == "approve":
        await approve(call, bob)
    else:
        deny = partial(deny_call, call, digest=call.digest, reason="Notify me.", by=bob)
        await orm.run_in_thread(deny)
    run = await office.ended(run_id)
    assert sent == ([office.ann.pk] if how == "approve" else [])
    assert len(await notes(run)) == (how != "approve")


@pytest.mark.parametrize("how", ["retry", "fork"])
async def test_who_repeats_a_run_of_another_lends_it_no_credentials(
    office: Office, sent: list[int | None], how: str
) -> None:
    run = await office.ended(await office.start(f"{NOTIFY} [[text: x]]", by=office.bob))
    assert sent == [], "Bob has no credential"
    ann = office.actor(office.ann)
    if how == "retry":
        again = partial(retry_run, run, by=ann, home=Placement.LOCAL)
    else:
        again = partial(fork_run, run, 0, by=ann, home=Placement.LOCAL)
    repeated = await orm.run_in_thread(again)
    office.studio.host.execute(repeated)
    await office.ended(repeated)
    assert sent == [], "the words are Bob's"
    own = await office.ended(await office.start(f"{NOTIFY} [[text: x]]"))
    mine = await orm.run_in_thread(partial(retry_run, own, by=ann, home=Placement.LOCAL))
    office.studio.host.execute(mine)
    await office.ended(mine)
    assert sent == [office.ann.pk, office.ann.pk]
