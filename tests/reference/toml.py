"""Sections and keys of ``heartbit.toml``."""

from __future__ import annotations

from typing import Final

from heartbit_site.config import read
from tests.reference.models import sections

_HEAD: Final = """# heartbit.toml

Every section and key, its type and default. [The guide](../howto/heartbit-toml.md) explains them and says which
keys of the Rust original are translated; `heartbit config check` lists every problem of a file, line by line.
"""


def page() -> str:
    """Return the page."""
    return _HEAD + sections(read.SECTIONS)
