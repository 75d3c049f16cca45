"""JSON Schema for "call one of these tools, or answer", with a limit on everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.llm.messages import ToolDefinition
    from agents.llm.profiles import Constrained

_REFERENCE = "#/$defs/"
_DEFINITIONS = ("$defs", "definitions")
_ONE_SCHEMA = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_SCHEMAS_BY_NAME = ("properties", "patternProperties")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def answer_name(tools: tuple[ToolDefinition, ...]) -> str:
    """Return the name that stands for an answer in text: ``answer``, unless a tool has it."""
    name = "answer"
    while any(tool.name == name for tool in tools):
        name += "_"
    return name


def call_schema(
    tools: tuple[ToolDefinition, ...], *, answer: str, limits: Constrained
) -> dict[str, Any]:
    """Return the schema of ``{"tool": name, "args": {...}}``.

    The caller's definitions are copied, never changed. A server turns the schema into a grammar and
    enforces it; the order matters there, so the tool's name comes first.

    Args:
        tools: Tools to choose from.
        answer: Name of the branch that answers in text; empty for none.
        limits: Longest strings and arrays for tools whose schema sets no limit.
    """
    definitions: dict[str, Any] = {}
    branches = [_branch(tool, definitions, limits=limits) for tool in tools]
    if answer:
        text = {"type": "string", "minLength": 1, "maxLength": limits.answer_limit}
        args = {"type": "object", "properties": {"text": text}, "required": ["text"]}
        branches.append(_call(answer, {**args, "additionalProperties": False}))
    schema: dict[str, Any] = {"anyOf": branches}
    if definitions:
        schema["$defs"] = definitions
    return schema


def _call(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"const": name}, "args": args},
        "required": ["tool", "args"],
        "additionalProperties": False,
    }


def _branch(
    tool: ToolDefinition, definitions: dict[str, Any], *, limits: Constrained
) -> dict[str, Any]:
    """Return one tool's branch; its definitions move to the root, where references start."""
    bounds = _Bounds(limits, prefix=f"{tool.name}.")
    args = bounds.bounded({**tool.parameters, "type": "object"})
    for keyword in _DEFINITIONS:
        for name, schema in args.pop(keyword, {}).items():
            definitions[f"{tool.name}.{name}"] = bounds.bounded(schema)
    return _call(tool.name, args)


class _Bounds:
    """Copier of a schema that adds limits and moves references."""

    def __init__(self, limits: Constrained, *, prefix: str) -> None:
        self._limits = limits
        self._prefix = prefix

    def bounded(self, schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema  # true and false are schemas too
        result = {keyword: self._keyword(keyword, value) for keyword, value in schema.items()}
        kinds = schema.get("type", ())
        kinds = (kinds,) if isinstance(kinds, str) else kinds
        # A pattern has its own length, and servers apply only one of the two.
        fixed = any(keyword in schema for keyword in ("enum", "const", "pattern"))
        if "string" in kinds and not fixed:
            least = schema.get("minLength", 0)
            result.setdefault("maxLength", max(self._limits.string_limit, least))
        if "array" in kinds:
            least = max(schema.get("minItems", 0), len(schema.get("prefixItems", ())))
            result.setdefault("maxItems", max(self._limits.items_limit, least))
        return result

    def _keyword(self, keyword: str, value: Any) -> Any:
        if keyword == "$ref" and isinstance(value, str):
            return self._moved(value)
        if keyword in _ONE_SCHEMA:
            return self.bounded(value)
        if keyword in _SCHEMAS_BY_NAME and isinstance(value, dict):
            return {name: self.bounded(schema) for name, schema in value.items()}
        if keyword in _SCHEMA_LISTS and isinstance(value, list):
            return [self.bounded(schema) for schema in value]
        return value

    def _moved(self, reference: str) -> str:
        for keyword in _DEFINITIONS:
            start = f"#/{keyword}/"
            if reference.startswith(start):
                return f"{_REFERENCE}{self._prefix}{reference.removeprefix(start)}"
        return reference
