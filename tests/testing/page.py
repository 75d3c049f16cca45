"""The examples of docs/howto/test-your-agents.md."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/howto/test-your-agents.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def written_test() -> str:
    """Return the page's first test."""
    return str(EXAMPLES[0])
