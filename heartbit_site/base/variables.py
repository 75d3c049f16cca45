"""Environment variables: name, type, bounds, default and parser of each, in one table.

Usage::

    variables.LEASE_SECONDS.read()      # 10.0, or what HEARTBIT_LEASE_SECONDS says
    variables.problems()                # a sentence for each variable that cannot be used

Every reader goes through this table, and every process checks the whole of it before it starts
(`heartbit_site.environment.read`), so that a mistake is one sentence and never a late traceback.
To add a variable: one line here, and one in the table of README.md (a test compares them).

A variable that is set to nothing, or to white space, counts as unset.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from email.utils import parseaddr
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from urllib.parse import parse_qs, urlsplit

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.keyring import parse_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from urllib.parse import SplitResult

T = TypeVar("T")

LONGEST_SHOWN: Final = 80
_ON: Final = ("1", "true", "yes", "on")
_OFF: Final = ("0", "false", "no", "off")
_HOST_NAME: Final = re.compile(r"\*|\.?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\]")
_MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_POSTGRES: Final = ("postgresql", "postgres")
_REDIS: Final = ("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True)
class Variable(Generic[T]):
    """One environment variable.

    Attributes:
        name: As it is set.
        default: Its value while it is unset.
        parse: Makes the value of a text, or raises ValueError with what to write instead.
        secret: True for a value that no message may repeat, a key or an address with a password.
    """

    name: str
    default: T
    parse: Callable[[str], T]
    secret: bool = False

    def read(self, environ: Mapping[str, str] | None = None) -> T:
        """Return the value.

        Args:
            environ: Where to look; the process's environment if None.

        Raises:
            ConfigurationError: The text cannot be used.
        """
        text = (os.environ if environ is None else environ).get(self.name, "")
        if not text.strip():
            return self.default
        try:
            return self.parse(text)
        except ValueError as error:
            found = "cannot be used" if self.secret else f"is {_shown(text)}"
            raise ConfigurationError(f"{self.name} {found}: {error}.") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}...")


# Parsers ------------------------------------------------------------------------------------------


def text(value: str) -> str:
    """Return the text without white space around it."""
    return value.strip()


def verbatim(value: str) -> str:
    """Return the text as it is: a password may begin with a space."""
    return value


def flag(value: str) -> bool:
    """Return True for 1, true, yes and on."""
    word = value.strip().lower()
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
        if not least <= found <= most:  # which NaN is not
            raise ValueError(f"set it to a number from {least:g} to {most:g}")
        return found

    return parse


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return the parser of a whole number within bounds."""

    def parse(value: str) -> int:
        word = value.strip()
        digits = word.isascii() and word.isdecimal() and len(word) <= len(str(most))
        if not digits or not least <= int(word) <= most:
            raise ValueError(f"set it to a whole number from {least} to {most}")
        return int(word)

    return parse


def choice(*names: str) -> Callable[[str], str]:
    """Return the parser of one of some words."""

    def parse(value: str) -> str:
        word = value.strip().lower()
        if word not in names:
            raise ValueError(f"set it to {', '.join(names[:-1])} or {names[-1]}")
        return word

    return parse


def words(check: Callable[[str], str | None]) -> Callable[[str], tuple[str, ...]]:
    """Return the parser of a list with commas.

    Args:
        check: Returns what to write instead of one of them, or None when it is fine.
    """

    def parse(value: str) -> tuple[str, ...]:
        found = tuple(word.strip() for word in value.split(",") if word.strip())
        for word in found:
            mend = check(word)
            if mend is not None:
                raise ValueError(f"{word!r} {mend}")
        return found

    return parse


def web_address(value: str) -> str:
    """Return an http or https URL without a slash at its end."""
    address = value.strip()
    if _host_of(address, ("http", "https")) is None or not address.isprintable():
        raise ValueError("write an http or https address, https://heartbit.example")
    return address.rstrip("/")


def server_address(value: str) -> str:
    """Return the address of a Heartbit server with its scheme, https unless another is written."""
    address = value.strip()
    full = address if "://" in address else f"https://{address}"
    if _host_of(full, ("http", "https")) is None or not full.isprintable():
        raise ValueError("it is no address of a server; write https://heartbit.example")
    parts = urlsplit(full)
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("it holds more than an address; put the key into HEARTBIT_API_KEY")
    return full.rstrip("/")


def api_key(value: str) -> str:
    """Return a key of the API."""
    key = value.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError("it is no API key, which begins with hb_ and has no spaces")
    return key


def database_address(value: str) -> str:
    """Return a PostgreSQL URL, as libpq understands it."""
    url = value.strip()
    parts = _connection(url, _POSTGRES)
    query = parse_qs(parts.query)
    if not parts.path.strip("/") and not {"dbname", "service"} & query.keys():
        raise ValueError("it names no database; write postgresql://USER@HOST/DATABASE")
    return url


def valkey_address(value: str) -> str:
    """Return a Valkey URL, as redis-py understands it."""
    url = value.strip()
    parts = _connection(url, _REDIS)
    if parts.scheme == "unix":
        database = "".join(parse_qs(parts.query).get("db", ["0"])[:1])
        if not parts.path.strip("/"):
            raise ValueError("it names no socket; write unix:///run/valkey.sock?db=0")
    else:
        database = parts.path.strip("/") or "0"
    if not (database.isascii() and database.isdecimal()):
        raise ValueError("its database is no number; write redis://HOST:6379/0")
    return url


def encryption_keys(value: str) -> tuple[str, ...]:
    """Return keys in base64, separated by commas or white space."""
    found = tuple(value.replace(",", " ").split())
    parse_keys(found)
    return found


def allow_list(value: str) -> str:
    """Return hosts and networks that tools may reach, as they are written."""
    from heartbit_site.base.http.allow import parse_allow  # noqa: PLC0415  its package is httpx

    parse_allow(value)
    return value.strip()


def dotted_class(value: str) -> str:
    """Return the dotted path of a class whose module is installed."""
    path = value.strip()
    module, _, name = path.rpartition(".")
    try:
        spec = find_spec(module) if name and _MODULE.fullmatch(module) else None
    except ImportError:
        spec = None
    if spec is None:
        raise ValueError("write the dotted path of a class that is installed")
    return path


def directory(value: str) -> str:
    """Return the path of a directory, which need not be there yet."""
    path = value.strip()
    if Path(path).exists() and not Path(path).is_dir():
        raise ValueError("that is no directory; name one, or a path that is free")
    return path


def _host_name(word: str) -> str | None:
    if _HOST_NAME.fullmatch(word):
        return None
    return "is no host; write heartbit.example, without a scheme or port"


def mail_host(value: str) -> str:
    """Return the host of a mail server."""
    host = value.strip()
    if host == "*" or not _HOST_NAME.fullmatch(host):
        raise ValueError("it is no host; write smtp.example.org, and the port into EMAIL_PORT")
    return host


def sender(value: str) -> str:
    """Return an e-mail address, perhaps with a name before it."""
    written = value.strip()
    _, address = parseaddr(written)
    if not all(address.partition("@")) or not written.isprintable():
        raise ValueError("it is no address; write heartbit@example.org or Name <name@example.org>")
    return written


def _origin(word: str) -> str | None:
    host = _host_of(word.replace("://*.", "://", 1), ("http", "https"))
    if host is not None and urlsplit(word).path in ("", "/") and word.isprintable():
        return None
    return "is no origin; write https://heartbit.example"


def origins(value: str) -> tuple[str, ...]:
    """Return origins as browsers write them: in lower case, without a slash at the end."""
    return tuple(word.lower().rstrip("/") for word in words(_origin)(value))


def _proxy(word: str) -> str | None:
    try:
        network = ip_network(word)
    except ValueError:
        return "is no address and no network; write 10.0.0.7 or 10.0.0.0/24"
    if network.prefixlen == 0:
        return "is everybody, who could claim any address; name the proxy's address"
    return None


def _module(word: str) -> str | None:
    return None if _MODULE.fullmatch(word) else "is no module; write shop.assistant"


def _connection(url: str, schemes: tuple[str, ...]) -> SplitResult:
    names = ", ".join(f"{scheme}://" for scheme in schemes)
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is no number
    except ValueError:
        raise ValueError(
            "its host or port cannot be read; write "
            + ("redis://HOST:6379/0" if schemes is _REDIS else "postgresql://USER@HOST/DATABASE")
        ) from None
    if parts.scheme not in schemes or "://" not in url:
        raise ValueError(f"it begins with {parts.scheme or 'no scheme'!r}; Heartbit needs {names}")
    return parts


def _host_of(url: str, schemes: tuple[str, ...]) -> str | None:
    """Return the host of a URL, or None when it has none, or another scheme."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is no number
    except ValueError:
        return None
    return parts.hostname if parts.scheme in schemes else None


# The table ----------------------------------------------------------------------------------------

DAY: Final = 86_400.0
_NOTHING: Final[tuple[str, ...]] = ()
_THIS_MACHINE: Final[tuple[str, ...]] = ("localhost", "127.0.0.1", "[::1]")

DATABASE_URL: Final = Variable("DATABASE_URL", "", database_address, secret=True)
DATABASE_DIRECT_URL: Final = Variable("DATABASE_DIRECT_URL", "", database_address, secret=True)
REDIS_URL: Final = Variable("REDIS_URL", "", valkey_address, secret=True)
STATE: Final = Variable("HEARTBIT_STATE_DIR", "", directory)
LINGER: Final = Variable("HEARTBIT_EMBEDDED_IDLE_SECONDS", 300.0, number(0, 30 * DAY))
SECRET_KEY: Final = Variable("HEARTBIT_SECRET_KEY", "", verbatim, secret=True)
ENCRYPTION_KEYS: Final = Variable(
    "HEARTBIT_ENCRYPTION_KEYS", _NOTHING, encryption_keys, secret=True
)
ALLOWED_HOSTS: Final = Variable("HEARTBIT_ALLOWED_HOSTS", _THIS_MACHINE, words(_host_name))
HTTPS: Final = Variable("HEARTBIT_HTTPS", False, flag)  # noqa: FBT003  a default
TRUSTED_ORIGINS: Final = Variable("HEARTBIT_TRUSTED_ORIGINS", _NOTHING, origins)
TRUSTED_PROXIES: Final = Variable("HEARTBIT_TRUSTED_PROXIES", _NOTHING, words(_proxy))
REQUEST_SECONDS: Final = Variable("HEARTBIT_REQUEST_SECONDS", 30.0, number(0.1, 3600))
PUBLIC_URL: Final = Variable("HEARTBIT_PUBLIC_URL", "http://localhost:8000", web_address)
APPROVAL_MAIL: Final = Variable("HEARTBIT_APPROVAL_MAIL", False, flag)  # noqa: FBT003  a default
APPROVAL_LINK_HOURS: Final = Variable("HEARTBIT_APPROVAL_LINK_HOURS", 72.0, number(0.01, 8760))
CONFIG: Final = Variable("HEARTBIT_CONFIG", "", text)
PROVIDER: Final = Variable("HEARTBIT_PROVIDER", "", text)
MODEL: Final = Variable("HEARTBIT_MODEL", "", text)
WORKSPACE: Final = Variable("HEARTBIT_WORKSPACE", "", text)
URL: Final = Variable("HEARTBIT_URL", "", server_address, secret=True)
API_KEY: Final = Variable("HEARTBIT_API_KEY", "", api_key, secret=True)
HTTP_ALLOW: Final = Variable("HEARTBIT_HTTP_ALLOWLIST", "", allow_list)
API_RATE: Final = Variable("HEARTBIT_API_RATE_LIMIT", 50.0, number(0, 1_000_000))
MESSAGE_HOPS: Final = Variable("HEARTBIT_MAX_MESSAGE_HOPS", 8, whole(1, 1_000))
MESSAGES_PER_MINUTE: Final = Variable("HEARTBIT_MESSAGES_PER_MINUTE", 60, whole(0, 1_000_000))
EXTRA_APPS: Final = Variable("HEARTBIT_EXTRA_APPS", _NOTHING, words(_module))
LEASE_SECONDS: Final = Variable("HEARTBIT_LEASE_SECONDS", 10.0, number(0.5, 3600))
SWEEP_SECONDS: Final = Variable("HEARTBIT_SWEEP_SECONDS", 1.0, number(0.01, 3600))
BREAKER_FAILURES: Final = Variable("HEARTBIT_BREAKER_FAILURES", 5, whole(0, 1_000_000))
MAX_ATTEMPTS: Final = Variable("HEARTBIT_MAX_CRASHES", 3, whole(1, 1_000))
DRAIN_SECONDS: Final = Variable("HEARTBIT_DRAIN_SECONDS", 25.0, number(0, DAY))
ARCHIVE_DIR: Final = Variable("HEARTBIT_ARCHIVE_DIR", "", directory)
LOCAL_MODEL_THREADS: Final = Variable("HEARTBIT_LOCAL_MODEL_THREADS", 0, whole(1, 1_024))
LOG: Final = Variable("HEARTBIT_LOG", "", choice("debug", "info", "warning", "error"))
DEBUG: Final = Variable("HEARTBIT_DEBUG", False, flag)  # noqa: FBT003  a default
EMAIL_BACKEND: Final = Variable(
    "EMAIL_BACKEND", "django.core.mail.backends.smtp.EmailBackend", dotted_class
)
EMAIL_HOST: Final = Variable("EMAIL_HOST", "localhost", mail_host)
EMAIL_PORT: Final = Variable("EMAIL_PORT", 25, whole(1, 65_535))
EMAIL_HOST_USER: Final = Variable("EMAIL_HOST_USER", "", verbatim)
EMAIL_HOST_PASSWORD: Final = Variable("EMAIL_HOST_PASSWORD", "", verbatim, secret=True)
EMAIL_USE_TLS: Final = Variable("EMAIL_USE_TLS", False, flag)  # noqa: FBT003  a default
EMAIL_USE_SSL: Final = Variable("EMAIL_USE_SSL", False, flag)  # noqa: FBT003  a default
DEFAULT_FROM_EMAIL: Final = Variable("DEFAULT_FROM_EMAIL", "heartbit@localhost", sender)

VARIABLES: Final[tuple[Variable[object], ...]] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Variable)
)


def problems(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return a sentence for each variable that cannot be used."""
    environ = os.environ if environ is None else environ
    found = []
    for variable in VARIABLES:
        try:
            variable.read(environ)
        except ConfigurationError as error:
            found.append(str(error))
    if not found and EMAIL_USE_TLS.read(environ) and EMAIL_USE_SSL.read(environ):
        found.append("EMAIL_USE_TLS and EMAIL_USE_SSL are both on: unset one of them.")
    return found
