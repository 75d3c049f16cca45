"""OpenAPI document of the API, with facts that ninja does not know.

Errors come as problem details, a caller has a key or a session, and each route takes one
scope.
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI, Swagger
from ninja.openapi.schema import REF_TEMPLATE, OpenAPISchema
from ninja.operation import Operation
from ninja.schema import NinjaGenerateJsonSchema

from heartbit_site.api.auth import SCHEME, WORKSPACE_HEADER, NeedsAuth
from heartbit_site.api.errors import PROBLEM
from heartbit_site.contract.problem import ProblemOut

_ALWAYS = (401, 403, 404, 422, 429, 503)
_OF_BODIES = (400, 408, 413)


def answers(form: Any, *others: int, status: int = 200, body: bool = False) -> dict[int, Any]:
    """Return the responses of a route, for its ``response=``.

    An error's schema is that of ``DescribedAPI``: ninja would make a model for each of a thousand.

    Args:
        form: The schema of success.
        others: Further statuses that mean an error, such as 404.
        status: Of success.
        body: Whether it takes a JSON body.
    """
    errors = (*_ALWAYS, *others, *(_OF_BODIES if body else ()))
    return {status: form, **dict.fromkeys(sorted(errors))}


def stream_of(text: str) -> dict[str, Any]:
    """Return the description of a stream of server-sent events."""
    schema = {"type": "string", "description": text}
    content = {"text/event-stream": {"schema": schema}}
    return {"responses": {200: {"description": "Server-sent events", "content": content}}}


STREAM = stream_of(
    "`event: TYPE` with `id: SEQ` for journal events, `event: delta` for streamed text, "
    "`event: end` last; `data:` is a JSON object."
)

FILE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "The file, as a download",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    }
}


KEY, SESSION = "key", "session"
RETRY_AFTER = {
    "description": "Seconds until the next request is accepted.",
    "schema": {"type": "integer", "minimum": 1},
}


def schemes() -> dict[str, Any]:
    """Return the two ways to authenticate."""
    return {
        KEY: {
            "type": "http",
            "scheme": SCHEME,
            "description": "An API key, hb_..., which implies its workspace.",
        },
        SESSION: {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": (
                f"A person's session, with the workspace's short name in {WORKSPACE_HEADER} (or "
                "?workspace=) and, for every change, the CSRF token in X-CSRFToken."
            ),
        },
    }


class LocalPage(Swagger):
    """The page of the documentation with ninja's own scripts; ninja would take them from a CDN."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        """Return the page."""
        options = {**self.settings, "url": self.get_openapi_url(api, kwargs)}
        context = {"swagger_settings": json.dumps(options, indent=1), "api": api}
        return render(request, self.template, context)


class DescribedAPI(NinjaAPI):
    """An API that builds its document once, which takes half a second: anyone may request it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(docs=LocalPage(), **options)
        self._described: dict[str, OpenAPISchema] = {}

    def get_openapi_schema(self, **places: Any) -> OpenAPISchema:
        """Return the whole document."""
        prefix = places.get("path_prefix")
        if prefix is None:
            prefix = self.get_root_path(places.get("path_params") or {})
        if prefix not in self._described:
            self._described[prefix] = _Description(self, prefix)
        return self._described[prefix]


class _Description(OpenAPISchema):
    def operation_details(self, operation: Operation) -> dict[str, Any]:
        """Return one route, with its scopes as text and for programs."""
        found: dict[str, Any] = super().operation_details(operation)
        for auth in operation.auth_callbacks:
            if isinstance(auth, NeedsAuth) and auth.needs.scopes:
                scopes, either = auth.needs.scopes, auth.needs.either
                found["x-scope"] = ("|" if either else " ").join(scopes)
                several = "s" if len(scopes) > 1 and not either else ""
                named = (" or " if either else " and ").join(f"`{scope}`" for scope in scopes)
                needs = f"Needs the scope{several} {named}."
                found["description"] = f"{found.get('description', '')}\n\n{needs}".strip()
        return found

    def responses(self, operation: Operation) -> dict[int, Any]:
        """Return a route's responses: errors are problem details."""
        found: dict[int, Any] = super().responses(operation)
        for status, answer in found.items():
            if status == 429:
                answer["headers"] = {"Retry-After": RETRY_AFTER}
            if status >= 400:
                answer["content"] = {PROBLEM: {"schema": self._problem()}}
            elif operation.openapi_extra and "responses" in operation.openapi_extra:
                answer.pop("content", None)  # the route says it itself
        return found

    def operation_security(self, operation: Operation) -> list[dict[str, Any]] | None:
        """Return the ways to authenticate for a route: a key or a session."""
        if not any(isinstance(auth, NeedsAuth) for auth in operation.auth_callbacks):
            return None
        self.securitySchemes = schemes()
        return [{KEY: []}, {SESSION: []}]

    def _problem(self) -> dict[str, str]:
        """Return a reference to the one schema of problem details."""
        if ProblemOut.__name__ not in self.schemas:
            schema = ProblemOut.model_json_schema(
                mode="serialization",
                ref_template=REF_TEMPLATE,
                schema_generator=NinjaGenerateJsonSchema,
            )
            self.add_schema_definitions({**schema.pop("$defs", {}), ProblemOut.__name__: schema})
        return {"$ref": REF_TEMPLATE.format(model=ProblemOut.__name__)}
