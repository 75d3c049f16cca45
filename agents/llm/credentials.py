"""Where a provider's key and base URL come from, and whether they can be used at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCOUNT_KEY: Final = "the key of the provider account"


def find_key(
    name: str,
    variables: tuple[str, ...],
    *,
    environ: Mapping[str, str],
    given: str | None,
    required: bool,
) -> tuple[str, str]:
    """Return where the key came from, as error sentences name it, and the key.

    Args:
        name: The provider.
        variables: The environment variables that may hold the key, the first that is set wins.
        environ: The environment.
        given: The key of a workspace's provider account; when it is not None nothing else counts.
        required: Whether the provider answers only with a key.

    Raises:
        ConfigurationError: There is no key and there must be one, or it cannot be a key.
    """
    if given is not None:
        source, key = ACCOUNT_KEY, given.strip()
    else:
        found = ((variable, environ.get(variable, "").strip()) for variable in variables)
        first = (variables[0] if variables else "", "")
        source, key = next((pair for pair in found if pair[1]), first)
    if not key and required:
        if given is not None:
            raise ConfigurationError(
                f"The provider {name} needs a key; enter one in the provider account."
            )
        raise ConfigurationError(
            f"The provider {name} needs a key; set {source}, or choose another provider with "
            "HEARTBIT_PROVIDER (local needs no key)."
        )
    if not key.isascii() or not key.isprintable():
        raise ConfigurationError(
            f"{source[:1].upper()}{source[1:]} holds characters that no key has; copy the key "
            "again."
        )
    return source, key


def environ_url(name: str, environ: Mapping[str, str]) -> str:
    """Return the provider's base URL in the environment, or an empty string."""
    return environ.get(f"{name.upper().replace('-', '_')}_BASE_URL", "").strip()


def no_web_address(name: str, base_url: str) -> ConfigurationError:
    """Return the error for a base URL that is no web address."""
    return ConfigurationError(
        f'The base URL "{base_url}" of the provider {name} is no http or https URL; write it like '
        "https://host/v1."
    )


def url_path(url: str) -> str | None:
    """Return the path of ``url``; None when it is no web address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts.path if usable else None
