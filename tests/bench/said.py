"""What the bench tells a person while it measures."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """One line on the error channel; the standard output is the report's."""
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()
