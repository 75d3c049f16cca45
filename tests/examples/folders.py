"""The folders of ``docs/examples``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Final

EXAMPLES: Final = Path(__file__).parents[2] / "docs/examples"


def imported(name: str) -> dict[str, Any]:
    """Return the names that the program of an example has, which is run in this process."""
    spec = importlib.util.spec_from_file_location("example", EXAMPLES / name / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)
