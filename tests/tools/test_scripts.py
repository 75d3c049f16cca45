"""Tools as functions of scripts, and the interpreter alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from heartbit_site.base.toolspec import Effect, Origin, ToolSpec, spec_of
from tools.scripts.functions import FunctionIndex, script_functions
from tools.scripts.interpreter import MAX_TOGETHER, ScriptInterpreter
from tools.scripts.steps import CallResult, EndedScript, PausedScript, Round
from tools.scripts.types import python_type, shape

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Line(BaseModel):
    product: str
    pieces: int = 1


def order(
    customer: Annotated[str, Field(description="Its name.")],
    lines: list[Line],
    speed: Literal["slow", "fast"] = "slow",
    note: str | None = None,
) -> dict[str, Any]:
    """Order products."""
    return {}


def print_(text: str) -> str:
    """Print a text."""
    return text


SPECS = {
    spec.name: spec
    for spec in (
        spec_of(order, effect=Effect.PURE),
        spec_of(print_, name="print", effect=Effect.PURE),
    )
}
FUNCTIONS = script_functions(SPECS)


@pytest.fixture
async def interpreter() -> AsyncIterator[ScriptInterpreter]:
    found = ScriptInterpreter()
    yield found
    await found.aclose()


def test_a_tool_is_a_typed_function() -> None:
    assert FUNCTIONS["order"].listing == (
        "async def order(customer: str, lines: list[dict[str, Any]], "
        "speed: Literal['slow', 'fast'] = 'slow', note: str | None = None) -> Any\n"
        "    Order products.\n"
        "    customer: Its name\n"
        "    lines: [{'product': str, 'pieces'?: int}]"
    )
    assert FUNCTIONS["print_"].signature == "async def print_(text: str) -> str"


def test_names_that_python_has_no_place_for_are_changed_and_changed_back() -> None:
    schema = {
        "type": "object",
        "properties": {"from": {"type": "string"}, "user-id": {}, "user_id": {}, "2nd": {}},
        "required": ["user_id"],
    }
    spec = ToolSpec("class", "Classify.", schema, order)
    [function] = script_functions({"class": spec}).values()
    assert list(function.parameters) == ["user_id", "from_", "user_id_", "_2nd"]
    named = {"from_": "a", "_2nd": 2}
    assert function.name == "class_"
    assert json.loads(function.arguments((1,), named)) == {"user_id": 1, "from": "a", "2nd": 2}


def test_a_default_is_shown_if_it_is_short_and_plain() -> None:
    properties: dict[str, Any] = {
        "short": {"type": "string", "default": "x" * 38},
        "long": {"type": "string", "default": "x" * 39},
        "list": {"type": "array", "default": []},
        "off": {"type": "boolean", "default": False},
        "any": True,
    }
    spec = ToolSpec("find", "Find.", {"type": "object", "properties": properties}, order)
    [function] = script_functions({"find": spec}).values()
    assert [part.rpartition(" = ")[2] for part in function.signature[15:-8].split(", ")] == [
        *(repr("x" * 38), "...", "...", "False", "..."),
    ]


def test_a_required_name_that_no_property_has_is_no_parameter() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "required": ["b", "a"]}
    [function] = script_functions({"": ToolSpec("", "Do.", schema, order)}).values()
    assert (function.name, list(function.parameters)) == ("_", ["a"])


def nested(depth: int) -> dict[str, Any]:
    """The schema of an object in objects."""
    inner = nested(depth - 1) if depth > 1 else {"type": "integer"}
    return {"type": "object", "properties": {"n": inner}}


DEEP: dict[str, Any] = {"type": "integer"}
for _ in range(4):
    DEEP = {"type": "array", "items": DEEP}


@pytest.mark.parametrize(
    ("schema", "kind", "keys"),
    [
        (DEEP, "list[list[list[list[int]]]]", ""),
        ({"type": "array", "items": DEEP}, "list[list[list[list[list[Any]]]]]", ""),
        (nested(4), "dict[str, Any]", "{'n'?: {'n'?: {'n'?: {'n'?: int}}}}"),
        (nested(6), "dict[str, Any]", "{'n'?: {'n'?: {'n'?: {'n'?: {'n'?: Any}}}}}"),
        ({"const": 1}, "Literal[1]", ""),
        ({"enum": [0.5], "type": "number"}, "float", ""),
        ({"enum": [*range(20)]}, f"Literal[{', '.join(map(str, range(20)))}]", ""),
        ({"enum": [*range(21)], "type": "integer"}, "int", ""),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "str | None", ""),
        ({"anyOf": [{"type": "string"}, {}]}, "Any", ""),
        ({"type": ["boolean", "null"]}, "bool | None", ""),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "dict[str, float]", ""),
        ({"$ref": "#/$defs/at"}, "dict[str, Any]", "{'x': int}"),
        (
            {**nested(1), "additionalProperties": {"type": "string"}},
            "dict[str, Any]",
            "{'n'?: int}",
        ),
        ({"type": "object", "additionalProperties": True}, "dict[str, Any]", ""),
        ({"$ref": "#/$defs/none"}, "Any", ""),
        (
            {"type": "array", "items": {"$ref": "#/$defs/at"}},
            "list[dict[str, Any]]",
            "[{'x': int}]",
        ),
        ({"anyOf": [{"$ref": "#/$defs/at"}] * 2}, "dict[str, Any]", "{'x': int}"),
    ],
)
def test_a_schema_is_the_nearest_type_of_python(schema: Any, kind: str, keys: str) -> None:
    at = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    root = {"$defs": {"at": at}}
    assert (python_type(schema, root), shape(schema, root)) == (kind, keys)


@pytest.mark.parametrize(
    ("positional", "named", "says"),
    [
        (("a", [], "slow", None, 5), {}, "takes 4"),
        (("a",), {"customer": "b"}, "twice"),
        ((), {"who": "b"}, "no parameter 'who'"),
        ((object(),), {}, "JSON"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_called(
    positional: tuple[Any, ...], named: dict[str, Any], says: str
) -> None:
    with pytest.raises(TypeError, match=says):
        FUNCTIONS["order"].arguments(positional, named)


def test_a_result_is_its_json_value_unless_the_tool_returns_text() -> None:
    assert FUNCTIONS["order"].value('{"a": 1}') == {"a": 1}
    assert FUNCTIONS["order"].value("{cut") == "{cut"
    assert FUNCTIONS["print_"].value("1") == "1"
    served = replace(SPECS["print"], origin=Origin.MCP)
    assert script_functions({"print": served})["print_"].value("[1]") == [1]


def test_functions_are_found_by_rare_words_and_by_their_names() -> None:
    index = FunctionIndex(FUNCTIONS.values())
    assert [one.name for one in index.find("prints texts", 5)] == ["print_"]
    assert [one.name for one in index.find("order a product", 1)] == ["order"]
    assert index.find("weather", 5) == []
    for name, query, fits in (("bus", "bu", False), ("gas", "gas", True), ("buses", "buse", True)):
        spec = ToolSpec(name, "", {}, print_)
        found = FunctionIndex(script_functions({name: spec}).values()).find(query, 5)
        assert bool(found) == fits, name


@dataclass
class Play:
    """A script played to its end, from every snapshot or from none."""

    interpreter: ScriptInterpreter
    keeps: bool = True

    async def play(self, script: str) -> tuple[EndedScript, list[Round], str]:
        rounds: list[Round] = []
        printed = ""
        while True:
            step = await self.interpreter.advance(script, FUNCTIONS, rounds)
            printed += step.printed
            if isinstance(step, EndedScript):
                return step, rounds, printed
            results = tuple(CallResult("ok", one.arguments) for one in step.calls)
            rounds.append(Round(step.calls, results, step.snapshot if self.keeps else ""))


LONG = """
import asyncio, random
print("begin")
later = print_("later")
texts = []
for n in range(3):
    texts += await asyncio.gather(print_(f"{n}"), print_(f"{random.random()}"))
    print(n)
texts.append(await later)
len(texts)
"""


@pytest.mark.parametrize("keeps", [True, False])
async def test_with_snapshots_or_without_a_script_makes_the_same_calls(
    interpreter: ScriptInterpreter, *, keeps: bool
) -> None:
    ended, rounds, printed = await Play(interpreter, keeps).play(LONG)
    again, others, _ = await Play(interpreter).play(LONG)
    assert [one.calls for one in rounds] == [one.calls for one in others]
    assert (ended.status, ended.text, printed) == ("ok", again.text, "begin\n0\n1\n2\n")
    assert [len(one.calls) for one in rounds] == [3, 2, 2]


async def test_a_script_that_would_make_other_calls_is_not_continued(
    interpreter: ScriptInterpreter,
) -> None:
    script = "await print_('a')\nawait print_('b')"
    step = await interpreter.advance(script, FUNCTIONS, [])
    assert isinstance(step, PausedScript)
    before = [Round(step.calls, (CallResult("ok", "a"),))]
    ended = await interpreter.advance(script.replace("'a'", "'c'"), FUNCTIONS, before)
    assert isinstance(ended, EndedScript)
    assert (ended.status, "other calls" in ended.text) == ("error", True)


async def test_no_more_calls_wait_at_once_than_are_served(interpreter: ScriptInterpreter) -> None:
    text = (
        f"import asyncio\nawait asyncio.gather(*[print_('x') for _ in range({MAX_TOGETHER + 1})])"
    )
    ended, rounds, _ = await Play(interpreter).play(text)
    assert (ended.status, rounds) == ("error", [])
    assert f"at most {MAX_TOGETHER}" in ended.text
    fewer = text.replace(str(MAX_TOGETHER + 1), str(MAX_TOGETHER))
    ended, rounds, _ = await Play(interpreter).play(fewer)
    assert (ended.status, [len(one.calls) for one in rounds]) == ("ok", [MAX_TOGETHER])


async def test_a_script_makes_so_many_calls_and_no_more(
    interpreter: ScriptInterpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.scripts.interpreter.MAX_CALLS", 2)
    for calls, status in ((2, "ok"), (3, "error")):
        text = f"for n in range({calls}):\n    await print_('x')"
        ended, rounds, _ = await Play(interpreter).play(text)
        assert (ended.status, len(rounds)) == (status, 2), ended.text


async def test_the_calls_of_a_script_have_a_bound_of_their_arguments(
    interpreter: ScriptInterpreter,
) -> None:
    """A round of 64 calls with 2 MB each would be 128 MB in the journal."""
    text = "import asyncio\nx = 'x' * {size}\nawait asyncio.gather(*[print_(x) for _ in range(64)])"
    ended, rounds, _ = await Play(interpreter).play(text.format(size=2_000_000))
    assert (ended.status, rounds) == ("error", [])
    assert "the calls of a script take at most 4,000,000 characters in all" in ended.text
    one_by_one = "for _ in range(3):\n    await print_('x' * 1_500_000)"
    ended, rounds, _ = await Play(interpreter, keeps=False).play(one_by_one)
    assert (ended.status, len(rounds)) == ("error", 2)


async def test_snapshots_of_a_script_are_kept_within_a_bound(
    interpreter: ScriptInterpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "for n in range(6):\n    await print_(str(n))\nn"
    ended, rounds, _ = await Play(interpreter).play(script)
    first = len(rounds[0].snapshot)
    assert first
    monkeypatch.setattr("tools.scripts.interpreter.MAX_SNAPSHOTS", 3 * first)
    fewer, others, _ = await Play(interpreter).play(script)
    assert (fewer.text, len(others)) == (ended.text, len(rounds))
    assert 0 < sum(len(one.snapshot) for one in others) <= 3 * first
    assert not others[-1].snapshot


@pytest.mark.parametrize(
    ("script", "status"),
    [("f = print_\nlen(await f('a'))", "ok"), ("f = memoryview\n1", "error")],
)
async def test_a_name_is_a_tools_function_or_not_defined(
    interpreter: ScriptInterpreter, script: str, status: str
) -> None:
    ended, _, _ = await Play(interpreter).play(script)
    assert ended.status == status, ended.text


async def test_a_value_is_shown_as_json_with_its_letters(interpreter: ScriptInterpreter) -> None:
    shown = {"None": "", "'ü'": "ü", "['ü', None]": '["ü", null]'}
    for script, text in shown.items():
        ended, _, _ = await Play(interpreter).play(script)
        assert (ended.status, ended.text) == ("ok", text)


async def test_a_script_without_end_is_ended(
    interpreter: ScriptInterpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"max_turn_duration_secs": 0.2}
    monkeypatch.setattr("tools.scripts.interpreter._LIMITS", limits)
    ended, _, _ = await Play(interpreter).play("while True:\n    pass")
    assert (ended.status, "time limit" in ended.text) == ("error", True)
    ended, _, _ = await Play(interpreter).play("1 + 1")
    assert ended.text == "2", "the next one has an interpreter"


@pytest.mark.parametrize(
    "script",
    [
        "x = {'customer': 'a', 'lines': []}\nawait order(**x)",
        "a = 'form\x0cfeed\u2028'\nx = {'customer': 'a', 'lines': []}\nawait order(**x)",
        "x = {'customer': 'a', 'lines': []}\r\n\r\nawait order(\r\n    **x,\r\n)",
        "print_ = await print_('a')\nlen(print_)",
    ],
    ids=["spread", "other line ends", "of Windows", "a variable of its name"],
)
async def test_what_the_checker_is_not_certain_of_is_no_fault(
    interpreter: ScriptInterpreter, script: str
) -> None:
    ended, _, _ = await Play(interpreter).play(script)
    assert ended.status == "ok", ended.text


@pytest.mark.parametrize(
    ("script", "at"),
    [
        ("a = '\u2028'\nx = {'lines': []}\nawait order(\n    customer=5,\n    **x)", "4:5"),
        ("a = 2 ** 3\nawait print_(5)", "2:14"),
        ("n: int = print_('a')\nn", "1:10"),
        ("n: int = print_('a' * 2**0)\nn", "1:10"),
    ],
)
async def test_what_it_is_certain_of_is_a_fault_with_its_place(
    interpreter: ScriptInterpreter, script: str, at: str
) -> None:
    ended, rounds, _ = await Play(interpreter).play(script)
    assert (ended.status, rounds) == ("invalid", [])
    assert f"script.py:{at}:" in ended.text
