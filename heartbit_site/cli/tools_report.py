"""What is said about tools: the list, and one of them. The registry knows; no service is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.effect_text import EFFECT_TEXT
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.toolspec import Effect
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.errors import OK
from heartbit_site.cli.escape import visible
from heartbit_site.cli.output import one_line, seconds, write, write_json
from heartbit_site.cli.table import print_table
from tools.registry import closest, definition_hash, registry, resolve

if TYPE_CHECKING:
    from heartbit_site.base.toolspec import ToolSpec

COLUMNS: Final = ("TOOL", "EFFECT", "APPROVAL", "FROM", "NEEDS", "TAGS", "")


class ToolNotFoundError(NotFoundError):
    """No tool has that name."""


def list_tools(*, as_json: bool) -> int:
    """Every tool that agents can be given, one a line."""
    specs = [registry[name] for name in sorted(registry)]
    if as_json:
        write_json({"tools": [_row(spec) for spec in specs]})
        return OK
    print_table(COLUMNS, [_cells(spec) for spec in specs])
    return OK


def show_tool(name: str, *, as_json: bool) -> int:
    """One tool with its schema.

    Raises:
        ToolNotFoundError: There is none of that name.
    """
    spec = resolve(registry, name)
    if spec is None:
        near = closest(name, registry)
        hint = f"did you mean {near[0]}?" if near else "`heartbit tools` lists them."
        raise ToolNotFoundError(f"There is no tool named {name!r}: {hint}")
    shown = {**_row(spec), "parameters": dict(spec.parameters)}
    if as_json:
        write_json(shown)
        return OK
    facts = (
        ("effect", f"{spec.effect}: {EFFECT_TEXT[spec.effect]}"),
        ("approval", _asked_by(spec)),
        ("limit", seconds(spec.timeout_seconds)),
        ("from", visible(shown["from"])),
        ("needs", ", ".join(map(visible, spec.credentials)) or "no credentials"),
        ("tags", ", ".join(map(visible, spec.tags)) or "none"),
    )
    write(spec.name)
    for title, text in facts:
        write(f"  {title:<9} {text}")
    write(f"\n{visible_lines(spec.description)}\n\n{readable_json(shown['parameters'])}")
    return OK


def visible_lines(text: str) -> str:
    """A text of several lines without anything hidden in it."""
    return "\n".join(visible(line) for line in text.splitlines())


def _row(spec: ToolSpec) -> dict[str, Any]:
    return {
        "tool": spec.name,
        "description": spec.description,
        "effect": spec.effect.value,
        "asked_for_effects": spec.effect is not Effect.PURE,
        "timeout_seconds": spec.timeout_seconds,
        "tags": list(spec.tags),
        "credentials": list(spec.credentials),
        "from": _source(spec),
        "hash": definition_hash(spec),
    }


def _source(spec: ToolSpec) -> str:
    """Where it comes from: its module, or the package that brought it."""
    return spec.source or str(getattr(spec.function, "__module__", ""))


def _approval(spec: ToolSpec) -> str:
    if spec.answer_parameter is not None:
        return "answered"
    return "not asked" if spec.effect is Effect.PURE else "asked"


def _asked_by(spec: ToolSpec) -> str:
    if spec.answer_parameter is not None:
        return "a person answers each call"
    return f"{_approval(spec)} by agents that ask for effects"


def _cells(spec: ToolSpec) -> tuple[str, ...]:
    return (
        spec.name,
        spec.effect.value,
        _approval(spec),
        visible(_source(spec)),
        visible(",".join(spec.credentials)),
        ",".join(spec.tags),
        one_line(spec.description.partition("\n")[0], 200),
    )
