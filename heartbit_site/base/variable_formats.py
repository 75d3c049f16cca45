"""Parsers of environment variables.

Each parses a text without white space around it, or raises ValueError with a remedy that completes
"NAME is 'text': ".
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from email.utils import parseaddr
from importlib.util import find_spec
from ipaddress import ip_network
from itertools import takewhile
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qs, urlsplit

from heartbit_site.base.keyring import parse_keys
from heartbit_site.base.web_url import split_web_url

#: Of ``heartbit_site.base.models.Role``, which needs the app registry.
_ROLES: Final = ("viewer", "operator", "editor", "admin")
_ON: Final = ("1", "true", "yes", "on")
_OFF: Final = ("0", "false", "no", "off")
_HOST_NAME: Final = re.compile(r"\*|\.?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\]")
_APART: Final = re.compile(r"[\s,]+")
_KEY: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
_MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_PROGRAM: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_OPENING: Final = re.compile(
    r"\+(?:open|host=[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|(?:read|write)=/.*)"
)
_KEY_LETTERS: Final = 32
_POSTGRES: Final = ("postgresql", "postgres")
_REDIS: Final = ("redis", "rediss", "unix")


def flag(value: str) -> bool:
    """Return True for 1, true, yes and on."""
    word = value.lower()
    if word not in (*_ON, *_OFF):
        raise ValueError("set it to 1 or 0")
    return word in _ON


def number(least: float, most: float) -> Callable[[str], float]:
    """Return the parser of a number within bounds."""

    def parse(value: str) -> float:
        try:
            found = float(value)
        except ValueError:
            found = float("nan")
        if not least <= found <= most:  # false for NaN
            raise ValueError(f"set it to a number from {least:g} to {most:g}")
        return found

    return parse


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return the parser of a whole number within bounds."""

    def parse(value: str) -> int:
        digits = value.isascii() and value.isdecimal() and len(value) <= len(str(most))
        if not digits or not least <= int(value) <= most:
            raise ValueError(f"set it to a whole number from {least} to {most}")
        return int(value)

    return parse


def choice(*names: str) -> Callable[[str], str]:
    """Return the parser of one of some words."""

    def parse(value: str) -> str:
        word = value.lower()
        if word not in names:
            raise ValueError(f"set it to {', '.join(names[:-1])} or {names[-1]}")
        return word

    return parse


def words(accepts: Callable[[str], object], mend: str) -> Callable[[str], tuple[str, ...]]:
    """Return the parser of a comma-separated list.

    Args:
        accepts: Returns a true value for an accepted word; a ValueError is its own remedy.
        mend: The remedy for other words.
    """

    def parse(value: str) -> tuple[str, ...]:
        found = tuple(word.strip() for word in value.split(",") if word.strip())
        for word in found:
            if not accepts(word):
                raise ValueError(f"{word!r} {mend}")
        return found

    return parse


def web_address(value: str) -> str:
    """Return an http or https URL without a slash at its end."""
    if split_web_url(value) is None:
        raise ValueError("write an http or https address, https://heartbit.example")
    return value.rstrip("/")


def server_address(value: str) -> str:
    """Return the address of a Heartbit server with its scheme, by default https."""
    address = value.strip()
    full = address if "://" in address else f"https://{address}"
    parts = split_web_url(full)
    if parts is None:
        raise ValueError("it is not a server address; write https://heartbit.example")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("it holds more than an address; put the key into HEARTBIT_API_KEY")
    return full.rstrip("/")


def api_key(value: str) -> str:
    """Return a key of the API."""
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise ValueError("it is not an API key, which begins with hb_ and has no spaces")
    return value


def bearer_key(value: str) -> str:
    """Return a key that two processes share."""
    if len(value) < _KEY_LETTERS or not _KEY.fullmatch(value):
        raise ValueError(
            f"write {_KEY_LETTERS} or more letters and digits; `openssl rand -hex 32` makes one"
        )
    return value


def database_address(url: str) -> str:
    """Return a PostgreSQL URL, as libpq understands it."""
    parts = _connection(url, _POSTGRES)
    query = parse_qs(parts.query)
    if not parts.path.strip("/") and not {"dbname", "service"} & query.keys():
        raise ValueError("it names no database; write postgresql://USER@HOST/DATABASE")
    return url


def valkey_address(url: str) -> str:
    """Return a Valkey URL, as redis-py understands it."""
    parts = _connection(url, _REDIS)
    if parts.scheme == "unix":
        database = "".join(parse_qs(parts.query).get("db", ["0"])[:1])
        if not parts.path.strip("/"):
            raise ValueError("it names no socket; write unix:///run/valkey.sock?db=0")
    else:
        database = parts.path.strip("/") or "0"
    if not (database.isascii() and database.isdecimal()):
        raise ValueError("its database is not a number; write redis://HOST:6379/0")
    return url


def encryption_keys(value: str) -> tuple[str, ...]:
    """Return keys in base64, separated by commas or white space."""
    found = tuple(value.replace(",", " ").split())
    parse_keys(found)
    return found


def allow_list(value: str) -> str:
    """Return the hosts and networks that tools may reach, unchanged."""
    from heartbit_site.base.http.allow import parse_allow  # noqa: PLC0415  its package is httpx

    parse_allow(value)
    return value


def host_names(value: str) -> tuple[str, ...]:
    """Return names of hosts, in lower case."""
    names = tuple(dict.fromkeys(_APART.split(value.lower().strip(", "))))
    for name in names:
        if not _HOST_NAME.fullmatch(name) or name[0] in "*.[":
            raise ValueError(
                f"{name!r} is not a host name: write it like api.example.com, without a scheme, "
                "a port or *"
            )
    return names


def programs(value: str) -> dict[str, tuple[str, ...]]:
    """Return the words of command lines, by name; no shell reads them.

    Words before the program that begin with a plus are exceptions of its sandbox.
    """
    found: dict[str, tuple[str, ...]] = {}
    for entry in value.replace("\n", ";").split(";"):
        if not entry.strip():
            continue
        name, _, line = (part.strip() for part in entry.partition("="))
        try:
            words = tuple(shlex.split(line))
        except ValueError:  # an unclosed quotation mark
            words = ()
        if not _PROGRAM.fullmatch(name) or not words or name in found:
            raise ValueError(
                "set it to `name = command line`, with semicolons between them and each name once, "
                "of lower-case letters, digits, - and _"
            )
        openings = list(takewhile(lambda word: word.startswith("+"), words))
        if len(openings) == len(words) or not all(map(_OPENING.fullmatch, openings)):
            raise ValueError(
                f"{name}: write a program, and before it only +host=NAME, +read=/PATH, "
                "+write=/PATH or +open"
            )
        found[name] = words
    return found


def roles_of_groups(value: str) -> dict[str, dict[str, str]]:
    """Return the roles that groups give, by group and workspace."""
    mend = 'write JSON: {"group": {"workspace": "role"}}, with the roles ' + ", ".join(_ROLES)
    try:
        found = json.loads(value)
    except ValueError:
        raise ValueError(mend) from None
    given = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(one, dict) and set(map(str, one.values())) <= {*_ROLES} for one in given):
        raise ValueError(mend)
    return dict(found)


def dotted_class(path: str) -> str:
    """Return the dotted path of a class whose module is installed."""
    module, _, name = path.rpartition(".")
    try:
        spec = find_spec(module) if name and _MODULE.fullmatch(module) else None
    except ImportError:
        spec = None
    if spec is None:
        raise ValueError("write the dotted path of a class that is installed")
    return path


def directory(path: str) -> str:
    """Return the path of a directory, which may be missing."""
    if Path(path).exists() and not Path(path).is_dir():
        raise ValueError("it is not a directory; name one, or an unused path")
    return path


hosts: Final = words(
    _HOST_NAME.fullmatch, "is not a host; write heartbit.example, without a scheme or port"
)


def _is_address(word: str) -> bool:
    return word.isprintable() and parseaddr(word)[1] == word and all(word.partition("@"))


addresses: Final = words(_is_address, "is not an address; write ops@example.org")


def mail_host(host: str) -> str:
    """Return the host of a mail server."""
    if host == "*" or not _HOST_NAME.fullmatch(host):
        raise ValueError("it is not a host; write smtp.example.org, and the port into EMAIL_PORT")
    return host


def sender(written: str) -> str:
    """Return an e-mail address, with or without a name before it."""
    _, address = parseaddr(written)
    if not all(address.partition("@")) or not written.isprintable():
        raise ValueError("it is not valid; write heartbit@example.org or Name <name@example.org>")
    return written


def _is_origin(word: str) -> bool:
    parts = split_web_url(word.replace("://*.", "://", 1))
    return parts is not None and parts.path in ("", "/")


def origins(value: str) -> tuple[str, ...]:
    """Return origins as browsers write them: in lower case, without a slash at the end."""
    found = words(_is_origin, "is not an origin; write https://heartbit.example")(value)
    return tuple(word.lower().rstrip("/") for word in found)


def _is_proxy(word: str) -> bool:
    try:
        network = ip_network(word)
    except ValueError:
        return False
    if network.prefixlen == 0:
        raise ValueError(
            f"{word!r} trusts every client, which could then claim any address; name the proxy's "
            "address"
        )
    return True


proxies: Final = words(_is_proxy, "is not an address or network; write 10.0.0.7 or 10.0.0.0/24")
modules: Final = words(_MODULE.fullmatch, "is not a module; write shop.assistant")


def _connection(url: str, schemes: tuple[str, ...]) -> SplitResult:
    names = ", ".join(f"{scheme}://" for scheme in schemes)
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        raise ValueError(
            "its host or port cannot be read; write "
            + ("redis://HOST:6379/0" if schemes is _REDIS else "postgresql://USER@HOST/DATABASE")
        ) from None
    if parts.scheme not in schemes or "://" not in url:
        raise ValueError(f"it begins with {parts.scheme or 'no scheme'!r}; Heartbit needs {names}")
    return parts
