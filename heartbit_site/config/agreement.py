"""Whether the parts of a file agree: names, teams, prompts, approvals, the provider.

Works on the plain values, because other parts of the same table may be wrong as well and everything
is reported together; what has a wrong type is reported elsewhere and skipped here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agents.llm.providers import PROVIDERS
from heartbit_site.config import complaints
from heartbit_site.config.rules import PROVIDER_NAMES, hint
from heartbit_site.config.sections import OrchestratorSection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from heartbit_site.config.complaints import Complaint
    from heartbit_site.config.positions import Path

Table: TypeAlias = dict[str, Any]

ORCHESTRATOR: Final[str] = OrchestratorSection.model_fields["name"].default


def check(content: Table) -> Iterator[Complaint]:
    """What does not fit together."""
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
        yield from _team(path, table, names)
        yield from _tools(path, table)


def check_agent(table: Table, names: Mapping[str, Any]) -> Iterator[Complaint]:
    """What of one agent's table does not fit together.

    Args:
        table: Its own, with its name.
        names: The agents that its team is chosen from, by name: there is no file.
    """
    yield from _team((), table, names, place="this workspace")
    yield from _tools((), table)


def agents_of(content: Table) -> Iterator[tuple[Path, Table]]:
    """Every agent's table with its path, the orchestrator's first, with its name."""
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
    if not name and chosen not in PROVIDER_NAMES and (model or url):
        yield ("provider", "name"), f"is missing: one of {', '.join(PROVIDERS)}"
        return
    if chosen in PROVIDER_NAMES and not (model or _default_model(chosen)):
        yield ("provider", "model"), f"is missing: {chosen} has no default model"
    if url and chosen in PROVIDER_NAMES and not _is_keyless(chosen):
        yield (
            ("provider", "base_url"),
            f"is not accepted for {chosen}: where a key is sent is no file's affair, so set "
            f"{chosen.upper()}_BASE_URL or the admin's provider account",
        )


def _default_model(provider: str) -> str:
    return PROVIDERS[provider].default_model if provider in PROVIDERS else ""


def _is_keyless(provider: str) -> bool:
    return provider in PROVIDERS and not PROVIDERS[provider].key_required


def _prompt(path: Path, table: Table, *, alone: bool) -> Iterator[Complaint]:
    """An orchestrator with a team has a prompt to fall back on; nobody else has."""
    both = "system_prompt" in table and "system_prompt_file" in table
    if both:
        yield (*path, "system_prompt_file"), "is given beside system_prompt: keep one of them"
        return
    has_default = path == ("orchestrator",) and not alone and table.get("team") != []
    if not has_default and "system_prompt" not in table and "system_prompt_file" not in table:
        yield (*path, "system_prompt"), "is missing (or system_prompt_file)"


def _team(
    path: Path, table: Table, names: Mapping[str, Any], *, place: str = "this file"
) -> Iterator[Complaint]:
    team = table.get("team")
    members: list[Any] = team if isinstance(team, list) else []
    for index, member in enumerate(members):
        here = (*path, "team", index)
        if not isinstance(member, str):
            continue
        if member == table.get("name"):
            yield here, f'names "{member}": an agent cannot be in its own team'
        elif member not in names:
            yield here, f'names "{member}", no agent of {place}; {hint(member, names)}'
        elif member in members[:index]:
            yield here, f'names "{member}" twice'


def _tools(path: Path, table: Table) -> Iterator[Complaint]:
    tools = table.get("tools")
    seen: set[str] = set()
    for index, entry in enumerate(tools if isinstance(tools, list) else ()):
        here = (*path, "tools", index)
        tool = entry if isinstance(entry, dict) else {"name": entry}
        name = tool.get("name")
        if isinstance(name, str):
            if name in seen:
                yield here, f'names "{name}" twice'
            seen.add(name)
        yield from complaints.secrets(tool.get("defaults"), (*here, "defaults"))
        if (tool.get("approval") == "when") != ("approval_when" in tool):
            yield here, 'needs both approval = "when" and approval_when, or neither'
