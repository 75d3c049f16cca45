"""The calculator returns a number or its one error, at once, whatever it is asked."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pace import in_time
from tools.builtin.arithmetic import CalculationError, calculate, evaluate


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3", "7"),
        ("(1250 * 1.19) / 12", "123.958333333333"),
        ("0.1 + 0.2", "0.3"),
        ("2 ** 10", "1024"),
        ("2 ** -2", "0.25"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("+5", "5"),
        ("10 / 4", "2.5"),
        ("sqrt(16)", "4"),
        ("round(10 / 3, 2)", "3.33"),
        ("round(1234, -2)", "1200"),
        ("round(2.5)", "2"),
        ("min(3, 1, 2) + max(1, 2)", "3"),
        ("sum(1, 2, 3)", "6"),
        ("log(8, 2)", "3"),
        ("log10(1000)", "3"),
        ("factorial(20)", "2432902008176640000"),
        ("gcd(12, 18)", "6"),
        ("hypot(3, 4)", "5"),
        ("pi", "3.14159265358979"),
        ("1_000 * 3", "3000"),
        ("1e3", "1000"),
        ("\n 1 + 1 ", "2"),
        ("2 ** 4095 - 2 ** 4095", "0"),
        ("999999999999999999 * 999999999999999999", "999999999999999998000000000000000001"),
    ],
)
def test_arithmetic_is_right(expression: str, result: str) -> None:
    assert calculate(expression) == result


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("9**9**9", "too large"),
        ("9**99999", "too large"),
        ("2**2**2**2**2**2", "too large"),
        ("10**400 * 1.0", "no result"),
        ("(2**4000) * (2**4000)", "too large"),
        ("factorial(10**9)", "factorial takes"),
        ("factorial(401)", "factorial takes"),
        ("round(1, -10**9)", "digits"),
        ("round(1.5, 10**9)", "digits"),
        ("1e999", "too large"),
        ("exp(1000)", "no result"),
        ("1e308 * 10", "too large"),
        ("1 / 0", "no result: division by zero"),
        ("sqrt(-1)", "no result"),
        ("(-8) ** 0.5", "no real result"),
        ("log(0)", "no result"),
        ("max()", "no result"),
        ("2 ^ 3", "write powers as **"),
        ("x + 1", "'x' is not a number"),
        ("foo(1)", "no such function"),
        ("abs", "'abs' is not a number"),
        ("pi(1)", "no such function"),
        ("sqrt(4)(2)", "no such function"),
        ("max(*(1, 2))", "Starred"),
        ("(1, 2)", "Tuple"),
        ("1 if 2 else 3", "IfExp"),
        ("not 1", "UnaryOp|may stand"),
        ("True", "not a number"),
        ("1 +", "cannot be read"),
        ("", "cannot be read"),
        ("((((", "cannot be read"),
        ("1j", "not arithmetic from '1j' on"),
        ("2pi", "not arithmetic"),
        ("0x10", "not arithmetic"),
        ("1if 2else 3", "not arithmetic"),
        ("'a' * 9", "not arithmetic"),
        ("__import__('os')", "not arithmetic from"),
        ("().__class__", "not arithmetic"),
        ("[1]", "not arithmetic"),
        ("a := 1", "not arithmetic"),
        ("lambda: 1", "not arithmetic"),
        ("1 @ 2", "not arithmetic"),
        ("1 << 10**9", "not arithmetic"),
        ("~1", "not arithmetic"),
        ("\uff11 + 1", "not arithmetic"),
        ("1\x00", "not arithmetic"),
        ("1" * 501, "more than 500"),
        ("-" * 499 + "1", "nested too deeply|no result"),
        ("(" * 249 + "1" + ")" * 249, "cannot be read|no result"),
        ("1" + "+1" * 249, "too deeply"),
    ],
)
@pytest.mark.paced
def test_what_is_no_arithmetic_is_refused(expression: str, sentence: str) -> None:
    began = time.perf_counter()
    with pytest.raises(CalculationError, match=sentence.replace("*", r"\*")):
        evaluate(expression)
    in_time(time.perf_counter() - began, 0.1)


GRAMMAR = st.recursive(
    st.sampled_from(["0", "1", "2", "9", "0.5", "1e300", "99999999999999999999", "pi", "e", "x"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "^"]), inner).map(
            lambda parts: f"({''.join(parts)})"
        ),
        st.tuples(
            st.sampled_from(["sqrt", "round", "factorial", "floor", "exp", "log", "max", "-"]),
            st.lists(inner, max_size=3),
        ).map(lambda parts: f"{parts[0]}({','.join(parts[1])})"),
    ),
    max_leaves=20,
)
CHARACTERS = st.text(alphabet="0123456789.+-*/%^(), eEjxbo_ifnorlsqtmax\n\t'\"\\#:=[]{}~<>@!\x00é")


@given(GRAMMAR | CHARACTERS | st.text())
def test_it_returns_a_number_or_its_error_and_is_quick(expression: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        began = time.thread_time()
        try:
            value = evaluate(expression)
        except CalculationError as error:
            assert len(str(error)) < 400
        else:
            assert type(value) in (int, float)
            assert math.isfinite(value) if isinstance(value, float) else value.bit_length() <= 4096
        if time.thread_time() - began >= 0.1:  # it is slow, or a collection of garbage fell into it
            began = time.thread_time()
            with suppress(CalculationError):
                evaluate(expression)
            in_time(time.thread_time() - began, 0.1)
