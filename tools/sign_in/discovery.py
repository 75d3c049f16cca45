"""Discovery of an MCP server's authorization server (RFC 9728, RFC 8414, OpenID Connect).

Each address comes from another party, so each request goes through the guarded client and follows
no redirect. The models and the lookup order are those of the SDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from mcp.client.auth import utils
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import BaseModel, ValidationError

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from tools.sign_in.errors import SignInError

if TYPE_CHECKING:
    import httpx

_OK: Final = 200
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500
_GRANTS: Final = ["authorization_code", "refresh_token"]
_JSON: Final = {"accept": "application/json"}
_HELLO: Final = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "heartbit", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """The authorization server of an MCP server.

    Attributes:
        issuer: Issuer name, exactly as the server spells it.
        resource: Identifier of the MCP server that tokens are asked for (RFC 8707).
        scope: Scopes to ask for; empty for the server's default.
        metadata: Its endpoints and capabilities.
    """

    issuer: str
    resource: str
    scope: str
    metadata: OAuthMetadata


async def discover(url: str, http: httpx.AsyncClient) -> AuthorizationServer:
    """Return the authorization server of an MCP server.

    Args:
        url: Address of the MCP server.
        http: The guarded client, following no redirects.

    Raises:
        SignInError: No usable one exists: the metadata is missing, names another resource
            or issuer, or does not offer PKCE with S256.
        httpx.HTTPError: A server cannot be reached.
    """
    challenge = await _challenge(url, http)
    named = utils.extract_field_from_www_auth(challenge, "resource_metadata")
    protected, resource, issuer = None, resource_url_from_server_url(url), None
    for place in utils.build_protected_resource_metadata_discovery_urls(named, url):
        document, protected = await _read(place, ProtectedResourceMetadata, http)
        if protected is not None:
            resource = str(document["resource"])
            issuer = str(document["authorization_servers"][0])
            break
    _check_resource(url, resource)
    metadata, issuer = await _metadata(url, issuer, http)
    _check(url, metadata)
    scope = utils.get_client_metadata_scopes(
        utils.extract_field_from_www_auth(challenge, "scope"), protected, metadata, _GRANTS
    )
    return AuthorizationServer(issuer, resource, scope or "", metadata)


async def _challenge(url: str, http: httpx.AsyncClient) -> Any:
    """Return the WWW-Authenticate challenge to a request without a token."""
    headers = {"accept": "application/json, text/event-stream"}
    async with http.stream("POST", url, json=_HELLO, headers=headers) as response:
        return response


async def _metadata(
    url: str, issuer: str | None, http: httpx.AsyncClient
) -> tuple[OAuthMetadata, str]:
    """Return the metadata of an issuer, which must name itself; None for the server itself."""
    parts = urlsplit(url)
    expected = issuer or f"{parts.scheme}://{parts.netloc}"
    for place in utils.build_oauth_authorization_server_metadata_discovery_urls(issuer, url):
        document, metadata = await _read(place, OAuthMetadata, http)
        if metadata is None:
            continue
        found = str(document["issuer"])
        if not utils.issuers_match(found, expected):
            raise SignInError(
                f"{place} describes the authorization server {found[:200]}, not {expected}, so "
                "sign-in is refused."
            )
        return metadata, found
    raise SignInError(
        f"{expected} publishes no authorization server metadata, so sign-in is not possible: give "
        "the MCP server a credential instead."
    )


async def _read(place: str, kind: type[BaseModel], http: httpx.AsyncClient) -> Any:
    """Return a document and its model; None for both if the address has no document."""
    response = await http.get(place, headers=_JSON)
    if response.status_code >= _SERVER_ERROR or response.status_code == _TOO_MANY:
        raise SignInError(f"{place} answered with the status {response.status_code}: try again.")
    if response.status_code != _OK:
        return None, None
    try:
        document = parse_untrusted_json(response.content)
        return document, kind.model_validate(document)
    except (UntrustedJSONError, ValidationError):
        return None, None


def _check_resource(url: str, resource: str) -> None:
    if not check_resource_allowed(resource_url_from_server_url(url), resource):
        raise SignInError(
            f"{url} asks for tokens of another server, {resource[:200]}, so sign-in is refused."
        )


def _check(url: str, metadata: OAuthMetadata) -> None:
    issuer = str(metadata.issuer)
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise SignInError(
            f"{issuer} does not offer PKCE with S256, without which a code could be stolen, so "
            "sign-in is refused."
        )
    if "code" not in metadata.response_types_supported:
        raise SignInError(f"{issuer} does not issue authorization codes.")
    ends = (metadata.authorization_endpoint, metadata.token_endpoint)
    for end in (*ends, metadata.registration_endpoint, metadata.revocation_endpoint):
        if end is None:
            continue
        if end.username is not None or end.password is not None:
            raise SignInError(
                f"{issuer} names a misleading address: it contains a user name that looks like a "
                f"host, but leads to {end.host}. Sign-in is refused."
            )
        if urlsplit(url).scheme == "https" and end.scheme != "https":
            raise SignInError(f"{issuer} would receive secrets without encryption, at {end}.")
