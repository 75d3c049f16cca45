"""The environment's default model, by name. Imports no client, which takes a tenth of a second."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from agents.llm.bridge.known import KNOWN
from agents.llm.credentials import environ_url
from agents.llm.providers import PROVIDERS, Provider
from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.installation import extra_command

_COMPARED = 60  # characters: comparing takes the product of two lengths


def default_model(environ: Mapping[str, str]) -> str:
    """Return the ``provider:model`` that the environment sets.

    ``HEARTBIT_PROVIDER`` and ``HEARTBIT_MODEL`` decide, together or alone; ``HEARTBIT_MODEL`` may
    also be ``provider:model``. Otherwise the first key found decides (Anthropic, OpenRouter,
    OpenAI, Gemini); without a key it is the local model.

    Raises:
        ConfigurationError: The provider is unknown, or has no default model.
    """
    name = variables.PROVIDER.read(environ)
    model = variables.MODEL.read(environ)
    prefix = model.partition(":")[0]
    if not name and ":" in model:
        if prefix in PROVIDERS or prefix in KNOWN:
            return model
        if not _is_part_of_name(prefix, _provider_with_key(environ), environ):
            raise _unknown_provider(prefix, source="HEARTBIT_MODEL")
    name = name or _provider_with_key(environ)
    default = ""
    if name not in KNOWN:
        default = provider_named(name, source="HEARTBIT_PROVIDER").default_model
    model = model.removeprefix(f"{name}:") or default
    if not model:
        raise ConfigurationError(
            f"The provider {name} has no default model; set HEARTBIT_MODEL to the model's name."
        )
    return f"{name}:{model}"


def provider_named(name: str, *, source: str) -> Provider:
    """Return a provider; the error message names ``source`` as the origin of the name.

    Raises:
        ConfigurationError: There is no such provider.
    """
    provider = PROVIDERS.get(name)
    if provider is None:
        raise _unknown_provider(name, source=source)
    return provider


def _provider_with_key(environ: Mapping[str, str]) -> str:
    for name, provider in PROVIDERS.items():
        if provider.key_required and environ.get(provider.key_env, "").strip():
            return name
    return "local"


def _is_part_of_name(prefix: str, provider: str, environ: Mapping[str, str]) -> bool:
    """Return True if a model of ``provider`` may be called ``prefix:...``.

    OpenRouter's names have a path before the colon, OpenAI's tuned models begin with ``ft:``, and a
    server with its own base URL has models such as ``llama3.2:3b``.
    """
    if _close_to(prefix, PROVIDERS):
        return False
    is_usual = (provider == "openai" and prefix == "ft") or "/" in prefix
    return is_usual or bool(environ_url(provider, environ))


def _close_to(name: str, names: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name[:_COMPARED].lower(), names, n=1)), "")


def _unknown_provider(name: str, *, source: str) -> ConfigurationError:
    close = _close_to(name, PROVIDERS) or _close_to(name, KNOWN)
    if close:
        hint = f"did you mean {close}?"
    else:
        adds = f"`{extra_command('providers')}` adds {', '.join(KNOWN)}"
        hint = f"known are {', '.join(PROVIDERS)}; {adds}."
        if source == variables.MODEL.name:
            hint = f"{hint[:-1]}; set HEARTBIT_PROVIDER if the colon is part of the model's name."
    return ConfigurationError(f'The provider "{name}" in {source} is unknown; {hint}')
