"""Suggestions in a sentence about a wrong name."""

from __future__ import annotations

import pytest

from tools.texts.near_names import hint

NAMES = ("alpha", "beta", "gamma")


@pytest.mark.parametrize(
    ("most", "said"),
    [
        (None, "there are: alpha, beta, gamma"),
        (3, "there are: alpha, beta, gamma"),
        (1, "there are: alpha and 2 more"),
    ],
)
def test_without_a_close_one_the_names_are_listed(most: int | None, said: str) -> None:
    assert hint("xyz", NAMES, most=most) == said


def test_a_close_one_is_suggested_alone() -> None:
    assert hint("alpa", NAMES, most=1) == "did you mean alpha?"
    assert hint("x", ()) == "there are: none yet"
