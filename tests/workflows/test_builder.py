"""The builder: the examples of the design, equal to TOML, and its refusals."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from agents.definitions.kinds import KINDS, part_of
from agents.definitions.snapshot import digest, settings_of, write
from agents.loop.workflow.state import WorkflowState
from agents.workflows.builder.discovery import discover
from agents.workflows.builder.state_keys import add
from agents.workflows.builder.steps import step, steps
from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor
from agents.workflows.executors.registry import ExecutorRegistry
from agents.workflows.records import Write
from agents.workflows.spec.graph import GraphSpec, read_graph
from agents.workflows.spec.workflow import WorkflowSpec
from agents.workflows.validation.validate import find_faults
from heartbit_site.base.errors import ConfigurationError
from tests.workflows.driver import Driver, result


class Draft(BaseModel):
    text: str
    score: float = 0


@executor(effect="pure", retry=2)
def grade(draft: Draft, context: Context) -> Draft:
    context.add("rounds", 1)
    return draft.model_copy(update={"score": len(draft.text) / 400})


@executor(effect="pure")
def improve(draft: Draft) -> Draft:
    return Draft(text=draft.text + " More detail.")


@executor(effect="idempotent")
async def publish(draft: Draft, context: Context) -> None:
    context.yield_output(draft.text)


def review() -> Workflow:
    return (
        Workflow("review", input=Draft)
        .state(rounds=add(0))
        .start(grade)
        .switch(
            grade,
            ("message.score >= 0.8", publish),
            ("state.rounds >= 5", "editor"),
            default=improve,
        )
        .edge(improve, grade)
        .ask("editor", "Publish it?", form={"type": "boolean"}, timeout="3d", on_timeout=False)
        .edge("editor", publish, when="message", message="{{ steps.grade.output }}")
        .end("editor", when="not message", output="rejected")
    )


REVIEW = """
name = "review"
start = "grade"
[state]
rounds = { merge = "add", initial = 0 }
[input]
type = "object"
required = ["text"]
properties = { text = { type = "string" }, score = { type = "number", default = 0 } }
[nodes]
grade = { function = "grade" }
publish = { function = "publish" }
editor = { ask = "Publish it?", form = { type = "boolean" }, timeout = "3d", on_timeout = false }
improve = { function = "improve" }
[[edges]]
from = "grade"
default = "improve"
cases = [
  { when = "message.score >= 0.8", to = "publish" },
  { when = "state.rounds >= 5", to = "editor" },
]
[[edges]]
from = "improve"
to = "grade"
[[edges]]
from = "editor"
to = "publish"
when = "message"
message = "{{ steps.grade.output }}"
[[edges]]
from = "editor"
when = "not message"
output = "rejected"
"""


def from_toml(text: str) -> WorkflowSpec:
    return WorkflowSpec.model_validate(tomllib.loads(text))


def hash_of(spec: WorkflowSpec) -> str:
    return digest(spec.graph.plain())


def test_python_toml_and_the_snapshot_are_one_graph() -> None:
    """Conformance case 26, without the form."""
    built, written = review().spec, from_toml(REVIEW)
    assert built.graph.plain() == written.graph.plain()
    assert hash_of(built) == hash_of(written)
    stored = read_graph({"format": 2, "kind": "workflow", **built.model_dump(mode="json")})
    assert digest(stored.plain()) == hash_of(built)


def test_the_review_of_the_design_plays() -> None:
    review().check()

    def graded(given: Any) -> Any:
        score = len(given.message["text"]) / 400
        return result({**given.message, "score": score}, writes=(Write("rounds", "add", 1),))

    def improved(given: Any) -> Any:
        return {"text": given.message["text"] + " More detail."}

    work = {
        "grade": graded,
        "improve": improved,
        "publish": lambda given: result(yields=(given.message["text"],)),
    }
    graph = review().spec.graph
    driver = Driver(graph, work, input={"text": "x" * 300})
    assert driver.play().output.endswith(" More detail.")
    driver = Driver(graph, work, input={"text": "short"})
    assert driver.play().ending is None
    assert driver.played.state.values == {"rounds": 5}
    assert driver.answer("editor", answer=False).output == "rejected"


REPORT = """
name = "report"
limits = { max_parallel = 4, timeout_seconds = 600 }
[steps.find]
agent = "researcher"
task = "Facts on {{ input.topic }}"
[steps.sales]
tool = "query_sales"
arguments = { week = "{{ input.week }}" }
on_error = "continue"
[steps.write]
agent = "writer"
needs = ["find", "sales"]
task = "{{ steps.find.output }}\\n{{ steps.sales.output }}"
"""


def test_steps_of_python_and_of_toml_are_one_graph() -> None:
    built = steps(
        "report",
        step("find", agent="researcher", task="Facts on {{ input.topic }}"),
        step(
            "sales",
            tool="query_sales",
            arguments={"week": "{{ input.week }}"},
            on_error="continue",
        ),
        step(
            "write",
            agent="writer",
            needs=["find", "sales"],
            task="{{ steps.find.output }}\n{{ steps.sales.output }}",
        ),
        max_parallel=4,
        timeout_seconds=600,
    )
    assert built.spec.graph.plain() == from_toml(REPORT).graph.plain()
    assert find_faults(built.spec.graph) == []
    work = {"find": lambda given: f"[{given.task}]", "write": lambda given: given.task}
    driver = Driver(built.spec.graph, work, input={"topic": "bees", "week": 7})
    assert driver.play().output == '[Facts on bees]\n{"topic": "bees", "week": 7}'


DIGEST = """
name = "digest"
[steps.sources]
agent = "researcher"
task = "Sources on {{ input.topic }}, as a list"
[steps.summary]
needs = ["sources"]
each = "steps.sources.output.urls"
max_parallel = 20
agent = "summariser"
task = "{{ item }}"
on_error = "continue"
[steps.approve]
needs = ["summary"]
ask = "Send it?"
group = "editors"
timeout = "2d"
[steps.send]
needs = ["approve"]
when = "steps.approve.output"
tool = "send_email"
arguments = { to = "{{ input.to }}", body = "{{ steps.summary.output }}" }
"""


@pytest.mark.parametrize(
    ("answer", "output"), [(True, {"to": "a@b.c", "body": ["1!", "2!"]}), (False, None)]
)
def test_the_digest_of_the_design_plays(answer: Any, output: Any) -> None:
    graph = from_toml(DIGEST).graph
    assert find_faults(graph) == []
    work = {
        "sources": lambda given: {"urls": ["1", "2"]},
        "summary": lambda given: f"{given.task}!",
        "send": lambda given: given.arguments,
    }
    driver = Driver(graph, work, input={"topic": "x", "to": "a@b.c"})
    assert driver.play().ending is None
    assert driver.answer("approve", answer).output == output


def test_a_list_is_handled_entry_by_entry() -> None:
    built = (
        Workflow("w")
        .agent("list")
        .agent("one", task="{{ item }}")
        .start("list")
        .for_each("list", "message.urls", "one", max_parallel=3)
        .fan_out("one", "a", "b", select="[0]")
        .agent("a")
        .tool("b")
        .fan_in(["a", "b"], "c")
        .pause("c", "5m")
        .limit(supersteps=9)
    )
    graph = built.spec.graph
    assert find_faults(graph) == []
    assert next(node for node in graph.nodes if node.name == "c").pause == 300
    driver = Driver(graph, {"list": lambda given: {"urls": [1, 2]}})
    driver.play()
    assert driver.answer("c", "rested").output == "rested"


REFUSED = [
    (
        lambda: Workflow("w").start(lambda message: message),
        "A lambda is no node of the workflow 'w': mark a function with @executor.",
    ),
    (
        lambda: Workflow("w").edge(grade, len),
        "The function 'len' is no node of the workflow 'w': mark a function with @executor.",
    ),
    (
        lambda: Workflow("w").edge(grade, improve, when=lambda message: True),  # type: ignore[arg-type]
        "is a function, which can be neither pinned nor drawn",
    ),
    (
        lambda: Workflow("w").switch(grade, (lambda message: True, improve)),  # type: ignore[arg-type]
        "a condition is a function, which can be neither pinned nor drawn",
    ),
    (
        lambda: Workflow("w").start("editor").spec,
        'nodes[0] is the node "editor", which needs one kind of work, not none',
    ),
    (
        lambda: Workflow("w").agent("a", task="x").agent("a", task="y"),
        "The node 'a' has task twice",
    ),
    (
        lambda: steps("w", step("a", agent="x"), step("a", agent="y")),
        "The workflow 'w' has two steps 'a': rename one of them.",
    ),
    (
        lambda: Workflow("w").agent("a", nonsense=1).spec,
        "The workflow 'w' is invalid: nodes[0].nonsense",
    ),
]


@pytest.mark.parametrize(("build", "sentence"), REFUSED)
def test_the_builder_refuses_with_a_sentence(build: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        build()
    assert sentence in str(raised.value)


def test_types_of_executors_are_checked() -> None:
    @executor
    def number() -> int:
        return 1

    with pytest.raises(ConfigurationError, match="the message is number, not object"):
        Workflow("w").start(number).edge(number, improve).check()


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"nodes": {"a": {}}}, 'is the node "a", which needs one kind of work, not none'),
        ({"nodes": {"a": {"agent": "x", "tool": "y"}}}, "not agent and tool"),
        ({"nodes": {"fail": {"agent": "x"}}}, 'is "fail", which on_error reserves'),
        ({"nodes": {"a": {"pause": "soon"}}}, 'is "soon"; write a number of seconds'),
        ({"nodes": {"a": {"agent": "x", "when": "message >"}}}, "cannot be read: invalid syntax"),
        ({"nodes": {"a": {"agent": "x", "task": "{{ message"}}}, "never closes it"),
        ({"nodes": {"a": {"agent": "x"}}, "edges": [{"from": "a"}]}, "needs one of to, cases"),
        (
            {"nodes": {"a": {"agent": "x"}}, "edges": [{"from": "a", "to": "a", "wait": "any"}]},
            "has wait; that belongs to a fan-in",
        ),
        ({"steps": {"a": {"agent": "x"}}, "nodes": {"a": {}}}, "has both steps and nodes"),
        ({"steps": {"a": {"agent": "x", "needs": 3}}}, "whose needs is no list of names"),
    ],
)
def test_invalid_settings_are_refused_with_a_sentence(settings: Any, part: str) -> None:
    with pytest.raises(ValidationError) as raised:
        WorkflowSpec.model_validate({"name": "w", **settings})
    assert part in str(raised.value)


def test_a_version_of_a_workflow_pins_its_graph() -> None:
    kind = KINDS["workflow"]
    spec = review().spec
    snapshot = write(spec, {}, ())
    assert json.loads(json.dumps(snapshot)) == snapshot
    assert digest(snapshot) == digest(write(from_toml(REVIEW), {}, ()))
    assert read_graph(snapshot) == spec.graph
    again = WorkflowSpec.model_validate({"name": "review", **settings_of(snapshot, WorkflowSpec)})
    assert again.graph == spec.graph
    assert kind.own == set(GraphSpec.model_fields)
    assert part_of("workflow", "state") is WorkflowState


def test_a_module_is_searched_for_executors_and_workflows() -> None:
    registry = ExecutorRegistry()
    one = review()
    assert discover([grade, one, one, "text"], registry) == [one]
    assert list(registry) == ["grade", "publish", "improve"]
    broken = Workflow("broken").start(grade).edge(grade, grade)
    [found] = discover([broken], registry)
    with pytest.raises(ConfigurationError, match="The workflow 'broken' cannot be used"):
        found.check()
