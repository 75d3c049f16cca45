"""The address of this machine's language model, whose server is started on demand."""

from __future__ import annotations

from django.conf import settings

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.embedded import client


def url() -> str:
    """Return the base URL of the local model's server.

    Raises:
        EmbeddedError: The model is not installed, or does not start.
        ConfigurationError: Its server stopped right after the start.
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
