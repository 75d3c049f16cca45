"""The older format of skills: ``skill.json``, ``system-prompt.md`` and ``workflows.json``. Pure.

It is converted when it is read, so that everything else knows one format. ``skill.json`` has the
keys of a ``SKILL.md`` and, as the older format calls them, ``tools`` or ``required_tools``;
``version`` and ``author`` become metadata without a note: they are of the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agents.skills import front_matter
from agents.skills.spec import InvalidSkillError, SkillSpec
from heartbit_site.base.untrusted import JSONValue, UntrustedJSONError, parse_untrusted_json

MAIN_FILE: Final = "skill.json"
_PROMPT: Final = "system-prompt.md"
_WORKFLOWS: Final = "workflows.json"
_KEPT: Final = f"references/{_WORKFLOWS}"
_TOOLS: Final = (
    *("tools", "required_tools", "required-tools", "requiredTools"),
    *("allowed-tools", "allowed_tools"),
)
_TO_METADATA: Final = ("version", "author")


def convert(files: Mapping[str, bytes]) -> tuple[SkillSpec, dict[str, bytes], str]:
    """Return the skill, its files under the paths that the open format has for them, and a note.

    The note is that of ``front_matter.checked``.

    Raises:
        InvalidSkillError: Names each fault.
    """
    table = _json(files, MAIN_FILE)
    if not isinstance(table, dict):
        raise InvalidSkillError([f"{MAIN_FILE} is no JSON object: write one with name and so on."])
    if _PROMPT not in files:
        raise InvalidSkillError([f"There is no {_PROMPT} beside {MAIN_FILE}: write one."])
    others = {
        path: data
        for path, data in sorted(files.items())
        if path not in (MAIN_FILE, _PROMPT, _WORKFLOWS)
    }
    body = front_matter.decode(files, _PROMPT).replace("\r\n", "\n").strip()
    if _WORKFLOWS in files:
        if _KEPT in others:
            raise InvalidSkillError([f"There are both {_WORKFLOWS} and {_KEPT}: leave one out."])
        body = f"{body}\n\n{_workflows(_json(files, _WORKFLOWS))}"
        others[_KEPT] = files[_WORKFLOWS]
    tools_key = next((key for key in _TOOLS if key in table), "")
    spec, note = front_matter.checked(_settings(table), body, MAIN_FILE, tools_key=tools_key)
    return spec, others, note


def _settings(table: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in table.items() if value is not None}
    named = [key for key in _TOOLS if key in found]
    if len(named) > 1:
        raise InvalidSkillError([f"{MAIN_FILE}: {' and '.join(named)} say the same: keep one."])
    if named:
        found["allowed-tools"] = found.pop(named[0])
    further = {key: found.pop(key) for key in _TO_METADATA if key in found}
    if further:
        metadata = found.get("metadata", {})
        found["metadata"] = metadata | further if isinstance(metadata, dict) else metadata
    return found


def _workflows(content: JSONValue) -> str:
    """Return a section that names the workflows, whose steps are in a file beside it."""
    entries: list[Any] = []
    if isinstance(content, dict):
        inner = content.get("workflows", content)
        if isinstance(inner, dict):
            entries = [{"name": name} | _table(each) for name, each in inner.items()]
        elif isinstance(inner, list):
            entries = inner
    elif isinstance(content, list):
        entries = content
    lines = [f"- {_named(entry)}" for entry in entries if _named(entry)]
    head = f"## Workflows\n\nTheir steps are in {_KEPT}: read it before you begin one."
    return "\n\n".join([head, "\n".join(lines)]) if lines else head


def _named(entry: object) -> str:
    table = _table(entry)
    name = table.get("name") or table.get("id")
    about = table.get("description")
    if not isinstance(name, str):
        return ""
    return f"{name}: {about}" if isinstance(about, str) and about else name


def _table(entry: object) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else {}


def _json(files: Mapping[str, bytes], path: str) -> JSONValue:
    try:
        return parse_untrusted_json(files[path])
    except UntrustedJSONError as error:
        raise InvalidSkillError([f"{path} cannot be read: {error}"]) from None
