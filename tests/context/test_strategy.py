"""A context strategy is read from JSON, or refused with a sentence that says how to mend it."""

from __future__ import annotations

import json

import pytest

from agents.context.strategy import (
    ImportantRecent,
    LastMessages,
    SlidingWindow,
    Strategy,
    Summarize,
    Unlimited,
    dump,
    parse,
)
from heartbit_site.base.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ('{"type": "unlimited"}', Unlimited()),
        ('{"type": "sliding_window", "max_tokens": 100000}', SlidingWindow(100_000)),
        ('{"type": "last_messages", "count": 20}', LastMessages(20)),
        ('{"type": "important_recent", "max_tokens": 9}', ImportantRecent(9)),
        ('{"type": "important_recent", "max_tokens": 9, "recent": 2}', ImportantRecent(9, 2)),
        ('{"type": "summarize", "threshold": 80000}', Summarize(80_000)),
        ('{"type": "summarize", "threshold": 80000, "keep_recent": 4}', Summarize(80_000, 4)),
    ],
)
def test_given_json_when_parsed_then_it_is_the_strategy_and_dumps_back(
    text: str, strategy: Strategy
) -> None:
    assert parse(json.loads(text)) == strategy
    assert parse(json.loads(json.dumps(dump(strategy)))) == strategy
    assert json.loads(text).items() <= dump(strategy).items()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({}, "has no 'type': the types are unlimited, sliding_window, last_messages, important"),
        ({"type": "sliding-windw"}, "'sliding-windw' (did you mean 'sliding_window'?)"),
        ({"type": "summarise"}, "did you mean 'summarize'?"),
        ({"type": 3}, "of type 3: the types are"),
        ({"type": ["unlimited"]}, "of type a list: the types are"),
        ("unlimited", "is an object such as {'type': 'unlimited'}, not 'unlimited'"),
        (None, "not a NoneType"),
        ({"type": "sliding_window"}, "sliding_window needs the field 'max_tokens'"),
        ({"type": "sliding_window", "max_tokens": 0}, "max_tokens of the context strategy"),
        ({"type": "sliding_window", "max_tokens": -1}, "from 1 to 1000000000, not -1"),
        ({"type": "sliding_window", "max_tokens": True}, "not True"),
        ({"type": "sliding_window", "max_tokens": 1.5}, "not 1.5"),
        ({"type": "sliding_window", "max_tokens": "9"}, "not '9'"),
        ({"type": "sliding_window", "max_tokens": None}, "not a NoneType"),
        ({"type": "sliding_window", "max_tokens": 10**12}, "not 1000000000000"),
        (
            {"type": "sliding_window", "max_token": 9},
            "has no field 'max_token' (did you mean 'max_tokens'?): it takes max_tokens.",
        ),
        ({"type": "unlimited", "max_tokens": 9}, "'max_tokens': it takes none."),
        ({"type": "unlimited", 7: 9}, "has no field 7"),
        ({"type": "x" * 500}, "x..."),
    ],
)
def test_given_anything_else_then_one_sentence_says_what_is_accepted(
    value: object, sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        parse(value)
    assert sentence in str(refusal.value)
    assert len(str(refusal.value)) < 300
    assert "\n" not in str(refusal.value)


def test_given_a_wrong_size_in_python_then_it_is_refused_as_well() -> None:
    with pytest.raises(ConfigurationError, match="keep_recent of the context strategy summarize"):
        Summarize(100, keep_recent=0)
