"""Executors of the pattern ``repair_loop``; they read and write the keys of its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor
from agents.workflows.repairs.check_results import MAX_ERRORS, errors_in
from agents.workflows.repairs.file_sets import changed_files, lock
from agents.workflows.repairs.findings import Finding, SourceFrame

_MAX_SEEN: Final = 50  # rounds that are compared


@executor(name="repair_loop.take", effect="pure")
def take(answer: Any, context: Context) -> dict[str, Any]:
    """Merge the files of an agent's answer into ``state.files``.

    Returns:
        ``{ok, errors}``: the errors of files that were refused.
    """
    changed, errors = changed_files(context.get("files"), answer, context.get("locked"))
    context.add("files", changed)
    return {"ok": not errors, "errors": [error.plain() for error in errors]}


@executor(name="repair_loop.judge", effect="pure")
def judge(results: dict[str, Any], context: Context) -> dict[str, Any]:
    """Compare the errors of a round with those of the rounds before in the stage.

    Args:
        results: Results of the checks by name; null for a check that did not run.
        context: The context, with ``files``, ``locked``, ``seen`` and ``unchanged``.

    Returns:
        ``ok``; ``report``, the errors for a prompt; ``failures``, the rounds with errors;
        ``is_hard``: a fingerprint repeats, or an error crosses files; ``unchanged``: rounds in a
        row with the same set of fingerprints.
    """
    files, locked = context.get("files"), context.get("locked")
    errors = collect_findings(results, files)
    prints = sorted({error.fingerprint for error in errors})
    seen: list[list[str]] = context.get("seen")
    unchanged = context.get("unchanged") + 1 if seen and seen[-1] == prints else 0
    is_repeated = any(set(prints) & set(before) for before in seen)
    own = files.keys() - locked.keys()
    failures = context.get("failures") + bool(errors)
    context.set("seen", [*seen, prints][-_MAX_SEEN:])
    context.set("unchanged", unchanged)
    context.set("failures", failures)
    context.set("errors", [error.plain() for error in errors])
    return {
        "ok": not errors,
        "report": describe(errors),
        "failures": failures,
        "is_hard": is_repeated or any(error.crosses_files(own) for error in errors),
        "unchanged": unchanged,
    }


@executor(name="repair_loop.lock", effect="pure")
def lock_files(context: Context) -> dict[str, Any]:
    """Lock the files of the stage that has passed, and begin the next one."""
    stage, locked = context.get("stage"), context.get("locked")
    new = lock(context.get("files"), context.get("stages")[stage]["lock"])
    context.set("locked", {**locked, **new})
    context.set("stage", stage + 1)
    for key, value in (("failures", 0), ("seen", []), ("unchanged", 0)):
        context.set(key, value)
    return {"stage": stage + 1, "locked": sorted(new)}


def describe(findings: Sequence[Finding]) -> str:
    """Return findings as lines of a prompt, the first ones in full."""
    more = len(findings) - MAX_ERRORS
    lines = [*map(str, findings[:MAX_ERRORS]), *[f"... and {more} more errors"] * (more > 0)]
    return "\n".join(lines)


def collect_findings(results: Mapping[str, Any], files: Mapping[str, str]) -> list[Finding]:
    """Return the errors of all checks, in their order; those of ``take`` are passed on."""
    found: list[Finding] = []
    for check, result in results.items():
        if result is None:
            continue
        if "errors" not in result:
            found += errors_in(check, result, files)
            continue
        for one in result["errors"]:
            frames = (SourceFrame(one["file"]),) if one["file"] else ()
            found.append(Finding(check, one["class"], one["message"], frames))
    return found
