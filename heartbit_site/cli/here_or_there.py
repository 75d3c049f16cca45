"""Which form of a command is meant: a server's, or this installation's. No Django by itself."""

from __future__ import annotations

from typing import Any

from heartbit_site.cli import remote
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load


def chosen(name: str, url: str | None) -> Any:
    """`{name}_there.There` of the server named by option or environment; else `{name}_here.Here`.

    Raises:
        ConfigurationError: As for `remote.server` and `begin`.
        EmbeddedError: As for `begin`.
    """
    server = remote.server(url)
    if server is not None:
        return load(f"{name}_there").There(server)
    begin(f"heartbit_site.cli.{name}_here")
    return load(f"{name}_here").Here()
