"""Steps build a new builder each, and refuse at once, in one sentence, what they cannot use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library import Heartbit, bind, tool

H = Heartbit()
Step = Callable[[], Any]


@tool(effect="pure")
def lookup(city: str) -> str:
    """Look a city up."""
    return city


def silent(city: str) -> str:
    return city


def test_a_step_leaves_the_builder_as_it_was() -> None:
    first = H.agent("one", "Work.")
    second = first.agent("two", "Work too.").context({"type": "unlimited"})
    assert [member.table["name"] for member in first.team.members] == ["one"]
    assert [member.table["name"] for member in second.team.members] == ["one", "two"]
    assert first.team.every == {}
    assert H.team.members == ()


def test_every_option_of_an_agent_is_taken() -> None:
    builder = H.agent(
        "writer",
        "Write.",
        description="Writes.",
        tools=[lookup, "http_get", bind("http_request", approval="always", defaults={"a": 1})],
        model="openai:gpt-6-sol",
        fallback_models=("anthropic:claude-sonnet-5-5",),
        temperature=0.5,
        max_tokens=100,
        stop=("END",),
        reasoning_effort="low",
        max_turns=3,
        timeout_seconds=60,
        approval="effects",
        context_strategy={"type": "sliding_window", "max_tokens": 50_000},
        queue="slow",
    )
    (member,) = builder.team.members
    assert [given.name for given in member.tools] == ["lookup", "http_get", "http_request"]


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (
            lambda: H.agent("writer", "Write.", max_turn=3),
            "Agent 'writer': max_turn is not a setting; did you mean max_turns?",
        ),
        (
            lambda: H.agent("writer", "Write.", max_turns=0),
            "Agent 'writer': max_turns must be at least 1, not 0.",
        ),
        (
            lambda: H.agent("writer", "Write.", max_turns="3"),
            "Agent 'writer': max_turns must be a whole number, not \"3\".",
        ),
        (
            lambda: H.orchestrator("Lead.", max_paralel=3),
            "Agent 'orchestrator': max_paralel is not a setting; did you mean max_parallel?",
        ),
        (lambda: H.agent("A B", "Write."), "Agent 'A B': name is \"A B\"; use lower-case"),
        (lambda: H.agent("writer", ""), "Agent 'writer': system_prompt must not be empty."),
        (
            lambda: H.agent("a", "A.").agent("a", "B."),
            "Agent 'a' already exists: give each its own name.",
        ),
        (
            lambda: H.orchestrator("Lead.", team=["a"]),
            "Agent 'orchestrator': team is not accepted here; the orchestrator's team is every "
            "agent.",
        ),
        (
            lambda: H.provider("anthropc:claude"),
            '"anthropc"; did you mean anthropic?',
        ),
        (
            lambda: H.provider("compatible"),
            "The provider: model is missing: compatible has no default model.",
        ),
        (
            lambda: H.context({"type": "sliding"}),
            "sliding_window",
        ),
        (lambda: H.response_schema({"type": "objekt"}), "JSON Schema"),
        (lambda: H.response_schema(5), "not a int"),  # type: ignore[arg-type]
        (
            lambda: H.response_schema(int),  # type: ignore[arg-type]
            "int is not a response schema: give a JSON Schema or a pydantic model.",
        ),
        (
            lambda: H.agent("a", "A.", tools=lookup),  # type: ignore[arg-type]
            "tools is a list: write tools=[...].",
        ),
        (
            lambda: H.agent("a", "A.", tools=[3]),  # type: ignore[list-item]
            "3 is not a tool: give a function",
        ),
        (
            lambda: H.agent("a", "A.", tools=[dict]),
            "is not a tool: mark its class with @tool.",
        ),
        (
            lambda: H.agent("a", "A.", tools=[silent]),
            "Tool 'silent' has no description: give it a docstring.",
        ),
        (
            lambda: bind(lookup, approval="sometimes"),
            'Tool \'lookup\': approval must be "", "never", "always" or "when"',
        ),
        (
            lambda: bind(lookup, approval_when={"type": "nonsense"}),
            "Tool 'lookup': approval_when cannot be used",
        ),
        (
            lambda: H.on_approval(None),  # type: ignore[arg-type]
            "on_approval needs a function, not None.",
        ),
        (
            lambda: H.on_approval(print, calls="some"),  # type: ignore[arg-type]
            'calls is \'some\': use "effects", "always" or "never".',
        ),
        (
            lambda: H.on_text("x"),  # type: ignore[arg-type]
            "on_text needs a function, not 'x'.",
        ),
        (
            lambda: H.blackboard({"": 1}),
            "The blackboard's entry '' needs a name of 1 to 200 characters.",
        ),
        (
            lambda: H.blackboard({"a": float("nan")}),
            "The blackboard's entry 'a' holds a value that JSON cannot represent",
        ),
        (
            lambda: H.conversation(id="thread"),
            "'thread' is not the id of a conversation.",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_at_its_step(step: Step, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        step()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_run_refuses_to_block_a_loop() -> None:
    with pytest.raises(ConfigurationError, match=r"write `await \.\.\.arun\(\.\.\.\)`"):
        H.run("Hello.")
    with pytest.raises(ConfigurationError, match=r"write `await \.\.\.asay\(\.\.\.\)`"):
        H.conversation().say("Hello.")


def test_importing_it_sets_nothing_up() -> None:
    script = (
        "import sys; from heartbit_site.library import Heartbit; "
        "Heartbit().agent('a', 'A.').provider('openai'); "
        "assert not {'agents.models', 'heartbit_site.settings', 'celery'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_settings_that_are_not_heartbits_are_refused() -> None:
    script = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'django.conf.global_settings'; "
        "from heartbit_site.library import Heartbit; Heartbit().run('Hello.')"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "not Heartbit's settings: unset it (pytest takes" in ended.stderr
