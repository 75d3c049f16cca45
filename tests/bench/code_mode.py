"""CODE: tokens that a task sends to the model, by plain calls and from a script.

The same three tasks, over catalogues of 10, 100 and 1,000 tools. Each conversation is played as a
model that makes no mistake would have it: the scripts run in the real interpreter, and the requests
are those of the loop. Tokens are estimated, as for budgets: four characters each.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agents.definitions.definition import AgentDefinition
from agents.llm.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from agents.llm.messages import ToolDefinition as Definition
from agents.llm.wrappers.estimate import tokens_of
from agents.loop.agent_state import AgentState
from agents.loop.request import build_request
from agents.loop.script_tools import FIND, RUN, functions_of, script_tools
from heartbit_site.base.toolspec import Effect, ToolSpec
from tests.bench.figures import Figure, Row
from tests.bench.said import say
from tools.scripts.interpreter import ScriptInterpreter
from tools.scripts.steps import CallResult, EndedScript, Round

if TYPE_CHECKING:
    from agents.llm.messages import Message
    from tests.bench.plan import Plan

SIZES: Final = (10, 100, 1_000)
#: Share of the tokens of plain calls, over the three tasks, at most; None: only shown.
SHARES: Final = {10: None, 100: 0.5, 1_000: 0.1}
_NOUNS: Final = (
    *("order", "invoice", "customer", "parcel", "product", "contract", "ticket", "supplier"),
    *("payment", "refund", "subscription", "warehouse", "shipment", "employee", "meeting"),
    *("project", "campaign", "lead", "report", "vehicle"),
)
_VERBS: Final = (
    *("get", "list", "create", "update", "archive", "restore", "approve", "export", "count"),
    *("tag", "assign", "comment", "duplicate", "merge", "validate", "watch", "share", "price"),
    *("schedule", "cancel", "rate", "translate", "print", "scan", "measure", "audit", "sign"),
    *("split", "lock", "unlock", "search", "publish", "notify", "import", "verify", "enrich"),
    *("forecast", "summarise", "label", "route", "close", "reopen", "escalate", "log", "sync"),
    *("quote", "reserve", "release", "transfer", "convert"),
)


_CLERK: Final = AgentDefinition(
    version_id=1, agent_id=1, name="clerk", system_prompt="You are a clerk."
)


@dataclass(frozen=True, slots=True)
class Task:
    """A task: what is asked, the calls of each turn, and the script that makes the same ones."""

    name: str
    text: str
    turns: tuple[tuple[tuple[str, dict[str, Any]], ...], ...]
    query: str
    script: str


def _get(number: int) -> tuple[str, dict[str, Any]]:
    return "get_order", {"order": f"A-{number}"}


TASKS: Final = (
    Task(
        "one call",
        "Which state is order A-1 in?",
        ((_get(1),),),
        "get order",
        'await get_order("A-1")',
    ),
    Task(
        "20 calls together",
        "Add up the weights of orders A-1 to A-20.",
        (tuple(_get(number) for number in range(1, 21)),),
        "get order",
        "import asyncio\n"
        'found = await asyncio.gather(*[get_order(f"A-{n}") for n in range(1, 21)])\n'
        'sum(one["weight_grams"] for one in found)',
    ),
    Task(
        "5 calls in a row",
        "Follow order A-1 to the last of its successors, and name it.",
        tuple((_get(number),) for number in range(1, 6)),
        "get order",
        'name = "A-1"\nfor _ in range(5):\n    name = (await get_order(name))["successor"]\nname',
    ),
)


def measure(plan: Plan) -> list[Row]:
    """One row for each size of catalogue; the table is said."""
    say("CODE: tokens by plain calls and from scripts")
    return asyncio.run(_rows())


async def _rows() -> list[Row]:
    interpreter = ScriptInterpreter()
    try:
        return [await _row(size, interpreter) for size in SIZES]
    finally:
        await interpreter.aclose()


async def _row(size: int, interpreter: ScriptInterpreter) -> Row:
    specs = catalogue(size)
    figures, plain_sum, script_sum = [], 0, 0
    for task in TASKS:
        plain = _sent(specs, _plain(task))
        scripted = _sent(script_tools(specs), await _scripted(task, specs, interpreter))
        plain_sum, script_sum = plain_sum + plain, script_sum + scripted
        figures += [
            Figure(f"{task.name}, plain", plain, "tokens"),
            Figure(f"{task.name}, script", scripted, "tokens"),
        ]
        say(f"{size:5} tools, {task.name:18} {plain:8,} plain {scripted:6,} script")
    share = Figure("script / plain", script_sum / plain_sum, "", SHARES[size])
    return Row("CODE", f"{size} tools", (*figures, share))


def catalogue(size: int) -> dict[str, ToolSpec]:
    """So many different tools, ``get_order`` the first of them."""
    names = [(verb, noun) for verb in _VERBS for noun in _NOUNS][:size]
    specs = (_spec(verb, noun) for verb, noun in names)
    return {spec.name: spec for spec in specs}


def _spec(verb: str, noun: str) -> ToolSpec:
    text = {"type": "string"}
    return ToolSpec(
        name=f"{verb}_{noun}",
        description=f"{verb.capitalize()} one {noun} of the workspace, by its name.",
        parameters={
            "type": "object",
            "properties": {
                noun: {**text, "description": f"Name of the {noun}, such as A-1."},
                "fields": {
                    "type": "array",
                    "items": text,
                    "description": "Fields to return; all if left out.",
                    "default": None,
                },
                "as_of": {**text, "description": "Day in ISO 8601.", "default": ""},
            },
            "required": [noun],
            "additionalProperties": False,
        },
        function=_order,
        effect=Effect.PURE,
    )


def _order(**arguments: Any) -> dict[str, Any]:
    """Return an order as a service does."""
    name = str(arguments["order"])
    number = int(name.removeprefix("A-"))
    return {
        "name": name,
        "state": "shipped",
        "weight_grams": 100 + number,
        "successor": f"A-{number + 1}",
        "customer": {"name": f"Customer {number}", "city": "Lyon", "country": "FR"},
        "lines": [{"product": f"P-{number}-{line}", "pieces": line + 1} for line in range(3)],
    }


def _result(arguments: dict[str, Any]) -> str:
    return json.dumps(_order(**arguments), separators=(",", ":"))


def _plain(task: Task) -> list[Message]:
    messages: list[Message] = [UserMessage(task.text)]
    for turn, calls in enumerate(task.turns, 1):
        asked = tuple(
            ToolCall(f"{turn}.{number}", name, json.dumps(arguments))
            for number, (name, arguments) in enumerate(calls)
        )
        messages.append(AssistantMessage(tool_calls=asked))
        messages += [
            ToolMessage(one.id, name, _result(arguments))
            for one, (name, arguments) in zip(asked, calls, strict=True)
        ]
    return messages


async def _scripted(
    task: Task, specs: dict[str, ToolSpec], interpreter: ScriptInterpreter
) -> list[Message]:
    messages: list[Message] = [UserMessage(task.text)]
    finder = script_tools(specs).get(FIND)
    if finder is not None:
        found = await finder.function(query=task.query)
        if "async def get_order(" not in found:
            raise AssertionError(f"{task.query!r} did not find the tool")
        call = ToolCall("1.0", FIND, json.dumps({"query": task.query}))
        messages += [AssistantMessage(tool_calls=(call,)), ToolMessage("1.0", FIND, found)]
    rounds: list[Round] = []
    while True:
        step = await interpreter.advance(task.script, functions_of(specs), rounds)
        if isinstance(step, EndedScript):
            break
        results = (CallResult("ok", _result(json.loads(one.arguments))) for one in step.calls)
        rounds.append(Round(step.calls, tuple(results), step.snapshot))
    if step.status != "ok" or sum(len(one.calls) for one in rounds) != sum(map(len, task.turns)):
        raise AssertionError(f"the script of {task.name!r} did something else: {step.text}")
    call = ToolCall("2.0", RUN, json.dumps({"script": task.script}))
    return [*messages, AssistantMessage(tool_calls=(call,)), ToolMessage("2.0", RUN, step.text)]


def _sent(specs: dict[str, ToolSpec], messages: list[Message]) -> int:
    """Return the tokens of all requests of a conversation: one before each answer, and the last."""
    tools = tuple(
        Definition(spec.name, spec.description, dict(spec.parameters)) for spec in specs.values()
    )
    ends = [n for n, one in enumerate(messages) if isinstance(one, AssistantMessage)]
    return sum(
        tokens_of(build_request(_state(messages[:end]), _CLERK, tools=tools))
        for end in (*ends, len(messages))
    )


def _state(messages: list[Message]) -> AgentState:
    return AgentState(conversation=list(messages))
