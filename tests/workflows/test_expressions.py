"""Expressions: their values, their references, and hostile ones, which are refused or bounded."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agents.workflows.expressions.errors import EvaluationError, ExpressionError
from agents.workflows.expressions.expression import compile_expression
from agents.workflows.expressions.templates import compile_template
from tests.pace import in_time, within

ROOTS: dict[str, Any] = {
    "message": {"kind": "bug", "score": 0.9, "tags": ["a", "b"], "none": None, "n": 7},
    "state": {"rounds": 3, "ключ": 1},
    "input": "text",
    "steps": {"find it": {"output": {"urls": ["u", "v"]}}},
    "item": {"price": 2},
    "index": 4,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("message.kind == 'bug' and state.rounds < 5", True),
        ("message.score >= 0.8 or message.missing", True),
        ("not message.none", True),
        ("message.none is None and message.n is not None", True),
        ("1 < state.rounds <= 3 != 4", True),
        ("'a' in message.tags and 'x' not in message.tags", True),
        ("'ug' in message.kind and 'kind' in message", True),
        ("message.tags == ['a', 'b'] and message != {}", True),
        ("message.n // 2 + message.n % 4 - 2 * 3 / 4", 4.5),
        ("-message.n + 1", -6),
        ("message.kind + '!' if state.rounds else 0", "bug!"),
        ("message.tags + ['c']", ["a", "b", "c"]),
        ("message.tags[-1] + message['kind'][0] + input[1:3]", "bbex"),
        ("steps['find it'].output.urls[1]", "v"),
        ("state.ключ", 1),
        ("[tag + '!' for tag in message.tags if tag != 'a']", ["b!"]),
        ("any(tag == 'b' for tag in message.tags)", True),
        ("all([1, 0])", False),
        ("{'a': item.price * 2, 'b': index}", {"a": 4, "b": 4}),
        ("sum([1, 2.5]) + min(3, 2) + max([4, 5]) + abs(-1) + round(2.4)", 13.5),
        ("len(message.tags) + len('abc') + int('4') + int(2.9)", 11),
        ("str(1.5) + str(None) + str([True])", "1.5[true]"),
        ("get(message, 'missing', 'else') + upper(lower('Ab')) + strip(' x ')", "elseABx"),
        ("join(split('a,b', ','), '-') + join(keys({'b': 1, 'a': 2}))", "a-bab"),
        ("starts_with(message.kind, 'b') and ends_with(message.kind, 'g')", True),
        ("bool('') or float('0.5')", 0.5),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(text: str, value: Any) -> None:
    assert compile_expression(text).evaluate(ROOTS) == value


def test_an_expression_lists_what_it_reads() -> None:
    expression = compile_expression("steps['find it'].output.urls[0] == message or state[item.x]")
    assert expression.references == {
        ("steps", "find it", "output", "urls", 0),
        ("message",),
        ("state",),
        ("item", "x"),
    }
    assert expression.path is None
    assert compile_expression("message.a['b c'][0]").path == ("message", "a", "b c", 0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("message.kid", 'finds no "kid": its keys are kind, n, none, score, tags.'),
        ("message.none.x", 'reads "x" of null, which has no keys.'),
        ("message.tags.x", 'reads "x" of a list, which has no keys.'),
        ("message.tags[9]", "reads entry 9 of 2."),
        ("message.tags['a']", 'reads "a" of a list, which has no keys.'),
        ("message[message.n]", "reads entry 7 of an object."),
        ("message.n > 'a'", "compares a text and a number by >."),
        ("message.n <= None", "compares null and a number by <=."),
        ("message.kind + 1", "applies + to a text and a number."),
        ("True + 1", "applies + to true or false and a number."),
        ("message.n / 0", "divides by zero."),
        ("1 in 5", "looks for a number in a number."),
        ("sum(message.tags)", "applies sum() to a list that has more than numbers."),
        ("max([])", "applies max() to an empty list."),
        ("int('x')", "makes a whole number of a value that is not one."),
        ("upper(1)", "applies upper() to a number: give it a text."),
        ("[x for x in message]", "needs a list, not an object."),
    ],
)
def test_an_evaluation_that_fails_says_why(text: str, sentence: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        compile_expression(text).evaluate(ROOTS)
    assert str(raised.value) == f'The expression "{text}" {sentence}'


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "cannot be read"),
        ("message >", "cannot be read: invalid syntax"),
        ("mesage.kind", 'reads "mesage", which is unknown; did you mean message?'),
        ("message.__class__", 'reads "__class__": names that begin with __ are refused'),
        ("message.get('x')", "calls a method, or with named arguments: write get(message, 'kind')"),
        ("eval('1')", 'calls "eval", which is unknown'),
        ("len()", "calls len() with 0 arguments, not 1"),
        ("round(1, 2, 3)", "calls round() with 3 arguments, not 1 to 2"),
        ("steps", "reads steps without a node and a part of it: write steps.NAME.output"),
        ("steps.find", "reads steps without a node and a part of it"),
        ("steps[message]", "reads steps without a node and a part of it"),
        ("2 ** 9", "has the operator **"),
        ("1 << 9", "has an operator on bits"),
        ("~1", "has an operator on bits"),
        ("lambda: 1", "has a lambda"),
        ("f'{message}'", "has an f-string"),
        ("(x := 1)", "has an assignment"),
        ("{*message}", "has a set"),
        ("{x: 1 for x in input}", "has a comprehension of an object"),
        ("[x for a in input for x in a]", "has a comprehension of more than one list"),
        ("[message for message in input]", 'uses "message" as a variable'),
        ("message is 'a'", 'compares with "is"'),
        ("{message: 1}", "has an object with a key that is no plain text"),
        ("b'x'", "has a value that JSON cannot represent"),
        ("1j", "has a value that JSON cannot represent"),
        ("99999999999999999999", "has a whole number of more than 64 bits"),
        ("1e999", "makes a number that is infinite or undefined"),
        ("message[::2]", "takes a part with a step"),
        ("x" * 1001, "has 1001 characters: at most 1000"),
        ("[" + "1," * 400 + "]", "has more than 300 parts"),
        ("[" * 60 + "]" * 60, "is nested more than 40 levels deep"),
    ],
)
def test_what_is_no_expression_is_refused_with_a_sentence(text: str, part: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        compile_expression(text)
    assert part in str(raised.value)


BIG = {
    "text": "x" * 1_000_000,
    "list": list(range(10_000)),
    "texts": ["y" * 10_000] * 100,
    "deep": json.loads("[" * 500 + "]" * 500),
    "wide": {str(number): [number] * 100 for number in range(1_000)},
}
HOSTILE = [
    "'a' * 1000000000",
    "[0] * 1000000000",
    "'%1000000000d' % 1",
    "message.text + message.text",
    "message.text in message.text + 'y'",
    "9223372036854775807 * 9223372036854775807 * 2",
    "1e308 * 1e308",
    "str(message.wide)",
    "str(message.deep)",
    "message.deep == message.deep",
    "message.wide == message.wide",
    "message.list in [message.list, message.list]",
    "[x for x in message.list if x in message.list]",
    "[[y for y in message.list] for x in message.list]",
    "[message.text + 'a' for x in message.list]",
    "[message.text == message.text for x in message.list]",
    "[str(message.texts) for x in message.list]",
    "[upper(message.text) for x in message.list]",
    "join([message.text for x in message.list])",
    "join(message.texts, message.text)",
    "split(message.text, 'x')",
    "[split(t, 'y') for t in message.texts]",
    "sum(message.list) + max(message.list) + len(join(message.list))",
    "round(1, -1000000000)",
    "int('9' * 5000)",
    "int(message.text)",
    "float(message.text)",
    "keys(message.wide) + keys(message.wide)",
    "message.text[0:999999] + message.text[1:]",
    "not " * 200 + "1",
    "-" * 900 + "1",
    "(" * 450 + "1" + ")" * 450,
    "[" * 900,
    "1 if " * 150,
    "lambda: " * 100 + "1",
    "message" + ".a" * 400,
    "a" + "[0]" * 300,
    "+".join(["message.list"] * 80),
    "{{}}" * 200,
    "\x00",
    "\ud800",
    "'\\N{" + "x" * 900,
    "1" + "0" * 900,
    "0x" + "f" * 900,
    "1_0" * 300,
]


@pytest.mark.paced
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_expression_is_refused_or_answered_at_once(text: str) -> None:
    compile_expression("message")
    with within(0.05):
        try:
            found = compile_expression(text).evaluate({"message": BIG})
        except (ExpressionError, EvaluationError) as error:
            found = None
            assert str(error).startswith("The expression ")
    assert found is None or len(json.dumps(found)) < 5_000_000


LETTERS = "message.statlen()[]{}'\"+-*/%<>=!,:0123 ifornt"


@settings(max_examples=300)
@given(
    some.text(
        alphabet=some.sampled_from("message.statlen()[]{}'\"+-*/%<>=!,:0123 ifornt"), max_size=60
    )
)
def test_no_text_raises_anything_but_a_sentence(text: str) -> None:
    try:
        compile_expression(text).evaluate(ROOTS)
    except (ExpressionError, EvaluationError) as error:
        assert str(error).startswith("The expression ")


json_values = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-9, 9)
    | some.floats(-9, 9)
    | some.text(max_size=4),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "in",
    "not in",
    "and",
    "or",
]


@settings(max_examples=500)
@given(json_values, json_values, some.sampled_from(OPERATORS))
def test_an_operator_agrees_with_python_or_refuses(left: Any, right: Any, operator: str) -> None:
    roots = {"message": left, "input": right}
    text = f"message {operator} input"
    try:
        found = compile_expression(text).evaluate(roots)
    except EvaluationError:
        return
    assert found == eval(text, {}, roots)  # noqa: S307  the operators are those above


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("plain", "plain"),
        ("{{ message.tags }}", ["a", "b"]),
        ("a {{ message.n }} b{{ message.none }}", "a 7 b"),
        ("{{ message.tags }} {{ message.score > 0 }}", '["a", "b"] true'),
        ("{{ '}}' + \"{{\" }}!", "}}{{!"),
        ("{{ {'a': {'b': 1}} }}", {"a": {"b": 1}}),
        (
            {"to": "{{ item.price }}", "list": ["{{ index }}", 3, None]},
            {"to": 2, "list": [4, 3, None]},
        ),
        (5, 5),
    ],
)
def test_a_template_has_a_value(source: Any, value: Any) -> None:
    assert compile_template(source).evaluate(ROOTS) == value


def test_a_template_of_one_path_is_known_as_one() -> None:
    assert compile_template("{{ message.tags }}").path == ("message", "tags")
    assert compile_template("{{ message.tags }}!").path is None
    assert compile_template({"a": "{{ message.tags }}"}).path is None
    assert compile_template({"a": "{{ message }}", "b": "{{ item.x }}"}).references == {
        ("message",),
        ("item", "x"),
    }


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("{{ message", "opens {{ and never closes it"),
        ("{{ }}", "cannot be read"),
        ("{{ 'a }}", "opens {{ and never closes it"),
        ("x" * 100_001 + "{{ 1 }}", "has 100008 characters"),
        ("{{ 1 }}" * 201, "has more than 200 expressions"),
        (json.loads("[" * 30 + "]" * 30), "nested more than 20 levels deep"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(source: Any, part: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        compile_template(source)
    assert part in str(raised.value)


@pytest.mark.paced
def test_compiling_and_evaluating_are_quick() -> None:
    text = "message.score >= 0.8 and state.rounds < 5 and message.kind == 'bug'"
    expression = compile_expression(text)
    with within(0.1):
        for _ in range(1_000):
            expression.evaluate(ROOTS)
    with within(0.5):
        for number in range(500):
            compile_expression(f"{text} or {number}")


def test_few_characters_make_no_data_without_an_end() -> None:
    text = "1"
    for letter in "abcdefghi":
        text = f"[[{','.join([letter] * 10)}] for {letter} in [{text}]]"
    began = time.process_time()
    with pytest.raises(EvaluationError, match="makes data of more than"):
        compile_expression(text).evaluate({})
    doubled = compile_template(["{{ message }}"] * 2)
    value: object = "x"
    with pytest.raises(EvaluationError, match="makes data of more than"):
        for _ in range(40):
            value = doubled.evaluate({"message": value})
    in_time(time.process_time() - began, 0.5)


@pytest.mark.parametrize("text", [r'"\x00"', r'"\ud800"', r'{"\x00": 1}'])
def test_texts_that_a_journal_cannot_hold_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="a character that JSON refuses"):
        compile_expression(text)


@pytest.mark.parametrize("text", ["round(message)", "sum([message, message])", "message + 0"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.7e308])
def test_numbers_without_a_value_are_an_error_of_the_expression(text: str, value: float) -> None:
    try:
        compile_expression(text).evaluate({"message": value})
    except EvaluationError:
        return
