from __future__ import annotations

import io
import operator

import pytest
from rich.console import Console

from heartbit_site.base.amounts import duration
from heartbit_site.base.terminal_text import clean
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.cli.terminal.table import Table


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;new window title\x07after", "after"),
        ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never ended\nnext line", "\nnext line"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1bPdevice\x1b\\control", "control"),
        ("\x1bcreset", "reset"),
        ("over\rwritten", "overwritten"),
        ("bell\x07 back\x08space nul\x00", "bell backspace nul"),
        ("\u202egnirts\u202c", "gnirts"),
        ("windows\r\nlines", "windows\nlines"),
        ("ends in escape\x1b", "ends in escape"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("é 漢字 🐝", "é 漢字 🐝"),
    ],
)
def test_what_steers_a_terminal_is_removed(text: str, harmless: str) -> None:
    assert clean(text) == harmless


def test_one_line_collapses_white_space_and_cuts() -> None:
    assert one_line("  a\n\n b\tc ") == "a b c"
    assert one_line("abcdefgh", 5) == "abcd…"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0004, "0 ms"),
        (0.74, "740 ms"),
        (4.06, "4.1 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (125, "2 min 5 s"),
        (4320, "1 h 12 min"),
    ],
)
def test_durations_read_well(value: float, text: str) -> None:
    assert duration(value) == text


@pytest.mark.parametrize("width", [20, 80, 200])
def test_a_table_on_a_narrow_terminal_cuts_nothing(width: int) -> None:
    long = {"a": "short", "b": "word " * 9, "c": "", "d": "something else " * 9}
    rows = [long, dict.fromkeys("abcd", "x")]
    table = Table[dict[str, str]]({name: operator.itemgetter(name) for name in "abcd"})
    console = Console(width=width, force_terminal=True, file=io.StringIO())
    lines = [line.plain for line in table.lines(rows, console)]
    words = "a b c d short " + "word " * 9 + "something else " * 9 + "x x x x"
    assert " ".join(lines).split() == words.split()
    assert max(map(len, lines)) <= max(width, 45)
    assert (len(lines) == 3) == (width == 200)
