"""Executors of the pattern ``decompose``; they read and write the keys of its state."""

from __future__ import annotations

import json
from typing import Any, Final

from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor
from agents.workflows.repairs.file_sets import ANSWER
from agents.workflows.repairs.findings import Finding
from agents.workflows.repairs.repair_loop import collect_findings, describe

MAX_PARTS: Final = 50


@executor(name="decompose.note", effect="pure")
def note_parts(plan: dict[str, Any], context: Context) -> dict[str, Any]:
    """Store the parts of a plan, ``{parts: [{name, task}]}``, all of which are due.

    Raises:
        ValueError: There is no part, there are too many, or two have one name.
    """
    parts = [{"name": one["name"], "task": one["task"], "notes": ""} for one in plan["parts"]]
    names = [one["name"] for one in parts]
    if not names or len(names) > MAX_PARTS or len(set(names)) < len(names):
        raise ValueError(
            f"The plan has {len(names)} parts, {len(set(names))} of them with a name of their own: "
            f"name 1 to {MAX_PARTS}, each once."
        )
    context.set("parts", parts)
    context.set("due", parts)
    return {"parts": names}


@executor(name="decompose.merge", effect="pure")
def merge_parts(outputs: list[Any], context: Context) -> dict[str, Any]:
    """Merge the files of the parts that were due into ``state.files``.

    Args:
        outputs: Outputs of the parts, in the order of ``state.due``: each has ``ok`` and ``files``.
        context: The context.

    Returns:
        ``{ok, errors, parts}``: the parts that are unfinished, or write the file of another one.
    """
    due: dict[str, dict[str, str]] = {}
    findings, named = list[Finding](), set[str]()
    for part, output in zip(context.get("due"), outputs, strict=True):
        result, name = output if isinstance(output, dict) else {}, part["name"]
        due[name] = result.get("files", {})
        if not result.get("ok"):
            named.add(name)
            message = f'the part "{name}" has not passed its own checks'
            findings.append(Finding(ANSWER, "PartError", message))
    results: dict[str, dict[str, str]] = {**context.get("results"), **due}
    files: dict[str, str] = {}
    for own in results.values():
        for path in own.keys() & files.keys():
            others = {other for other in results if path in results[other]}
            if own[path] != files[path] and not others <= named:
                named |= others
                message = f'"{path}" is written by the parts {", ".join(sorted(others))}'
                findings.append(Finding(ANSWER, "SharedFileError", message))
        files |= own
    context.add("results", due)
    context.set("files", files)
    errors = [one.plain() for one in findings]
    return {"ok": not findings, "errors": errors, "parts": sorted(named)}


@executor(name="decompose.judge", effect="pure")
def judge_parts(results: dict[str, Any], context: Context) -> dict[str, Any]:
    """Find the parts that the errors of a coherence check name, and make them due.

    A part is named by an error whose innermost place is one of its files. Errors that name no part
    make all of them due.

    Args:
        results: Results of the checks by name; null for a check that did not run.
        context: The context.

    Returns:
        ``ok``, the number of ``failures`` so far, and the names of the ``parts``.
    """
    findings = collect_findings(results, context.get("files"))
    files_of: dict[str, dict[str, str]] = context.get("results")
    named = set((results.get(ANSWER) or {}).get("parts", ()))
    named |= {
        name for name, own in files_of.items() if any(one.place.file in own for one in findings)
    }
    report = describe(findings)
    due = [
        {**part, "notes": _notes(report, files_of[part["name"]])}
        for part in context.get("parts")
        if findings and (part["name"] in named or not named)
    ]
    failures = context.get("failures") + bool(findings)
    context.set("failures", failures)
    context.set("due", due)
    context.set("errors", [one.plain() for one in findings])
    return {"ok": not findings, "failures": failures, "parts": [one["name"] for one in due]}


def _notes(report: str, files: dict[str, str]) -> str:
    before = json.dumps(files, ensure_ascii=False)
    return f"The parts do not fit together:\n\n{report}\n\nThe files of your part were:\n\n{before}"
