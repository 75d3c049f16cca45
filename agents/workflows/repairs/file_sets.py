"""Files that agents write, ``{path: text}``: reading of their answers, and locks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from agents.workflows.repairs.findings import Finding, SourceFrame
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import visible
from tools.sandbox.folder import name_problem
from tools.texts.path_pattern import fits, parts_of

ANSWER: Final = "answer"  # check that reports the faults of an answer
MAX_FILES: Final = 50  # of ``run_code``
MAX_BYTES: Final = 600_000  # of all files as JSON; a tool's arguments have at most 1 MB
_FENCE: Final = "```"


def read_answer(answer: Any) -> dict[str, str]:
    """Return the texts of the files in an agent's answer, by path.

    Args:
        answer: An object with ``files``, which are a list of ``{path, text}`` or texts by path; or
            that object as text, perhaps in a fence.

    Raises:
        ValueError: The answer has no files; the message is a sentence for the agent.
    """
    if isinstance(answer, str):
        inner = answer.strip().removeprefix(f"{_FENCE}json").removesuffix(_FENCE)
        try:
            answer = parse_untrusted_json(inner, max_bytes=2 * MAX_BYTES)
        except UntrustedJSONError as error:
            raise ValueError(f"The answer is no JSON: {error}") from None
    files = answer.get("files") if isinstance(answer, Mapping) else None
    if isinstance(files, list) and all(isinstance(one, Mapping) for one in files):
        files = {str(one.get("path", "")): one.get("text") for one in files}
    if not isinstance(files, Mapping) or not files:
        raise ValueError(
            'The answer names no files: write {"files": [{"path": ..., "text": ...}]}.'
        )
    for path, text in files.items():
        if not isinstance(text, str):
            raise ValueError(f'The text of "{visible(str(path))[:80]}" is no text.')
    return dict(files)


def changed_files(
    files: Mapping[str, str], answer: Any, locked: Mapping[str, str]
) -> tuple[dict[str, str], list[Finding]]:
    """Return the files that an answer adds or changes, and the errors of what was refused.

    A file is refused if its name leads out of the folder, or if it is locked and its text has
    another hash. The others are taken.

    Args:
        files: The files before.
        answer: Answer of an agent (``read_answer``).
        locked: Hashes of the locked files, by path.
    """
    try:
        given = read_answer(answer)
    except ValueError as error:
        return {}, [Finding(ANSWER, "AnswerError", str(error))]
    changed, errors = dict[str, str](), list[Finding]()
    for path, text in given.items():
        if problem := _name_problem(path, [*files, *changed]):
            message = f'"{visible(path)[:80]}" {problem}: choose another name'
            errors.append(Finding(ANSWER, "FileNameError", message))
        elif path in locked and hash_of(text) != locked[path]:
            message = f'"{path}" is locked: leave it as it is'
            errors.append(Finding(ANSWER, "LockedFileError", message, (SourceFrame(path),)))
        elif files.get(path) != text:
            changed[path] = text
    merged = {**files, **changed}
    size = len(_encoded(json.dumps(merged, ensure_ascii=False)))
    if len(merged) > MAX_FILES or size > MAX_BYTES:
        message = f"at most {MAX_FILES} files of {MAX_BYTES:,} bytes as JSON are accepted"
        return {}, [*errors, Finding(ANSWER, "AnswerError", message)]
    return changed, errors


def hash_of(text: str) -> str:
    """Return the SHA-256 of a file's text."""
    return hashlib.sha256(_encoded(text)).hexdigest()


def lock(files: Mapping[str, str], patterns: Collection[str]) -> dict[str, str]:
    """Return the hashes of the files whose paths match one of the patterns, by path."""
    parts = [parts_of(pattern) for pattern in patterns]
    matching = (path for path in files if any(fits(one, path) for one in parts))
    return {path: hash_of(files[path]) for path in matching}


def _name_problem(path: str, others: Collection[str]) -> str | None:
    if problem := name_problem(path):
        return problem
    clash = any(one.startswith(f"{path}/") or path.startswith(f"{one}/") for one in others)
    return "is a folder of another file, or has one as its folder" if clash else None


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")  # half of a pair of surrogates is no character
