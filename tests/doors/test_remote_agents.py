"""Remote agents as tools: an agent of the official SDK, and Heartbit's own door."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from agents.actions.cancel_remote_tasks import cancel_remote_tasks
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.actions.save_agent import create_agent
from agents.actions.waits import answer_wait
from agents.models import Agent, Run, ToolBinding, Wait
from agents.reads.questions import question_of
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import SYSTEM, Actor
from tests.api.server import key_for
from tests.conftest import new_workspace
from tests.fleet import Worker, wait_until
from tests.mcp.servers import listens
from tests.starts import start_run
from tools.actions.credentials import save_credential
from tools.actions.mcp_servers import save_mcp_server
from tools.actions.refresh_mcp_server import refresh_mcp_server
from tools.models import Credential, McpServer, RemoteAgentTask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import WireServer

ANNE = Actor("anne", via="web")
OPEN = {"HEARTBIT_HTTP_ALLOWLIST": "127.0.0.1:*", "HEARTBIT_SWEEP_SECONDS": "0.5"}
QUEUE = "remote"


@pytest.fixture(autouse=True)
def _allowed(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"


@contextmanager
def painter() -> Iterator[str]:
    """The remote agent; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = str(Path(__file__).parent / "a2a_server.py")
    process = subprocess.Popen([sys.executable, program, str(port)])
    try:
        wait_until(lambda: listens(port), seconds=60, what="the remote agent")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def url() -> Iterator[str]:
    with painter() as found:
        yield found


@pytest.fixture
def hands(database: None, wire_server: WireServer) -> Iterator[Worker]:
    with Worker(queues=QUEUE, environment=OPEN) as process:
        yield process


def added(workspace: Workspace, url: str, **fields: Any) -> McpServer:
    """A remote agent whose card was read, and an agent that has it."""
    address = f"{url}/.well-known/agent-card.json"
    fields = {"name": "painter", "protocol": "a2a", "private_data": False, **fields}
    server = McpServer(workspace=workspace, url=address, **fields)
    save_mcp_server(server, by=ANNE)
    result = refresh_mcp_server(server, by=ANNE)
    assert result.ok, result.message
    return server


def boss(workspace: Workspace) -> None:
    row = Agent.objects.create(
        workspace=workspace, name="boss", system_prompt="x", queue=QUEUE, model="openai:fake"
    )
    ToolBinding.objects.create(agent=row, tool="painter_send")
    publish_agent(row)


def began(workspace: Workspace, text: str) -> UUID:
    task = f'[[calls: painter_send {{"message": "{text}"}}]] [[text: Done.]]'
    return start_run(workspace, task, agent="boss")


def ended(run_id: UUID) -> tuple[str, list[tuple[str, str]]]:
    """The status of a run that has ended, and its results of calls."""

    def look() -> Run | None:
        return Run.objects.filter(pk=run_id, finished_at__isnull=False).first()

    run = wait_until(look, seconds=60, what="the run's end")
    return run.status, [(call.status, call.result or "") for call in run.calls.order_by("id")]


def waiting(run_id: UUID, kind: str) -> Wait:
    def look() -> Wait | None:
        rows = Wait.objects.filter(run=run_id, kind=kind, resolved_at=None)
        return rows.select_related("run__workspace").first()

    found: Wait = wait_until(look, seconds=60, what=f"a wait for {kind}")
    return found


def log(url: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = httpx.get(f"{url}/log").json()
    return found


def test_an_agent_gives_a_task_to_a_remote_agent(
    hands: Worker, workspace: Workspace, url: str
) -> None:
    server = added(workspace, url)
    assert server.facts["address"] == f"{url}/rpc"
    boss(workspace)
    assert ended(began(workspace, "a tree")) == ("succeeded", [("ok", "painted: a tree")])
    assert ended(began(workspace, "direct"))[1] == [("ok", "Said at once.")]
    [(status, said)] = ended(began(workspace, "fail"))[1]
    assert status == "error"
    assert said.endswith("The remote agent painter ended its task as failed: There is no paint.")
    assert len(log(url)["messages"]) == 3


def test_its_question_is_asked_and_the_answer_is_sent_on(
    hands: Worker, workspace: Workspace, url: str
) -> None:
    added(workspace, url)
    boss(workspace)
    run_id = began(workspace, "ask")
    wait = waiting(run_id, "tool_question")
    assert question_of(wait).text == "The remote agent painter asks: Which colour?"
    answer_wait(wait, "red", by=ANNE)
    assert ended(run_id)[1] == [("ok", "painted red")]


def test_the_task_survives_a_worker_that_is_killed(
    hands: Worker, workspace: Workspace, url: str
) -> None:
    added(workspace, url)
    boss(workspace)
    run_id = began(workspace, "slow")
    waiting(run_id, "remote")
    assert Run.objects.get(pk=run_id).status == "waiting"
    hands.kill()
    httpx.post(f"{url}/go")
    hands.start()
    assert ended(run_id) == ("succeeded", [("ok", "painted: slow")])
    assert len(log(url)["messages"]) == 1
    assert not RemoteAgentTask.objects.filter(run_id=run_id).exists()


def test_a_message_that_was_not_answered_is_sent_again_with_its_id(
    hands: Worker, workspace: Workspace, url: str
) -> None:
    added(workspace, url)
    boss(workspace)
    run_id = began(workspace, "late")
    wait_until(lambda: log(url)["messages"], seconds=60, what="the message")
    hands.kill()
    httpx.post(f"{url}/go")
    hands.start()
    assert ended(run_id) == ("succeeded", [("ok", "painted: late")])
    [first, second] = log(url)["messages"]
    assert first == second


def test_a_remote_agent_that_is_away_for_a_while_is_asked_again(
    hands: Worker, workspace: Workspace
) -> None:
    with painter() as url:
        added(workspace, url)
        boss(workspace)
        run_id = began(workspace, "slow")
        waiting(run_id, "remote")
    looks = Wait.objects.filter(run=run_id, kind="remote", resolved_at__isnull=False)
    before = looks.count()
    wait_until(lambda: looks.count() > before + 1, seconds=60, what="looks in vain")
    assert Run.objects.get(pk=run_id).finished_at is None
    cancel_run(workspace, run_id, reason="enough", by=ANNE)
    assert ended(run_id)[0] == "cancelled"
    assert cancel_remote_tasks() == 0
    task = RemoteAgentTask.objects.get(run_id=run_id)
    assert task.attempts == 1
    task.delete()


def test_a_cancelled_run_cancels_the_task(hands: Worker, workspace: Workspace, url: str) -> None:
    added(workspace, url)
    boss(workspace)
    run_id = began(workspace, "slow")
    waiting(run_id, "remote")
    assert cancel_remote_tasks() == 0
    cancel_run(workspace, run_id, reason="enough", by=ANNE)
    assert ended(run_id)[0] == "cancelled"
    assert cancel_remote_tasks() == 1
    assert len(log(url)["cancelled"]) == 1
    assert not RemoteAgentTask.objects.filter(run_id=run_id).exists()


def test_people_say_when_they_have_authorised_it(
    hands: Worker, workspace: Workspace, url: str
) -> None:
    added(workspace, url)
    boss(workspace)
    run_id = began(workspace, "auth")
    wait = waiting(run_id, "tool_question")
    said = "The remote agent painter waits until people there have authorised it: Sign in first."
    assert question_of(wait).text == said
    answer_wait(wait, "done", by=ANNE)
    waiting(run_id, "remote")  # it still waits for them there
    cancel_run(workspace, run_id, reason="enough", by=ANNE)
    assert ended(run_id)[0] == "cancelled"
    run_id = began(workspace, "auth")
    answer_wait(waiting(run_id, "tool_question"), "give up", by=ANNE)
    [(status, said)] = ended(run_id)[1]
    assert (status, said.partition(": ")[2]) == (
        "error",
        "The remote agent painter asked a question that was not answered, so its task is given up.",
    )
    assert cancel_remote_tasks() == 2


def test_a_changed_card_waits_for_consent(hands: Worker, workspace: Workspace, url: str) -> None:
    server = added(workspace, url)
    boss(workspace)
    httpx.post(f"{url}/rename")
    [(status, said)] = ended(began(workspace, "a tree"))[1]
    assert (status, log(url)["messages"]) == ("error", [])
    assert "changed the tool painter_send, so it is not called" in said
    server.refresh_from_db()
    assert server.needs_refresh
    assert "until a person accepts: painter_send." in refresh_mcp_server(server, by=ANNE).message


def test_what_is_no_card_is_said_in_a_sentence(workspace: Workspace, url: str) -> None:
    server = McpServer(workspace=workspace, name="painter", protocol="a2a", url=f"{url}/log")
    save_mcp_server(server, by=ANNE)
    said = refresh_mcp_server(server, by=ANNE).message
    assert said.startswith("The remote agent painter has no card at this address: give")
    server.url = f"{url}/nothing"
    said = refresh_mcp_server(server, by=ANNE).message
    assert said == "The remote agent painter answered with the status 404 instead of JSON of A2A."


def elsewhere(workspace: Workspace, web: WebServer, **steps: Any) -> Workspace:
    """Another workspace, whose workflow is the remote agent."""
    other = new_workspace()
    content = {"name": "painter", "steps": steps}
    create_agent(other, WorkflowSpec.model_validate(content), by=SYSTEM)
    key = Credential(workspace=workspace, name="other", kind="bearer")
    save_credential(key, {"url": web.url, "token": key_for(other)}, by=ANNE)
    added(workspace, f"{web.url}/a2a/painter", credential="other")
    return other


def test_an_answer_that_is_refused_is_asked_for_again(
    hands: Worker, worker: Worker, web: WebServer, workspace: Workspace
) -> None:
    asks = {"ask": "Which?"}
    other = elsewhere(workspace, web, colour=asks, size=asks)
    boss(workspace)
    run_id = began(workspace, "a tree")
    first = waiting(run_id, "tool_question")
    answer_wait(first, "red", by=ANNE)
    wait = waiting(run_id, "tool_question")
    text = question_of(wait).text
    assert text.startswith("The remote agent painter refused SendMessage: The task asks something")
    assert text.endswith("The remote agent painter asks: Which?\n\nWhich?")
    answer_wait(wait, None, by=ANNE)
    assert ended(run_id)[1][0][0] == "error"
    assert cancel_remote_tasks() == 1
    assert Run.objects.get(workspace=other).status == "cancelled"


def test_an_agent_of_another_heartbit_is_a_node_and_a_member(
    hands: Worker, worker: Worker, web: WebServer, workspace: Workspace
) -> None:
    colour = {"ask": "Which colour?", "form": {"type": "string", "maxLength": 4}}
    other = elsewhere(workspace, web, colour=colour)
    step = {"tool": "painter_send", "arguments": {"message": "{{ input }}"}}
    paints = {"name": "paints", "queue": QUEUE, "steps": {"paint": step}}
    create_agent(workspace, WorkflowSpec.model_validate(paints), by=SYSTEM)
    run_id = start_run(workspace, "a tree", agent="paints")
    wait = waiting(run_id, "tool_question")
    question = question_of(wait)
    assert question.text == "The remote agent painter asks: Which colour?"
    assert question.form == colour["form"]
    answer_wait(wait, "red", by=ANNE)
    assert ended(run_id)[0] == "succeeded"
    assert Run.objects.get(pk=run_id).output == "red"
    run_id = start_run(workspace, "a tree", agent="paints")
    waiting(run_id, "tool_question")
    cancel_run(workspace, run_id, reason="enough", by=ANNE)
    assert ended(run_id)[0] == "cancelled"
    assert cancel_remote_tasks() == 1
    states = Run.objects.filter(workspace=other).order_by("created_at").values_list("status")
    assert [state for (state,) in states] == ["succeeded", "cancelled"]
