"""A step of a workflow as a row of a form, and back.

A row refers to other rows by their number, so that a step can be renamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents.admin.json_fields import JSONText
from agents.workflows.spec.node import WORK
from agents.workflows.spec.values import seconds
from heartbit_site.admin.themed import pretty_json
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

#: Groups of names that a kind of work may run; a workflow may take an agent's place.
SUBJECTS: Final = {
    "agent": ("agent", "workflow"),
    "workflow": ("workflow", "agent"),
    "tool": ("tool",),
    "function": ("function",),
    "validator": ("function",),
}
#: Forms of an answer that a row offers, by the type of their schema; others are further settings.
ANSWERS: Final = {"boolean": "Yes or no", "number": "A number"}
#: Settings that a row has as they are.
PLAIN: Final = ("when", "each", "group", "timeout")
#: Setting that the text of a row is, by the kind of work; functions and validators have none.
TEXTS: Final = {"agent": "task", "workflow": "task", "tool": "arguments"} | {
    name: name for name in ("ask", "code", "pause", "set")
}
_TABLES: Final = ("arguments", "set")
_PLACED: Final = frozenset({*WORK, *PLAIN, "task", "arguments", "on_error", "needs"})
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60))
Step = dict[str, Any]


def read_data(text: str) -> Any:
    """Return a template's value: a JSON object or list is data, anything else is text."""
    if text.lstrip()[:1] in ("{", "[") and not text.lstrip().startswith("{{"):
        try:
            return parse_untrusted_json(text)
        except UntrustedJSONError:
            return text
    return text


def write_data(value: Any) -> str:
    """Return a template's value as the text that ``read_data`` reads."""
    if value is None or isinstance(value, str):
        return value or ""
    return JSONText().prepare_value(value)


def row_of(name: str, step: Step, numbers: Mapping[str, int]) -> dict[str, Any]:
    """Return a row's values for a step.

    Args:
        name: Name of the step.
        step: Its settings, in the form of ``[workflows.steps.NAME]``.
        numbers: Number of each step's row, by its name.
    """
    work = next(kind for kind in WORK if step.get(kind) is not None)
    more = {key: value for key, value in step.items() if key not in _PLACED}
    answer = next((one for one in ANSWERS if more.get("form") == {"type": one}), "")
    if answer:
        del more["form"]
    on_error = step.get("on_error", "fail")
    return {key: step.get(key, "") for key in PLAIN} | {
        "name": name,
        "does": work,
        "subject": f"{SUBJECTS[work][0]}:{step[work]}" if work in SUBJECTS else "",
        "text": _text(work, step),
        "after": [str(numbers[one]) for one in step.get("needs", ())],
        "timeout": _duration(step["timeout"]) if "timeout" in step else "",
        "answer": answer,
        "on_error": str(numbers.get(on_error, on_error)),
        "more": more,
    }


def step_of(row: Mapping[str, Any], names: Sequence[str]) -> Step:
    """Return the settings of a row's step; what is missing in the row is missing in the step.

    Args:
        row: Valid values of a row's form.
        names: Name of each row's step, by the row's number; empty: the row has none.
    """
    work, text = row["does"], row["text"]
    step: Step = {}
    if work in SUBJECTS:
        step[work] = row["subject"].partition(":")[2] or None
    if text and work in TEXTS:
        read = parse_untrusted_json if TEXTS[work] in _TABLES else read_data
        step[TEXTS[work]] = text if work in ("ask", "code", "pause") else read(text)
    elif work in ("set", "ask", "code", "pause"):
        step[work] = {} if work == "set" else None
    hidden = () if work == "ask" else ("group",)
    step |= {key: row[key] for key in PLAIN if row[key] and key not in hidden}
    if work == "ask" and row["answer"]:
        step["form"] = {"type": row["answer"]}
    if row["on_error"] != "fail":
        step["on_error"] = _named(row["on_error"], names)
    needs = [names[int(one)] for one in row["after"] if names[int(one)]]
    step |= {"needs": needs} if needs else {}
    return {key: value for key, value in ((row["more"] or {}) | step).items() if value is not None}


def survive(steps: Mapping[str, Step]) -> bool:
    """Return True if rows that show these steps, sent by a browser, are the same steps."""
    names = list(steps)
    numbers = {name: number for number, name in enumerate(names)}
    for name, step in steps.items():
        row = row_of(name, step, numbers)
        sent = row | {key: row[key].replace("\r\n", "\n").strip() for key in ("name", *PLAIN)}
        sent["text"] = row["text"].replace("\r\n", "\n") if row["text"].strip() else ""
        again = step_of(sent, names)
        again |= {key: seconds(again[key]) for key in ("pause", "timeout") if key in again}
        if sent["name"] != name or again != step:
            return False
    return True


def _named(on_error: str, names: Sequence[str]) -> str:
    return names[int(on_error)] if on_error.isdecimal() else on_error


def _duration(length: Any) -> str:
    unit, size = next((one for one in _UNITS if length and not length % one[1]), ("s", 1))
    return f"{length / size:g}{unit}"


def _text(work: str, step: Step) -> str:
    value = step.get(TEXTS.get(work, ""))
    if work == "pause":
        return _duration(value)
    if work == "set" or (work == "tool" and value is not None):
        return pretty_json(value) if value or work == "tool" else ""  # no arguments, or {}
    return write_data(value)
