"""The definition of a workflow as text, in JSON or TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final

from agents.admin.drawing import in_order
from agents.definitions.spec import ToolGrant
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.admin.themed import pretty_json
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

#: Settings that are no part of the text, but fields of the form or rows of their own.
_ELSEWHERE: Final = {"name", "description", "enabled", "queue", "tools", "team"}


def read_definition(text: str) -> tuple[dict[str, Any], str]:
    """Return the table that a text in JSON or TOML is, and what is wrong with it.

    A whole section ``[[workflows]]`` of a file, with one workflow, is that workflow.
    """
    if not text.strip():
        return {}, "Write the definition: it needs steps, a pattern, or nodes and edges."
    try:
        found: Any = parse_untrusted_json(text) if text.lstrip()[:1] == "{" else tomllib.loads(text)
    except (UntrustedJSONError, tomllib.TOMLDecodeError, RecursionError) as error:
        return {}, f"The text cannot be read: {error}"
    match found:
        case {"workflows": [dict(only)], **others} if not others:
            return only, ""
        case dict() if "workflows" not in found:
            return found, ""
    return {}, "The text must be the table of one workflow."


def write_definition(table: Mapping[str, Any]) -> str:
    """Return the settings of a stored workflow as the text that ``read_definition`` reads."""
    nodes = table.get("nodes", ())
    used = used_names(nodes)
    tools = [_without_defaults(tool) for tool in table.get("tools", ())]
    extra = {
        "tools": [tool for tool in tools if len(tool) > 1 or tool["name"] not in used],
        "team": [name for name in table.get("team", ()) if name not in used],
    }
    own = WorkflowSpec.model_fields.keys() - _ELSEWHERE
    kept = {
        name: in_order(name, table[name])
        for name in WorkflowSpec.model_fields
        if name in own and name in table and table[name] not in (None, "", {}, [])
    }
    return pretty_json(kept | {key: value for key, value in extra.items() if value})


def _without_defaults(grant: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in grant.items()
        if key == "name" or value != ToolGrant.default_of(key)
    }


def used_names(steps: Any) -> set[str]:
    """Return the names of the tools and agents that steps or nodes use."""
    found = {step.get(kind) for step in steps for kind in ("agent", "workflow", "tool")}
    return {name for name in found if name} | {"run_code" for step in steps if step.get("code")}
