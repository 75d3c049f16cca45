"""A worker dies while a call acts outside: nobody knows what became of it, so a person says it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from agents.actions.waits import resolve_call
from agents.choices import CallResolution, Placement, RunStatus
from agents.errors import CallClosedError
from agents.journal.events import Event, OutcomeRequested, ToolStarted, encode
from agents.live.follow import wait_for_end
from agents.llm.messages import ToolCall as Asked
from agents.loop.unserved_calls import CONFIRMED, SKIPPED, UNCERTAIN
from agents.models import Agent, Run, WorkerHeartbeat
from agents.querysets import uncertain_calls
from heartbit_site.base import orm
from heartbit_site.base.suspensions import ChildTask, Suspension
from heartbit_site.base.toolspec import Effect, spec_of
from tests.runs.holding import answer
from tests.runtime.deciding import ANNA, happened
from tests.starts import start_run
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from uuid import UUID

    from agents.models import ToolCall
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
NOWHERE = json.dumps({"method": "POST", "url": "http://127.0.0.1:9/"})


def orphaned(studio: Studio) -> UUID:
    """A run whose worker died after it had committed the intent of an at-most-once call."""
    run_id = start_run(studio.workspace, "[[text: Done.]]", agent="solo", home=Placement.LOCAL)
    row = WorkerHeartbeat.objects.create(name="dead:1", home=Placement.LOCAL, lease_seconds=3600)
    events: list[Event] = [
        answer(1, Asked("c1", "http_request", NOWHERE)),
        ToolStarted("1.0", "at_most_once"),
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lease_token, last_seq FROM heartbit_claim(%s, 'local', '{}', %s, 'dead:1', '',"
            " 'openai:fake', '', 2, true)",
            [run_id, row.pk],
        )
        token, seq = cursor.fetchone()
        encoded = json.dumps([encode(event) for event in events])
        cursor.execute("SELECT heartbit_record(%s, %s, %s, %s)", [run_id, token, seq, encoded])
        cursor.execute("SELECT heartbit_recover(%s, 3)", [row.pk])
    return run_id


async def in_doubt(studio: Studio, run_id: UUID, times: int = 1) -> ToolCall:
    await happened(studio, run_id, OutcomeRequested, times)
    return await orm.run_in_thread(uncertain_calls(studio.workspace).filter(run_id=run_id).get)


async def ended(studio: Studio, run_id: UUID) -> list[tuple[str, str | None]]:
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")
    return await orm.run_in_thread(
        lambda: list(Run.objects.get(pk=run_id).calls.values_list("status", "result"))
    )


async def asked(studio: Studio) -> ToolCall:
    run_id = await orm.run_in_thread(partial(orphaned, studio))
    studio.host.execute(run_id)
    return await in_doubt(studio, run_id)


async def test_the_run_stops_and_holds_no_worker(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request",)))
    call = await asked(studio)
    assert (call.status, call.run.status, call.run.worker_id) == ("uncertain", "waiting", None)


@pytest.mark.parametrize(
    ("outcome", "result", "shown"),
    [
        (CallResolution.CONFIRMED, "", ("ok", CONFIRMED)),
        (CallResolution.CONFIRMED, "The mail is out.", ("ok", "The mail is out.")),
        (CallResolution.SKIPPED, "ignored", ("uncertain", SKIPPED)),
    ],
)
async def test_the_model_reads_what_the_person_said(
    studio: Studio, agent: Create, outcome: CallResolution, result: str, shown: tuple[str, str]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request",)))
    call = await asked(studio)
    await orm.run_in_thread(partial(resolve_call, call, outcome, by=ANNA, result=result))
    assert await ended(studio, call.run_id) == [shown]
    decision = await orm.run_in_thread(lambda: call.run.decisions.get())
    assert (decision.verdict, decision.decided_by) == (outcome.value, "anna")


async def test_a_retried_call_is_made_again(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request",)))
    call = await asked(studio)
    await orm.run_in_thread(partial(resolve_call, call, CallResolution.RETRIED, by=ANNA))
    [(status, result)] = await ended(studio, call.run_id)
    assert status == "error"  # port 9 is refused by the guard: so it was tried
    assert "127.0.0.1" in (result or "")


async def test_the_first_word_wins(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request",)))
    call = await asked(studio)
    await orm.run_in_thread(partial(resolve_call, call, CallResolution.CONFIRMED, by=ANNA))
    with pytest.raises(CallClosedError, match=r"already confirmed by anna"):
        await orm.run_in_thread(partial(resolve_call, call, CallResolution.RETRIED, by=ANNA))


@pytest.mark.parametrize(
    ("policy", "status", "text"),
    [("tell_model", "uncertain", UNCERTAIN), ("retry", "error", "127.0.0.1")],
)
async def test_a_policy_decides_in_a_persons_place(
    studio: Studio, agent: Create, policy: str, status: str, text: str
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request",), uncertain_calls=policy))
    run_id = await orm.run_in_thread(partial(orphaned, studio))
    studio.host.execute(run_id)
    [(seen, result)] = await ended(studio, run_id)
    assert seen == status
    assert text in (result or "")


async def test_a_call_that_is_made_again_and_dies_again_is_asked_about_again(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request",)))
    call = await asked(studio)
    await orm.run_in_thread(partial(_die_again, call))
    studio.host.execute(call.run_id)
    again = await in_doubt(studio, call.run_id, 2)
    await orm.run_in_thread(partial(resolve_call, again, CallResolution.CONFIRMED, by=ANNA))
    assert [status for status, _ in await ended(studio, call.run_id)] == ["ok"]
    keys = await orm.run_in_thread(
        lambda: list(call.run.decisions.order_by("at").values_list("wait_key", flat=True))
    )
    assert keys == ["outcome:1.0:1", "outcome:1.0:2"]


def _die_again(call: ToolCall) -> None:
    """A worker makes the call again, and dies right after its intent."""
    row = WorkerHeartbeat.objects.create(name="dead:2", home=Placement.LOCAL, lease_seconds=3600)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(
            "SELECT heartbit_settle(%s, '1.0', 'retried', NULL, NULL, 'anna', 'api')", [call.run_id]
        )
        cursor.execute(
            "SELECT lease_token, last_seq FROM heartbit_claim(%s, 'local', '{}', %s, 'dead:2', '',"
            " 'openai:fake', '', 2, true)",
            [call.run_id, row.pk],
        )
        token, seq = cursor.fetchone()
        intent = json.dumps([encode(ToolStarted("1.0", "at_most_once"))])
        cursor.execute("SELECT heartbit_record(%s, %s, %s, %s)", [call.run_id, token, seq, intent])
        cursor.execute("SELECT heartbit_recover(%s, 3)", [row.pk])
        cursor.execute("COMMIT")


async def test_a_call_that_suspended_is_not_in_doubt_when_it_resumes(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hire() -> Suspension:
        """Hire a helper."""
        return Suspension((ChildTask("helper", "[[text: Dug.]]"),), timeout_seconds=60)

    spec = spec_of(hire, effect=Effect.AT_MOST_ONCE, resume=lambda found: found[0].value["output"])
    monkeypatch.setitem(registry, "hire", spec)
    await orm.run_in_thread(lambda: [agent("helper"), agent(tools=("hire",))])
    run = await studio.run("[[calls: hire {}]] [[text: Done.]]")
    assert await ended(studio, run.pk) == [("ok", "Dug.")]
