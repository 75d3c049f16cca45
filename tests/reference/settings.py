"""Environment variables, from their list, and the providers of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agents.llm.providers import PROVIDERS
from heartbit_site.base.variables import VARIABLES
from tests.reference.markdown import table

if TYPE_CHECKING:
    from heartbit_site.base.environment_variable import Variable

_HEAD: Final = """# Settings

Processes are configured by the environment; nothing is required on one machine. A variable that cannot be
used stops every process with one sentence at its start, and `heartbit doctor` lists them all.
A secret (an address with its password, a key) may be in a file that `NAME_FILE` names ([which](../howto/deployment.md#secrets-in-files)).
Agents, tools and schedules are in [heartbit.toml](toml.md), or in the admin.

## Environment variables

"""
_PROVIDERS: Final = """
## Models and keys

Heartbit takes the first key it finds in the environment, in the order of this table, and the local model when
there is none. `ollama` and `compatible` (any server that speaks OpenAI's dialect) are taken only when asked for.
`HEARTBIT_PROVIDER` and `HEARTBIT_MODEL` choose; without them a workspace's default model counts
([the order](../howto/heartbit-toml.md#order-of-models)). A workspace can keep keys of its own, encrypted, in
[provider accounts](../howto/provider-accounts.md); more providers come with the extra `providers`
([providers](../howto/providers.md)). An agent or a run may name its own `provider:model`.

"""


def page() -> str:
    """Return the page."""
    variables = table("variable, meaning, default", map(_variable, VARIABLES))
    providers = (
        [f"`{name}`", _code(one.key_env), one.default_model or "none", f"`{name.upper()}_BASE_URL`"]
        for name, one in PROVIDERS.items()
    )
    head = "provider, key, default model, address instead of the usual one"
    return f"{_HEAD}{variables}{_PROVIDERS}{table(head, providers)}"


def _variable(variable: Variable[object]) -> list[str]:
    meaning = variable.help.replace("](docs/", "](../")
    unset = variable.unset.replace("](docs/", "](../") or _default(variable.default)
    return [f"`{variable.name}`", meaning, unset]


def _code(name: str) -> str:
    return f"`{name}`" if name else "none"


def _default(default: object) -> str:
    match default:
        case bool():
            return "on" if default else "off"
        case int() | float():
            return f"{default:g}"
        case tuple():
            return f"`{','.join(default)}`" if default else "none"
    return f"`{default}`" if default else "none"
