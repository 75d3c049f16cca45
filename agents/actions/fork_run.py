"""Fork a run: start a new run with another run's journal up to a turn, with edits.

Work before the fork point is not repeated. With replaced arguments the calls of the last turn run
again under the new run's idempotency keys: their effects happen a second time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from agents.actions.admit import Admitted, admit, refuse_reader
from agents.actions.run_request import Fork, RunRequest, describe_call
from agents.choices import Placement, RunKind
from agents.errors import InvalidEditError
from agents.journal.events import Event, RunForked, RunSteered
from agents.loop.history import Turn, find_turn, is_final, last_seq_of_step, last_seq_of_turn
from agents.models import AgentVersion, RecalledMemory, Run
from agents.output import respond
from agents.reads.agents import definition_of, find_version
from agents.runs.graph_misfits import misfits_of
from agents.runs.history import RunHistory, load_history
from agents.runs.run_audit import record_of_run
from agents.runtime.toolset.offer import offered_tools
from heartbit_site.base.audit import NOBODY, Actor
from heartbit_site.base.errors import ConflictError, HeartbitError
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_json, clean_text
from tools.calls import call_parsing
from tools.calls.result import ToolResult
from tools.definitions.catalogue import catalogue


class ForkRefusedError(HeartbitError):
    """The fork would do nothing new; the message names the remedy."""


class MisfitError(ConflictError):
    """The journal of a workflow's run does not fit the other version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Differences from the source; an empty string or None changes nothing.

    Attributes:
        message: Text for the next model call.
        task: New text of the run's task.
        call: The call to edit, one of the turn's, as ``turn.index``.
        arguments: New arguments of that call, a JSON object: the turn's calls run again.
        result: New result of that call: no call runs again.
        version: Number of another version of the same agent.
        state: Values that replace those of keys of a workflow's state.
        whole: Keep the whole journal of a workflow's run that waits, beyond the last superstep.
    """

    message: str = ""
    task: str = ""
    call: str = ""
    arguments: str | None = None
    result: str | None = None
    version: int | None = None
    state: Mapping[str, Any] | None = None
    whole: bool = False

    def said(self) -> dict[str, Any]:
        """Return the edits that were made, for the journal."""
        names = ("task", "call", "arguments", "result", "message", "version", "state")
        return {n: value for n in names if (value := getattr(self, n)) not in ("", None)}


@dataclass(frozen=True, slots=True)
class _Plan:
    """End of the copied journal, its changed payloads, and the task unless the edits set it."""

    cut: int
    changed: dict[int, dict[str, Any]] = field(default_factory=dict)
    task: str = ""


NO_EDITS = Edits()


@transaction.atomic
def fork_run(
    source: Run,
    turn: int,
    *,
    edits: Edits = NO_EDITS,
    by: Actor = NOBODY,
    home: Placement = Placement.FLEET,
    idempotency_key: str | None = None,
) -> Admitted:
    """Start a run that continues from the end of a turn of another run, whatever state that is in.

    Args:
        source: The run to fork; it stays unchanged.
        turn: The last turn that is kept; 0: the task alone.
        edits: Differences from the source.
        by: The owner of the new run.
        home: Placement of the run: fleet or local.
        idempotency_key: Repeating the key in the same workspace returns the same run.

    Raises:
        TurnNotFoundError: The source has no such turn.
        TurnOpenError: A call of the turn has no result, and none is replaced.
        InvalidEditError: The edits contradict each other, or do not fit the call.
        VersionNotFoundError: The agent has no such version.
        MisfitError: The journal of a workflow's run does not fit the version.
        ForkRefusedError: The turn ended the source, and no edit adds anything.
        ForbiddenError: The source has recalled memories that the owner may not read.
        HeartbitError: As for ``admit``.
    """
    made = accept_fork(source, turn, edits=edits, by=by, home=home, idempotency_key=idempotency_key)
    if made.is_new:
        said = sorted(edits.said())
        record_of_run(by, "fork", source, run=str(made.run_id), turn=turn, edits=said)
    return made


def accept_fork(
    source: Run,
    turn: int,
    *,
    edits: Edits = NO_EDITS,
    by: Actor = NOBODY,
    home: Placement = Placement.FLEET,
    idempotency_key: str | None = None,
) -> Admitted:
    """Fork without an audit entry, which the caller writes."""
    require(by, "runs:write", workspace_id=source.workspace_id)
    edits = _cleaned(edits)
    version = find_version(source.version.agent, edits.version) if edits.version else None
    if turn:  # else nothing but the task is copied
        refuse_reader(source, by)
    past = load_history(source)
    plan = _plan(source, past, turn, edits, version or source.version)
    events: list[Event] = [RunForked(str(source.pk), plan.cut, turn, edits.said(), by.name)]
    if edits.message:
        events.append(RunSteered(edits.message, by.name))
    made = admit(
        RunRequest(
            source.workspace,
            edits.task or plan.task,
            fork=Fork(source, plan.cut, version, plan.changed, events),
            model="" if version else source.model,
            home=home,
            idempotency_key=idempotency_key,
            by=by,
        )
    )
    if made.is_new and turn:  # else the new run recalls for itself
        _copy_memories(source, made.run_id)
    return made


def _copy_memories(source: Run, forked: UUID) -> None:
    rows = list(RecalledMemory.objects.filter(run=source))
    for row in rows:
        row.pk, row.run_id = None, forked
    RecalledMemory.objects.bulk_create(rows)


def _cleaned(edits: Edits) -> Edits:
    """Return the edits as Postgres can store them; raise if they contradict each other."""
    given = [edits.arguments is not None, edits.result is not None]
    if all(given):
        raise InvalidEditError(
            "Give either arguments, so that the call runs again, or a result, so that it does not."
        )
    if any(given) != bool(edits.call):
        raise InvalidEditError(
            "Replaced arguments and results belong to a call: name it, such as 2.0, "
            "and say what it gets instead."
        )
    return Edits(
        message=clean_text(edits.message).strip(),
        task=clean_text(edits.task).strip(),
        call=edits.call,
        arguments=None if edits.arguments is None else clean_text(edits.arguments),
        result=None if edits.result is None else clean_text(edits.result),
        version=edits.version,
        state=edits.state and {key: clean_json(value) for key, value in edits.state.items()},
        whole=edits.whole,
    )


def _plan(source: Run, past: RunHistory, number: int, edits: Edits, version: AgentVersion) -> _Plan:
    if source.kind != RunKind.AGENT:
        return _once_more(source, past, number, edits, version)
    if edits.call:
        turn = find_turn(past.journal, number)
        if edits.call not in turn.call_ids:
            there = ", ".join(turn.call_ids) or "none"
            raise InvalidEditError(
                f"Turn {number} has no call {edits.call}; its calls are: {there}."
            )
        if edits.arguments is not None:
            return _other_arguments(source, past, turn, edits, version)
        last_seq_of_turn(past.journal, number)  # refuses an open turn
        return _other_result(past, turn, edits)
    if is_final(past.journal, number) and not edits.message:
        raise ForkRefusedError(
            f"Turn {number} ended the run: say something with a message, "
            f"or fork from turn {number - 1}."
        )
    return _Plan(last_seq_of_turn(past.journal, number))


def _once_more(
    source: Run, past: RunHistory, number: int, edits: Edits, version: AgentVersion
) -> _Plan:
    """Plan a run of another kind than an agent's, from a step of it or from its beginning.

    From the beginning it may take other input.
    """
    cut = len(past.journal) if edits.whole else last_seq_of_step(past.journal, number)
    if number and edits.version and source.kind == RunKind.WORKFLOW:
        misfits = misfits_of(past.journal[:cut], source.version, version)
        if misfits:
            raise MisfitError(" ".join((f"It does not fit v{version.number}.", *misfits)))
    is_call = source.kind == RunKind.TOOL_CALL
    is_step = number > 0 and source.kind == RunKind.WORKFLOW
    inputs = ("call", "arguments") if is_call else ("task",)
    said = {*edits.said()} - {"version", *(("state",) if is_step else () if number else inputs)}
    if said or edits.call not in ("", "0.0"):
        raise InvalidEditError(
            f"The run's kind is {source.kind}: a fork of it takes another version, or, from its "
            f"beginning, {'other arguments for its call 0.0' if is_call else 'another task'}"
            f"{', or, from a superstep, other values of its state' * (not is_call)}."
        )
    _check_state(edits.state or {}, version)
    if edits.arguments is None:
        return _Plan(cut)
    payload = past.payloads[1]
    name = payload["call"]["name"]
    _check_arguments(name, edits.arguments, version, source)
    call = {**payload["call"], "arguments": edits.arguments}
    return _Plan(1, {1: {**payload, "call": call}}, describe_call(name, edits.arguments))


def _check_state(values: Mapping[str, Any], version: AgentVersion) -> None:
    known = version.snapshot.get("state", {})
    for key in values:
        if key not in known:
            keys = ", ".join(known) or "none"
            raise InvalidEditError(
                f'The state of v{version.number} has no "{key}"; it has: {keys}.'
            )


def _check_arguments(name: str, arguments: str, version: AgentVersion, source: Run) -> None:
    known = catalogue(version.agent.workspace_id)
    offer = offered_tools(
        definition_of(version),
        known,
        is_child=source.is_sub_agent,
        has_parent=source.parent_id is not None,
    )
    found = call_parsing.read(offer.specs, name=name, arguments=arguments)
    if isinstance(found, ToolResult):
        raise InvalidEditError(" ".join(found.content.split()))


def _other_arguments(
    source: Run, past: RunHistory, turn: Turn, edits: Edits, version: AgentVersion
) -> _Plan:
    """Cut right after the model's answer: all its calls run again, one with other arguments."""
    index = turn.call_ids.index(edits.call)
    name = turn.answer.message.tool_calls[index].name
    if name != respond.NAME:
        _check_arguments(name, edits.arguments or "", version, source)
    payload = json.loads(json.dumps(past.payloads[turn.seq]))  # a copy down to its leaves
    payload["message"]["tool_calls"][index]["arguments"] = edits.arguments
    return _Plan(turn.seq, {turn.seq: payload})


def _other_result(past: RunHistory, turn: Turn, edits: Edits) -> _Plan:
    """Cut right after the turn's results: a summary written later contains the old result."""
    seq = turn.results[edits.call].seq
    payload = {**past.payloads[seq], "status": "ok", "content": edits.result, "artifact": ""}
    return _Plan(turn.closed_seq or seq, {seq: payload})
