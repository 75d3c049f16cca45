"""A promise, and the tests that attack it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scenario:
    """A promise, and the tests that attack it.

    Attributes:
        title: What is promised.
        tests: Files or parts of them, as pytest is given them; those that are not there yet are not
            played.
    """

    title: str
    tests: tuple[str, ...]
