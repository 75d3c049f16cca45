"""Nothing hides in a line of a terminal."""

from __future__ import annotations

import pytest

from heartbit_site.cli.terminal.margin import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, é 漢字 🐝", "plain text, é 漢字 🐝"),
        ("\x1b[2J\x07\x00", r"\u001b[2J\u0007\u0000"),
        ("\x9b31m", r"\u009b31m"),
        ("rm -rf\u202e txt.", r"rm -rf\u202e txt."),
        ("\u2066isolate\u2069", r"\u2066isolate\u2069"),
        ("zero\u200bwidth\u200d\ufeff", r"zero\u200bwidth\u200d\ufeff"),
        ("soft\u00adhyphen", r"soft\u00adhyphen"),
        ("no\u00a0break\u3000space", r"no\u00a0break\u3000space"),
        ("two\nlines\r\tand a tab", r"two\nlines\u000d\u0009and a tab"),
        ("line\u2028separator", r"line\u2028separator"),
        ("filler\u3164\u2800", r"filler\u3164\u2800"),
        ("tag\U000e0041", r"tag\udb40\udc41"),
        ("lone\ud800", r"lone\ud800"),
        ("private\ue000", r"private\ue000"),
        ("back\\u202eslash", r"back\\u202eslash"),
        ("e\u0301", "e\u0301"),
        ("z" + "\u0310" * 6, "z\u0310\u0310\u0310" + r"\u0310" * 3),
        ("variation\ufe0f", r"variation\ufe0f"),
    ],
)
def test_nothing_hides_in_a_line(text: str, shown: str) -> None:
    assert visible(text) == shown
