"""The pinned releases of ``requirements.lock``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[2]
_PIN: Final = re.compile(r"^([A-Za-z0-9][\w.\-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def releases(text: str = "") -> dict[str, str]:
    """Return the version of each pinned distribution, by its canonical name."""
    text = text or (ROOT / "requirements.lock").read_text()
    return {str(canonicalize_name(name)): version for name, version in _PIN.findall(text)}
