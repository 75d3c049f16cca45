"""The runs that are recorded: agents, and what their runs are told to do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding
from tests.chaos.toolbox import agent_tools
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace

TOOLS = (
    *("calculate", "current_time", "store_item", "http_request"),
    *("blackboard_write", "blackboard_read", "blackboard_list"),
)
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
GOOD = '__respond__ {"city": "Bonn", "people": 330000}'
BAD = '__respond__ {"city": "Bonn", "people": "many"}'
SUM = 'calculate {"expression": "6*7"}'


@dataclass(frozen=True, slots=True)
class Cast:
    """An agent.

    Attributes:
        fields: Of its row, where they differ.
        team: Whom it may delegate to.
        rule: When its requests are asked for.
    """

    name: str
    fields: dict[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = TOOLS
    team: tuple[str, ...] = ()
    rule: dict[str, Any] | None = None


_SUMMARIZE = {"type": "summarize", "threshold": 400, "keep_recent": 1}
AGENTS = (
    Cast("solo"),
    Cast("careful", {"approval": "effects"}),
    Cast("wary", {"approval": "always"}),
    Cast("ruled", rule={"properties": {"method": {"const": "POST"}}, "required": ["method"]}),
    Cast("surveyor", {"response_schema": CITY}, ("calculate",)),
    Cast("boss", {"max_parallel": 3}, (), team=("solo", "surveyor", "careful")),
    Cast("weak", {"strong_model": "openai:strong"}, ("calculate",)),
    Cast("window", {"context_strategy": {"type": "sliding_window", "max_tokens": 200}}),
    Cast("last", {"context_strategy": {"type": "last_messages", "count": 3}}),
    Cast(
        "important",
        {"context_strategy": {"type": "important_recent", "max_tokens": 200, "recent": 1}},
    ),
    Cast("brief", {"context_strategy": _SUMMARIZE}),
    Cast("short", {"max_turns": 2}),
    Cast("poor", {"max_run_tokens": 900}),
    Cast("hasty", {"max_retries": 0, "retry_base_delay_ms": 1}),
    Cast("patient", {"max_retries": 2, "retry_base_delay_ms": 1}),
    Cast("second", {"max_retries": 0, "model": "ollama:none", "fallback_models": ["openai:b"]}),
    Cast("telling", {"uncertain_calls": "tell_model"}),
    Cast("trying", {"uncertain_calls": "retry"}),
)


def publish(workspace: Workspace) -> None:
    """Create and publish all of them."""
    registry.discover([agent_tools])
    for each in AGENTS:
        row = Agent(workspace=workspace, name=each.name, system_prompt="Be brief.")
        row.model = "openai:fake"
        for name, value in each.fields.items():
            setattr(row, name, value)
        row.save()
        rule = {"approval": "when", "approval_when": each.rule} if each.rule else {}
        ToolBinding.objects.bulk_create(
            ToolBinding(agent=row, tool=tool, **(rule if tool == "http_request" else {}))
            for tool in each.tools
        )
        row.team.set(Agent.objects.filter(workspace=workspace, name__in=each.team))
        publish_agent(row)


@dataclass(frozen=True, slots=True)
class Shape:
    """A run: its agent, its task, and what somebody does to it meanwhile."""

    name: str
    agent: str
    task: str
    then: str = ""


def shapes(effects_url: str) -> Iterator[Shape]:
    """All of them, each some times with other sizes."""
    for size in (1, 2, 3):
        yield from _plain(size)
        yield from _acting(size, effects_url)
        yield from _structured(size)
        yield from _failing(size)
        yield from _long(size)
        yield from _teams(size, effects_url)


def _calls(*rounds: str) -> str:
    first, *more = rounds
    return " ".join([f"[[calls: {first}]]", *(f"[[then: {each}]]" for each in more)])


def _plain(size: int) -> Iterator[Shape]:
    many = ", ".join([SUM] * size)
    yield Shape("text", "solo", f"Speak {size}. [[tokens: {20 * size}]]")
    yield Shape("thinking", "solo", f"[[thinking: Hm {size}.]] [[text: Thought.]]")
    yield Shape("silence", "solo", f"Be silent {size}. [[text: ]]")
    yield Shape("pure", "solo", _calls(*[SUM] * size))
    yield Shape("parallel", "solo", _calls(f"{many}, current_time {{}}", many))
    yield Shape("invalid", "solo", _calls('calculate {"nope": 1}', "no_such {}", SUM))
    yield Shape("escalated", "weak", _calls('calculate {"nope": 1}', "no_such {}", SUM))
    yield Shape("silent_twice", "weak", f"Say nothing {size}. [[text: ]]")
    yield Shape("too_many", "solo", _calls(", ".join([SUM] * (64 + size))))
    writes = ", ".join(
        f'blackboard_write {{"key": "k{n}", "value": "{size}"}}' for n in range(size)
    )
    yield Shape("transactional", "solo", _calls(writes, "blackboard_list {}", writes))
    slow = "[[latency: 250]]"
    for then in ("steer", "cancel", "steer+cancel"):
        yield Shape(then, "solo", f"{slow} {_calls(*[SUM] * (size + 1))}", then)
    for then in ("fork:message", "fork:result", "fork:arguments", "fork:task"):
        yield Shape(then, "solo", _calls(*[SUM] * (size + 1)), then)
    yield Shape("drained", "solo", f"[[latency: 700]] {_calls(*[SUM] * size)}", "drain")


def _acting(size: int, url: str) -> Iterator[Shape]:
    def store(name: str) -> str:
        return f"store_item {json.dumps({'op': f'{name}-{size}'})}"

    def send(name: str) -> str:
        body = {"method": "POST", "url": f"{url}/send", "json": {"op": f"{name}-{size}"}}
        return f"http_request {json.dumps(body)}"

    yield Shape("acting", "solo", _calls(*[f"{store('a')}, {send('b')}, {SUM}"] * size))
    for verdict in ("approved", "edited", "denied"):
        name = f"{verdict}:{size}"
        yield Shape(verdict, "careful", f"{name} {_calls(store('c'), send('d'))}")
        yield Shape(f"{verdict}_two", "careful", f"{name} {_calls(store('e') + ', ' + send('f'))}")
        yield Shape(f"{verdict}_pure", "wary", f"{name} {_calls(SUM + ', current_time {}')}")
        yield Shape(f"{verdict}_ruled", "ruled", f"{name} {_calls(send('g'), store('h'))}")
    yield Shape("approval_cancelled", "careful", _calls(store("i")), "cancel")
    for verdict in ("retried", "confirmed", "skipped"):
        yield Shape(f"uncertain_{verdict}", "solo", f"{verdict} {size} [[text: D.]]", "orphan")
    yield Shape("uncertain_told", "telling", f"{size} [[text: D.]]", "orphan")
    yield Shape("uncertain_tried", "trying", f"{size} [[text: D.]]", "orphan")


def _structured(size: int) -> Iterator[Shape]:
    yield Shape("structured", "surveyor", _calls(*[SUM] * size, GOOD))
    yield Shape("mended", "surveyor", _calls(*[BAD] * size, GOOD))
    yield Shape("beside", "surveyor", _calls(*[f"{SUM}, {BAD}"] * size, GOOD))
    words = '```json\n{"city": "Bonn", "people": 330000}\n```'
    yield Shape("words", "surveyor", f"Say it {size}. [[text: {words}]]")
    yield Shape("never", "surveyor", f"[[text: Bonn is nice, {size}.]]")


def _failing(size: int) -> Iterator[Shape]:
    yield Shape("passing", "patient", f"[[error: 503 times={min(size, 2)}]] [[run: p{size}]]")
    yield Shape("failed", "hasty", f"{size} [[error: 500]]")
    yield Shape("refused", "hasty", f"{size} [[error: 400]]")
    yield Shape("fallback", "second", _calls(*[SUM] * size))
    yield Shape("delayed", "patient", f"[[error: 429 retry_after=11 times=1]] [[run: d{size}]]")
    yield Shape("max_turns", "short", _calls(*[SUM] * (size + 2)))
    yield Shape("max_tokens", "poor", _calls(*[SUM] * (size + 6)))


def _long(size: int) -> Iterator[Shape]:
    said = "1" + "+1" * 200
    heavy = f'calculate {{"expression": "{said}"}}'
    for agent in ("window", "last", "important", "brief"):
        yield Shape(agent, agent, f"Go on. {_calls(*[heavy] * (size + 2))}")
        yield Shape(f"talk_{agent}", agent, f"[[tokens: {100 * size}]]", "talk")
    yield Shape("talk", "solo", _calls(SUM), "talk")
    yield Shape("talk_steered", "solo", f"[[latency: 200]] {_calls(SUM, SUM)}", "talk+steer")


def _teams(size: int, url: str) -> Iterator[Shape]:
    inner = [
        {"agent": "solo", "task": f"[[calls: {SUM}]] [[text: S{size}.]]"},
        {"agent": "surveyor", "task": f"[[calls: {GOOD}]]"},
        {"agent": "solo", "task": "[[error: 400]]"},
        {"agent": "solo", "task": "[[text: One too many.]]"},
    ]
    for count in (1, 2, 3, 4):
        tasks = ", ".join(map(json.dumps, inner[:count]))
        yield Shape(f"team_{count}", "boss", f"[[delegate: {tasks}]] [[text: Led {size}.]]")
    asks = {"agent": "careful", "task": f'approved [[calls: store_item {{"op": "t{size}"}}]]'}
    twice = f"[[delegate: {json.dumps(asks)}]] [[delegate: {json.dumps(inner[0])}]]"
    yield Shape("team_asks", "boss", f"{twice} [[text: {url and 'Led'}.]]")
