"""What reaches a worker without a person: messages, notices, and a model's arguments."""

from __future__ import annotations

import base64
import json
import pickle
import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.conf import settings
from django.db import connection, transaction
from redis import Redis

from agents.choices import TERMINAL
from agents.journal.events import ModelAnswered, encode
from agents.llm.messages import AssistantMessage, ToolCall, Usage
from agents.models import Run, WorkerHeartbeat
from heartbit_site.base import queues
from tests.chaos.parsers import values
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.chaos.parsers.found import Findings

_CLAIM = """
    SELECT lease_token, last_seq FROM heartbit_claim(
        %s, 'fleet', ARRAY[%s], %s, 'dead:1', '', 'openai:fake', '', 2, true)
"""
NOTICES = (
    *("", ":", "::::", "cancel", "cancel:", "cancel:x", "ring:x:y", "worker", "worker:", "agent:"),
    *("worker:" + "9" * 5000, "cancel:" + "9" * 5000, "\u202e:x", "x" * 7999),
    *(f"{verb}:{uuid4()}" for verb in ("cancel", "ring", "nonsense", "worker", "agent", "yield")),
    *(f"{verb}:{uuid4()}:{uuid4()}" for verb in ("cancel", "ring", "nonsense")),
    f"cancel:{uuid4()}:not-an-id",
)


class _Bomb:
    """What it does when it is unpickled is write a file."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self._marker), "w"))


def messages(queue: str, marker: Path) -> dict[str, bytes]:
    """Messages as they lie in the broker, by what is wrong with them."""
    bomb = pickle.dumps(((_Bomb(marker),), {}, {}))
    yaml = f"!!python/object/apply:builtins.open ['{marker}', 'w']".encode()
    task = queues.EXECUTE_RUN
    return {
        "pickle": _message(queue, bomb, "application/x-python-serialize", "binary", task),
        "yaml": _message(queue, yaml, "application/x-yaml", "utf-8", task),
        "msgpack": _message(queue, b"\x93\x90\x80\x80", "application/x-msgpack", "binary", task),
        "no content type": _message(queue, b"[[], {}, {}]", "", "utf-8", task),
        "unknown task": _message(queue, b"[[], {}, {}]", "application/json", "utf-8", "os.system"),
        "cut": _message(queue, b'[["x"', "application/json", "utf-8", task),
        "an object": _message(queue, b"{}", "application/json", "utf-8", task),
        "no id": _message(queue, b'[["x"], {}, {}]', "application/json", "utf-8", task),
        "no arguments": _message(queue, b"[[], {}, {}]", "application/json", "utf-8", task),
        "many arguments": _message(
            queue, b'[["a", "b", "c"], {"d": 1}, {}]', "application/json", "utf-8", task
        ),
        "garbage": b"\xff\x00 no message",
        "no envelope": b"[]",
        "nothing in it": b"{}",
        "deep envelope": b"[" * values.DEEP,
        "no properties": json.dumps({"body": "", "headers": {}}).encode(),
        **{
            name: _message(queue, b"[[%s], {}, {}]" % value, "application/json", "utf-8", task)
            for name, value in (values.REFUSED | values.UNSTORABLE).items()
        },
    }


def _message(queue: str, body: bytes, kind: str, encoding: str, task: str) -> bytes:
    """A message of protocol 2 as kombu's Redis transport stores it."""
    tag = str(uuid4())
    envelope = {
        "body": base64.b64encode(body).decode(),
        "content-encoding": encoding,
        "content-type": kind,
        "headers": {"lang": "py", "task": task, "id": tag, "root_id": tag, "argsrepr": "()"},
        "properties": {
            "correlation_id": tag,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": tag,
        },
    }
    return json.dumps(envelope).encode()


def send(queue: str, marker: Path, found: Findings) -> None:
    """Put every message on a worker's queue, and wait until it has taken them all."""
    with Redis.from_url(settings.REDIS_URL) as valkey:
        for name, message in messages(queue, marker).items():
            began = time.monotonic()
            valkey.lpush(queue, message)
            wait_until(lambda: not valkey.llen(queue), seconds=20, what=f"the message {name}")
            said = "A pickle was read." if marker.exists() else "It was refused."
            if marker.exists():
                found.broken.append(f"message {name}: it was executed")
            found.add("message", name, said, time.monotonic() - began)


def notify(found: Findings) -> None:
    """Say everything on the channel that processes listen to."""
    with connection.cursor() as cursor:
        for notice in NOTICES:
            cursor.execute("SELECT pg_notify('heartbit', %s)", [notice])
            found.add("notice", notice[:40], "It was heard by nobody.")


def argue(workspace: Workspace, queue: str, found: Findings, *, agent: str) -> UUID:
    """A model asks for calls with every text as their arguments; the run they are part of."""
    texts = _arguments()
    run_id = _answered(workspace, queue, list(texts.values()), agent=agent)
    run = Run.objects.get(pk=run_id)
    wait_until(lambda: _ended(run), seconds=60, what=f"the run with hostile arguments {run_id}")
    if run.status != "succeeded":
        found.unclear.append(f"tool arguments: the run is {run.status}: {run.error}")
    calls = {call.call_id: call for call in run.calls.all()}
    for index, name in enumerate(texts):
        call = calls[f"1.{index}"]
        said = " ".join((call.result or "").split())
        if not said.endswith((".", "?")):
            said += "."
        found.add("tool arguments", name, said if call.status == "invalid" else None)
    return run_id


def _arguments() -> dict[str, str]:
    every = {**values.REFUSED, **values.UNSTORABLE}
    texts = {name: value.decode() for name, value in every.items()}
    members = {
        f"{name}, as a member": values.member("expression", value).decode()
        for name, value in values.REFUSED.items()
    }
    return texts | members | {"2 MB": values.member("expression", values.BYTES["2 MB"]).decode()}


def _ended(run: Run) -> bool:
    run.refresh_from_db()
    return run.status in TERMINAL


def _answered(workspace: Workspace, queue: str, arguments: list[str], *, agent: str) -> UUID:
    """A run whose model has answered with these calls; its worker died right then.

    What a provider may send on the way there is R15's.
    """
    calls = tuple(ToolCall(f"c{index}", "calculate", text) for index, text in enumerate(arguments))
    message = AssistantMessage("", calls)
    event = ModelAnswered(1, message, Usage(), "tool_calls", "openai:fake", seen=2)
    # In one transaction: no worker can have it before.
    with transaction.atomic(), connection.cursor() as cursor:
        run_id = start_run(workspace, "[[text: So be it.]]", agent=agent, model="openai:fake")
        row = WorkerHeartbeat.objects.create(name="dead:1", lease_seconds=3600)
        cursor.execute(_CLAIM, [run_id, queue, row.pk])
        token, seq = cursor.fetchone()
        encoded = json.dumps([encode(event)])
        cursor.execute("SELECT heartbit_record(%s, %s, %s, %s)", [run_id, token, seq, encoded])
        cursor.execute("SELECT heartbit_recover(%s, 3)", [row.pk])
    return run_id
