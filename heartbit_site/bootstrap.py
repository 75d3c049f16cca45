"""Start-up of every entry point: services running, Django ready, tables current."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings

from heartbit_site.embedded import client
from heartbit_site.extra_apps import load_apps
from heartbit_site.settings_module import load_settings

if TYPE_CHECKING:
    from heartbit_site.first_start import Admin


def start_services() -> None:
    """Start the embedded services that no URL replaces; takes 1 to 2 ms if they already run.

    Raises:
        EmbeddedError: A service cannot be started; the sentence says why.
        ConfigurationError: The environment is wrong.
    """
    load_settings()
    environment = settings.ENVIRONMENT
    if environment.embedded:
        client.ensure(environment.embedded, environment.state)


def attach() -> None:
    """Prepare this process for an installation that exists.

    Raises:
        EmbeddedError: A service cannot be started; the sentence says why.
        ConfigurationError: The environment is wrong.
    """
    start_services()
    load_apps()


def prepare() -> Admin | None:
    """Make the installation usable; cheap when it already is.

    Returns:
        The admin, when this call created it: show the password, it is kept nowhere.

    Raises:
        EmbeddedError: A service cannot be started; the sentence says why.
        ConfigurationError: The environment is wrong, or the database cannot be reached.
    """
    attach()
    from heartbit_site.first_start import migrate_and_seed  # noqa: PLC0415  needs the app registry

    return migrate_and_seed()
