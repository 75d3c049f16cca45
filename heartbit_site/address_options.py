"""Options of PostgreSQL and Valkey addresses: one that the driver refuses becomes one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.base import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def find_problems(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for each address with an option that its driver refuses.

    Args:
        environ: An environment whose addresses are valid apart from their options.
    """
    return [
        f"{variable.name} cannot be used: its option {option!r} is unknown or has a value that is "
        "not valid; correct it, or leave it out."
        for variable, parse in _PARSERS.items()
        if (option := _refused_option(variable.read(environ), parse)) is not None
    ]


def _refused_option(url: str, parse: Callable[[str], None]) -> str | None:
    place, _, query = url.partition("?")
    for pair in filter(None, query.split("&")):
        try:
            parse(f"{place}?{pair}")
        except Exception:  # noqa: BLE001  the drivers raise errors of many kinds
            return pair.partition("=")[0][: variables.LONGEST_SHOWN]
    return None


def _parse_for_postgres(url: str) -> None:
    """Parse an address as psycopg does before it connects."""
    from psycopg import conninfo  # noqa: PLC0415  slow to import, and few addresses have options

    conninfo.timeout_from_conninfo(conninfo.conninfo_to_dict(url))


def _parse_for_valkey(url: str) -> None:
    """Parse an address as redis-py does before it connects."""
    from redis import ConnectionPool  # noqa: PLC0415  slow to import, and few addresses have options

    ConnectionPool.from_url(url).make_connection()


_PARSERS: Final = {
    variables.DATABASE_URL: _parse_for_postgres,
    variables.DATABASE_DIRECT_URL: _parse_for_postgres,
    variables.REDIS_URL: _parse_for_valkey,
}
