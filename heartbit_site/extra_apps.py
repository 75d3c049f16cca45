"""Loading of the apps: an error in one of HEARTBIT_EXTRA_APPS is a sentence with its place."""

from __future__ import annotations

import traceback
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.settings_module import OURS, load_settings


def load_apps() -> None:
    """Set up Django; further calls do nothing.

    Raises:
        ConfigurationError: The settings cannot be loaded, or an app of HEARTBIT_EXTRA_APPS is not
            installed or cannot be imported.
    """
    load_settings()
    try:
        django.setup()
    except Exception as error:
        fault = describe_fault(error)
        if fault is None:
            raise
        raise ConfigurationError(fault) from error


def load_reading_apps() -> None:
    """Load only the apps that a reading command needs; none yet, if there are further ones.

    An app of HEARTBIT_EXTRA_APPS, or of settings of one's own, may need any other.
    """
    if settings.SETTINGS_MODULE == OURS and not variables.EXTRA_APPS.read():
        apps.populate(settings.HEARTBIT_READING_APPS)


def load_left_out_apps() -> None:
    """Load the apps that ``load_reading_apps`` left out; else do nothing."""
    if len(apps.app_configs) < len(settings.INSTALLED_APPS):
        apps.set_installed_apps(settings.INSTALLED_APPS)


def describe_fault(error: BaseException) -> str | None:
    """Say what is wrong with an app of HEARTBIT_EXTRA_APPS; None if the error has another cause."""
    packages = [_package(name) for name in variables.EXTRA_APPS.read()]
    place = _place(error, packages)
    reason = error.msg if isinstance(error, SyntaxError) else str(error)
    if place is not None:
        module, line = place
        return (
            f"HEARTBIT_EXTRA_APPS: {module} cannot be loaded, line {line}: "
            f"{type(error).__name__}: {reason.rstrip('.')}; mend it, or take its app out."
        )
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    for package in packages:
        if missing and f"{package}.".startswith(f"{missing}."):
            return (
                f"HEARTBIT_EXTRA_APPS names {package!r}, but there is no module {missing!r}: "
                "install it, add its directory to PYTHONPATH, or take it out."
            )
    label = _taken_label(error)
    if label is not None:
        loaded = {config.name for config in apps.app_configs.values()}
        late = next((package for package in packages if package not in loaded), label)
        return (
            f"HEARTBIT_EXTRA_APPS: the app {late} has the label {label!r}, which belongs to "
            f"{apps.app_configs[label].name}: give it a `label` of its own in an AppConfig, "
            "or take it out."
        )
    for package in packages:
        if isinstance(error, ImportError | ImproperlyConfigured) and package in reason:
            return f"HEARTBIT_EXTRA_APPS: {reason.rstrip('.')}; mend it, or take its app out."
    return None


def _taken_label(error: BaseException) -> str | None:
    """Return a label that two apps share, for which Django has no error class."""
    _, found, label = str(error).partition("labels aren't unique, duplicates: ")
    is_taken = isinstance(error, ImproperlyConfigured) and found and label in apps.app_configs
    return label if is_taken else None


def _package(name: str) -> str:
    """Return the package of an app, which may be named by its ``AppConfig``."""
    return name.rsplit(".", 2)[0] if name.rpartition(".")[2][:1].isupper() else name


def _place(error: BaseException, packages: list[str]) -> tuple[str, int] | None:
    """Return the module and line of an extra app where its import failed."""
    if isinstance(error, SyntaxError):
        path = ".".join(Path(error.filename or "").with_suffix("").parts)
        for package in packages:
            _, found, rest = path.rpartition(f".{package}")
            if found and rest[:1] in ("", "."):
                return f"{package}{rest}".removesuffix(".__init__"), error.lineno or 0
    place: tuple[str, int] | None = None
    loading = False
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if any(f"{module}.".startswith(f"{package}.") for package in packages):
            place = module, line
            loading = loading or frame.f_code.co_name in ("<module>", "ready")
    return place if loading else None  # a later failure is a defect of a call, not of the start
