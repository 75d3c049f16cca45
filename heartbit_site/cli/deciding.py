"""Whoever runs this process, as the audit and the runs that they start name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.base.login import at_terminal

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor


def actor() -> Actor:
    """Return whoever runs this process: no account."""
    return at_terminal()
