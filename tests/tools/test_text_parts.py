"""Parts of a long text that a model reads one after the other."""

from __future__ import annotations

from tools.texts.text_parts import describe_part

TEXT = "aé€".encode()  # 1, 2 and 3 bytes


def part(begin: int, end: int) -> str:
    return describe_part("notes", TEXT[begin:end], offset=begin, size=len(TEXT))


def test_a_part_says_where_the_next_one_begins_and_cuts_no_character() -> None:
    assert part(0, 3) == "[bytes 0 to 3 of 6; read on from offset 3]\naé"
    assert part(0, 5) == part(0, 3)


def test_the_last_part_says_so() -> None:
    assert part(3, 6) == "[bytes 3 to 6 of 6; the end]\n€"
    assert part(6, 6) == "[notes has 6 bytes: there are none from offset 6 on]"
