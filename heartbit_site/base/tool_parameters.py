"""Parameters of a tool, read from its function's signature. Pure."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import Field

from heartbit_site.base.credentials import CredentialNeed, CredentialType
from heartbit_site.base.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of a tool's function.

    Attributes:
        given: Parameters that the runtime supplies, by type.
        credentials: Credentials that the function asks for.
        fields: The model's parameters, as ``pydantic.create_model`` takes them.
    """

    given: dict[type, str]
    credentials: list[CredentialNeed]
    fields: dict[str, Any]


def read_parameters(
    function: Callable[..., Any],
    tool_name: str,
    texts: Mapping[str, str],
    supplied: Collection[type],
) -> Parameters:
    """Return the parameters of a function.

    Fields have neutral names and the parameters' as aliases: a parameter may be called ``json`` or
    ``schema``, which a model's attribute may not.

    Args:
        function: Sync or async; a bound method too.
        tool_name: For errors.
        texts: Descriptions by parameter.
        supplied: Types of the parameters that the runtime supplies.

    Raises:
        ConfigurationError: A parameter has no annotation, or cannot be given by name.
    """
    hints = _hints(function, tool_name)
    found = Parameters({}, [], {})
    for name, parameter in inspect.signature(function).parameters.items():
        fault = _fault(parameter, hints)
        if fault is not None:
            raise ConfigurationError(f"Parameter {name!r} of tool {tool_name!r} {fault}.")
        if hints[name] in supplied:
            found.given[hints[name]] = name
            continue
        need = _credential_need(name, hints[name], tool_name)
        if need is not None:
            found.credentials.append(need)
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        kind = _described(hints[name], texts[name]) if texts.get(name) else hints[name]
        found.fields[f"field_{len(found.fields)}"] = (kind, Field(default, alias=name))
    return found


def _fault(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> str | None:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        return "cannot be given by name: make it a plain parameter"
    return None if parameter.name in hints else "has no type annotation: add one"


def _credential_need(parameter: str, hint: Any, tool_name: str) -> CredentialNeed | None:
    """Return the need of a parameter whose type is a credential's, or a union of such types."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    kinds = [part for part in parts if isinstance(part, type) and issubclass(part, CredentialType)]
    if not kinds:
        return None
    if set(parts) - {*kinds, type(None)}:
        raise ConfigurationError(
            f"Parameter {parameter!r} of tool {tool_name!r} mixes a credential with other types: "
            "use only credential types."
        )
    names = tuple(kind.kind for kind in kinds)
    return CredentialNeed(parameter, names, optional=type(None) in parts)


def _hints(function: Callable[..., Any], tool_name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"Tool {tool_name!r}: the type {error.name} of a parameter is not defined at run "
            "time; import or define it at the module's top, outside TYPE_CHECKING."
        ) from None


def _described(hint: Any, text: str) -> Any:
    """Return the type with a description; the type's own description comes later and wins."""
    kind, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    return Annotated[(kind, Field(description=text), *extras)]
