"""Fenced blocks are found as CommonMark finds them, and where models indent them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agents.output.fences import Fenced, fenced

LINES = st.lists(
    st.sampled_from(
        [
            *("```", "````", "```python", "~~~", "~~~~", "~~~ sql more", "`````", "``", "text"),
            *(
                "",
                "x = 1",
                "  ```",
                "   ~~~",
                "```  ",
                " indented",
                "a ``` b",
                "``` a`b",
                "~~~ a`b",
            ),
        ]
    ),
    max_size=14,
)


@given(LINES)
@settings(max_examples=300)
def test_given_fences_of_every_length_then_blocks_are_those_of_commonmark(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    expected = [
        ((token.info.split() or [""])[0], token.content)
        for token in MarkdownIt("commonmark").parse(text)
        if token.type == "fence"
    ]
    assert [(block.language, block.content) for block in fenced(text)] == expected


def test_given_a_longer_fence_then_it_holds_shorter_ones() -> None:
    text = "````markdown\n```python\nx\n```\n````\n"
    assert fenced(text) == (Fenced("markdown", "```python\nx\n```\n", closed=True),)


def test_given_the_text_ends_in_a_block_then_it_counts() -> None:
    assert fenced("See:\n```Bash\nls") == (Fenced("bash", "ls\n", closed=False),)
    assert fenced("```") == (Fenced("", "", closed=False),)


def test_given_a_block_under_a_list_item_then_it_is_outdented() -> None:
    text = "1. Run:\n\n     ```sh\n     ls\n       -l\n     ```\n"
    assert fenced(text) == (Fenced("sh", "ls\n  -l\n", closed=True),)


def test_given_a_deeper_fence_in_code_then_it_does_not_close() -> None:
    text = "```md\n- item\n\n      ```\n      x\n```\n"
    assert fenced(text)[0].content == "- item\n\n      ```\n      x\n"


def test_given_windows_line_ends_then_they_are_plain_ones() -> None:
    assert fenced("```\r\na\r\n```\r\n") == (Fenced("", "a\n", closed=True),)


def test_given_odd_line_separators_in_code_then_they_stay() -> None:
    assert fenced("```\na\u2028b\x0cc\n```")[0].content == "a\u2028b\x0cc\n"
