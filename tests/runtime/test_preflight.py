"""No run starts whose every model is known to be unreachable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.run_request import start_conversation
from agents.actions.runs import cancel_run, retry_run
from agents.choices import BusyPolicy, Placement
from agents.errors import ModelUnreachableError, NoSandboxError
from agents.models import Agent, Run, RunEvent, WorkerHeartbeat
from agents.runtime.providers import preflight
from heartbit_site.base.audit import NOBODY
from tests.api.server import Caller, key_for
from tests.fleet import wait_until
from tests.outages import account_of, outages
from tests.starts import post_message, start_run, start_tool_call

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker

Create = Callable[..., Agent]
Outage = Callable[..., None]


@pytest.fixture
def outage(workspace: Workspace, database: None) -> Iterator[Outage]:
    """Let a provider of the workspace fail."""
    with outages() as made:

        def make(provider: str = "openai", *, account: str = "", **how: Any) -> None:
            made(account or account_of(workspace, provider), **how)

        yield make


def start(workspace: Workspace, **options: Any) -> Run:
    return Run.objects.get(pk=start_run(workspace, "Write.", agent="solo", **options))


def test_a_run_is_refused_with_the_time_of_the_next_try(
    workspace: Workspace, agent: Create, outage: Outage
) -> None:
    agent(model="openai:gpt-6-sol")
    outage()
    with pytest.raises(ModelUnreachableError) as refused:
        start(workspace)
    assert 30 < refused.value.seconds <= 41
    assert "openai:gpt-6-sol" in str(refused.value)
    assert not Run.objects.filter(workspace=workspace).exists()


@pytest.mark.parametrize("how", [{"openings": 1}, {"seconds": -5}, {"provider": "anthropic"}])
def test_a_short_outage_a_due_probe_and_another_provider_refuse_nothing(
    workspace: Workspace, agent: Create, outage: Outage, how: dict[str, object]
) -> None:
    agent(model="openai:gpt-6-sol")
    outage(**how)
    assert start(workspace).pk


def test_a_fallback_model_that_answers_is_enough(
    workspace: Workspace, agent: Create, outage: Outage
) -> None:
    agent(model="openai:gpt-6-sol", fallback_models=["anthropic:claude-sonnet-5-5"])
    outage()
    assert start(workspace).pk


def test_when_the_fallback_model_is_down_too_it_is_refused(
    workspace: Workspace, agent: Create, outage: Outage
) -> None:
    agent(model="openai:gpt-6-sol", fallback_models=["anthropic:claude-sonnet-5-5"])
    outage("anthropic", seconds=20.5)
    outage()
    with pytest.raises(ModelUnreachableError) as refused:
        start(workspace)
    assert refused.value.seconds <= 21, "the first that is tried again"


@pytest.mark.parametrize("home", Placement)
def test_a_model_of_the_run_counts_wherever_it_would_run(
    workspace: Workspace, agent: Create, outage: Outage, home: Placement
) -> None:
    agent(model="openai:gpt-6-sol")
    outage("anthropic")
    assert start(workspace, home=home).pk
    with pytest.raises(ModelUnreachableError):
        start(workspace, model="anthropic:claude-sonnet-5-5", home=home)


def test_an_outage_of_the_workers_environment_keeps_no_run_from_this_process(
    workspace: Workspace, agent: Create, outage: Outage
) -> None:
    agent(model="gemini:gemini-4-pro")
    outage("gemini", account="environment:gemini")
    assert start(workspace, home=Placement.LOCAL).pk
    with pytest.raises(ModelUnreachableError):
        start(workspace)


def test_a_message_is_refused_unless_it_steers_a_run(
    workspace: Workspace, agent: Create, outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(model="openai:gpt-6-sol", queue="by-hand")
    talk = start_conversation(workspace, agent="solo", busy_policy=BusyPolicy.STEER)
    run_id = post_message(talk, "Begin.").run_id
    outage()
    monkeypatch.setattr(preflight, "_known", preflight.KnownObstacles())
    steering = post_message(talk, "Hurry.", idempotency_key="once")
    assert steering.outcome == "steered"
    cancel_run(workspace, run_id, reason="over")
    assert post_message(talk, "Hurry.", idempotency_key="once") == steering
    for policy in BusyPolicy:
        with pytest.raises(ModelUnreachableError):
            post_message(talk, "Again.", busy_policy=policy)
    assert Run.objects.filter(workspace=workspace).count() == 1


def test_a_repeated_start_returns_its_run_and_a_retry_is_refused(
    workspace: Workspace, agent: Create, outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(model="openai:gpt-6-sol", queue="nobody-serves-this")
    run = start(workspace, idempotency_key="once")
    outage()
    monkeypatch.setattr(preflight, "_known", preflight.KnownObstacles())
    assert start(workspace, idempotency_key="once") == run
    cancel_run(workspace, run.pk, reason="over")
    run.refresh_from_db()
    with pytest.raises(ModelUnreachableError):
        retry_run(run, by=NOBODY)


def test_without_valkey_and_without_a_breaker_nothing_is_checked(
    workspace: Workspace, agent: Create, outage: Outage, settings: Settings
) -> None:
    agent(model="openai:gpt-6-sol")
    outage()
    settings.HEARTBIT_BREAKER_FAILURES = 0
    assert not preflight.has_obstacle(workspace.pk, Placement.FLEET)
    settings.HEARTBIT_BREAKER_FAILURES = 5
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert not preflight.has_obstacle(workspace.pk, Placement.FLEET)


def test_what_is_known_is_read_again_after_some_seconds(
    workspace: Workspace, outage: Outage
) -> None:
    now = 100.0
    known = preflight.KnownObstacles(clock=lambda: now)
    assert not known.seconds_left(workspace.pk)
    outage()
    assert not known.seconds_left(workspace.pk)
    now += preflight.KEEP_SECONDS
    assert 30 < known.seconds_left(workspace.pk)["openai"] <= 41


@pytest.mark.parametrize(
    ("sandboxes", "mode", "starts"),
    [
        (["", ""], "always", False),
        (["", "bubblewrap"], "always", True),
        ([], "always", True),
        ([""], "never", True),
    ],
)
def test_an_agent_that_runs_code_needs_a_worker_with_a_sandbox(
    workspace: Workspace, agent: Create, sandboxes: list[str], mode: str, *, starts: bool
) -> None:
    queue = f"q-{workspace.slug}"
    agent(tools=("run_code",), execution_mode=mode, queue=queue)
    for sandbox in sandboxes:
        WorkerHeartbeat.objects.create(
            name="host:1", queues=[queue], lease_seconds=3600, sandbox=sandbox
        )
    if starts:
        assert start(workspace).pk
    else:
        with pytest.raises(NoSandboxError):
            start(workspace)


@pytest.mark.parametrize(("mode", "starts"), [("always", False), ("never", True)])
def test_an_agent_that_runs_code_in_this_process_needs_a_sandbox_here(
    workspace: Workspace, agent: Create, settings: Settings, mode: str, *, starts: bool
) -> None:
    agent(tools=("run_code",), execution_mode=mode)
    settings.HEARTBIT_SANDBOX = "off"
    if starts:
        assert start(workspace, home=Placement.LOCAL).pk
    else:
        with pytest.raises(NoSandboxError, match="this process has no working sandbox"):
            start(workspace, home=Placement.LOCAL)


def test_a_worker_and_its_runs_say_which_sandbox_there_is(
    worker: Worker, workspace: Workspace
) -> None:
    own = WorkerHeartbeat.objects.filter(name__endswith=f":{worker.pid}")
    wait_until(lambda: own.filter(sandbox="bubblewrap").exists(), what="its sandbox")
    run_id = start_tool_call(workspace, "calculate", {"expression": "6*7"}, agent="analyst")
    started = RunEvent.objects.filter(run_id=run_id, type="run.started")
    wait_until(started.exists, what="the run's start")
    assert started.get().payload["sandbox"] == "bubblewrap"


def test_the_api_says_when_to_come_again(
    workspace: Workspace, agent: Create, outage: Outage, site: WebServer
) -> None:
    agent(model="openai:gpt-6-sol")
    outage()
    response = Caller(site, key_for(workspace)).post("/runs", {"task": "Write.", "agent": "solo"})
    assert (response.status_code, response.json()["code"]) == (503, "model_unreachable")
    assert 0 < int(response.headers["Retry-After"]) <= 41
