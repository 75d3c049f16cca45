"""Comparison of e-mail addresses."""

from __future__ import annotations


def same_address(one: str, other: str) -> bool:
    """Return True if two addresses differ in the case of letters alone.

    A query with ``iexact`` compares in upper case, in which the dotless i and the long s become
    other letters: use this on what it finds. Each of the two cases alone merges different letters.
    """
    return one.lower() == other.lower() and one.upper() == other.upper()
