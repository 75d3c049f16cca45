"""The tool that searches the web, at Brave or a SearXNG server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from heartbit_site.base.credentials import Key, Url, UrlCredential
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from heartbit_site.base.untrusted import JSONValue
from heartbit_site.base.web_url import split_web_url
from tools.connectors.service import ServiceError, read_json
from tools.credentials.hiding import hide_secrets
from tools.credentials.http_auth import header_value
from tools.mail.headers import one_line
from tools.mail.html_text import text_of_html

if TYPE_CHECKING:
    import httpx


Period = Literal["day", "week", "month", "year"]

_MOST_OF_TITLE = 200
_MOST_OF_SNIPPET = 500
_MOST_OF_URL = 2_000
_MOST_OF_MARKUP = 20_000
_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class BraveCredential(UrlCredential):
    """A key for Brave's search API."""

    kind = "brave"
    label = "Web search (Brave)"

    url: Url = "https://api.search.brave.com/res/v1"
    key: Key


class SearxngCredential(UrlCredential):
    """A SearXNG server whose settings allow the format json."""

    kind = "searxng"
    label = "Web search (SearXNG)"


Engine = BraveCredential | SearxngCredential


@tool(
    effect=Effect.PURE,
    timeout_seconds=40,
    tags=("connector", "network"),
    labels=(Label.UNTRUSTED, Label.OUTBOUND),
)
async def web_search(
    context: ToolContext,
    engine: BraveCredential | SearxngCredential,
    query: Annotated[str, Field(min_length=1, max_length=400)],
    count: Annotated[int, Field(ge=1, le=20, description="Number of results at most.")] = 10,
    period: Annotated[
        Period | None, Field(description="Only pages of the last day, week, month or year.")
    ] = None,
) -> list[dict[str, str]]:
    """Search the web: titles, URLs and snippets of pages. Read a page with web_fetch."""
    return await search_web(engine, context.http, query, count=count, period=period)


async def search_web(
    engine: Engine,
    http: httpx.AsyncClient,
    query: str,
    *,
    count: int,
    period: Period | None = None,
) -> list[dict[str, str]]:
    """Return the results of a search: title, url and snippet of each.

    Raises:
        ServiceError: The engine refuses the request, or its response is not the documented one.
        httpx.HTTPError: The engine cannot be reached.
    """
    base = engine.url.rstrip("/")
    if isinstance(engine, BraveCredential):
        parameters = {"q": query, "count": str(count)}
        if period is not None:
            parameters["freshness"] = _FRESHNESS[period]
        headers = {"accept": "application/json", "x-subscription-token": header_value(engine.key)}
        response = await http.get(
            f"{base}/web/search", params=parameters, headers=headers, follow_redirects=False
        )
        answer = read_json(response, "Brave", engine)
        web = answer.get("web") if isinstance(answer, dict) else None
        found = web.get("results") if isinstance(web, dict) else None
        if found is None and isinstance(answer, dict) and answer.get("type") == "search":
            found = []  # nothing was found on the web
        return _results(found, "Brave", "description", engine)[:count]
    parameters = {"q": query, "format": "json"}
    if period is not None:
        parameters["time_range"] = period
    response = await http.get(f"{base}/search", params=parameters, follow_redirects=False)
    if response.status_code == 403:
        raise ServiceError("SearXNG refused the request: allow the format json in its settings.")
    answer = read_json(response, "SearXNG", engine)
    found = answer.get("results") if isinstance(answer, dict) else None
    return _results(found, "SearXNG", "content", engine)[:count]


def _results(found: JSONValue, name: str, snippet: str, engine: Engine) -> list[dict[str, str]]:
    if not isinstance(found, list):
        raise ServiceError(f"{name} returned no list of results: check the URL {engine.url}.")
    results = []
    for one in found:
        url = one.get("url") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(url, str) or len(url) > _MOST_OF_URL:
            continue
        if split_web_url(url) is None:
            continue
        shown = {
            "title": _line(one.get("title"), _MOST_OF_TITLE),
            "url": url,
            "snippet": _line(one.get(snippet), _MOST_OF_SNIPPET),
        }
        results.append({key: hide_secrets(text, engine) for key, text in shown.items()})
    return results


def _line(value: object, most: int) -> str:
    return one_line(text_of_html(value[:_MOST_OF_MARKUP]), most) if isinstance(value, str) else ""
