"""Account of a bridged model: key, base URL and provider settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.llm.bridge.known import KNOWN, BridgedProvider, installed
from agents.llm.credentials import find_key, is_web_address, no_web_address
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.installation import extra_command


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Access to one model; see ``known.BridgedProvider``.

    Attributes:
        provider: Name of the provider in ``known.KNOWN``.
        key_source: Source of the key, named in error messages.
        secret: Key, or an empty string; never shown, and removed from error messages.
        base_url: Base URL other than the provider's own, or an empty string.
        settings: Further arguments of the provider; may also contain secrets.
    """

    provider: str
    model: str
    key_source: str
    secret: str = field(default="", repr=False)
    base_url: str = ""
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)


def account_for(
    name: str, model: str, *, environ: Mapping[str, str], key: str | None, base_url: str
) -> Account:
    """Return the account for a model of a provider in ``KNOWN``, without importing its SDK.

    Raises:
        ConfigurationError: The extra is not installed, or a key or setting is missing or unusable.
    """
    known = KNOWN[name]
    if not installed(known):
        raise ConfigurationError(
            f'The provider "{name}" is not installed; `{extra_command("providers")}` adds '
            f"{', '.join(KNOWN)}."
        )
    key_source, secret = find_key(
        name, known.key_env, environ=environ, given=key, required=known.key_required
    )
    if base_url:
        _check_bridged_url(name, known, base_url)
    return Account(
        provider=name,
        model=model,
        key_source=key_source,
        secret=secret,
        base_url=base_url.rstrip("/"),
        settings=_settings(name, known, environ, base_url=base_url),
    )


def _settings(
    name: str, known: BridgedProvider, environ: Mapping[str, str], *, base_url: str
) -> dict[str, str]:
    settings = {}
    for argument, variables in known.settings.items():
        if argument == known.base_url and base_url:
            continue
        values = (environ.get(variable, "").strip() for variable in variables)
        if value := next((value for value in values if value), ""):
            settings[argument] = value
        elif argument in known.required:
            raise ConfigurationError(f"The provider {name} needs {variables[0]}; set it.")
    return settings


def _check_bridged_url(name: str, known: BridgedProvider, base_url: str) -> None:
    if not known.base_url:
        raise ConfigurationError(
            f"The provider {name} takes no other base URL; leave it empty, or use the provider "
            "compatible with COMPATIBLE_BASE_URL."
        )
    if not is_web_address(base_url):
        raise no_web_address(name, base_url)
