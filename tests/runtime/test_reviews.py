"""A result that people review: it waits without a worker, and ends the run as they decide."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group

from agents.actions.admit import create_deliveries
from agents.actions.deliver_results import deliver_results
from agents.actions.runs import cancel_run, steer_run
from agents.actions.save_agent import create_agent
from agents.actions.waits import answer_wait
from agents.actions.webhooks import save_webhook
from agents.choices import Placement, RunStatus
from agents.definitions.validation_messages import InvalidSettingError
from agents.delivery.targets import check_targets
from agents.errors import CallClosedError, InvalidEditError
from agents.live.follow import wait_for_end
from agents.models import (
    Agent,
    Delivery,
    Run,
    RunEvent,
    Wait,
    WebhookDelivery,
    WebhookEndpoint,
)
from agents.reads.outcome import result_of
from agents.reads.questions import question_of
from agents.runs.overdue_waits import escalate_approvals, expire_waits
from agents.runs.webhook_events import create_webhook_deliveries
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import aio, orm
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import AuditEntry
from tests.delivery.conftest import mailbox, smtp
from tests.runtime.test_server_questions import asked
from tests.starts import start_run
from tools.connectors.drive.folder import workspace_drive

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

    from tests.mailbox import Mailbox
    from tests.runtime.conftest import Studio

__all__ = ["mailbox", "smtp"]
Create = Callable[..., Agent]
BOB = Actor("bob", via="web")


async def decide(studio: Studio, wait: Wait, **answer: Any) -> None:
    await orm.run_in_thread(partial(answer_wait, wait, answer, by=BOB))
    studio.host.execute(wait.run_id)


async def reviewed(studio: Studio, agent: Create, task: str, **answer: Any) -> Run:
    await orm.run_in_thread(partial(agent, review="anyone"))
    wait = await asked(await studio.start(task))
    await decide(studio, wait, **answer)
    return await wait_for_end(wait.run_id, studio.host.window)


async def test_an_approved_result_ends_the_run(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(partial(agent, review="anyone"))
    run_id = await studio.start("[[text: The report.]]")
    wait = await asked(run_id)
    question = await orm.run_in_thread(partial(question_of, wait))
    assert question.text == "The report."
    run = await orm.run_in_thread(partial(Run.objects.get, pk=run_id))
    assert (run.status, run.worker_id, run.output) == (RunStatus.WAITING, None, None)
    await decide(studio, wait, decision="approve", result="The report.")
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "The report.")
    last = await orm.run_in_thread(RunEvent.objects.filter(run=run_id).order_by("seq").last)
    assert last is not None
    assert (await orm.run_in_thread(partial(result_of, run))).reviewed_by == "bob"
    assert (last.payload["reviewed_by"], last.payload["is_edited"]) == ("bob", False)
    with pytest.raises(CallClosedError, match="already answered by bob"):
        await orm.run_in_thread(partial(answer_wait, wait, {"decision": "reject"}, by=BOB))


async def test_an_edited_result_replaces_the_agents(studio: Studio, agent: Create) -> None:
    run = await reviewed(studio, agent, "[[text: Draft.]]", decision="edit", result="Better.")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Better.")


async def test_a_rejected_result_fails_the_run(studio: Studio, agent: Create) -> None:
    run = await reviewed(studio, agent, "[[text: Draft.]]", decision="reject", message="No sources")
    assert (run.status, run.output) == (RunStatus.FAILED, None)
    assert run.error is not None
    assert run.error["message"] == "bob rejected the result: No sources"


async def test_requested_changes_go_to_the_agent(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(partial(agent, review="anyone", max_turns=1))
    first = await asked(await studio.start("[[text: Draft.]]"))
    with pytest.raises(InvalidEditError, match="The message is empty"):
        await orm.run_in_thread(partial(answer_wait, first, {"decision": "changes"}, by=BOB))
    await decide(studio, first, decision="changes", message="[[text: With sources.]]")
    second = await asked(first.run_id)
    assert (first.key, second.key) == ("review:1", "review:2")
    question = await orm.run_in_thread(partial(question_of, second))
    assert question.text == "With sources."
    await decide(studio, second, decision="approve")
    run = await wait_for_end(first.run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "With sources.")


async def test_a_run_says_who_reviews_unless_its_agent_does(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(agent)
    started = partial(
        start_run,
        *(studio.workspace, "[[text: Done.]]"),
        agent="solo",
        model="openai:fake",
        home=Placement.LOCAL,
    )
    with pytest.raises(InvalidSettingError, match="names the group"):
        await orm.run_in_thread(partial(started, review="group:nobodys"))
    run_id = await orm.run_in_thread(partial(started, review="anyone"))
    studio.host.execute(run_id)
    await decide(studio, await asked(run_id), decision="approve")
    assert (await wait_for_end(run_id, studio.host.window)).output == "Done."


async def test_an_unreviewed_result_is_escalated_then_expires(
    studio: Studio, agent: Create
) -> None:
    limits = {"review_timeout_seconds": 60, "review_escalate_after_minutes": 30}
    group = await orm.run_in_thread(partial(Group.objects.create, name=studio.workspace.slug))
    await orm.run_in_thread(partial(agent, review=f"group:{group.name}", **limits))
    wait = await asked(await studio.start("[[text: Draft.]]"))
    assert wait.expires_at is not None
    assert wait.escalates_at is not None
    with pytest.raises(CallClosedError, match=f"group {group.name} may answer this: "):
        await orm.run_in_thread(partial(answer_wait, wait, {"decision": "approve"}, by=BOB))
    rows, past = Wait.objects.filter(pk=wait.pk), wait.created_at - timedelta(days=1)
    await orm.run_in_thread(partial(rows.update, escalates_at=past))
    await orm.run_in_thread(partial(escalate_approvals, Placement.LOCAL, 10))
    await orm.run_in_thread(wait.refresh_from_db)
    assert (await orm.run_in_thread(partial(question_of, wait))).group == ""
    await orm.run_in_thread(partial(rows.update, expires_at=past))
    await orm.run_in_thread(partial(expire_waits, 10))
    studio.host.execute(wait.run_id)
    run = await wait_for_end(wait.run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.FAILED, None)
    assert run.error is not None
    assert run.error["message"] == "No one reviewed the result in time."
    entries = AuditEntry.objects.filter(target=f"run:{run.pk}").order_by("pk")
    said = await orm.run_in_thread(lambda: list(entries.values_list("actor", "action", "label")))
    assert said == [
        ("escalation", "review.escalate", run.agent),
        ("expiry", "review.expire", run.agent),
    ]


async def end_unapproved(studio: Studio, wait: Wait, how: str) -> None:
    if how == "reject":
        await decide(studio, wait, decision="reject", message="No sources")
    elif how == "cancel":
        cancel = partial(cancel_run, studio.workspace, wait.run_id, reason="no", by=BOB)
        await orm.run_in_thread(cancel)
    else:
        rows = Wait.objects.filter(pk=wait.pk)
        past = wait.created_at - timedelta(days=1)
        await orm.run_in_thread(partial(rows.update, expires_at=past))
        await orm.run_in_thread(partial(expire_waits, 10))
    studio.host.execute(wait.run_id)


@pytest.mark.parametrize("how", ["reject", "timeout", "cancel"])
async def test_nothing_of_a_result_that_no_one_approved_is_delivered(
    how: str,
    studio: Studio,
    agent: Create,
    mailbox: Mailbox,
    settings: Settings,
    tmp_path: Path,
) -> None:
    settings.HEARTBIT_DRIVE_DIR = str(tmp_path)
    await orm.run_in_thread(partial(agent, review="anyone", review_timeout_seconds=60))
    wait = await asked(await studio.start("[[text: WRONG NUMBERS]]"))
    hook = partial(WebhookEndpoint, workspace=studio.workspace, name="hook")
    endpoint = hook(url="https://hooks.example/", events=["run.failed", "run.cancelled"])
    await orm.run_in_thread(partial(save_webhook, endpoint, by=SYSTEM))
    targets = [
        {"kind": "email", "to": ["customer@example.org"], "subject": "Report"},
        {"kind": "drive", "file": "latest.md", "replace": True},
        {"kind": "artifact", "name": "report"},
        {"kind": "webhook", "endpoint": endpoint.pk},
    ]

    def order() -> None:
        drive = workspace_drive(studio.workspace.pk)
        aio.run(drive.write("latest.md", b"Last week.\n", replace=True))
        create_deliveries(
            wait.run_id, studio.workspace, check_targets(studio.workspace, list(targets))
        )

    def deliver() -> list[Delivery]:
        deliver_results()
        create_webhook_deliveries(endpoint)
        return list(Delivery.objects.filter(run_id=wait.run_id).order_by("position"))

    await orm.run_in_thread(order)
    await end_unapproved(studio, wait, how)
    run = await wait_for_end(wait.run_id, studio.host.window)
    mailed, written, kept, _ = await orm.run_in_thread(deliver)
    drive = workspace_drive(studio.workspace.pk)
    assert await orm.run_in_thread(partial(drive.read_whole, "latest.md")) == b"Last week.\n"
    [letter] = mailbox.mails
    told = WebhookDelivery.objects.filter(endpoint=endpoint).order_by("event")
    payloads = [one.payload for one in await orm.run_in_thread(lambda: list(told))]
    assert {one["type"] for one in payloads} == {"run.delivered", f"run.{run.status}"}
    assert [one["data"]["output"] for one in payloads] == [None, None]
    assert "WRONG" not in f"{letter.as_string()}{payloads}".replace(run.task, "")
    assert (mailed.status, written.status, kept.status) == ("delivered", "failed", "failed")
    if how == "reject":
        reason = "bob rejected the result: No sources"
        ended = "The run ended without an answer that could be"
        assert written.error == f"{ended} stored: {reason}."
        assert kept.error == f"{ended} kept: {reason}."


async def test_a_run_under_review_takes_no_message(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(partial(agent, review="anyone"))
    wait = await asked(await studio.start("[[text: Draft.]]"))
    run = await orm.run_in_thread(partial(Run.objects.get, pk=wait.run_id))
    with pytest.raises(CallClosedError, match="request changes there"):
        await orm.run_in_thread(partial(steer_run, run, "More.", by=SYSTEM))


async def test_the_result_of_a_workflow_is_reviewed_without_changes(studio: Studio) -> None:
    node = {"name": "say", "set": {"text": "Ten orders."}}
    table: dict[str, Any] = {"name": "report", "nodes": [node], "start": "say", "review": "anyone"}
    table["state"] = {"text": {}}
    spec = WorkflowSpec.model_validate(table)
    await orm.run_in_thread(partial(create_agent, studio.workspace, spec, by=SYSTEM))
    wait = await asked(await studio.start("Report.", agent="report"))
    changes = {"decision": "changes", "message": "Shorter."}
    with pytest.raises(InvalidEditError):
        await orm.run_in_thread(partial(answer_wait, wait, changes, by=BOB))
    await decide(studio, wait, decision="approve")
    run = await wait_for_end(wait.run_id, studio.host.window)
    assert run.status == RunStatus.SUCCEEDED
