"""Write the row of a requested run, and the first events of its journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal
from uuid import UUID

from agents.actions.run_request import Fork, RunRequest
from agents.journal.events import encode
from agents.runtime.files.pictures import addresses_of, given_before
from heartbit_site.base import tracing
from heartbit_site.base.ids import new_id
from heartbit_site.base.log_context import TRACEPARENT
from heartbit_site.base.query import fetch_one

_SUBMIT = """
    SELECT run_id, queue, is_new, 'new' FROM heartbit_submit(
        %(id)s, %(workspace)s, %(agent)s, %(task)s, %(home)s, %(priority)s, %(model)s, %(key)s,
        %(origin)s, %(approve)s, %(payload)s, p_by => %(by)s, p_user => %(user)s,
        p_hops => %(hops)s, p_call => %(call)s, p_more => %(more)s)
"""
# PostgreSQL asks a condition that names no row before it calls the function.
_IF_UNCHANGED = """
    WHERE ARRAY(SELECT a.current_version_id FROM agents_agent a
                JOIN base_workspace w ON w.id = a.workspace_id
                WHERE w.id = %(workspace)s AND w.slug = %(slug)s AND a.origin = %(origin)s
                ORDER BY a.id) = %(versions)s::bigint[]
"""
_CONVERSE = """
    SELECT run_id, queue, is_new, outcome FROM heartbit_converse(
        %(conversation)s, %(policy)s, %(id)s, %(workspace)s, %(agent)s, %(task)s, %(home)s,
        %(priority)s, %(model)s, %(key)s, %(origin)s, %(approve)s, %(payload)s, %(by)s, %(user)s,
        p_hops => %(hops)s, p_more => %(more)s)
"""
_FORK = """
    SELECT run_id, queue, is_new, 'new' FROM heartbit_fork(
        %(id)s, %(workspace)s, %(source)s, %(cut)s, %(version)s, %(task)s, %(changed)s, %(events)s,
        %(home)s, %(key)s, %(by)s, %(user)s)
"""


@dataclass(frozen=True, slots=True)
class Row:
    """The row that answers a request.

    Attributes:
        run_id: The run.
        queue: Its queue.
        is_new: True if the request has created it.
        outcome: ``new``; ``held``: it starts when the run before it has ended; ``steered``: the
            message was given to this running run; ``refused``: this active run blocks the message.
    """

    run_id: UUID
    queue: str
    is_new: bool
    outcome: Literal["new", "held", "steered", "refused"]


def write_run(request: RunRequest, key: str | None) -> Row | None:
    """Write the row with one statement, which is atomic by itself, or in the caller's block.

    Args:
        request: The request.
        key: Its idempotency key, as stored.

    Returns:
        The row; None: the database refused the run.
    """
    name, origin = request.asked
    run_id = new_id()
    values: dict[str, Any] = {
        "id": run_id,
        "workspace": request.workspace.pk,
        "agent": name,
        "origin": origin,
        "home": request.home.value,
        "priority": request.priority,
        "model": request.model,
        "key": key,
        "approve": request.approve,
        "by": request.by.name,
        "user": request.by.user_id,
        "hops": request.hops,
    }
    if request.fork is not None:
        row = fetch_one(_FORK, values | {"task": request.task or None} | _forked(request.fork))
        return None if row is None else Row(*row)
    values |= {
        "task": request.text,
        "payload": None if request.payload is None else request.payload.model_dump_json(),
        "more": json.dumps(_more(request, run_id), ensure_ascii=False),
    }
    if request.conversation is not None:
        message = {"conversation": request.conversation.pk, "policy": request.policy}
        row = fetch_one(_CONVERSE, values | message)
    else:
        row = _submit(request, values)
    return None if row is None else Row(*row)


def _submit(request: RunRequest, values: dict[str, Any]) -> Any:
    call = request.call
    values["call"] = None if call is None else json.dumps(asdict(call), ensure_ascii=False)
    if request.versions is None:
        return fetch_one(_SUBMIT, values, prepare=True)
    known = {"slug": request.workspace.slug, "versions": list(request.versions)}
    return fetch_one(_SUBMIT + _IF_UNCHANGED, values | known, prepare=True)


def _more(request: RunRequest, run_id: UUID) -> dict[str, Any]:
    """Return more of the event that opens the run's journal."""
    more = {
        "thread": [_earlier(one, run_id, number) for number, one in enumerate(request.thread)],
        "images": addresses_of(run_id, request.pictures),
        "client": request.client,
        "review": request.review,
        "client_tools": request.client_tools,
        "traceparent": TRACEPARENT.get() if tracing.is_on() else "",
    }
    found: dict[str, Any] = {name: value for name, value in more.items() if value}
    if request.response_schema is not None:
        found["response_schema"] = request.response_schema
    return found


def _earlier(message: Mapping[str, Any], run_id: UUID, number: int) -> dict[str, Any]:
    found = dict(message)
    if pictures := found.pop("pictures", ()):
        found["images"] = addresses_of(run_id, pictures, given_before(number))
    return found


def _forked(fork: Fork) -> dict[str, Any]:
    return {
        "source": fork.source.pk,
        "cut": fork.cut,
        "version": None if fork.version is None else fork.version.pk,
        "changed": json.dumps(fork.changed, ensure_ascii=False),
        "events": json.dumps([encode(event) for event in fork.events], ensure_ascii=False),
    }
