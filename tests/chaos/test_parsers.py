"""Hostile texts at the edges: refused in a sentence, and whoever refused them goes on."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from django.conf import settings
from redis import Redis

from agents.actions.runs import cancel_run
from agents.llm.adapters.failures import _page_detail
from agents.llm.adapters.partial_json import PartialCall
from agents.llm.adapters.sse import EventSplitter, SentEvent
from agents.models import Agent
from heartbit_site.base import queues
from heartbit_site.first_start import default_workspace
from tests.chaos.parsers import commands, forms, wires
from tests.chaos.parsers.found import Findings
from tests.chaos.parsers.stage import Stage, served, set_up
from tests.fleet import wait_until
from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fleet import Worker
    from tests.prepared import Prepared

QUEUE = "agents"
#: One text in so many goes to the command line; ``make chaos ONLY=S12`` gives it all of them.
EVERY = 5


@pytest.fixture(scope="module")
def stage(worker: Worker) -> Iterator[Stage]:
    """An agent of the default workspace, which the command line sees."""
    made = set_up(default_workspace(), f"parser-{secrets.token_hex(4)}", queue=QUEUE)
    yield made
    cancel_run(made.agent.workspace, UUID(made.waiting), reason="over")
    Agent.objects.filter(pk=made.agent.pk).update(current_version=None)  # no test sees it


@pytest.fixture
def found() -> Iterator[Findings]:
    """Nothing may be found."""
    findings = Findings()
    yield findings
    assert findings.asked
    assert findings.faults == []


def test_given_hostile_json_then_every_form_field_refuses_it(stage: Stage, found: Findings) -> None:
    forms.ask(stage.agent, found)


def test_given_a_catastrophic_pattern_then_it_is_judged_at_once_or_refused(found: Findings) -> None:
    forms.match(found)


def test_given_messages_that_are_none_then_the_worker_drops_them_and_serves_on(
    stage: Stage, worker: Worker, found: Findings, tmp_path: Path
) -> None:
    pid = worker.pid
    wires.send(QUEUE, tmp_path / "executed", found)
    wires.notify(found)
    served(stage.agent.workspace, stage.agent.name)
    os.kill(pid, 0)  # it is the same one


def test_given_the_same_on_a_queue_with_acknowledgements_then_none_comes_back(
    worker: Worker, found: Findings, tmp_path: Path
) -> None:
    wires.send(queues.SYSTEM, tmp_path / "executed", found)
    with Redis.from_url(settings.REDIS_URL) as valkey:
        wait_until(lambda: not valkey.hlen("unacked"), what="every message to be acknowledged")


def test_given_hostile_arguments_of_a_model_then_each_call_is_invalid_and_the_run_goes_on(
    stage: Stage, found: Findings
) -> None:
    wires.argue(stage.agent.workspace, QUEUE, found, agent=stage.agent.name)


def test_given_hostile_json_then_every_option_refuses_it(
    stage: Stage, found: Findings, prepared: Prepared, tmp_path: Path
) -> None:
    def heartbit(*arguments: str) -> tuple[int, str, str]:
        return prepared.run(arguments, dict(os.environ), ROOT, seconds=120)

    run, waiting = stage.run, stage.waiting
    commands.ask(heartbit, found, run=run, waiting=waiting, directory=tmp_path, every=EVERY)


@pytest.mark.timeout(5)
def test_given_an_error_page_of_nothing_but_titles_then_it_is_read_at_once() -> None:
    assert _page_detail("<title>" * 10_000).startswith("<title>")
    assert _page_detail("<title>Gone</title>") == 'an HTML page titled "Gone"'


@pytest.mark.timeout(5)
def test_given_a_call_with_a_megabyte_of_blanks_then_it_is_read_at_once() -> None:
    call = PartialCall("answer")
    assert call.feed('{"tool": "x", "args": {"a": 1}') == '{"a": 1'
    assert call.feed(" " * 1_000_000) == ""
    assert len(call.feed("x")) == 1_000_002


def test_given_an_empty_piece_between_return_and_newline_then_they_are_one_line_end() -> None:
    splitter = EventSplitter()
    pieces = (b"event: named\r", b"", b"\ndata: x\r\n\r\n")
    assert [event for piece in pieces for event in splitter.feed(piece)] == [
        SentEvent("named", "x")
    ]
