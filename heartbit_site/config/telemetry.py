"""`[telemetry]` of the file that was named, as environment variables. No Django.

The file in the working directory does not count unless it was named: it may be a stranger's, and
would decide where the headers of ``OTEL_EXPORTER_OTLP_HEADERS`` are sent.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final

from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.config.locate import find, read_section

_SECTION: Final = "telemetry"
_SERVICE_NAME: Final = "OTEL_SERVICE_NAME"


def apply_telemetry(environ: MutableMapping[str, str], path: Path | None = None) -> None:
    """Set the variables that a file's `[telemetry]` stands for, where they are unset.

    Args:
        environ: The environment.
        path: The file of ``--config``; None: that of HEARTBIT_CONFIG, if it is set.

    Raises:
        ConfigurationError: The file cannot be read, or a value has a wrong type.
    """
    if path is None and not variables.CONFIG.read(environ):
        return
    file = find(path, environ)
    if file is None:
        return
    for name, value in _variables(file, read_section(file, _SECTION)).items():
        if value and not environ.get(name, "").strip():
            environ[name] = value


def _variables(file: Path, section: dict[str, Any]) -> dict[str, str]:
    given = {
        key: section.get(key, default)
        for key, default in (("otlp_endpoint", ""), ("service_name", ""), ("json_logs", False))
    }
    for key, value in given.items():
        kind = bool if key == "json_logs" else str
        if not isinstance(value, kind):
            raise ConfigurationError(
                f"{file}: telemetry.{key} has a value of a wrong type: "
                f"`heartbit config check {file}` shows details."
            )
    return {
        variables.OTEL_ENDPOINT.name: given["otlp_endpoint"].strip(),
        _SERVICE_NAME: given["service_name"].strip(),
        variables.LOG_FORMAT.name: "json" if given["json_logs"] else "",
    }
