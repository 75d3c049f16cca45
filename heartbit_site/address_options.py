"""PostgreSQL and Valkey addresses: what the driver refuses of one becomes one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.base import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def find_problems(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for each address that its driver refuses, never with the address itself.

    Args:
        environ: An environment whose addresses have the form of one.
    """
    found = []
    for variable, parse in _PARSERS.items():
        place, _, query = variable.read(environ).partition("?")
        options = [pair for pair in query.split("&") if pair]
        if place and not _is_accepted(place, parse):
            found.append(
                f"{variable.name} cannot be used: write special characters of its user and "
                "password percent-encoded, such as %25 for a percent sign and %20 for a space."
            )
            continue
        bad = next((pair for pair in options if not _is_accepted(f"{place}?{pair}", parse)), None)
        if bad is not None:
            option = bad.partition("=")[0][: variables.LONGEST_SHOWN]
            found.append(
                f"{variable.name} cannot be used: its option {option!r} is unknown or has a value "
                "that is not valid; correct it, or leave it out."
            )
    return found


def _is_accepted(url: str, parse: Callable[[str], None]) -> bool:
    try:
        parse(url)
    except Exception:  # noqa: BLE001  the drivers raise errors of many kinds
        return False
    return True


def _parse_for_postgres(url: str) -> None:
    """Parse an address as psycopg does before it connects."""
    from psycopg import conninfo  # noqa: PLC0415  slow to import, and needed only by an address

    conninfo.timeout_from_conninfo(conninfo.conninfo_to_dict(url))


def _parse_for_valkey(url: str) -> None:
    """Parse an address as redis-py does before it connects."""
    from redis import ConnectionPool  # noqa: PLC0415  slow to import, and needed only by an address

    ConnectionPool.from_url(url).make_connection()


_PARSERS: Final = {
    variables.DATABASE_URL: _parse_for_postgres,
    variables.DATABASE_DIRECT_URL: _parse_for_postgres,
    variables.REDIS_URL: _parse_for_valkey,
}
