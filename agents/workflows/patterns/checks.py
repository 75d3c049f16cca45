"""Checks of files in the sandbox: nodes that run ``run_code``, in order or side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from agents.definitions.setting_types import Name
from agents.definitions.spec import CODE_TOOL
from heartbit_site.base.spec import Spec

Mode = Literal["fail_fast", "collect"]
_FAILED: Final = "get(message, 'exit_code', 1) != 0"


class CheckSpec(Spec):
    """A check: a program that ends with exit code 0 if the files in its folder are good."""

    name: Name
    stage: str | None = Field(None, description="Stage of the check; by default, all.")
    command: Annotated[str, Field(min_length=1, max_length=100_000)] | None = Field(
        None, description="Command of the shell, such as `python3 -m unittest`."
    )
    program: Annotated[str, Field(min_length=1, max_length=100_000)] | None = Field(
        None, description="Program, in place of a command."
    )
    language: Literal["python", "javascript", "typescript", "shell"] = Field(
        "python", description="Language of the program."
    )

    @model_validator(mode="after")
    def _has_one_program(self) -> Self:
        if (self.command is None) == (self.program is None):
            raise ValueError(f'has the check "{self.name}", which needs one of command and program')
        return self

    def node(self) -> dict[str, Any]:
        """Return the check's node; its program is in the state, where braces are no template."""
        language = "shell" if self.program is None else self.language
        code = f"{{{{ state.programs['{self.name}'] }}}}"
        arguments = {"language": language, "code": code, "files": "{{ state.files }}"}
        return {"name": self.name, "tool": CODE_TOOL, "arguments": arguments}


Checks = Annotated[list[CheckSpec], Field(min_length=1, max_length=50)]


def programs(checks: Sequence[CheckSpec]) -> dict[str, str]:
    """Return the text of each check's program by the check's name."""
    return {one.name: one.program or str(one.command) for one in checks}


def state_keys(*, merged: str, **initial: Any) -> dict[str, Any]:
    """Return keys of the state, one of which is merged, so that a round writes only its changes."""
    return {
        key: {"merge": "merge" if key == merged else "set", "initial": value}
        for key, value in initial.items()
    }


def check_edges(
    checks: Sequence[CheckSpec], stages: Sequence[str], *, source: str, judge: str, mode: Mode
) -> list[dict[str, Any]]:
    """Return the edges from the node that has files, over the checks of the stage, to the judge.

    The judge is sent the results by check, or the output of the source if that is not ``ok``.

    Args:
        checks: The checks.
        stages: Names of the stages; ``state.stage`` is the position of the current one.
        source: Node whose output has ``ok`` and ``errors``.
        judge: Node that is sent the results.
        mode: ``fail_fast`` runs the checks in order until one fails; ``collect`` runs all.

    Raises:
        ValueError: A name is used twice, or a stage is unknown or has no check.
    """
    names = [one.name for one in checks]
    for what, known in (("checks", names), ("stages", list(stages))):
        if twice := next((one for one in known if known.count(one) > 1), None):
            raise ValueError(f'{what} has "{twice}" twice; use each name once')
    for stage in (one.stage for one in checks if one.stage not in (None, *stages)):
        raise ValueError(f'checks names the stage "{stage}", which is not one of stages')
    lists = [[one.name for one in checks if one.stage in (None, stage)] for stage in stages]
    if not all(lists):
        raise ValueError(f'checks has none of the stage "{stages[lists.index([])]}"; add one')
    refused = {"when": "not message.ok", "to": judge, "message": {"answer": "{{ message }}"}}
    if mode == "fail_fast":
        return _chain(names, lists, source, judge, refused)
    side_by_side = [
        {"from": source, "to": found, "when": f"message.ok and state.stage == {index}"}
        for index, found in enumerate(lists)
    ]
    return [{"from": source, **refused}, *side_by_side, {"from": names, "to": judge}]


def _chain(
    names: list[str], lists: list[list[str]], source: str, judge: str, refused: dict[str, Any]
) -> list[dict[str, Any]]:
    firsts = [_case(index, found[0]) for index, found in enumerate(lists)]
    edges: list[dict[str, Any]] = [{"from": source, "cases": [refused, *firsts]}]
    for name in names:
        following = [
            _case(index, found[found.index(name) + 1])
            for index, found in enumerate(lists)
            if name in found[:-1]
        ]
        result = {name: "{{ message }}"}
        cases = [{"when": _FAILED, "to": judge}, *following]
        edges.append({"from": name, "cases": cases, "default": judge, "message": result})
    return edges


def _case(index: int, target: str) -> dict[str, Any]:
    return {"when": f"state.stage == {index}", "to": target}
