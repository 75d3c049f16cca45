"""A tool's summary: checked at its declaration, and rendered from untrusted arguments."""

from __future__ import annotations

from typing import Any

import pytest

from heartbit_site.base.call_summary import MOST_SUMMARY, check_summary, summarize
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import ToolSpec, tool
from tools.definitions.registry import registry

REFUND = "Refund {amount} EUR, order {order}"


def test_given_a_summary_when_rendered_then_the_arguments_stand_in_it() -> None:
    assert summarize(REFUND, {"amount": 12.5, "order": "A-17"}) == "Refund 12.5 EUR, order A-17"
    assert summarize("{{{to}}}", {"to": ["a@x", "b@x"]}) == "{a@x, b@x}"
    assert summarize("{a} {b}", {"a": {"x": [1]}}) == '{"x": [1]} (not given)'
    assert summarize("", {"a": 1}) == ""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\u202eb", "to a\\u202eb"),
        ("two\nlines  here", "to two lines here"),
        ("{order} {0.__class__}", "to {order} {0.__class__}"),
        ("<b>x</b>", "to <b>x</b>"),
        ("x" * 10_000_000, f"to {'x' * 79}…"),
        ("", "to (not given)"),
        (None, "to (not given)"),
        (0, "to 0"),
        (False, "to false"),
    ],
)
def test_given_any_argument_when_rendered_then_it_is_one_short_visible_line(
    value: Any, shown: str
) -> None:
    assert summarize("to {it}", {"it": value}) == shown


def test_given_many_long_arguments_when_rendered_then_the_whole_is_cut() -> None:
    names = [f"a{number}" for number in range(20)]
    text = summarize(" ".join(f"{{{name}}}" for name in names), dict.fromkeys(names, "y" * 100))
    assert (len(text), text[-1]) == (MOST_SUMMARY, "…")


@pytest.mark.parametrize(
    ("summary", "problem"),
    [
        ("Refund {sum}", r"names \{sum\}, which is no parameter: use \{amount\}, \{order\}\."),
        ("Refund {amount.real}", r"names \{amount.real\}, which is no parameter"),
        ("Refund {}", r"names \{\}, which is no parameter"),
        ("Refund {amount!r}", "a placeholder has a format"),
        ("Refund {amount:9999999}", "a placeholder has a format"),
        ("Refund {amount", "cannot be read"),
        ("Refund\n{amount}", "is not one line"),
        ("x" * 301, "at most 300 visible characters"),
    ],
)
def test_given_a_summary_that_fits_no_call_when_declared_then_it_is_refused_in_a_sentence(
    summary: str, problem: str
) -> None:
    def refund(amount: float, order: str) -> str:
        """Refund an order."""
        return f"{amount} {order}"

    with pytest.raises(ConfigurationError, match=problem):
        tool(summary=summary)(refund)


def test_a_tool_without_parameters_says_that_it_has_none() -> None:
    with pytest.raises(ConfigurationError, match="it has none"):
        check_summary("{a}", {"type": "object"}, tool="now")


def test_a_declared_summary_is_part_of_the_tool_but_not_of_its_hash() -> None:
    @tool(summary=REFUND)
    def refund(amount: float, order: str) -> str:
        """Refund an order."""
        return f"{amount} {order}"

    spec = refund.__tool__  # type: ignore[attr-defined]
    assert isinstance(spec, ToolSpec)
    assert spec.summary == REFUND


def test_tools_that_have_an_effect_outside_summarize_their_calls() -> None:
    for name in ("send_email", "http_request", "create_event", "schedule", "ask_human"):
        assert registry[name].summary, name
