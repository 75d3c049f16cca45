"""Where the language model of this machine listens; starts its server when nothing does."""

from __future__ import annotations

from django.conf import settings

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.embedded import client


def url() -> str:
    """The base URL of the local model's server.

    Raises:
        EmbeddedError: It is not installed, or does not start.
        ConfigurationError: It started and went away at once.
    """
    state = settings.ENVIRONMENT.state
    found = state.model_url()
    if found is None:
        client.ensure(["model"], state)
        found = state.model_url()
    if found is None:
        raise ConfigurationError(
            f"The local model's server stopped as soon as it ran: see {state.log('model')}."
        )
    return found
