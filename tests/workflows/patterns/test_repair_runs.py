"""Repair loops on the runtime: real programs in the sandbox, and a scripted model.

The model repairs only if the error has reached its prompt: what it answers then is in the message
of the failing check.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.actions.save_agent import create_agent
from agents.choices import RunStatus
from agents.workflows.builder import patterns
from agents.workflows.builder.patterns import decompose, repair_loop
from agents.workflows.patterns.decompose import parts_schema
from agents.workflows.patterns.repair_loop import files_schema
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.read import parse
from tests.workflows.patterns.test_repair_loop import MACHINE, TYPES
from tests.workflows.patterns.test_runs import DOCUMENT, started, tasks
from tests.workflows.patterns.workshop import Workshop, files

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent
    from tests.runtime.conftest import Studio

FITS = """import reader, writer
try:
    writer.write(reader.read())
except TypeError:
    print(%r)
    raise SystemExit(1) from None
"""
COMPILES = {"name": "compiles", "program": "import calc"}


def answers(name: str, text: str) -> str:
    """Script of an answer with one module."""
    return f"[[text: {json.dumps({'files': {f'{name}.py': text}})}]]"


async def test_a_module_is_repaired_in_the_second_round(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: [agent(name) for name in ("coder", "expert")])
    mended = answers("calc", "def mean(v):\n    return sum(v) / len(v) if v else 0\n")
    tests = f"import calc\nassert calc.mean([2, 4]) == 3\nassert calc.mean([]) == 0, {mended!r}"
    checks = [COMPILES, {"name": "tests", "program": tests}]
    loop = repair_loop("calc", "coder", checks, strong="expert", stages=["logic"])
    broken = answers("calc", "def mean(v):\n    return sum(v) / max(len(v), 1) + (not v)\n")
    run = await started(studio, loop, f"Write calc.mean. {broken}")
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert run.structured is not None
    assert run.structured["ok"], run.structured
    assert "if v else 0" in run.structured["files"]["calc.py"]
    assert [name for name, _ in await tasks(run)] == ["coder", "coder"]
    events = [event.payload for event in await studio.events(run) if event.type == "node.finished"]
    programs = [one["output"] for one in events if one["node"] in ("compiles", "tests")]
    assert [one["exit_code"] for one in programs] == [0, 1, 0, 0]
    assert {one["sandbox"] for one in programs} == {"bubblewrap"}


async def test_an_incoherent_part_is_solved_again_by_its_own_loop(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    """The error of the coherence check names writer.py, so that part alone is solved again."""
    mended = answers("writer", "def write(x):\n    return [x]\n")
    plan = {
        "parts": [
            {"name": "reader", "task": answers("reader", "def read():\n    return 1\n")},
            {"name": "writer", "task": answers("writer", "def write():\n    return 2\n")},
        ]
    }
    compiles = {"name": "compiles", "command": "python3 -B -m py_compile *.py && rm -r __pycache__"}
    part = repair_loop("part", "coder", [compiles], stages=["logic"])
    error = {"class": "TypeError", "message": mended, "file": "writer.py"}
    fits = {"name": "fits", "program": FITS % json.dumps({"errors": [error]})}
    flow = decompose("pair", "boss", "part", [fits])

    def make() -> None:
        agent("coder")
        agent("boss", response_schema=parts_schema())
        create_agent(studio.workspace, part.check().spec, by=SYSTEM)

    await orm.run_in_thread(make)
    run = await started(studio, flow, f"Write both. [[calls: __respond__ {json.dumps(plan)}]]")
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert run.structured is not None
    assert (run.structured["ok"], run.structured["errors"]) == (True, [])
    assert run.structured["files"]["writer.py"] == "def write(x):\n    return [x]\n"
    assert [name for name, _ in await tasks(run)] == ["boss", "part", "part", "part"]


def examples() -> tuple[dict[str, WorkflowSpec], str]:
    """Return the workflows of the document's table, and its Python."""
    _, section = DOCUMENT.read_text().split("### Repair loops\n")
    toml, python = (part.split("```")[0] for part in re.split("```(?:toml|python)\n", section)[1:3])
    found = parse(toml).others
    return {one.name: one for one in found if isinstance(one, WorkflowSpec)}, python


def test_the_examples_of_the_document_repair_what_they_check() -> None:
    written, python = examples()
    built: dict[str, Any] = {}
    exec(python, built)  # noqa: S102
    assert built["module"].check().spec.graph.plain() == written["module"].graph.plain()

    def slug(task: str) -> Any:
        is_told = "SlugTest" in task or "AssertionError" in task
        strip = "strip('-')" if is_told else "lower()"
        return files(slug=f"def slug(text): return '-'.join(text.lower().split()).{strip}\n")

    shop = Workshop(written["module"], coder=slug, expert=slug)
    output = shop.play("Write slug.py.").output
    assert output["ok"], output


def test_the_state_machine_of_the_document_is_repaired() -> None:
    """Its types are checked where TypeScript is installed, and its transitions everywhere."""
    folders = [Path("/usr", part, "node_modules/typescript") for part in ("lib", "local/lib")]
    is_compiled = any(one.exists() for one in folders)
    repaired = MACHINE % ('; if (event === "reset") return "idle";')

    def machine(task: str) -> Any:
        if "data structures" in task:
            return {"files": {"types.ts": TYPES}}
        if "no transition from done by reset" in task:
            return {"files": {"machine.ts": repaired}}
        name = "Event" if "TS2552: Cannot find name 'Evnt'" in task else "Evnt"
        return {"files": {"machine.ts": (MACHINE % ";").replace("event: Event", f"event: {name}")}}

    shop = Workshop(examples()[0]["machine"], coder=machine, expert=machine)
    output = shop.play("Write it.").output
    assert output["ok"], output
    assert output["files"]["machine.ts"] == repaired
    checked = ["compiles", "reads", *["compiles"] * is_compiled, *["compiles", "transitions"] * 2]
    assert shop.checked == checked


def test_the_schema_of_the_document_is_that_of_files() -> None:
    _, section = Path(DOCUMENT).read_text().split("### Repair loops\n")
    toml = re.split("```toml\n", section)[1].split("```")[0]
    for one in parse(toml).agents:
        if one.name == "coder":
            assert one.response_schema == files_schema()
    assert patterns.repair_loop is repair_loop
