"""A private conversation is read by its owner, and by no other member, through any door.

Every row that belongs to it has a canary, which is looked for in all answers: of the API, the
pages, the admin, the sockets and the doors of programs (the rows of tests/web/test_matrix*.py).
"""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile
from datetime import timedelta
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.utils import timezone
from websockets.sync.client import connect

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest, start_conversation
from agents.actions.state import InvalidStateError
from agents.agent_tools.state import state_set
from agents.choices import RunStatus
from agents.errors import RecipientError
from agents.housekeeping.export_person import export_person
from agents.journal.events import CallWaiting, ModelAnswered, RunSteered, WaitResolved, encode
from agents.llm.messages import AssistantMessage, Usage
from agents.llm.messages import ToolCall as AskedCall
from agents.messaging.addresses import sender_of_call
from agents.models import (
    Artifact,
    BlackboardEntry,
    Conversation,
    Decision,
    Delivery,
    Run,
    RunEvent,
    StateEntry,
    ToolCall,
    Wait,
    WebhookEndpoint,
    WorkFile,
)
from agents.runs.webhook_events import create_webhook_deliveries
from agents.runtime.toolset.call_context import context_factory
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.audit import Actor
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Role
from heartbit_site.base.os_user import terminal_user
from heartbit_site.base.query import fetch_one
from heartbit_site.base.scopes import SCOPES
from memory.agent_tools import remember
from memory.errors import InvalidMemoryError
from scheduling.agent_tools import schedule
from scheduling.errors import ScheduleError
from tests.admin import rows
from tests.starts import start_run
from tests.web.matrix_pages import LISTS, NOT_FOUND, PAGES, Page
from tests.web.matrix_routes import ROUTES, Route
from tests.web.matrix_world import MAKERS, World, agent_of, build
from tests.web.people import member, session_of
from tests.web.test_matrix import ask, close_code, page_path
from tests.web.test_matrix_doors import REQUESTS, Request, send
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.api.server import WebServer

CANARY: Final = "kanarienvogel7f3a"
OTHERS: Final = (
    *("viewer", "operator", "editor", "admin", "superuser"),
    *("right key", "key of an admin"),
)
#: Who manages the workspace stops its runs by their ids, and reads nothing of them.
CANCEL: Final = "/runs/{run_id}/cancel"
READERS: Final = ("viewer", "operator", "editor")
PEOPLE: Final = tuple(one for one in OTHERS if "key" not in one)
OF_IT: Final = ("{run_id}", "{conversation_id}", "{delivery}")
#: What the owner finds it in, by the beginning of the path.
FOUND_BY_API: Final = (
    *("/runs", "/runs/{run_id}", "/runs/{run_id}/result", "/runs/{run_id}/events"),
    *("/runs/{run_id}/artifacts/{artifact}", "/runs/{run_id}/files/content"),
    *("/runs/{run_id}/blackboard", "/runs/{run_id}/calls"),
    *("/runs/{run_id}/blackboard/entry", "/runs/{run_id}/calls/{call_id}", "/deliveries"),
    *("/runs/{run_id}/turns", "/runs/{run_id}/turns/{number}", "/runs/{run_id}/decisions"),
    *("/conversations", "/conversations/{conversation_id}"),
)
FOUND_ON_PAGES: Final = (
    *("runs/", "find/", "runs/<uuid:run>/", "runs/<uuid:run>/inspector/"),
    *("runs/<uuid:run>/turns/<int:turn>/", "runs/<uuid:run>/fork/"),
    "runs/<uuid:run>/compare/<uuid:other>/",
)
#: Lists that are asked in more ways than the table does.
SEARCHES: Final = (
    f"/runs?text={CANARY}",
    "/runs?children=true&sort=-cost",
    "/runs?status=failed&limit=100",
    "/events?follow=false&since=2020-01-01T00:00:00Z",
    "/conversations?agent=parked&limit=100",
    "/deliveries?limit=100&status=failed",
    "/messages?limit=100",
)
LISTS_OF_ADMIN: Final = sorted(LISTS)


@pytest.fixture(scope="module")
def world(site: WebServer) -> Iterator[World]:
    yield from private_world(site)


def private_world(site: WebServer) -> Iterator[World]:
    """The world of the matrix, where a member who owns something private is at each address."""
    building = build(site)
    made = next(building)
    owner = member(made.mine, Role.OPERATOR)
    boss = member(made.mine, Role.ADMIN)
    made.cookies["owner"] = session_of(owner)
    made.keys["owner's key"] = create_api_key(made.mine, "own", scopes=SCOPES, user=owner)[1]
    made.keys["key of an admin"] = create_api_key(made.mine, "boss", scopes=SCOPES, user=boss)[1]
    talk = start_conversation(
        made.mine, agent="parked", title=f"{CANARY} title", private_to=owner.pk
    )
    run = filled(said(talk, f"{CANARY} first", owner))
    said(talk, f"{CANARY} second", owner)
    made.targets |= {
        "conversation_id": str(talk.pk),
        "run_id": str(run),
        "call_id": "1.0",
        "delivery": str(Delivery.objects.get(run_id=run).pk),
        "artifact": "code-1",
    }
    yield made
    yield from building


def said(talk: Conversation, text: str, owner: Any) -> UUID:
    by = Actor(owner.username, "web", owner.pk)
    return admit(RunRequest(talk.workspace, text, conversation=talk, by=by)).run_id


def filled(run_id: UUID) -> UUID:
    """A failed run with something in every kind of row that a run has."""
    run = Run.objects.get(pk=run_id)
    asked = AskedCall("c", "x", json.dumps({"text": f"{CANARY} argument"}))
    message = AssistantMessage(f"{CANARY} turn", tool_calls=(asked,))
    events = [
        ModelAnswered(1, message, Usage(), "stop", "openai:fake"),
        RunSteered(f"{CANARY} steered", by="ada"),
    ]
    for seq, event in enumerate(events, 2):
        RunEvent.objects.create(run=run, seq=seq, **encode(event))
    child = fetch_one(
        "SELECT heartbit_create_run(%s, %s, %s, 'parked', %s, %s, %s, 'fleet', 'nobody', 0, '',"
        " '', NULL)",
        [new_id(), run.workspace_id, run.version_id, f"{CANARY} child", run.pk, run.pk],
    )[0]
    assert Run.objects.get(pk=child).private_to_id == run.private_to_id is not None
    ToolCall.objects.create(
        run=run,
        call_id="1.0",
        tool="x",
        arguments=json.dumps({"text": f"{CANARY} argument"}),
        result=f"{CANARY} result",
        idempotency_key=str(run.pk),
    )
    BlackboardEntry.objects.create(root=run, key="target", value=f"{CANARY} shared", author="x")
    WorkFile.objects.create(root=run, path="kept.txt", call="k", content=f"{CANARY} file".encode())
    Artifact.objects.create(
        run=run, name="stored", content_type="text/plain", size=1, content=b"x", sha256="0" * 64
    )
    Decision.objects.create(
        run=run,
        wait_key="decision:1.0",
        call_id="1.0",
        verdict="denied",
        decided_by="ada",
        via="web",
        reason=f"{CANARY} reason",
        arguments=json.dumps({"text": CANARY}),
        digest="0" * 64,
    )
    Delivery.objects.create(
        workspace=run.workspace,
        run_id=run.pk,
        position=0,
        kind="email",
        target={"kind": "email", "to": ["ada@example.org"], "subject": f"{CANARY} subject"},
        status="failed",
        error=f"{CANARY} refused",
    )
    Run.objects.filter(pk=run.pk).update(
        status=RunStatus.RUNNING, last_seq=3, started_at=timezone.now()
    )
    Run.objects.filter(pk=run.pk).update(
        status=RunStatus.FAILED,
        output=f"Said.\n\n```python\n{CANARY} output\n```",
        error={"kind": "tool", "message": f"{CANARY} error"},
        finished_at=timezone.now(),
    )
    return run.pk


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_api_tells_the_owner_alone(world: World, route: Route) -> None:
    is_of_it = any(place in route.path for place in OF_IT)
    if route.method != "GET" and not is_of_it:
        return  # it names nothing of the conversation
    values = world.targets | {"newcomer": MAKERS["newcomer"](world.mine)}
    for asker in OTHERS:
        answer = ask(world, route, asker, values)
        assert CANARY not in answer.text, (asker, answer.text[:300])
        if route.path == CANCEL and asker not in READERS:
            assert set(answer.json()) == {"id", "status", "placement"}, asker
        elif is_of_it:
            assert answer.status_code in (403, 404), (asker, answer.status_code)
        else:
            assert values["run_id"] not in answer.text, asker
    if route.method == "GET":
        for asker in ("owner", "owner's key"):
            answer = ask(world, route, asker, values)
            assert CANARY in answer.text or route.path not in FOUND_BY_API, asker
            assert answer.status_code in (200, route.right) or not is_of_it, answer.text[:300]


@pytest.mark.parametrize("path", SEARCHES)
def test_no_search_finds_it_for_others(world: World, path: str) -> None:
    for asker in OTHERS:
        answer = world.client(asker, None).get(f"/api/v1{path}")
        assert answer.status_code == 200, answer.text[:300]
        assert CANARY not in answer.text, asker
        assert world.targets["run_id"] not in answer.text, asker
    mine = world.client("owner", None).get(f"/api/v1{path}").text
    assert path.startswith("/messages") or CANARY in mine or world.targets["run_id"] in mine


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path or "/")
def test_the_pages_tell_the_owner_alone(world: World, page: Page) -> None:
    path = page_path(world, page, world.targets)
    path += f"?q={CANARY}" if page.path == "find/" else ""
    of_it = "<uuid:run>" in page.path or "<uuid:conversation>" in page.path
    for asker in PEOPLE:
        answer = world.client(asker, None).get(path)
        shown = answer.text.replace(f"q={CANARY}", "")
        assert CANARY not in shown, asker
        if of_it:
            assert answer.status_code in (403, 404), asker
        else:
            assert world.targets["run_id"] not in shown, asker
    if page.path in FOUND_ON_PAGES:
        assert CANARY in world.client("owner", None).get(path).text


@pytest.mark.parametrize("path", LISTS_OF_ADMIN)
def test_the_lists_of_the_admin_tell_members_nothing(world: World, path: str) -> None:
    for asker in ("editor", "admin"):
        answer = world.client(asker, None).get(f"/admin/{path}")
        assert CANARY not in answer.text, asker
        assert world.targets["run_id"] not in answer.text, asker


@pytest.mark.parametrize("asker", OTHERS)
def test_its_socket_is_closed_for_others(world: World, asker: str) -> None:
    path = f"/ws/{world.mine.slug}/runs/{world.targets['run_id']}/"
    code = close_code(world, world.client(asker, None).headers, path)
    assert code == NOT_FOUND


@pytest.mark.parametrize("asker", ["owner", "owner's key"])
def test_its_socket_tells_the_owner(world: World, asker: str) -> None:
    sent = world.client(asker, None).headers
    headers = {name: sent[name] for name in ("Cookie", "Authorization") if name in sent}
    origin: Any = world.site.url if "Cookie" in sent else None
    path = f"/ws/{world.mine.slug}/runs/{world.targets['run_id']}/"
    address = f"ws{world.site.url.removeprefix('http')}{path}"
    told = ""
    with connect(address, origin=origin, additional_headers=headers) as socket:
        socket.send('{"type": "resume", "after": {}}')
        while CANARY not in told:
            told += str(socket.recv(timeout=20))


#: Those that name it; others would start runs that no worker serves.
OF_DOORS: Final = [
    one
    for one in REQUESTS
    if one.lists or re.search("RUN|THREAD", one.path + json.dumps(one.body or ""))
]


@pytest.mark.parametrize("request_", OF_DOORS, ids=str)
def test_the_doors_of_programs_tell_others_nothing(world: World, request_: Request) -> None:
    for asker in ("right key", "key of an admin"):
        answer = send(world, request_, asker)
        assert CANARY not in answer.text, (asker, answer.text[:300])


DOORS: Final = ("GetTask", "ListTasks", "tasks/get", "show_run", "/v1/responses/resp_RUN")


@pytest.mark.parametrize(
    "request_",
    [one for one in REQUESTS if one.reads and any(name in str(one) for name in DOORS)],
    ids=str,
)
def test_the_doors_of_programs_tell_the_owner(world: World, request_: Request) -> None:
    assert CANARY in send(world, request_, "owner's key").text


def test_forks_and_retries_are_private_too(world: World) -> None:
    run_id = world.targets["run_id"]
    owner = Run.objects.get(pk=run_id).private_to_id
    client = world.client("owner", None)
    for path, body in (("fork", {"turn": 0}), ("retry", None)):
        answer = client.post(f"/api/v1/runs/{run_id}/{path}", json=body)
        assert answer.status_code in (200, 201), answer.text
        made = re.search(r"[0-9a-f-]{36}", answer.text.replace(run_id, ""))
        assert made is not None
        assert Run.objects.get(pk=made[0]).private_to_id == owner
        other = world.client("admin", None).get(f"/api/v1/runs/{made[0]}")
        assert other.status_code == 404


def test_who_may_decide_a_call_of_it_sees_that_call(world: World) -> None:
    agent_of(world.mine, "researcher")
    call = unserved(world.mine)
    owner = Run.objects.get(pk=world.targets["run_id"]).private_to_id
    Run.objects.filter(root=call.run.root_id).update(private_to=owner)
    run_id, path = str(call.run_id), f"/api/v1/runs/{call.run_id}/calls/{call.call_id}"
    waiting = Wait.objects.get(run=call.run, call_id=call.call_id)
    for asker, sees in (("viewer", False), ("operator", True), ("admin", True), ("owner", True)):
        client = world.client(asker, None)
        listed = client.get("/api/v1/approvals?limit=1000").text
        assert (run_id in listed) is sees, asker
        assert (run_id in client.get(f"/w/{world.mine.slug}/inbox/").text) is sees, asker
        status = client.get(f"{path}/decision").status_code
        assert status == (200 if sees else 404), asker
        # Nothing else of the run, and of the call nothing but the question.
        for more in ("", f"/runs/{run_id}/turns", f"/runs/{run_id}/calls"):
            rest = client.get(f"/api/v1{more}" if more else path)
            assert rest.status_code == (200 if asker == "owner" else 404), (asker, more)
    body = {"digest": call.digest, "verdict": "deny", "reason": "no"}
    assert world.client("viewer", None).post(f"{path}/decision", json=body).status_code == 403
    done = world.client("operator", None).post(f"{path}/decision", json=body)
    assert done.status_code == 200, done.text
    waiting.refresh_from_db()
    assert waiting.resolved_at is not None
    again = world.client("admin", None).post(f"{path}/decision", json=body)
    assert again.status_code == 409, "it is decided, and that is said"


def test_admins_see_its_figures_and_no_text(world: World) -> None:
    found = world.client("admin", None).get("/api/v1/private-conversations").json()
    [row] = [one for one in found["conversations"] if one["id"] == world.targets["conversation_id"]]
    assert set(row) == {
        *("id", "owner", "agent", "created_at", "active_at", "status", "messages", "cost_usd")
    }
    assert (row["messages"], row["cost_usd"], row["status"]) == (2, "0", "queued")
    owner = Run.objects.get(pk=world.targets["run_id"]).private_to
    assert owner is not None
    assert row["owner"] == owner.username


def test_admins_stop_a_run_of_it_by_its_id(world: World) -> None:
    owner = Run.objects.get(pk=world.targets["run_id"]).private_to
    talk = start_conversation(world.mine, agent="parked", private_to=owner.pk if owner else None)
    run = said(talk, CANARY, owner)
    path = f"/api/v1/runs/{run}/cancel"
    for asker, status in (("operator", 404), ("editor", 404), ("admin", 200)):
        assert world.client(asker, None).post(path).status_code == status, asker
    assert Run.objects.get(pk=run).status == RunStatus.CANCELLED
    assert world.client("admin", None).get(f"/api/v1/runs/{run}").status_code == 404


def test_it_is_begun_by_a_person_and_stays_private(world: World) -> None:
    body = {"agent": "parked", "private": True}
    nobody = world.client("right key", None).post("/api/v1/conversations", json=body)
    assert nobody.status_code == 409
    made = world.client("owner's key", None).post("/api/v1/conversations", json=body).json()
    assert made["private"] is True
    path = f"/api/v1/conversations/{made['id']}"
    assert world.client("owner", None).get(path).status_code == 200
    assert world.client("admin", None).get(path).status_code == 404
    change = world.client("owner", None).patch(path, json={"private": False})
    assert change.status_code == 422


def test_its_runs_keep_nothing_where_others_read_it(world: World) -> None:
    run = Run.objects.get(pk=world.targets["run_id"])
    context = context_factory(
        workspace_id=run.workspace_id,
        run_id=run.pk,
        root_id=run.root_id,
        agent=run.agent,
        http=cast("Any", None),
        user_id=run.started_user_id,
        conversation_id=run.conversation_id,
    )("1.0")
    with pytest.raises(RecipientError, match="is private"):
        sender_of_call(context)
    with pytest.raises(InvalidMemoryError, match="is private"):
        remember(context, "A fact.")
    with pytest.raises(InvalidStateError, match="is private"):
        state_set(context, "key", 1)
    with transaction.atomic(), pytest.raises(ScheduleError, match="is private"):
        schedule(context, "daily", "Do it.", in_seconds=60)


def test_events_of_its_calls_are_for_those_who_may_decide_them(world: World) -> None:
    agent_of(world.mine, "followed")
    call = rows.asking(world.mine, "followed")
    owner = Run.objects.get(pk=world.targets["run_id"]).private_to_id
    Run.objects.filter(root=call.run.root_id).update(private_to=owner)
    group = Group.objects.create(name=f"deciders-{world.mine.slug}")

    def types(asker: str) -> set[str]:
        path = "/api/v1/events?follow=false&since=2020-01-01T00:00:00Z"
        lines = [one for one in world.client(asker, None).get(path).text.splitlines() if one]
        events = [json.loads(one[6:]) for one in lines if one.startswith("data: ")]
        of_it = [one for one in events if str(call.run_id) in json.dumps(one)]
        return {one["type"] for one in of_it}

    for asker, sees in (("viewer", False), ("operator", True), ("key of an admin", True)):
        assert types(asker) == ({"approval.requested"} if sees else set()), asker
    assert types("owner") >= {"approval.requested", "run.queued"}
    ToolCall.objects.filter(pk=call.pk).update(
        approval_view={**(call.approval_view or {}), "group": group.name}
    )
    assert types("operator") == set(), "others may decide it"
    assert types("owner") >= {"approval.requested", "run.queued"}
    for seq, (to, sees) in enumerate(((group.name, False), ("", True))):
        key = f"question:2.0:{seq}"
        for place, event in enumerate(
            (
                CallWaiting("2.0", (key,), kind="question", question="?", group=to),
                WaitResolved(key, {"status": "answered"}, kind="question", call_id="2.0"),
            )
        ):
            RunEvent.objects.create(run=call.run, seq=90 + 2 * seq + place, **encode(event))
        assert types("operator") == ({"question.asked", "question.answered"} if sees else set())


@pytest.mark.parametrize("asker", ["admin", "superuser", "right key", "key of an admin"])
def test_an_export_of_its_owner_leaves_it_out(world: World, asker: str) -> None:
    run = Run.objects.get(pk=world.targets["run_id"])
    owner = run.private_to
    assert owner is not None
    StateEntry.objects.create(
        workspace=world.mine,
        scope="conversation",
        conversation_id=run.conversation_id,
        key=new_id().hex,
        value=CANARY,
        user=owner,
    )
    path = f"/api/v1/memories/persons/{owner.username}/export"
    answer = world.client(asker, None).post(path)
    assert answer.status_code == 200, answer.text[:300]
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(answer.json()["content"]))) as packed:
        told = "".join(packed.read(name).decode() for name in packed.namelist())
    assert CANARY not in told
    assert str(run.pk) not in told


def test_an_export_on_the_machine_has_it(world: World) -> None:
    owner = Run.objects.get(pk=world.targets["run_id"]).private_to
    assert owner is not None
    with TemporaryFile() as file:
        export_person(world.mine, owner, file, by=terminal_user())
        with zipfile.ZipFile(file) as packed:
            told = "".join(packed.read(name).decode() for name in packed.namelist())
    assert CANARY in told


def test_webhooks_are_told_nothing_of_it(world: World) -> None:
    endpoint = WebhookEndpoint.objects.create(
        workspace=world.mine,
        name="all",
        url="https://127.0.0.1/",
        events=["*"],
        events_from=timezone.now() - timedelta(hours=1),
        read_from=timezone.now() - timedelta(hours=1),
    )
    public = start_run(world.mine, "seen by all", agent="parked")
    create_webhook_deliveries(endpoint)
    told = json.dumps(list(endpoint.deliveries.values_list("payload", flat=True)))
    assert str(public) in told
    assert world.targets["run_id"] not in told
    assert CANARY not in told
    endpoint.delete()
