"""Loading of the module that DJANGO_SETTINGS_MODULE names: Heartbit's, or one built on it."""

from __future__ import annotations

import importlib
import os
from typing import Final

from django.conf import settings

from heartbit_site.base.errors import ConfigurationError

VARIABLE: Final = "DJANGO_SETTINGS_MODULE"
OURS: Final = "heartbit_site.settings"


def load_settings() -> None:
    """Load the settings; further calls do nothing.

    Raises:
        ConfigurationError: There is no such module, it cannot be imported, or it lacks Heartbit's
            settings.
    """
    name = os.environ.get(VARIABLE, "").strip() or OURS
    os.environ[VARIABLE] = name
    if not settings.configured:
        _import(name)
    if not hasattr(settings, "ENVIRONMENT"):
        raise ConfigurationError(
            f"{VARIABLE} is {name!r}, which are not Heartbit's settings: unset it (pytest takes "
            f"--ds={OURS}), or import them there from {OURS}."
        )


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not error.name or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(name, error) from error
        raise ConfigurationError(
            f"{VARIABLE} is {name!r}, but there is no module {error.name!r}: unset it, or add the "
            "module's directory to PYTHONPATH."
        ) from None
    except (ImportError, SyntaxError) as error:
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"{VARIABLE} is {name!r}, which cannot be imported: {type(error).__name__}: "
        f"{str(error).rstrip('.')}; mend it, or unset the variable."
    )
