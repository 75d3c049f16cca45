"""Group chats: each selector, each termination, and prompts."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from agents.workflows.builder.patterns import (
    all_of,
    any_of,
    by_model,
    group_chat,
    keyword,
    max_messages,
    max_rounds,
    no_repeat,
)
from heartbit_site.base.errors import ConfigurationError
from tests.workflows.patterns.players import Cast, from_toml, speakers

PANEL = ["coder", "reviewer", "tester"]


def chosen(select: Any, messages: int = 4, task: str = "Build it.", **answers: Any) -> list[str]:
    chat = group_chat("panel", PANEL, select=select, end=max_messages(messages))
    return speakers(Cast(chat, **answers).play(task))


def test_they_speak_one_after_another() -> None:
    assert chosen("round_robin", 5) == ["coder", "reviewer", "tester", "coder", "reviewer"]


def test_the_one_who_is_addressed_speaks_next_else_the_longest_silent() -> None:
    said = {"tester": ["@coder fix it", "@tester I am"], "coder": ["@TESTER Look", "Fine", ""]}
    found = chosen("smart", 6, "@tester begins.", **said)
    assert found == ["tester", "coder", "tester", "reviewer", "coder", "tester"]


def test_a_model_chooses_by_a_name_alone_in_json_or_in_a_sentence() -> None:
    answers = [" Tester\n", {"speaker": "tester"}, "I think that the coder should answer."]
    assert chosen(by_model("moderator"), 3, moderator=answers) == ["tester", "tester", "coder"]


@pytest.mark.parametrize("answer", ["bob", "coder or tester", "", None, {"speaker": None}, 7])
def test_an_unknown_speaker_gives_the_word_to_the_longest_silent(answer: Any) -> None:
    assert chosen(by_model("moderator"), moderator=[answer]) == [*PANEL, "coder"]


def test_an_unknown_speaker_fails_the_run_if_wanted() -> None:
    select = by_model("moderator", unknown="fail")
    chat = group_chat("panel", PANEL, select=select, end=max_messages(4))
    failure = Cast(chat, moderator=["coder", "bob"]).play().failure
    assert 'No edge of the node "moderator chooses" applies' in failure.message


def test_nobody_speaks_twice_in_a_row() -> None:
    select = no_repeat(by_model("moderator"))
    cast = Cast(
        group_chat("panel", PANEL, select=select, end=max_messages(4)), moderator=["tester"]
    )
    assert speakers(cast.play()) == ["tester", "coder", "tester", "reviewer"]
    assert [task.rpartition(": ")[2] for task in cast.tasks["moderator"][:2]] == [
        "coder or reviewer or tester.",
        "coder or reviewer.",
    ]


def test_an_expression_chooses() -> None:
    select = {"expression": "'tester' if len(state.transcript) % 2 else 'coder'"}
    assert chosen(select) == ["coder", "tester", "coder", "tester"]
    wrong = group_chat("panel", PANEL, select={"expression": "'bob'"}, end=max_messages(2))
    assert "'bob' is chosen, which is no target" in Cast(wrong).play().failure.message


@pytest.mark.parametrize(
    ("end", "messages"),
    [
        (max_messages(1), 1),
        (max_rounds(2), 6),
        (keyword("APPROVED"), 2),
        (keyword("APPROVED", by="tester"), 3),
        ({"when": "message.turn == 3"}, 4),
        (any_of(max_messages(5), keyword("APPROVED")), 2),
        (all_of(max_messages(5), keyword("APPROVED")), 5),
        (all_of(any_of(keyword("NEVER"), max_rounds(1)), keyword("APPROVED")), 3),
        (by_model("judge"), 3),
        (any_of(by_model("judge"), max_messages(2)), 2),
        (all_of(by_model("judge"), max_messages(2)), 4),
    ],
)
def test_a_chat_ends(end: Any, messages: int) -> None:
    judged = ["No.", "", " YES, it is", "yes"] if "all_of" not in end else ["no", "no", "yes"]
    said = {name: ["APPROVED"] for name in ("reviewer", "tester")} | {"coder": ["Hm", "APPROVED"]}
    cast = Cast(group_chat("panel", PANEL, end=end), judge=judged, **said)
    played = cast.play()
    assert (len(speakers(played)), played.output) == (
        messages,
        "APPROVED" if messages > 1 else "Hm",
    )


def test_a_judge_is_asked_only_where_its_answer_counts() -> None:
    end = all_of(max_messages(3), by_model("judge", question="Is it good?"))
    cast = Cast(group_chat("panel", PANEL, end=end), judge=[{"done": False}, {"done": True}])
    assert len(speakers(cast.play())) == 4
    assert len(cast.tasks["judge"]) == 2
    assert "Is it good? Answer with yes or no alone." in cast.tasks["judge"][0]


def test_each_is_sent_the_task_its_last_message_and_what_is_new() -> None:
    roles = {"coder": "writes code", "reviewer": "reads it"}
    cast = Cast(
        group_chat("panel", roles, end=max_messages(5)),
        coder=["one", {"two": 2}, "three"],
        reviewer=["", "four"],
    )
    cast.play({"topic": "owls"})
    first, second, third = cast.tasks["coder"]
    assert first.startswith(
        '{"topic": "owls"}\n\nYou are coder, in a discussion with:\n- reviewer: '
    )
    assert first.endswith("\n\n(nothing yet)")
    assert second.endswith(":\n\ncoder: one\n\nreviewer: (no answer)")
    assert third.endswith(':\n\ncoder: {"two": 2}\n\nreviewer: four')


def test_a_long_chat_stays_within_the_work_of_an_expression() -> None:
    chat = group_chat("panel", PANEL, select="smart", end=max_messages(330)).check()
    played = Cast(chat, coder=["x" * 2_000]).play()
    assert len(speakers(played)) == 330


def test_a_chat_without_an_end_reaches_a_limit_that_is_named() -> None:
    chat = group_chat("panel", PANEL, end=keyword("NEVER"), limits={"supersteps": 50})
    assert "50 supersteps" in Cast(chat).play().failure.message


def test_another_output_and_further_keys_of_the_state() -> None:
    spec = from_toml(
        'name = "p"\noutput = "{{ len(state.transcript) }}"\nstate.n = { merge = "add" }\n'
        '[group_chat]\nagents = ["a", "b"]\nend = { max_rounds = 1 }'
    )
    assert set(spec.state) == {"transcript", "queue", "n"}
    assert Cast(spec).play().output == 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"agents": []}, "group_chat.agents"),
        ({"agents": ["a", "a"]}, 'group_chat.agents has "a" twice'),
        ({"agents": ["a", 3]}, "must be a list of names"),
        ({"agents": ["a"], "select": {"no_repeat": "smart"}}, "no one to speak"),
        ({"agents": ["a", "ab"], "select": no_repeat("smart")}, 'takes "@ab" for "@a"'),
        ({"end": reduce(lambda inner, _: any_of(inner), range(5_000), keyword("A"))}, "too deeply"),
        ({"select": "random"}, 'group_chat.select is no selector; write "round_robin"'),
        ({"select": {"by_model": "m", "unknwn": "fail"}}, "no selector by a model"),
        ({"select": {"by_model": "m", "unknown": "stop"}}, 'unknown = "skip" or "fail"'),
        ({"end": {"max_messages": 0}}, "max_messages = 0; write a whole number from 1 to 500"),
        ({"end": {"max_messages": True}}, "max_messages = True"),
        ({"end": {"keyword": ""}}, "group_chat.end is no termination"),
        ({"end": "DONE"}, "group_chat.end is no termination"),
        ({"end": any_of()}, "group_chat.end is no termination"),
        ({"end": any_of(by_model("j"), by_model("k"))}, "asks two models, j and k"),
    ],
)
def test_settings_that_cannot_be_used_are_named(settings: dict[str, Any], sentence: str) -> None:
    given = {"agents": ["a", "b"], "end": max_messages(2), **settings}
    with pytest.raises(ConfigurationError, match="The workflow 'p' has a pattern") as refused:
        group_chat("p", **given)
    assert sentence in str(refused.value)


def test_a_condition_that_cannot_be_read_is_a_fault_of_the_graph() -> None:
    with pytest.raises(ConfigurationError, match=r"edges.*reads \"mesage\""):
        assert group_chat("p", ["a"], end={"when": "mesage.turn > 2"}).spec
