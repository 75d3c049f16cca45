"""The loop of generation, checks in the sandbox, and repair."""

from __future__ import annotations

from typing import Any

import pytest

from agents.workflows.builder.patterns import decompose, repair_loop
from heartbit_site.base.errors import ConfigurationError
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


def test_a_repeated_fingerprint_asks_the_strong_agent() -> None:
    """The second failure has another line and another number, and is the same all the same."""
    later = "\n\n" + NAIVE.replace("values", "numbers")
    shop = Workshop(
        loop(), coder=[files(calc=NAIVE)], fixer=[files(calc=later)], expert=[files(calc=GOOD)]
    )
    assert shop.play().output["ok"]
    assert shop.names == ["coder", "fixer", "expert"]


def test_a_failure_across_files_asks_the_strong_agent_at_once() -> None:
    across = files(calc="import core\ndef mean(v): return core.half(v)", core="def half(v): v.x")
    shop = Workshop(loop(), coder=[across], fixer=[{}], expert=[files(calc=GOOD)])
    assert shop.play().output["ok"]
    assert shop.names == ["coder", "expert"]


def test_rounds_without_a_change_end_with_a_partial_result() -> None:
    shop = Workshop(loop(), coder=[files(calc=NAIVE)], fixer=[files(calc=NAIVE)], expert=mend_not)
    output = shop.play().output
    assert shop.names == ["coder", "fixer", "expert", "expert"]
    assert (output["ok"], output["stage"], output["files"]["calc.py"]) == (False, "logic", NAIVE)
    assert [one["class"] for one in output["errors"]] == ["ZeroDivisionError"]


def mend_not(_: str) -> Any:
    return files(calc=NAIVE)


def test_rounds_are_limited() -> None:
    answers = [files(calc=f"raise Fault{letter}") for letter in "ABCDE"]
    shop = Workshop(loop(strong=None, rounds=3), coder=[files(calc=BROKEN)], fixer=answers)
    assert not shop.play().output["ok"]
    assert shop.names == ["coder", "fixer", "fixer", "fixer"]


def test_collect_runs_all_checks_and_reports_all_errors() -> None:
    two = files(calc=BROKEN, other="def f(:")
    shop = Workshop(loop(mode="collect"), coder=[two], fixer=lambda _: files(calc=GOOD, other=""))
    assert shop.play().output["ok"]
    assert sorted(shop.checked) == ["compiles", "compiles", "tests", "tests"]
    report = shop.asked[1][1]
    assert "compiles: SyntaxError" in report
    assert "tests: SyntaxError: expected ':' (calc.py, line 1)" in report


def test_what_has_passed_a_stage_is_locked() -> None:
    writes = [
        files(shape="Mean = float"),
        files(calc=f"import shape\n{GOOD}", shape="Mean = int"),
    ]
    shop = Workshop(
        loop(stages=["types", "logic"], files={}, mode="collect"),
        coder=writes,
        fixer=[files(calc=f"import shape\n{GOOD}")],
    )
    played = shop.play()
    assert played.output["ok"], played.output
    assert played.output["files"]["shape.py"] == "Mean = float"
    assert shop.names == ["coder", "coder", "fixer"]
    assert "Write the types and data structures alone." in shop.asked[0][1]
    assert "locked; leave them as they are: shape.py" in shop.asked[1][1]
    assert 'answer: LockedFileError: "shape.py" is locked' in shop.asked[2][1]
    assert shop.checked == ["compiles", "tests"] * 2  # a refused answer is not checked


def test_tests_that_are_given_cannot_be_changed() -> None:
    shop = Workshop(loop(), coder=[files(calc=GOOD, test_calc="")], fixer=[files(calc=GOOD)])
    output = shop.play().output
    assert (output["ok"], output["files"]["test_calc.py"]) == (True, TEST)
    assert "LockedFileError" in shop.asked[1][1]


MACHINE = """import type { State, Event } from "./types.ts";
export function next(state: State, event: Event): State {
  if (state === "idle" && event === "start") return "running";
  if (state === "running" && event === "finish") return "done"%s
  throw new Error(`no transition from ${state} by ${event}`);
}
"""
TYPES = """export type State = "idle" | "running" | "done";
export type Event = "start" | "finish" | "reset";
"""
TRANSITIONS = """import assert from "node:assert/strict";
const { next } = await import(`${process.cwd()}/machine.ts`);
assert.equal(next("idle", "start"), "running");
assert.equal(next("running", "finish"), "done");
assert.equal(next("done", "reset"), "idle");
"""
READS = "await import(`${process.cwd()}/types.ts`);"


def test_a_state_machine_in_typescript_is_repaired() -> None:
    def write(task: str) -> Any:
        is_first = "data structures" in task
        path, text = ("types.ts", TYPES) if is_first else ("machine.ts", MACHINE % " retrun")
        return {"files": [{"path": path, "text": text}]}

    def repair(task: str) -> Any:
        more = '; if (event === "reset") return "idle";'
        mended = MACHINE % (more if "no transition from done by reset" in task else ";")
        return {"files": [{"path": "machine.ts", "text": mended}]}

    checks = [
        {"name": "reads", "stage": "types", "language": "typescript", "program": READS},
        {"name": "transitions", "stage": "logic", "language": "typescript", "program": TRANSITIONS},
    ]
    settings = {"repair": "fixer", "stages": ["types", "logic"], "mode": "collect"}
    flow = repair_loop("machine", "coder", checks, **settings)
    shop = Workshop(flow, coder=write, fixer=repair)
    played = shop.play("Write a state machine.")
    assert played.output["ok"], played.output
    assert shop.names == ["coder", "coder", "fixer", "fixer"]
    assert shop.checked == ["reads", "transitions", "transitions", "transitions"]
    assert "transitions: SyntaxError: " in shop.asked[2][1]
    assert "Error: no transition from done by reset (machine.ts, line 5)" in shop.asked[3][1]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"checks": [COMPILES, COMPILES]}, 'checks has "compiles" twice'),
        ({"checks": [{**COMPILES, "stage": "x"}]}, 'names the stage "x", which is not one of'),
        ({"checks": [{**COMPILES, "stage": "types"}]}, 'checks has none of the stage "stubs"'),
        ({"checks": [{"name": "a"}]}, "needs one of command and program"),
        ({"checks": [{**COMPILES, "command": "x"}]}, "needs one of command and program"),
        ({"stages": ["a", "a"]}, 'stages has "a" twice'),
    ],
)
def test_a_loop_that_cannot_work_is_refused(settings: dict[str, Any], sentence: str) -> None:
    given = {"checks": [COMPILES], **settings}
    with pytest.raises(ConfigurationError, match=sentence):
        repair_loop("x", "coder", **given)


def part(code: str, *, ok: bool = True) -> Any:
    name, _, text = code.partition(" ")
    return {"ok": ok, "files": {f"{name}.py": text}, "errors": []}


def test_parts_that_do_not_fit_together_are_solved_again() -> None:
    plan = {"parts": [{"name": name, "task": f"Write {name}."} for name in ("reader", "writer")]}

    def solve(task: str) -> Any:
        if "Your part is reader" in task:
            return part("reader def read(): return 1")
        is_told = "TypeError: write() takes 0 positional arguments" in task
        return part(f"writer def write({'x' if is_told else ''}): return 2")

    check = {"name": "fits", "program": "import reader, writer\nwriter.write(reader.read())"}
    flow = decompose("pair", "boss", "part", [check])
    shop = Workshop(flow, boss=[plan], part=solve)
    output = shop.play().output
    assert (output["ok"], sorted(output["files"])) == (True, ["reader.py", "writer.py"])
    assert shop.names == ["boss", "part", "part", "part", "part"]
    strict = Workshop(flow, boss=[plan], part=solve_naming_a_file)
    assert strict.play().output["ok"]
    assert strict.names == ["boss", "part", "part", "part"]
    assert "Your part is writer" in strict.asked[3][1]


def solve_naming_a_file(task: str) -> Any:
    if "Your part is reader" in task:
        return part("reader def read(): return 1")
    return part(f"writer def write(x): return {'x' if 'NameError' in task else 'y'}")


def test_parts_that_fail_or_share_a_file_are_solved_again_up_to_the_limit() -> None:
    plan = {"parts": [{"name": name, "task": "Do."} for name in ("a", "b", "c")]}
    check = {"name": "fits", "command": "true"}
    flow = decompose("trio", "boss", "part", [check], rounds=1)

    def solve(task: str) -> Any:
        if "Your part is c:" in task:
            return part("c 1", ok=False)
        return part("same 1" if "Your part is a:" in task else "same 2")

    shop = Workshop(flow, boss=[plan], part=solve)
    output = shop.play().output
    assert [one["class"] for one in output["errors"]] == ["PartError", "SharedFileError"]
    assert (output["ok"], len(shop.names), shop.checked) == (False, 7, [])
    assert "written by the parts a, b" in shop.asked[4][1]
    for wrong in ([], plan["parts"][:1] * 2):
        assert "name 1 to 50" in Workshop(flow, boss=[{"parts": wrong}]).play().failure.message
