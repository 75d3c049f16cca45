"""Code is written, checked in the sandbox and repaired: `python code_repair.py`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from agents.workflows.builder import patterns
from agents.workflows.patterns.repair_loop import files_schema
from heartbit_site.library import Heartbit

if TYPE_CHECKING:
    from agents.llm.protocol import ChatModel

TESTS: Final = """
import unittest
from slug import slug
class SlugTest(unittest.TestCase):
    def test_spaces(self):
        self.assertEqual(slug(" Barn  Owls "), "barn-owls")
"""
LOOP: Final = patterns.repair_loop(
    "module",
    "coder",
    [
        {"name": "imports", "program": "import slug"},
        {"name": "tests", "command": "python3 -B -m unittest -q"},
    ],
    stages=["logic"],
    files={"test_slug.py": TESTS},
)


def main(task: str, model: ChatModel | None = None) -> None:
    """Let the coder write until the tests pass, and print the module."""
    team = Heartbit() if model is None else Heartbit().provider(model)
    coder = team.agent("coder", "Write short, plain code.", response_schema=files_schema())
    found = coder.workflow(LOOP, leads=True).run(task).expect().structured
    sys.stdout.write(f"passed: {found['ok']}\n{found['files']['slug.py']}")


if __name__ == "__main__":
    main(
        " ".join(sys.argv[1:])
        or "Write slug.py with slug(text): lower case, words joined by dashes."
    )
