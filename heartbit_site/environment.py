"""The environment: read once, typed, with one clear sentence for each mistake.

That includes what the driver of PostgreSQL or Valkey refuses of an address.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from heartbit_site.base import variables
from heartbit_site.base.environment_variable import LONGEST_SHOWN
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.installation import extra_command
from heartbit_site.embedded.state import ServiceName, StateDirectory

_TLS_OPTION: Final = "ssl_"  # how redis-py's options of TLS begin


@dataclass(frozen=True, slots=True)
class Environment:
    """The addresses of the services.

    Attributes:
        state: The state directory (keys, logs, embedded servers).
        database_url: PostgreSQL, as libpq understands it.
        database_direct_url: The same database without a transaction pooler in between.
        redis_url: Valkey or Redis, as redis-py understands it.
        embedded: The services that Heartbit runs itself, because no URL names others.
    """

    state: StateDirectory
    database_url: str
    database_direct_url: str
    redis_url: str
    embedded: frozenset[ServiceName]


def read(environ: Mapping[str, str] | None = None) -> Environment:
    """Check every variable, and return the addresses of the services.

    Raises:
        ConfigurationError: A variable cannot be used.
    """
    check(environ)
    state = StateDirectory()
    embedded: set[ServiceName] = set()
    database_url = variables.DATABASE_URL.read(environ)
    if not database_url:
        embedded.add("postgres")
        database_url = state.database_url
    redis_url = variables.REDIS_URL.read(environ)
    if not redis_url:
        embedded.add("valkey")
        redis_url = state.redis_url
    return Environment(
        state=state,
        database_url=database_url,
        database_direct_url=variables.DATABASE_DIRECT_URL.read(environ) or database_url,
        redis_url=redis_url,
        embedded=frozenset(embedded),
    )


def problems(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return a sentence for each variable that cannot be used."""
    environ = os.environ if environ is None else environ
    found = variables.problems(environ) or _refused_addresses(environ)
    return found or _unready_sign_in(environ)


def check(environ: Mapping[str, str] | None = None) -> None:
    """Refuse an environment in which a variable cannot be used.

    Raises:
        ConfigurationError: The first such variable, and the number of others.
    """
    found = problems(environ)
    if len(found) > 1:
        raise ConfigurationError(f"{found[0]} `heartbit doctor` lists {len(found) - 1} more.")
    if found:
        raise ConfigurationError(found[0])


def django_database(url: str) -> dict[str, object]:
    """Return Django's DATABASES entry for a libpq URL, whose query may name a socket directory."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415  slow; not every reader needs it

    options = conninfo_to_dict(url)
    entry = {name.upper(): options.pop(name, "") for name in ("user", "password", "host", "port")}
    return {
        "ENGINE": "heartbit_site.base.postgres",
        "NAME": options.pop("dbname", ""),
        **entry,
        "OPTIONS": options,
    }


def celery_broker(redis_url: str) -> str:
    """Return kombu's URL for a redis-py URL: kombu has its own scheme for unix sockets.

    TLS is not in it (``celery_tls``): kombu takes ``rediss`` for TLS without any check, and
    Celery's backend refuses it.
    """
    parts = urlsplit(redis_url)
    if parts.scheme == "unix":
        database = parse_qs(parts.query).get("db", ["0"])[0]
        return f"redis+socket://{parts.path}?virtual_host={database}"
    if parts.scheme == "rediss":
        kept = [pair for pair in parts.query.split("&") if not pair.startswith(_TLS_OPTION)]
        return parts._replace(scheme="redis", query="&".join(kept)).geturl()
    return redis_url


def celery_tls(redis_url: str) -> dict[str, Any] | None:
    """Return the TLS settings of broker and result backend; None: the URL asks for no TLS.

    Certificates are checked as redis-py does, unless the URL says ``ssl_cert_reqs=none``.
    """
    if not redis_url.startswith("rediss://"):
        return None
    from redis import ConnectionPool  # noqa: PLC0415  slow to import, and needed only by an address

    arguments = ConnectionPool.from_url(redis_url).connection_kwargs
    options = {key: value for key, value in arguments.items() if key.startswith(_TLS_OPTION)}
    return {"ssl_cert_reqs": "required", **options}


def _refused_addresses(environ: Mapping[str, str]) -> list[str]:
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
            option = bad.partition("=")[0][:LONGEST_SHOWN]
            found.append(
                f"{variable.name} cannot be used: its option {option!r} is unknown or has a value "
                "that is not valid; correct it, or leave it out."
            )
    return found


def _unready_sign_in(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for what a sign-in at an issuer lacks."""
    has_issuer = bool(variables.OIDC_ISSUER.read(environ))
    if variables.OIDC_ONLY.read(environ) and not has_issuer:
        return ["HEARTBIT_OIDC_ONLY needs HEARTBIT_OIDC_ISSUER: set it, or unset the switch."]
    if has_issuer and not variables.OIDC_CLIENT_ID.read(environ):
        return ["HEARTBIT_OIDC_ISSUER needs HEARTBIT_OIDC_CLIENT_ID: register a client there."]
    if has_issuer and find_spec("allauth") is None:
        return [f"HEARTBIT_OIDC_ISSUER needs the extra oidc: `{extra_command('oidc')}`."]
    return []


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
