"""A loop of generation, checks in the sandbox, and repair until the checks pass, stage by stage.

What has passed a stage is locked. Agents answer with files, in the form of ``files_schema``.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from agents.definitions.setting_types import Name
from agents.workflows.patterns.checks import Checks, Mode, check_edges, programs, state_keys
from agents.workflows.patterns.settings import Content, Count, PatternSpec
from heartbit_site.base.spec import Spec

_GENERATE: Final = "write files"
_REPAIR: Final = "repair files"
_STRONG: Final = "repair with more effort"
_TAKE: Final = "take files"
_JUDGE: Final = "judge checks"
_LOCK: Final = "lock files"
_MAX_UNCHANGED: Final = 2  # rounds in which the strong agent changes nothing either
_TASKS: Final = {
    "types": "Write the types and data structures alone.",
    "stubs": "Write the interfaces alone: signatures and their documentation. Their "
    "implementations follow in other files.",
    "logic": "Write the implementations.",
}
_FORM: Final = (
    'Answer with {"files": [{"path": "...", "text": "..."}]}: whole texts, of new and changed '
    "files alone."
)
_REPORT: Final = f"These checks failed:\n\n{{{{ message.report }}}}\n\nRepair the files. {_FORM}"


def files_schema() -> dict[str, Any]:
    """Return the JSON Schema of the answers of the agents of a repair loop."""
    fields = {"path": {"type": "string"}, "text": {"type": "string"}}
    file = {"type": "object", "properties": fields, "required": list(fields)}
    files = {"type": "array", "items": file}
    return {"type": "object", "properties": {"files": files}, "required": ["files"]}


class StageSpec(Spec):
    """A stage of a repair loop."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    task: str = Field("", max_length=10_000, description="Instruction for the stage.")
    lock: list[str] = Field(
        ["**"], description="Patterns of the paths that are locked after it, such as src/**/*.py."
    )


def _stage(given: object) -> object:
    return {"name": given, "task": _TASKS.get(given, "")} if isinstance(given, str) else given


Stages = Annotated[
    list[Annotated[StageSpec, BeforeValidator(_stage, json_schema_input_type=str | StageSpec)]],
    Field(min_length=1, max_length=20),
]


class RepairLoopSpec(PatternSpec):
    """Settings of ``repair_loop``.

    The output is ``{ok, stage, files, errors}``; where ``ok`` is false it is a partial result, with
    the stage that has not passed and the errors of its last checks.
    """

    generate: Name = Field(description="Agent that writes the files of each stage.")
    repair: Name | None = Field(None, description="Agent that repairs; by default, generate.")
    strong: Name | None = Field(
        None, description="Agent that repairs what repeats or crosses files; by default, repair."
    )
    checks: Checks = Field(description="Checks of the files, in their order.")
    stages: Stages = Field([StageSpec(name=name, task=task) for name, task in _TASKS.items()])
    mode: Mode = Field(
        "fail_fast", description="Checks: in order until one fails (fail_fast), or all (collect)."
    )
    rounds: Count = Field(6, description="Repairs in one stage.")
    files: dict[str, str] = Field(
        default_factory=dict, description="Texts of files that are given, and locked, by path."
    )

    def expand(self) -> Content:
        """Return the graph of the loop (see ``PatternSpec``)."""
        writers = [(_GENERATE, self.generate, _FORM)]
        writers.append((_REPAIR, self.repair or self.generate, _REPORT))
        strong = [(_STRONG, self.strong, _REPORT)] if self.strong else []
        nodes: list[dict[str, Any]] = [
            *map(_agent, writers),
            {"name": _TAKE, "function": "repair_loop.take"},
            *(one.node() for one in self.checks),
            {"name": _JUDGE, "function": "repair_loop.judge"},
            *map(_agent, strong),
        ]
        if self.stages[1:]:
            nodes.append({"name": _LOCK, "function": "repair_loop.lock"})
        stages = [one.name for one in self.stages]
        edges: list[dict[str, Any]] = [
            *({"from": name, "to": _TAKE} for name, *_ in writers + strong),
            *check_edges(self.checks, stages, source=_TAKE, judge=_JUDGE, mode=self.mode),
            *self._decisions(),
        ]
        return {"nodes": nodes, "edges": edges, "start": [_GENERATE], "state": self._state()}

    def _decisions(self) -> list[dict[str, Any]]:
        """Return the edges after the judge: to the end, the next stage, or a repair."""
        last = len(self.stages) - 1
        ends = f"message.failures > {self.rounds} or message.unchanged > {_MAX_UNCHANGED}"
        texts = {"ok": "message.ok", "stage": "state.stages[state.stage].name"}
        texts |= {"files": "state.files", "errors": "state.errors"}
        output = {name: f"{{{{ {path} }}}}" for name, path in texts.items()}
        is_over = f"state.stage == {last} if message.ok else ({ends})"
        edges: list[dict[str, Any]] = [{"from": _JUDGE, "when": is_over, "output": output}]
        if last:
            edges += [
                {"from": _JUDGE, "to": _LOCK, "when": f"message.ok and state.stage < {last}"},
                {"from": _LOCK, "to": _GENERATE},
            ]
        is_open = f"not message.ok and not ({ends})"
        if self.strong:
            hard = f"{is_open} and message.is_hard"
            edges.append({"from": _JUDGE, "to": _STRONG, "when": hard})
            is_open += " and not message.is_hard"
        return [*edges, {"from": _JUDGE, "to": _REPAIR, "when": is_open}]

    def _state(self) -> dict[str, Any]:
        files = self.files.items()
        empty = {"stage": 0, "failures": 0, "seen": [], "unchanged": 0, "errors": []}
        return state_keys(
            merged="files",
            files=self.files,
            locked={path: hashlib.sha256(one.encode()).hexdigest() for path, one in files},
            stages=[one.model_dump(mode="json") for one in self.stages],
            programs=programs(self.checks),
            **empty,
        )


def _agent(given: tuple[str, str, str]) -> dict[str, Any]:
    """Return the node of an agent, which is sent the input, the stage, the files, and a request."""
    name, agent, request = given
    task = (
        "{{ input }}\n\n{{ state.stages[state.stage].task }}\n\nThe files:\n\n"
        "{{ join(['--- ' + p + '\\n' + state.files[p] for p in keys(state.files)], '\\n\\n') "
        "or '(none)' }}\n\nThese are locked; leave them as they are: "
        f"{{{{ join(keys(state.locked), ', ') or '(none)' }}}}\n\n{request}"
    )
    return {"name": name, "agent": agent, "task": task}
