"""A page marks what a text hid."""

from __future__ import annotations

from agents.admin.hidden_text import Part, parts


def test_a_hidden_character_is_a_part_of_its_own() -> None:
    assert parts("a\u202e\x1bb") == [
        Part("a", escaped=False),
        Part("\\u202e", escaped=True),
        Part("\\u001b", escaped=True),
        Part("b", escaped=False),
    ]
    assert parts("e" + "\u0301" * 4)[-1] == Part("\\u0301", escaped=True)


def test_a_text_that_hides_nothing_is_one_part() -> None:
    assert parts("Größe:\n\t日本語") == [Part("Größe:\n\t日本語", escaped=False)]
    assert parts("") == []
