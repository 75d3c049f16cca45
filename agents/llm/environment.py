"""Validation of the environment's model settings, before a process starts."""

from __future__ import annotations

from collections.abc import Mapping

from agents.llm.credentials import environ_url, find_key, is_web_address
from agents.llm.defaults import default_model
from agents.llm.providers import PROVIDERS
from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError


def check_environment(environ: Mapping[str, str]) -> None:
    """Raise if no run could use the environment's default model, keys or base URLs.

    Variables of the bridge's providers are checked only when used, because other programs read
    them, too.

    Raises:
        ConfigurationError: ``HEARTBIT_PROVIDER``, ``HEARTBIT_MODEL``, or the key or base URL of a
            provider cannot be used.
    """
    for name, provider in PROVIDERS.items():
        keys = (provider.key_env,) if provider.key_env else ()
        find_key(name, keys, environ=environ, given=None, required=False)
        url = environ_url(name, environ)
        if url and not is_web_address(url):
            raise ConfigurationError(
                f"{name.upper()}_BASE_URL is {url!r}: write an http or https URL, such "
                "as https://host/v1."
            )
    if variables.PROVIDER.read(environ) or variables.MODEL.read(environ):
        default_model(environ)
