"""Consistency of a file's parts: names, teams, prompts, approvals, the provider.

Checks the plain values, because other parts of the same table may be wrong as well and everything
is reported together; a value of a wrong type is reported elsewhere and skipped here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agents.definitions import consistency, validation_messages
from agents.definitions.validators import PROVIDER_NAMES
from agents.llm.providers import PROVIDERS
from heartbit_site.config.sections import OrchestratorSection
from tools.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.definitions.validation_messages import Complaint
    from heartbit_site.config.positions import Path

Table: TypeAlias = dict[str, Any]

ORCHESTRATOR: Final[str] = OrchestratorSection.model_fields["name"].default


def check(content: Table) -> Iterator[Complaint]:
    """Yield the inconsistencies of a file."""
    yield from _provider(content.get("provider"))
    tables = list(agents_of(content))
    names: dict[str, Path] = {}  # in the file's order
    for path, table in tables:
        name = table.get("name")
        if isinstance(name, str) and names.setdefault(name, path) is not path:
            yield (*path, "name"), f'is "{name}", which another agent is called already'
    if "orchestrator" not in content and len(tables) > 1 and ORCHESTRATOR in names:
        where = (*names[ORCHESTRATOR], "name")
        yield where, f'is "{ORCHESTRATOR}": write that agent as [orchestrator]'
    for path, table in tables:
        yield from _prompt(path, table, alone=len(tables) == 1)
        yield from consistency.check(path, table, names, tools=registry, place="this file")
        yield from _secrets(path, table)


def agents_of(content: Table) -> Iterator[tuple[Path, Table]]:
    """Yield every agent's table with its path, the orchestrator's first and with its name."""
    orchestrator, agents = content.get("orchestrator"), content.get("agents")
    if isinstance(orchestrator, dict):
        yield ("orchestrator",), {"name": ORCHESTRATOR, **orchestrator}
    for index, agent in enumerate(agents if isinstance(agents, list) else ()):
        if isinstance(agent, dict):
            yield ("agents", index), agent


def _provider(table: object) -> Iterator[Complaint]:
    if not isinstance(table, dict):
        return
    name, model, url = (table.get(key, "") for key in ("name", "model", "base_url"))
    if not isinstance(name, str) or not isinstance(model, str):
        return
    chosen = name or model.partition(":")[0]
    known = PROVIDERS.get(chosen)
    if not name and chosen not in PROVIDER_NAMES and (model or url):
        yield ("provider", "name"), f"is missing: one of {', '.join(PROVIDERS)}"
        return
    if chosen in PROVIDER_NAMES and not (model or (known and known.default_model)):
        yield ("provider", "model"), f"is missing: {chosen} has no default model"
    if url and chosen in PROVIDER_NAMES and (known is None or known.key_required):
        yield (
            ("provider", "base_url"),
            f"is not accepted for {chosen}: a file must not decide where a key is sent, so set "
            f"{chosen.upper()}_BASE_URL or the admin's provider account",
        )


def _prompt(path: Path, table: Table, *, alone: bool) -> Iterator[Complaint]:
    """Yield a missing prompt: only an orchestrator with a team has a default prompt."""
    both = "system_prompt" in table and "system_prompt_file" in table
    if both:
        yield (*path, "system_prompt_file"), "is given beside system_prompt: keep one of them"
        return
    has_default = path == ("orchestrator",) and not alone and table.get("team") != []
    if not has_default and "system_prompt" not in table and "system_prompt_file" not in table:
        yield (*path, "system_prompt"), "is missing (or system_prompt_file)"


def _secrets(path: Path, table: Table) -> Iterator[Complaint]:
    tools = table.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict):
            where = (*path, "tools", index, "defaults")
            yield from validation_messages.secrets(tool.get("defaults"), where)
