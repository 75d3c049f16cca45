"""The loop of generation, checks in the sandbox, and repair."""

from __future__ import annotations

from typing import Any

from agents.workflows.builder.patterns import repair_loop
from tests.workflows.patterns.workshop import Workshop, files

COMPILES = {
    "name": "compiles",
    "program": "import pathlib\nfor p in pathlib.Path().glob('*.py'):\n"
    "    compile(p.read_text(), str(p), 'exec')\n",
}
TESTS = {"name": "tests", "command": "python3 -B -m unittest -q"}
TEST = (
    "import unittest, calc\nclass T(unittest.TestCase):\n"
    "    def test_mean(self):\n        self.assertEqual(calc.mean([1, 3]), 2)\n"
    "    def test_empty(self):\n        self.assertEqual(calc.mean([]), 0)\n"
)
BROKEN = "def mean(values)\n    return sum(values) / len(values)\n"
NAIVE = "def mean(values):\n    return sum(values) / len(values)\n"
GOOD = "def mean(values):\n    return sum(values) / len(values) if values else 0\n"


def loop(**settings: Any) -> Any:
    given = {"stages": ["logic"], "files": {"test_calc.py": TEST}, "strong": "expert", **settings}
    return repair_loop("calc", "coder", [COMPILES, TESTS], repair="fixer", **given)


def mend(task: str) -> Any:
    """Mend the fault that the task names."""
    return files(calc=GOOD if "ZeroDivisionError" in task else NAIVE)


def test_a_module_is_repaired_until_its_tests_pass() -> None:
    shop = Workshop(loop(), coder=[files(calc=BROKEN)], fixer=mend)
    played = shop.play("Write calc.mean.")
    assert played.output["ok"], played.output
    assert (played.output["stage"], played.output["files"]["calc.py"]) == ("logic", GOOD)
    assert shop.names == ["coder", "fixer", "fixer"]
    assert shop.checked == ["compiles", "compiles", "tests", "compiles", "tests"]
    assert "compiles: SyntaxError: expected ':' (calc.py, line 1)" in shop.asked[1][1]
    assert "tests: ZeroDivisionError: division by zero (calc.py, line 2)" in shop.asked[2][1]
