"""Keys of others, without rights, and none: each path refuses them in OpenAI's form."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.utils import timezone

from agents.actions.runs import cancel_run
from agents.models import Agent, Run
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.api_key import ApiKey
from heartbit_site.base.scopes import SCOPES
from tests.api.server import key_for
from tests.fleet import wait_until

if TYPE_CHECKING:
    from openai import OpenAI

    from tests.api.server import WebServer

CHAT: Any = {"model": "writer", "messages": [{"role": "user", "content": "[[text: Done.]]"}]}
PATHS: Any = [
    ("GET", "models", None),
    ("GET", "models/writer", None),
    ("POST", "chat/completions", CHAT),
    ("POST", "responses", {"model": "writer", "input": "[[text: Done.]]"}),
    ("GET", "responses/ID", None),
    ("POST", "responses/ID/cancel", None),
]


@pytest.fixture(scope="module")
def other() -> Workspace:
    slug = f"other-{secrets.token_hex(4)}"
    return Workspace.objects.create(slug=slug, name=slug)


def ask(web: WebServer, key: str, method: str, path: str, body: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.request(method, f"{web.url}/v1/{path}", json=body, headers=headers, timeout=60)


@pytest.mark.parametrize(("method", "path", "body"), PATHS, ids=[path for _, path, _ in PATHS])
def test_no_path_opens_without_the_right_key(
    web: WebServer,
    client: OpenAI,
    workspace: Workspace,
    other: Workspace,
    method: str,
    path: str,
    body: Any,
) -> None:
    mine = client.responses.create(model="writer", input="[[text: Mine.]]")
    path = path.replace("ID", mine.id)
    count = Run.objects.count()
    for key, statuses in (
        ("", {401}),
        ("hb_0000000000_" + "0" * 43, {401}),
        (key_for(workspace, ["audit:read"]), {403}),
        (key_for(other), {404} if path != "models" else {200}),
    ):
        response = ask(web, key, method, path, body)
        assert response.status_code in statuses, (key[:4], response.text)
        if response.status_code == 200:
            assert response.json()["data"] == []
        else:
            assert response.json()["error"]["message"]
    assert Run.objects.count() == count


def test_a_response_of_others_is_neither_continued_nor_answered(
    web: WebServer, client: OpenAI, other: Workspace
) -> None:
    mine = client.responses.create(model="writer", input="[[text: Mine.]]")
    key = key_for(other)
    body: Any = {"model": "writer", "input": "x", "previous_response_id": mine.id}
    assert ask(web, key, "POST", "responses", body).status_code == 404
    call = f"call_{mine.id.removeprefix('resp_')}_1_0"
    outputs = [{"type": "function_call_output", "call_id": call, "output": "1"}]
    response = ask(web, key, "POST", "responses", {"model": "writer", "input": outputs})
    assert response.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[1]",
        b"null",
        b'{"model": "writer"}',
        b'{"model": "writer", "messages": []}',
        b'{"model": "writer", "messages": [{"role": "king", "content": "x"}]}',
        b'{"model": "writer", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
        b'{"model": "writer", "n": 2, "messages": [{"role": "user", "content": "x"}]}',
        b'{"model": "nobody", "messages": [{"role": "user", "content": "x"}]}',
        b'{"model": "writer", "messages": [{"role": "user", "content": "x"}], "tools": [{}]}',
        b"[" * 5_000,
        b"\xff",
        b'"' + b"x" * 1_000_001 + b'"',
    ],
    ids=str,
)
def test_odd_bodies_are_refused_with_a_sentence(
    web: WebServer, client: OpenAI, body: bytes
) -> None:
    headers = {"Authorization": f"Bearer {client.api_key}"}
    response = httpx.post(f"{web.url}/v1/chat/completions", content=body, headers=headers)
    assert 400 <= response.status_code < 500, response.text
    assert response.json()["error"]["message"].endswith(".")


def test_requests_end_without_an_answer_when_their_key_is_revoked(
    web: WebServer, client: OpenAI, workspace: Workspace
) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="served-by-no-worker")
    row, key = create_api_key(workspace, "short-lived", scopes=SCOPES)
    headers, body = {"Authorization": f"Bearer {key}"}, {**CHAT, "stream": True}
    address = f"{web.url}/v1/chat/completions"
    runs = Run.objects.filter(workspace=workspace)
    lines: list[str] = []
    with (
        ThreadPoolExecutor() as pool,
        httpx.Client(headers=headers, timeout=60, verify=False) as http,  # noqa: S501
    ):
        waiting = pool.submit(http.post, address, json=CHAT)
        run = wait_until(runs.first, what="it is accepted")
        with http.stream("POST", address, json=body) as response:
            for line in response.iter_lines():
                lines.append(line)
                ApiKey.objects.filter(pk=row.pk).update(revoked_at=timezone.now())
        cancel_run(workspace, run.pk, reason="enough", by=SYSTEM)
        assert waiting.result(60).status_code == 401
    assert lines
    assert "[DONE]" not in "".join(lines)
