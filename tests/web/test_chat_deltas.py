"""What the chat makes of the text of a model call under way: the server counts characters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.templatetags.static import static

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.web.visitor import Visitor

MOST_BYTES = 65536  # of a frame


@pytest.fixture
def told(signed_in: Visitor) -> Callable[[str], Any]:
    """Runs a script with what a page knows of a run, as ``told``."""
    signed_in.go("chat/")
    address = static("heartbit/web/chat/live.js")

    def evaluate(script: str) -> Any:
        return signed_in.page.evaluate(
            f"""async () => {{
              const {{ Told }} = await import("{address}");
              const told = new Told("a");
              const delta = (attempt, offset, text, kind = "text") => told.take(
                {{ type: "delta", run: "a", turn: 1, attempt, offset, kind, text }});
              {script}
            }}"""
        )

    return evaluate


def test_given_characters_of_two_units_then_no_letter_after_them_is_lost(
    told: Callable[[str], Any],
) -> None:
    script = (
        'delta(1, 0, "Hi 😀"); delta(1, 4, " there"); delta(1, 10, "."); return told.writing.text'
    )
    assert told(script) == "Hi 😀 there."


def test_given_thinking_first_when_all_comes_again_then_the_text_is_there_once(
    told: Callable[[str], Any],
) -> None:
    assert told(
        """const all = () => {
             delta(1, 0, "Hm. ", "thinking"); delta(1, 4, "It "); delta(1, 7, "is.");
           };
           all(); all(); delta(1, 4, "It is. So");
           return [told.writing.text, told.thinking];"""
    ) == ["It is. So", False]


def test_given_a_new_attempt_then_the_one_before_is_void_and_late_pieces_of_it_are_nothing(
    told: Callable[[str], Any],
) -> None:
    assert told(
        """delta(1, 0, "Sun"); delta(2, 0, "Hm.", "thinking");
           const thinks = [told.writing.text, told.thinking];
           delta(2, 3, "Moon"); delta(1, 3, "day"); delta(2, 20, "!");
           return [thinks, told.writing.text];"""
    ) == [["", True], "Moon!"]


def test_given_more_runs_than_a_frame_holds_then_a_page_names_the_longest(
    told: Callable[[str], Any],
) -> None:
    after = told(
        """const id = (number) => "01a20000-0000-7000-8000-" + `${number}`.padStart(12, "0");
           for (let number = 0; number < 3000; number++)
             told.take({ type: "event", run: id(number), seq: number + 1,
                         event: "x", payload: {} });
           return told.after();"""
    )
    assert sorted(after.values()) == list(range(2001, 3001))
    frame = json.dumps({"type": "resume", "after": after}, separators=(",", ":"))
    assert len(frame) < MOST_BYTES
