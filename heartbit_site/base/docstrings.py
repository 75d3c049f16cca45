"""What a Google-style docstring says: its text, and each parameter's line of ``Args:``. Pure.

Usage::

    text, parameters = read(inspect.getdoc(function) or "")
    function_says, its_city_is = text, parameters.get("city", "")
"""

from __future__ import annotations

import inspect
import re
from typing import Final

_HEADINGS: Final = frozenset({"Args:", "Arguments:", "Parameters:"})
_PARAMETER: Final = re.compile(r"(?P<name>[A-Za-z_]\w*)(?:\s*\([^)]*\))?\s*:(?:\s+(?P<text>.*))?")


def read(docstring: str) -> tuple[str, dict[str, str]]:
    """The docstring without its ``Args:`` section, and what that says, by parameter."""
    lines = inspect.cleandoc(docstring).splitlines()
    start = next((index for index, line in enumerate(lines) if line in _HEADINGS), None)
    if start is None:
        return "\n".join(lines), {}
    end = start + 1
    while end < len(lines) and (not lines[end] or lines[end][0].isspace()):
        end += 1
    before, section, after = lines[:start], lines[start + 1 : end], lines[end:]
    parts = ("\n".join(part).strip() for part in (before, after))
    return "\n\n".join(filter(None, parts)), _parameters(section)


def _parameters(section: list[str]) -> dict[str, str]:
    """Entries begin at the section's own indent; deeper lines continue them."""
    margin = min((len(line) - len(line.lstrip()) for line in section if line), default=0)
    texts: dict[str, list[str]] = {}
    name = ""
    for line in section:
        entry = _PARAMETER.fullmatch(line[margin:].rstrip())
        if entry is not None:
            name = entry["name"]
            texts[name] = [entry["text"] or ""]
        elif name:
            texts[name].append(line.strip())
    return {name: " ".join(" ".join(words).split()) for name, words in texts.items()}
