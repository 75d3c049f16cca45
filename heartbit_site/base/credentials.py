"""Types of credentials that tools ask for. Pure.

A tool asks by a parameter: people store the credential, the runtime supplies it, and the model
never sees it::

    @tool
    def send_email(mail: SmtpCredential | ApiKeyCredential, to: str, text: str) -> str:
        '''Send an e-mail.'''

A package adds a type with a subclass that has a ``kind`` and a ``label`` of its own. Fields of the
type ``SecretStr`` are stored encrypted and never shown again; the others are shown to people.
A credential that a tool sends over HTTP has a ``url``, and is sent only to URLs below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.web_url import split_web_url

Security = Literal["tls", "starttls", "none"]
#: Labels of the choices of all types; a choice without one is its own label.
CHOICE_LABELS: Final = {"tls": "TLS", "starttls": "STARTTLS", "none": "No encryption"}
Host = Annotated[str, Field(min_length=1, max_length=253)]
Port = Annotated[int, Field(ge=1, le=65_535)]
User = Annotated[str, Field(max_length=320)]
Url = Annotated[
    str,
    Field(
        max_length=500,
        description="Requests with the credential go to this URL, and to URLs below it, only.",
    ),
]
Key = Annotated[SecretStr, Field(max_length=10_000)]

_kinds: dict[str, type[CredentialType]] = {}


class CredentialType(BaseModel):
    """Base of the types of credentials.

    Attributes:
        kind: Name in the database, in lists and in ``heartbit.toml``.
        label: Name for people.
        is_entered: True if people enter it; False: it is made by signing in somewhere.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        str_strip_whitespace=True,
        defer_build=True,  # every process declares them, and few of them use one
    )

    kind: ClassVar[str]
    label: ClassVar[str]
    is_entered: ClassVar[bool] = True

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Register the type.

        Raises:
            ConfigurationError: Another class has its kind.
        """
        if "kind" not in cls.__dict__:
            return  # a base of several types
        known = _kinds.setdefault(cls.kind, cls)
        if known is not cls and known.__qualname__ != cls.__qualname__:
            raise ConfigurationError(
                f"Two types of credentials are called {cls.kind!r} ({known.__qualname__} and "
                f"{cls.__qualname__}): give one of them another kind."
            )

    @classmethod
    def secret_fields(cls) -> tuple[str, ...]:
        """Return the names of the fields that are stored encrypted."""
        return tuple(
            name for name, field in cls.model_fields.items() if field.annotation is SecretStr
        )


def credential_types() -> dict[str, type[CredentialType]]:
    """Return the known types by kind, sorted by label."""
    return dict(sorted(_kinds.items(), key=lambda item: item[1].label))


def entered_types() -> dict[str, type[CredentialType]]:
    """Return the types that people can enter, by kind, sorted by label."""
    return {kind: each for kind, each in credential_types().items() if each.is_entered}


class UrlCredential(CredentialType):
    """Base of the credentials that are sent over HTTP."""

    url: Url

    @field_validator("url")
    @classmethod
    def _usable(cls, url: str) -> str:
        parts = split_web_url(url)
        if parts is None or not url.isascii() or " " in url:
            raise ValueError("write it like https://api.example.com/v1")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("leave out names, passwords, and what begins with ? or #")
        return url

    def covers(self, url: str) -> bool:
        """Return True if requests to ``url`` may carry the credential."""
        try:
            own, other = urlsplit(self.url), urlsplit(url)
            same = _origin(own) == _origin(other)
        except ValueError:
            return False
        path = own.path.rstrip("/")
        # A path with dots or an encoded slash may mean another one to the server.
        written = other.path.lower().replace("/.well-known/", "/", 1)
        plain = not any(part in written for part in ("/.", "%2e", "%2f", "%5c", "\\"))
        below = other.path == path or other.path.startswith(f"{path}/")
        return same and (not path or (plain and below)) and "@" not in other.netloc


def _origin(parts: Any) -> tuple[str, str, int | None]:
    return (
        parts.scheme,
        parts.hostname or "",
        parts.port or {"http": 80, "https": 443}[parts.scheme],
    )


class SmtpCredential(CredentialType):
    """A mail server that sends, and the address that mail is sent from."""

    kind = "smtp"
    label = "Outgoing mail (SMTP)"

    host: Host
    port: Port = 587
    security: Security = "starttls"
    username: User = ""
    password: Key = SecretStr("")
    sender: str = Field(min_length=3, max_length=320, description="Address that mail comes from.")


class ImapCredential(CredentialType):
    """A mailbox."""

    kind = "imap"
    label = "Mailbox (IMAP)"

    host: Host
    port: Port = 993
    security: Security = "tls"
    username: User
    password: Key


class CalDavCredential(UrlCredential):
    """An account at a calendar server."""

    kind = "caldav"
    label = "Calendar (CalDAV)"

    username: User
    password: Key


class S3Credential(UrlCredential):
    """A bucket of an S3-compatible storage."""

    kind = "s3"
    label = "File storage (S3)"

    bucket: str = Field(min_length=1, max_length=255, description="Name of the bucket.")
    region: str = Field("us-east-1", max_length=60, description="Region of the bucket.")
    access_key: str = Field(min_length=1, max_length=200, description="Id of the access key.")
    secret_key: Key


class BearerCredential(UrlCredential):
    """A token in the header Authorization (Bearer)."""

    kind = "bearer"
    label = "Bearer token"

    token: Key


class ApiKeyCredential(UrlCredential):
    """A key in a header of its own."""

    kind = "api_key"
    label = "API key in a header"

    header: str = Field(
        "X-API-Key",
        max_length=100,
        pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
        description="Name of the header.",
    )
    key: Key


class QueryKeyCredential(UrlCredential):
    """A key in the query of the URL, for APIs that take it nowhere else."""

    kind = "query_key"
    label = "API key in the URL"

    parameter: str = Field(
        "api_key",
        max_length=100,
        pattern=r"^[A-Za-z0-9_.~-]+$",
        description="Name of the query's parameter.",
    )
    key: Key


class BasicCredential(UrlCredential):
    """Name and password in the header Authorization (Basic)."""

    kind = "basic"
    label = "Name and password (HTTP Basic)"

    username: User
    password: Key


class OAuthClientCredential(UrlCredential):
    """An OAuth 2 client that gets its access tokens by itself (RFC 6749 section 4.4)."""

    kind = "oauth_client"
    label = "OAuth 2 client"

    token_url: Url
    client_id: str = Field(min_length=1, max_length=500, description="Id of the client.")
    client_secret: Key
    scope: str = Field("", max_length=1_000, description="Scopes, with blanks between them.")


class OAuthAppCredential(CredentialType):
    """A client that was registered at an authorization server for people to sign in with."""

    kind = "oauth_app"
    label = "OAuth app"

    issuer: Url = Field(description="Issuer of the server, e.g. https://login.example.com.")
    client_id: str = Field(min_length=1, max_length=500, description="Id of the client.")
    client_secret: Key = SecretStr("")


class SignInCredential(UrlCredential):
    """A person's sign-in at an MCP server (OAuth 2.1), made in the browser.

    Attributes:
        row_id: Id of its row, whose lock a renewal takes.
        revocation_url: Where tokens are revoked (RFC 7009); empty: the server does not say.
        expires_at: Unix time at which the access token ends.
        wanted_scope: Scopes that a call lacked; the next sign-in asks for them.
    """

    kind = "sign_in"
    label = "Sign-in"
    is_entered = False

    row_id: int = Field(0, exclude=True)
    issuer: str
    token_url: str
    revocation_url: str = ""
    resource: str
    client_id: str
    client_secret: Key = SecretStr("")
    method: str
    scope: str = ""
    wanted_scope: str = ""
    access_token: Key
    refresh_token: Key = SecretStr("")
    expires_at: float


class SigningCredential(CredentialType):
    """A secret that requests are signed with (Standard Webhooks)."""

    kind = "signing"
    label = "Signing secret"

    secret: Key


@dataclass(frozen=True, slots=True)
class CredentialNeed:
    """A credential that a tool asks for.

    Attributes:
        parameter: The function's parameter that receives it.
        kinds: Kinds that fit.
        optional: True if the tool also works without it, and then receives None.
        name: Name of the credential that the tool itself asks for, unless the agent's binding names
            another; empty: it does not matter.
        remedy: What a person without it is answered; empty: where to add it.
    """

    parameter: str
    kinds: tuple[str, ...]
    optional: bool = False
    name: str = ""
    remedy: str = ""
