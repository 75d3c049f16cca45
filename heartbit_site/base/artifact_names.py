"""Names of files that calls stored as artifacts: unique for programs, original for people."""

from __future__ import annotations

import re
from typing import Final

_PREFIX: Final = re.compile(r"[\d.]+-[0-9a-f]{8}-(?=.)")
_LONGEST: Final = 80  # characters of a file's name in its artifact's


def artifact_name(call_id: str, digest: str, file: str) -> str:
    """Return the name of the artifact in which a call stored a file."""
    return f"{call_id}-{digest[:8]}-{file[-_LONGEST:].replace('/', '_')}"


def stored_file(artifact: str) -> str:
    """Return the name of the file that a call stored; empty if the artifact is not such a file."""
    found = _PREFIX.match(artifact)
    return artifact[found.end() :] if found else ""
