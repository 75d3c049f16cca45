"""What was approved is what runs (S4)."""

from __future__ import annotations

import json
import random
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import httpx

from agents.actions.decide_call import approve_call
from agents.definitions.definition import AgentDefinition, BoundTool
from agents.errors import CallClosedError
from agents.llm.messages import ToolCall as Asked
from agents.loop.ports import ApprovedCall, ReadyCall
from agents.models import Decision, ToolCall
from agents.runtime.rights.lookups import CallLookups
from agents.runtime.toolset.call_context import context_factory
from agents.runtime.toolset.offer import offered_tools
from agents.runtime.toolset.stopped_tools import StoppedTools, WorkspaceStoppedTools
from agents.runtime.toolset.toolbox import RunToolbox
from heartbit_site.base.audit import Actor
from heartbit_site.base.orm import OrmExecutor
from heartbit_site.base.toolspec import Effect, ToolSpec, spec_of
from tests.runs.serving import no_credentials, no_permissions, no_person, nothing_mixed
from tests.sizes import sized
from tests.web.waiting_calls import unserved
from tools.calls.approval import digest
from tools.calls.result import ToolResult
from tools.definitions.registry import Registry, definition_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace

MUTATIONS = sized(500, full=10_000)
FORGED = 100  # digests that are sent to the database, each in a transaction
ARGUMENTS: dict[str, Any] = {
    "to": "ann@example.org",
    "lines": ["one", "two", "three"],
    "amount": 100,
    "urgent": False,
    "note": "é\n<b>",
}
KINDS = ("value", "type", "order", "unicode", "newline", "name", "more", "fewer")
MORE_KINDS = ("tool", "run", "call")


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def mutated(chance: random.Random, kind: str) -> dict[str, Any]:
    """The arguments, changed in one way; never the same call again."""
    found: dict[str, Any] = json.loads(json.dumps(ARGUMENTS))
    match kind:
        case "value":
            found["amount"] = chance.choice([101, -100, 1000, 100_000_000])
        case "type":
            found["amount"] = chance.choice(["100", 100.0, True, None, [100]])
        case "order":
            chance.shuffle(found["lines"])
            if found["lines"] == ARGUMENTS["lines"]:
                found["lines"].reverse()
        case "unicode":
            found["note"] = chance.choice(
                [
                    unicodedata.normalize("NFD", found["note"]),
                    found["note"] + "\u200b",
                    "\u202e" + found["note"],
                    found["note"].replace("<", "\uff1c"),
                ]
            )
        case "newline":
            found["note"] = chance.choice(["é<b>", "é\r\n<b>", "é\\n<b>", "é\n<b>\n"])
        case "name":
            found[chance.choice(["To", "to ", "t\u043e"])] = found.pop("to")
        case "more":
            found[f"extra{chance.randrange(99)}"] = chance.choice([None, "", 0])
        case "fewer":
            del found[chance.choice(sorted(found))]
    assert _text(found) != _text(ARGUMENTS)
    return found


def sent(to: str, lines: list[str], amount: int, *, urgent: bool, note: str) -> str:
    """Send money."""
    raise AssertionError("it was run")


def boxed(spec: ToolSpec, *, run: UUID, pinned: str) -> RunToolbox:
    """The tools of a run: one, as it was published."""
    definition = AgentDefinition(
        version_id=1,
        agent_id=1,
        name="solo",
        system_prompt="p",
        model="",
        temperature=None,
        tools=(BoundTool(name=spec.name, pinned=pinned, approval="always"),),
        team=(),
        max_turns=1,
        max_tokens=1,
        timeout_seconds=1,
        tool_timeout_seconds=1,
        max_tool_output_bytes=1000,
        max_parallel=1,
        delegation_timeout_seconds=1,
    )

    async def nobody(name: str, pinned_hash: str) -> int | None:
        return None

    async def none_lost(key: str) -> str | None:
        return None

    http = httpx.AsyncClient(verify=False)  # noqa: S501  it is never used
    return RunToolbox(
        offered_tools(definition, Registry([spec]), is_child=True, has_parent=False),
        definition,
        approve=False,
        context=context_factory(workspace_id=1, run_id=run, root_id=run, agent="solo", http=http),
        executor=OrmExecutor(1, name="tool"),
        lookups=CallLookups(
            granted=nobody,
            lost=none_lost,
            credentials=no_credentials,
            permissions=no_permissions,
            person=no_person,
            mixed=nothing_mixed,
        ),
        stopped=WorkspaceStoppedTools(StoppedTools(), 1),
    )


async def test_given_an_approval_when_anything_differs_at_the_execution_then_nothing_runs(
    record_property: Callable[[str, object], None],
) -> None:
    chance = random.Random(4)  # noqa: S311
    spec = replace(spec_of(sent), effect=Effect.AT_MOST_ONCE)
    pinned, run = definition_hash(spec), uuid4()
    approved = ApprovedCall(digest(run, "1.0", definition_hash=pinned, arguments=ARGUMENTS), None)
    box = boxed(spec, run=run, pinned=pinned)
    exact = await box.prepare("1.0", Asked("c", spec.name, _text(ARGUMENTS)), approved)
    assert isinstance(exact, ReadyCall), "as it was shown it runs"

    other_spec = replace(spec, description="Send money, twice.")
    others = {
        "run": boxed(spec, run=uuid4(), pinned=pinned),
        "tool": boxed(other_spec, run=run, pinned=definition_hash(other_spec)),
        "call": box,
    }
    ran = 0
    for number in range(MUTATIONS):
        kind = (*KINDS, *MORE_KINDS)[number % (len(KINDS) + len(MORE_KINDS))]
        arguments = mutated(chance, kind) if kind in KINDS else ARGUMENTS
        call_id = "1.1" if kind == "call" else "1.0"
        call = Asked("c", spec.name, json.dumps(arguments))
        found = await others.get(kind, box).prepare(call_id, call, approved)
        # Text that plainly means the approved number is that number again, before it is compared.
        same = kind == "type" and arguments["amount"] == str(ARGUMENTS["amount"])
        if same and isinstance(found, ReadyCall):
            assert found.prepared.arguments == exact.prepared.arguments
        else:
            ran += not isinstance(found, ToolResult)
    record_property("cases", MUTATIONS)
    record_property("figure:mutations_executed", ran)
    assert ran == 0


def test_given_a_waiting_call_when_the_digest_of_another_call_is_decided_then_nothing_is(
    workspace: Workspace,
) -> None:
    chance = random.Random(5)  # noqa: S311
    call, other = unserved(workspace, arguments=ARGUMENTS), unserved(workspace, arguments=ARGUMENTS)
    own = digest(call.run_id, "1.0", definition_hash="a" * 64, arguments=ARGUMENTS)
    theirs = digest(other.run_id, "1.0", definition_hash="a" * 64, arguments=ARGUMENTS)
    ToolCall.objects.filter(pk=call.pk).update(digest=own)
    ToolCall.objects.filter(pk=other.pk).update(digest=theirs)
    by = Actor("ann", "api")
    refused = 0
    for number in range(FORGED):
        kind = KINDS[number % len(KINDS)]
        wrong = digest(
            call.run_id, "1.0", definition_hash="a" * 64, arguments=mutated(chance, kind)
        )
        try:
            approve_call(call, digest=chance.choice([wrong, theirs, own[:-1], own.upper()]), by=by)
        except CallClosedError:
            refused += 1
    assert refused == FORGED
    assert not Decision.objects.filter(run=call.run).exists()
    approve_call(call, digest=own, by=by)
    try:
        approve_call(call, digest=own, by=by)  # a replay
    except CallClosedError:
        refused += 1
    assert refused == FORGED + 1
    assert Decision.objects.filter(run=call.run).count() == 1
