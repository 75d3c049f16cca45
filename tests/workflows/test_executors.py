"""Executors: their types, their context, their interface hash and their registry."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from agents.workflows.executors.context import AskedPersonError, Context
from agents.workflows.executors.executor import Executor, executor, executor_of
from agents.workflows.executors.recording import RecordingContext
from agents.workflows.executors.registry import ExecutorRegistry, UnknownExecutorError
from agents.workflows.records import NodeError, Sent, Write
from agents.workflows.spec.graph import StateKeySpec
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import Effect

KEYS = {
    "n": StateKeySpec(merge="add"),
    "title": StateKeySpec(),
    "log": StateKeySpec(merge="append"),
}


class Draft(BaseModel):
    text: str
    tags: list[str] = []


def found(marked: object) -> Executor:
    one = executor_of(marked)
    assert one is not None
    return one


def context(**options: Any) -> RecordingContext:
    values = {"n": 3, "log": [1]}
    return RecordingContext(
        *("1.0", "grade"),
        idempotency_key="run:1.0",
        http=httpx.AsyncClient(),
        keys=KEYS,
        values=values,
        **options,
    )


def test_a_function_has_types_and_an_effect() -> None:
    @executor(effect="pure", retry=2, version="2")
    def grade(draft: Draft, context: Context) -> Draft | None:
        return draft if context.attempt else None

    one = found(grade)
    assert (one.name, one.effect, one.retry.times, one.version) == ("grade", Effect.PURE, 2, "2")
    assert one.input_schema is not None
    assert one.input_schema["required"] == ["text"]
    assert one.output_schema is not None
    assert one.output_schema["anyOf"][1] == {"type": "null"}
    arguments = one.run.arguments({"text": "x"}, context())
    assert arguments["draft"] == Draft(text="x")
    assert one.run.result(Draft(text="x")) == {"text": "x", "tags": []}


def test_an_undeclared_effect_is_at_most_once() -> None:
    @executor
    def act(message: dict[str, Any]) -> None: ...

    assert found(act).effect == Effect.AT_MOST_ONCE
    assert found(act).output_schema is None


def test_a_class_may_handle_answers() -> None:
    @executor(effect="idempotent")
    class PublishDraft:
        def run(self, draft: Draft, context: Context) -> str:
            context.ask("Publish?", form={"type": "boolean"}, state={"text": draft.text})

        async def reply(self, answer: str, context: Context) -> str:
            return f"{answer} {context.question_state['text']}"

    one = found(PublishDraft)
    assert one.name == "publish_draft"
    recorded = context()
    with pytest.raises(AskedPersonError):
        one.run.target(**one.run.arguments({"text": "x"}, recorded))
    asked = recorded.finished("left out").asked
    assert asked is not None
    assert (asked.text, asked.state) == ("Publish?", {"text": "x"})
    assert recorded.finished("left out").output is None
    assert one.reply is not None
    assert one.reply.is_async


def test_a_context_records_what_a_function_does() -> None:
    error = NodeError("ValueError", "no")
    events: list[str] = []
    recorded = context(previous_errors=(error,), emit=events.append)
    recorded.add("n", 1)
    recorded.set("title", Draft(text="x"))
    recorded.add("log", "entry")
    recorded.send_message(Draft(text="y"), target="b")
    recorded.yield_output(5)
    recorded.add_event("half")
    result = recorded.finished("out", duration_ms=7)
    assert result.writes == (
        Write("n", "add", 1),
        Write("title", "set", {"text": "x", "tags": []}),
        Write("log", "append", "entry"),
    )
    assert result.sends == (Sent({"text": "y", "tags": []}, target="b"),)
    assert (result.yields, result.output, result.attempt) == ((5,), "out", 2)
    assert events == ["half"]


def test_the_state_is_read_as_a_copy_of_the_last_commit() -> None:
    recorded = context()
    recorded.add("log", 2)
    recorded.get("log").append(3)
    assert recorded.get("log") == [1]
    with pytest.raises(ConfigurationError, match='no key "lgo": declare it in state; did you mean'):
        recorded.get("lgo")
    with pytest.raises(ConfigurationError, match="is merged by add: write it with add"):
        recorded.set("n", 1)
    with pytest.raises(ConfigurationError, match="is merged by set: write it with set"):
        recorded.add("title", 1)


def test_a_message_is_not_shared_with_the_function() -> None:
    @executor
    def change(message: dict[str, Any]) -> None: ...

    message = {"deep": [1]}
    found(change).run.arguments(message, context())["message"]["deep"].append(2)
    assert message == {"deep": [1]}


def test_a_message_or_a_result_that_does_not_fit_is_named() -> None:
    @executor
    def grade(draft: Draft) -> int:
        return len(draft.text)

    one = found(grade).run
    with pytest.raises(ValueError, match="The message of 'grade' does not fit: text: Field"):
        one.arguments({}, context())
    with pytest.raises(ValueError, match="Expected `int`"):
        one.result("text")


def test_the_interface_hash_changes_with_what_versions_pin_alone() -> None:
    def build(**options: Any) -> str:
        def grade(draft: Draft) -> int:
            return len(draft.text)

        return found(executor(**options)(grade)).interface_hash

    assert build() == build(retry=3)
    assert len({build(), build(version="2"), build(effect="pure"), build(name="other")}) == 4


def _bare(message):  # type: ignore[no-untyped-def]
    return message


def _two(one: int, other: int) -> None: ...


def _starred(*messages: int) -> None: ...


class _NeedsArguments:
    def __init__(self, size: int) -> None: ...


class _Idle: ...


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (_bare, {}, "has the parameter 'message' without a type: annotate it"),
    (_two, {}, r"takes several messages \(one, other\): a message is one object"),
    (_starred, {}, "'messages', which cannot be given by name"),
    (len, {"effect": "free"}, "has the effect 'free': write one of pure, idempotent"),
    (lambda: None, {}, "A lambda is no executor"),
    (_NeedsArguments, {}, "the constructor of _NeedsArguments has to work without arguments"),
    (_Idle, {}, "does nothing: give _Idle a method run"),
]


@pytest.mark.parametrize(("marked", "options", "sentence"), REFUSED)
def test_what_is_no_executor_is_refused(marked: Any, options: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        executor(**options)(marked)


def test_a_registry_finds_executors_by_name_and_interface() -> None:
    @executor
    def grade(draft: Draft) -> int:
        return len(draft.text)

    registry = ExecutorRegistry()
    assert registry.add_all([grade, grade, 3, "grade"]) == 1
    one = registry.find("grade", pinned=found(grade).interface_hash)
    assert one is found(grade)
    with pytest.raises(UnknownExecutorError, match="has another interface than"):
        registry.find("grade", pinned="0" * 64)
    with pytest.raises(UnknownExecutorError, match="'grad' is unknown to this process; did you"):
        registry.find("grad")

    @executor(name="grade")
    def other(draft: Draft) -> int:
        return 0

    with pytest.raises(ConfigurationError, match="Two executors are named 'grade'"):
        registry.add(found(other))
