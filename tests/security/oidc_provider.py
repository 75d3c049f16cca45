"""oidc-provider-mock, a real OpenID Connect provider, whose ID tokens a test may bend."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

import flask
import httpx
import jwt
from oidc_provider_mock import app as provider_app
from werkzeug.serving import make_server

if TYPE_CHECKING:
    from collections.abc import Callable


class Provider:
    """The provider, in threads of this process."""

    def __init__(self) -> None:
        self.bend: Callable[[dict[str, Any]], tuple[str, Any] | None] | None = None
        self.token_requests: list[dict[str, str]] = []
        app = provider_app(require_nonce=True)
        app.after_request(self._answer)
        self._server = make_server("127.0.0.1", 0, app, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def person(self, subject: str, **claims: Any) -> None:
        """Make or change a person."""
        httpx.put(f"{self.url}/users/{subject}", json=claims).raise_for_status()

    def agree(self, place: str, subject: str) -> dict[str, str]:
        """Sign in at the provider's page; what it sends back to Heartbit."""
        answer = httpx.post(place, data={"sub": subject})
        assert answer.status_code == 302, answer.text
        query = parse_qs(urlsplit(answer.headers["Location"]).query)
        return {name: values[0] for name, values in query.items()}

    def _answer(self, response: flask.Response) -> flask.Response:
        if flask.request.path != "/oauth2/token":
            return response
        self.token_requests.append(flask.request.form.to_dict())
        if self.bend is None:
            return response
        found = json.loads(response.get_data())
        claims = jwt.decode(found["id_token"], options={"verify_signature": False})
        key = flask.g.oidc_provider_mock_storage.jwk.as_dict(is_private=True)
        algorithm, signer = self.bend(claims) or ("RS256", jwt.PyJWK(key, "RS256").key)
        found["id_token"] = jwt.encode(claims, signer, algorithm)
        response.set_data(json.dumps(found))
        return response
