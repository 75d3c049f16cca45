"""Lookup and validation of a provider's key and base URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from heartbit_site.base.errors import ConfigurationError

ACCOUNT_KEY: Final = "the key of the provider account"


def find_key(
    name: str,
    variables: tuple[str, ...],
    *,
    environ: Mapping[str, str],
    given: str | None,
    required: bool,
) -> tuple[str, str]:
    """Return the source of the key, for error messages, and the key.

    Args:
        name: Name of the provider.
        variables: Environment variables of the key; the first one that is set counts.
        environ: Environment to read.
        given: Key of a workspace's provider account; unless None, nothing else counts.
        required: True if the provider answers only with a key.

    Raises:
        ConfigurationError: A required key is missing, or the key is malformed.
    """
    if given is not None:
        source, key = ACCOUNT_KEY, given.strip()
    else:
        found = ((variable, environ.get(variable, "").strip()) for variable in variables)
        first = (variables[0] if variables else "", "")
        source, key = next((pair for pair in found if pair[1]), first)
    if not key and required:
        remedy = (
            f"set {source}, or choose another provider with HEARTBIT_PROVIDER (local needs no key)"
            if given is None
            else "enter one in the provider account"
        )
        raise ConfigurationError(f"The provider {name} needs a key; {remedy}.")
    if not key.isascii() or not key.isprintable():
        raise ConfigurationError(
            f"{source[:1].upper()}{source[1:]} holds characters that no key can have; copy the key "
            "again."
        )
    return source, key


def environ_url(name: str, environ: Mapping[str, str]) -> str:
    """Return the provider's base URL in the environment, or an empty string."""
    return environ.get(f"{name.upper().replace('-', '_')}_BASE_URL", "").strip()


def no_web_address(name: str, base_url: str) -> ConfigurationError:
    """Return the error for a base URL that is not a web address."""
    return ConfigurationError(
        f'The base URL "{base_url}" of the provider {name} is not an http or https URL; write it '
        "like https://host/v1."
    )


def is_web_address(url: str) -> bool:
    """Return True if ``url`` is an http or https URL with a host."""
    try:
        parts = urlsplit(url)
        return bool(parts.scheme in ("http", "https") and parts.hostname and parts.port != 0)
    except ValueError:
        return False
