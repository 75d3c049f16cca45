"""`heartbit approve`: decisions from another process, on calls that really wait."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.utils import timezone

from agents.actions.runs import cancel_run
from agents.models import Decision, Grant, Run, ToolCall, Wait
from agents.querysets import calls_waiting
from heartbit_site.base.errors import ConflictError, HeartbitError
from heartbit_site.base.os_user import os_username
from heartbit_site.cli.backend.local import LocalBackend
from heartbit_site.cli.commands.waits import DecisionOptions
from heartbit_site.cli.doctor import work as doctor_work
from heartbit_site.cli.following import pending_calls
from heartbit_site.cli.options.payload import payload_of
from heartbit_site.cli.terminal import errors
from heartbit_site.contract.approvals import DECIDE, DecisionIn
from heartbit_site.first_start import default_workspace
from tests.cli.in_process import options_of, printed_json
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.contract.approvals import DecidedOut
    from tests.command import Command

ONE = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
TWO = '[[calls: calculate {"expression": "6*7"}, calculate {"expression": "1+1"}]] [[text: Done.]]'


def started(script: str, waits: int = 1) -> Run:
    """A run on the fleet whose calls wait."""
    task = f"{script} [[run: {uuid4()}]]"
    run_id = start_run(default_workspace(), task, agent="analyst", approve=True)
    waiting = calls_waiting(default_workspace()).filter(run=run_id)
    wait_until(lambda: waiting.count() == waits, what="its calls wait")
    return Run.objects.get(pk=run_id)


def ended(run: Run) -> Run:
    wait_until(lambda: Run.objects.get(pk=run.pk).finished_at, what="the run ends")
    return Run.objects.get(pk=run.pk)


def refused(
    code: int, run: Run, call: str | None = None, *, part: str, digest: str = "", **order: Any
) -> None:
    """In this process, which saves starting one for each sentence."""
    with pytest.raises(HeartbitError) as caught:
        choice = options_of(DecisionOptions, **order).choice()
        pending_calls.of_run(LocalBackend(), str(run.pk), call, choice, digest=digest)
    found = errors.explain(caught.value)
    assert found is not None
    assert found[0] == code, found
    assert part in found[1]


def test_without_a_terminal_the_run_says_who_can_decide_and_two_deciders_have_one_winner(
    heartbit: Command,
) -> None:
    task = f"{ONE} [[run: {uuid4()}]]"
    process = heartbit.start("run", task, "--agent", "analyst", "--approve")
    assert process.stderr is not None
    told = next(line for line in process.stderr if "heartbit approve" in line)
    command = told.rpartition("heartbit ")[2].split()
    assert told.startswith("analyst waits for a decision about calculate: ")
    rivals = [heartbit.start(*command, *how) for how in (["--yes"], ["--deny", "no"])]
    first, second = (heartbit.end(rival) for rival in rivals)
    assert sorted((first.code, second.code)) == [0, 1]
    finished = heartbit.end(process)
    lost = first if first.code else second
    verdict = Decision.objects.get(run__task=task).verdict
    assert lost.err.startswith("heartbit: ")
    assert f"{verdict} by " in lost.err
    assert finished.out == "Done.\n"
    assert Decision.objects.filter(run__task=task).count() == 1


def test_what_waits_is_listed_and_decided_as_it_was_shown(
    heartbit: Command, worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    run = started(TWO, waits=2)
    listed = printed_json(lambda: pending_calls.overview(LocalBackend()), capsys)
    found: list[dict[str, Any]] = listed["calls"]
    mine = [call for call in found if call["run_id"] == str(run.pk)]
    assert [call["call_id"] for call in mine] == ["1.0", "1.1"]
    assert mine[0]["arguments"] == {"expression": "6*7"}
    refused(2, run, deny="no", part="name one of 1.0 of run ")
    refused(2, run, yes=True, deny="no", part="one of --yes, --edit, --answer and --deny")
    refused(2, run, always="run", part="--always goes with --yes")
    refused(2, run, yes=True, until="2h", part="--until goes with --always")
    refused(2, run, part="no terminal")
    refused(1, run, "7.0", yes=True, part="The call 7.0 does not wait")
    refused(2, run, "1.0", edit='{"expresion": "1"}', part="expression")
    refused(1, run, "1.0", yes=True, digest="0" * 64, part="look at it again")
    name = str(run.pk)
    edited = heartbit("approve", name, "1.0", "--edit", '{"expression": "2+3"}')
    assert (edited.code, edited.err) == (0, "")
    said = 'Approved calculate of analyst with other arguments: {"expression": "2+3"}\n'
    assert edited.out == said
    digest = mine[1]["digest"]
    denied = heartbit("approve", name, "1.1", "--deny", "not now", "--digest", digest, "--json")
    assert denied.json["decided"][0]["call_id"] == "1.1"
    ended(run)
    results = dict(ToolCall.objects.filter(run=run).values_list("call_id", "result"))
    assert results["1.0"] == "5"
    assert "not now" in str(results["1.1"])
    refused(1, run, "1.0", yes=True, part="The call was already edited by ")
    refused(1, run, yes=True, part="its last call was already ")
    shown = heartbit("runs", "show", name).out
    assert "edited by " in shown
    assert '{"expression": "2+3"}' in shown
    machine = heartbit("runs", "show", name, "--json").json
    assert machine["calls"][1]["decision"]["reason"] == "not now"
    assert machine["result"]["status"] == "success"
    assert machine["result"]["metrics"]["tool_calls"] == 2


def test_yes_decides_all_and_always_is_remembered_with_its_end(
    heartbit: Command, worker: Worker
) -> None:
    run = started(TWO, waits=2)
    both = heartbit("approve", str(run.pk), "--yes")
    assert both.code == 0
    assert "2 calls wait; they are approved one by one." in both.err
    assert len(both.out.splitlines()) == 2
    assert ended(run).status == "succeeded"
    other = started(ONE)
    always = heartbit("approve", str(other.pk), "--yes", "--always", "agent", "--until", "2h")
    assert always.code == 0
    assert "and always for this agent until 2" in always.out
    grant = Grant.objects.get(decisions__run=other)
    assert grant.root_id is None
    assert grant.expires_at is not None
    assert abs(grant.expires_at - datetime.now(UTC) - timedelta(hours=2)) < timedelta(minutes=5)
    grant.revoked_at = timezone.now()
    grant.save()
    assert ended(other).status == "succeeded"


def test_an_account_counts_once_wherever_at_a_terminal_it_approves(database: None) -> None:
    call = unserved(default_workspace())
    call.approval_view = {**(call.approval_view or {}), "needed": 2}
    call.save(update_fields=["approval_view"])
    body = DecisionIn(digest=call.digest, verdict="approve")

    def approved(backend: LocalBackend) -> DecidedOut:
        return backend.call(DECIDE, body, run_id=str(call.run_id), call_id=call.call_id)

    first = approved(LocalBackend("inline"))
    assert (first.decided_by, first.remaining_approvals) == (os_username(), 1)
    with pytest.raises(ConflictError, match="approved the"):
        approved(LocalBackend())
    cancel_run(default_workspace(), call.run_id, reason="test")


def test_doctor_remembers_what_waits_for_long(database: None, worker: Worker) -> None:
    run = started(ONE)
    Wait.objects.filter(run=run).update(created_at=timezone.now() - timedelta(days=3))
    checks = [check for look in doctor_work.LOOKS for check in look()]
    [check] = [check for check in checks if check.name == "approvals"]
    assert check.status == "warn"
    assert "the oldest for 3 days" in check.detail
    cancel_run(default_workspace(), run.pk, reason="test")


def test_a_payload_is_the_task(heartbit: Command, tmp_path: Path) -> None:
    payload = {"action": "review", "spec": "x [[text: Reviewed.]]", "inputs": {"module": "billing"}}
    file = tmp_path / "task.json"
    file.write_text(json.dumps(payload))
    done = heartbit("run", "--payload", str(file), "--agent", "writer", "--json")
    assert (done.code, done.json["output"]) == (0, "Reviewed.")
    assert done.json["task"].startswith("# Task: review")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{}", "needs the field 'action'"),
        ("{", "malformed"),
        ("/nowhere/task.json", "no file that can be read"),
        ('{"action": "Do it", "spec": "x"}', "one verb"),
    ],
)
def test_what_is_no_payload_is_refused(text: str, part: str) -> None:
    with pytest.raises(HeartbitError, match=part):
        payload_of(text)
