"""Parts of a task, each solved by a workflow of its own, and checked together."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from agents.definitions.setting_types import Name, Positive
from agents.workflows.patterns.checks import Checks, Mode, check_edges, programs, state_keys
from agents.workflows.patterns.settings import Content, PatternSpec

_PLAN: Final = "plan parts"
_NOTE: Final = "note parts"
_SOLVE: Final = "solve parts"
_MERGE: Final = "merge parts"
_JUDGE: Final = "judge parts"
_ALL: Final = "all"  # name of the only stage
_DIVIDE: Final = "{{ input }}\n\nDivide this into parts that can be written side by side."
_TASK: Final = (
    "The whole task:\n\n{{ input }}\n\nIts parts, each written by itself:\n\n"
    "{{ join([p.name + ': ' + p.task for p in state.parts], '\\n') }}\n\n"
    "Write one part alone, in files of its own. Your part is {{ item.name }}: {{ item.task }}\n\n"
    "{{ item.notes }}"
)


def parts_schema() -> dict[str, Any]:
    """Return the JSON Schema of the answer of the agent that plans the parts."""
    fields = {"name": {"type": "string"}, "task": {"type": "string"}}
    part = {"type": "object", "properties": fields, "required": list(fields)}
    parts = {"type": "array", "items": part}
    return {"type": "object", "properties": {"parts": parts}, "required": ["parts"]}


class DecomposeSpec(PatternSpec):
    """Settings of ``decompose``.

    The output is ``{ok, files, errors}``; where ``ok`` is false, the parts do not fit together.
    """

    plan: Name = Field(description="Agent that plans the parts; see ``parts_schema``.")
    workflow: Name = Field(description="Workflow that solves a part, such as a ``repair_loop``.")
    checks: Checks = Field(description="Checks of the files of all parts together.")
    mode: Mode = Field(
        "fail_fast", description="Checks: in order until one fails (fail_fast), or all (collect)."
    )
    rounds: Annotated[int, Field(ge=0, le=50)] = Field(
        2, description="Further rounds of parts that do not fit."
    )
    max_parallel: Positive | None = Field(None, description="Parts solved at the same time.")

    def expand(self) -> Content:
        """Return the graph of the parts and their checks (see ``PatternSpec``)."""
        if any(one.stage is not None for one in self.checks):
            raise ValueError("checks names a stage; there are none here")
        solve = {"workflow": self.workflow, "each": "state.due", "max_parallel": self.max_parallel}
        nodes: list[dict[str, Any]] = [
            {
                "name": _PLAN,
                "agent": self.plan,
                "task": _DIVIDE,
                "output": parts_schema(),
                "retry": 1,
            },
            {"name": _NOTE, "function": "decompose.note"},
            {"name": _SOLVE, **solve, "task": _TASK},
            {"name": _MERGE, "function": "decompose.merge"},
            *(one.node() for one in self.checks),
            {"name": _JUDGE, "function": "decompose.judge"},
        ]
        is_over = f"message.ok or message.failures > {self.rounds}"
        names = {"ok": "message.ok", "files": "state.files", "errors": "state.errors"}
        output = {name: f"{{{{ {path} }}}}" for name, path in names.items()}
        edges: list[dict[str, Any]] = [
            {"from": _PLAN, "to": _NOTE},
            {"from": _NOTE, "to": _SOLVE},
            {"from": _SOLVE, "to": _MERGE},
            *check_edges(self.checks, [_ALL], source=_MERGE, judge=_JUDGE, mode=self.mode),
            {"from": _JUDGE, "when": is_over, "output": output},
            {"from": _JUDGE, "to": _SOLVE, "when": f"not ({is_over})"},
        ]
        return {"nodes": nodes, "edges": edges, "start": [_PLAN], "state": self._state()}

    def _state(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"parts": [], "due": [], "results": {}, "files": {}, "errors": []}
        counts, texts = {"stage": 0, "failures": 0}, programs(self.checks)
        return state_keys(merged="results", **empty, **counts, programs=texts)
