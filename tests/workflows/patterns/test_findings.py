"""Errors of checks, their fingerprints, and the files of answers."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from agents.workflows.repairs.check_results import MAX_ERRORS, errors_in
from agents.workflows.repairs.file_sets import changed_files, hash_of
from agents.workflows.repairs.findings import Finding, SourceFrame

FRAME = SourceFrame("a/calc.py", 3, "mean")
KEY = Finding("tests", "KeyError", "key 'x' of /box/a/calc.py: 3 of 0x7f is missing", (FRAME,))


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (("KeyError", 'key "other y" of /tmp/b/c.py: 41 of 0x80 is missing', FRAME), True),
        (("KeyError", "key `z` of file:///c.py: 4.5 of 7 is  missing", FRAME), True),
        (("KeyError", KEY.message, SourceFrame("a/calc.py", 99, "mean")), True),
        (("IndexError", KEY.message, FRAME), False),
        (("KeyError", "key 'x' of /box/a/calc.py: 3 of 0x7f is there", FRAME), False),
        (("KeyError", KEY.message, SourceFrame("a/calc.py", 3, "median")), False),
        (("KeyError", KEY.message, SourceFrame("a/other.py", 3, "mean")), False),
    ],
)
def test_a_fingerprint_ignores_values(
    other: tuple[str, str, SourceFrame], *, is_same: bool
) -> None:
    kind, message, frame = other
    found = Finding("another check", kind, message, (frame,))
    assert (found.fingerprint == KEY.fingerprint) is is_same


def test_apostrophes_quote_nothing() -> None:
    one, other = (Finding("c", "E", f"can't read {what} and don't") for what in ("this", "that"))
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("frames", "message", "crosses"),
    [
        (["a.py", "b.py"], "", True),
        (["a.py", "c.py"], "", False),
        (["a.py", "test_b.py"], "", False),
        (["a.py"], "Item of b.py has no attribute", True),
        ([], "nothing", False),
    ],
)
def test_an_error_crosses_files_that_may_change(
    frames: list[str], message: str, *, crosses: bool
) -> None:
    found = Finding("c", "E", message, tuple(map(SourceFrame, frames)))
    assert found.crosses_files(["a.py", "b.py", "test_b.py"]) is crosses


TRACE = """Traceback (most recent call last):
  File "/usr/lib/python3.11/unittest/case.py", line 57, in testPartExecutor
    yield
  File "/box/shop/cart.py", line 7, in total
    return price("x")
  File "/box/price.py", line 2, in price
    return 1 / 0
ZeroDivisionError: division by zero
"""
STACK = """file:///box/machine.ts:4
  throw new Error("no");
        ^

Error: no transition
    at next (file:///box/machine.ts:4:9)
    at async Promise.all (index 0)
    at file:///code/main.mts:3:1
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACE, [("ZeroDivisionError", "division by zero", "price.py", 2)]),
        (STACK, [("Error", "no transition", "machine.ts", 4)]),
        (
            "file:///box/machine.ts:3\n  x\n\nSyntaxError [ERR_TYPESCRIPT]: Expected ','\n",
            [("SyntaxError", "Expected ','", "machine.ts", 3)],
        ),
        ("machine.ts(3,5): error TS2322: Type 'x'.", [("TS2322", "Type 'x'.", "machine.ts", 3)]),
        ("price.py:3: error: Bad type", [("error", "Bad type", "price.py", 3)]),
        ("./price.py:3:1: F401 unused", [("F401", "unused", "price.py", 3)]),
        ("Segmentation fault", [("CheckFailed", "Segmentation fault", "", 0)]),
        ("", [("CheckFailed", "it ended with exit code 1", "", 0)]),
    ],
)
def test_errors_are_read_from_what_a_program_prints(text: str, expected: list[Any]) -> None:
    files = ["shop/cart.py", "price.py", "machine.ts"]
    found = errors_in("c", {"exit_code": 1, "stderr": text}, files)
    assert [(one.kind, one.message, one.place.file, one.place.line) for one in found] == expected
    assert not errors_in("c", {"exit_code": 0, "stderr": text}, files)


def test_a_program_may_write_its_errors_itself_and_is_not_trusted() -> None:
    own = {"class": "Gap", "message": "m", "file": "price.py", "line": 4}
    written = json.dumps({"errors": [own, "x", {"file": "/etc/passwd", "line": "9"}]})
    found = errors_in("c", {"exit_code": 1, "stdout": f"...\n{written}\n"}, ["price.py"])
    assert [one.plain() for one in found] == [
        {**own, "check": "c"},
        {"check": "c", "class": "CheckFailed", "message": "", "file": "", "line": 0},
    ]
    began = time.monotonic()
    for line in (
        '  File "',
        "a:" * 300 + "\n",
        "E: x\n    at (",
        "    at new " * 200 + "\n",
        "(" * 999,
    ):
        hostile = line * (1_000_000 // len(line))
        assert len(errors_in("c", {"stdout": hostile, "stderr": hostile}, ["a"])) <= MAX_ERRORS
    assert time.monotonic() - began < 5
    assert errors_in("c", {"ended": "It was ended: out of time."}, [])[0].message.startswith(
        "It was"
    )


BAD_NAMES = [
    "../x.py",
    "/etc/x.py",
    "a/../../x.py",
    "a\0b.py",
    "",
    "a//b",
    "a\\b.py",
    "a.py/b",
    "n\n",
]


@pytest.mark.parametrize("path", BAD_NAMES)
def test_a_hostile_name_is_refused_and_the_other_files_are_taken(path: str) -> None:
    answer = {"files": {path: "evil", "b.py": "fine"}}
    files, errors = changed_files({"a.py": "old"}, answer, {})
    assert files == {"b.py": "fine"}
    assert [one.kind for one in errors] == ["FileNameError"]


def test_a_locked_file_keeps_its_text() -> None:
    before, locked = {"types.py": "X = 1"}, {"types.py": hash_of("X = 1")}
    assert changed_files(before, {"files": {"types.py": "X = 1"}}, locked) == ({}, [])
    files, errors = changed_files(before, {"files": {"types.py": "X = 2"}}, locked)
    assert (files, [one.kind for one in errors]) == ({}, ["LockedFileError"])


@pytest.mark.parametrize(
    "answer",
    [
        *(
            None,
            3,
            "",
            "no",
            "[]",
            {},
            {"files": []},
            {"files": {"a": 3}},
            {"files": {"a": None}},
            {"files": [1]},
        ),
        {"files": {f"{number}.py": "" for number in range(51)}},
        {"files": {"a.py": "é" * 300_001}},
    ],
)
def test_an_answer_without_usable_files_is_an_error(answer: Any) -> None:
    files, errors = changed_files({"a.py": "old"}, answer, {})
    assert (files, [one.kind for one in errors]) == ({}, ["AnswerError"])


def test_an_answer_may_be_text() -> None:
    text = '```json\n{"files": [{"path": "a.py", "text": "new"}]}\n```'
    assert changed_files({}, text, {}) == ({"a.py": "new"}, [])
