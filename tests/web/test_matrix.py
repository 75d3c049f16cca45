"""Every route, page and socket by everybody (S7). What has no row in the table fails here."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin

from agents.routing import websocket_urlpatterns
from heartbit_site.api.mount import api, urlpatterns
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.scopes import SCOPES
from heartbit_site.web.urls import urlpatterns as page_patterns
from tests.sizes import chosen
from tests.web.matrix_askers import ANY, ASKERS, MAY
from tests.web.matrix_pages import (
    ALONE,
    NOT_FOUND,
    PAGES,
    REACH_SOCKET,
    SOCKETS,
    Page,
    of_page,
    of_reach_socket,
    of_socket,
)
from tests.web.matrix_routes import BESIDE, BORROWED, NOBODYS, OPEN, ROUTES, Route, of_api
from tests.web.matrix_world import MAKERS, World, build, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

EITHER = [route for route in ROUTES if route.either]
TWICE = [route for route in ROUTES if route.also]
PEOPLE = [asker for asker in ASKERS if not asker.endswith("key")]
OUTSIDERS = ("stranger", "foreign", "anonymous", "wrong", "revoked", "narrow")
HOLDING = re.compile("/(halt|resume|disable|enable|stop|start|pause)$|^/fleet/")
#: Doors, and what operators' programs read, each with a method that it takes.
OF_PROGRAMS = {
    "v1/models": "GET",
    "v1/models/<str:name>": "GET",
    "v1/chat/completions": "POST",
    "v1/responses": "POST",
    "v1/responses/<str:name>": "GET",
    "v1/responses/<str:name>/cancel": "POST",
    "^v1(?:/|$)": "GET",
    "a2a": "POST",
    "a2a/<str:agent>": "POST",
    "a2a/.well-known/agent-card.json": "GET",
    "a2a/<str:agent>/.well-known/agent-card.json": "GET",
    ".well-known/agent-card.json": "GET",
    "^a2a(?:/|$)": "GET",
    "agui/<str:name>": "POST",
    "metrics": "GET",
}
FORM = {"type", "title", "status", "detail", "code"}
PLACES = {
    "uuid:run": "run_id",
    "slug:agent": "name",
    "uuid:conversation": "conversation_id",
    "slug:server": "server",
    "int:passage": "passage_id",
    "int:schedule": "schedule_number",
    "int:version": "number",
    "uuid:test": "test_id",
    "int:turn": "number",
    "uuid:other": "run_id",
    "str:name": "artifact",
}


@pytest.fixture(scope="module")
def world(site: WebServer) -> Iterator[World]:
    yield from build(site)


def ask(
    world: World, route: Route, asker: str, values: dict[str, str], **more: Any
) -> httpx.Response:
    newcomer = values["newcomer"]
    said = json.dumps(route.body).replace("{newcomer}", newcomer)
    body = json.loads(said.replace("{word}", newcomer.replace("-", "_")))
    return world.client(asker, route.scope).request(
        route.method,
        "/api/v1" + route.path.format(**values),
        params=route.query | more.get("query", {}),
        json=None if body is None else body | more.get("body", {}),
    )


def cells_of(route: Route) -> list[tuple[str, int]]:
    found = [(asker, of_api(route, asker)) for asker in ASKERS]
    return [(asker, due) for asker, due in found if due is not None]


def is_asked(route: Route, asker: str) -> bool:
    """Return True for cells of this size; routes that stop or resume others are all played."""
    return bool(HOLDING.search(route.path)) or chosen(f"{route} {asker}", one_of=3)


def is_refused(route: Route, asker: str, due: int) -> bool:
    if asker == "foreign key" and route.scope == "fleet:manage":
        return False  # whoever operates the installation is nowhere foreign
    return asker.startswith(OUTSIDERS) or due in (401, 403)


@pytest.mark.parametrize("route", TWICE, ids=lambda route: f"{route.method} {route.path}")
def test_a_second_scope_is_needed_too(world: World, route: Route) -> None:
    before = world.fingerprint()
    newcomer = MAKERS["newcomer"](world.mine)
    without = replace(route, scope=route.also)
    assert not told(world, without, "narrow key", 403, world.targets | {"newcomer": newcomer})
    assert world.fingerprint() == before, "nothing was written"


@pytest.mark.parametrize("route", EITHER, ids=lambda route: f"{route.method} {route.path}")
def test_one_of_two_scopes_is_enough(world: World, route: Route) -> None:
    path = route.path.format_map(world.targets)
    both = {route.scope, route.either}
    for scopes, due in [({one}, 200) for one in both] + [(set(SCOPES) - both, 403)]:
        key = create_api_key(world.mine, "some", scopes=sorted(filter(None, scopes)))[1]
        headers = {"Authorization": f"Bearer {key}"}
        answer = httpx.get(f"{world.site.url}/api/v1{path}", headers=headers)
        assert answer.status_code == due, scopes


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_everybody_gets_what_the_table_says_of_a_route(world: World, route: Route) -> None:
    wrong = []
    cells = [cell for cell in cells_of(route) if is_asked(route, cell[0])]
    before = world.fingerprint()
    for asker, due in cells:
        if is_refused(route, asker, due):
            newcomer = MAKERS["newcomer"](world.mine)
            wrong += told(world, route, asker, due, world.targets | {"newcomer": newcomer})
    assert world.fingerprint() == before, "nothing was written"
    for asker, due in cells:
        if not is_refused(route, asker, due):
            wrong += told(world, route, asker, due, fresh(world, world.mine, route))
    assert wrong == []


def fresh(world: World, workspace: Workspace, route: Route) -> dict[str, str]:
    """What the address names; something new when it is about to be changed."""
    if route.method == "GET":
        return world.targets
    made = {name: MAKERS[name](workspace) for name in [*places(route.path), "newcomer"]}
    return world.targets | made


def told(
    world: World,
    route: Route,
    asker: str,
    due: int,
    values: dict[str, str],
    **more: Any,
) -> list[str]:
    """What is wrong with an answer."""
    response = ask(world, route, asker, values, **more)
    found = []
    if response.status_code != due:
        found.append(f"{response.status_code} instead of {due}: {response.text[:300]}")
    if response.status_code >= 400:
        if response.headers["content-type"] != "application/problem+json":
            found.append(response.headers["content-type"])
        else:
            found += wrong_problem(response.json(), route, asker)
    if asker.startswith(OUTSIDERS) and f"canary of {world.mine.slug}" in response.text:
        found.append("saw what is mine")
    if f"canary of {world.other.slug}" in response.text and "foreign" not in asker:
        found += [] if asker.startswith("stranger") else ["saw what is another's"]
    return [f"{asker}: {problem}" for problem in found]


def wrong_problem(said: dict[str, Any], route: Route, asker: str) -> list[str]:
    """What is wrong with problem details: a scope is a field, and no word for people."""
    found = (
        [] if FORM <= set(said) <= FORM | {"scope", "remedy"} else [f"the form is {sorted(said)}"]
    )
    is_role = said["status"] == 403 and asker in MAY
    if is_role and said.get("scope") != route.scope:
        found.append(f"names the scope {said.get('scope')}")
    if is_role and any(scope in said["detail"] for scope in MAY["superuser"]):
        found.append(f"says a scope to a person: {said['detail']}")
    return found


def borrowed() -> list[tuple[Route, str, dict[str, Any], str, int]]:
    """Every id of every address, and of bodies and queries: one at a time is another's."""
    found: list[tuple[Route, str, dict[str, Any], str, int]] = []
    by_address = {(route.method, route.path): route for route in ROUTES}
    for route in ROUTES:
        for name in places(route.path):
            if name not in NOBODYS:
                found.append((route, name, {}, name, 404))
    for row in BORROWED:
        route = by_address[row.method, row.path]
        found.append((route, row.name, {row.where: row.name}, row.kind, row.status))
    return found


@pytest.mark.parametrize(
    "row", borrowed(), ids=lambda row: f"{row[0].method} {row[0].path} {row[1]}"
)
@pytest.mark.parametrize("asker", ["admin", "right key"])
def test_an_id_of_another_workspace_names_nothing(
    world: World, there: dict[str, str], asker: str, row: Any
) -> None:
    route, name, elsewhere, kind, due = row
    values, more = dict(world.targets), {}
    if elsewhere:
        more = {where: {field: there[kind]} for where, field in elsewhere.items()}
        if "body" in more:
            more["body"] |= BESIDE[route.path]
    else:
        values[name] = there[kind]
    due = 404 if route.scope in MAY["admin"] | {ANY} or asker == "right key" else 403
    if asker == "right key" and route.no_person:
        due = route.no_person
    assert told(world, route, asker, due, values, **more) == []


@pytest.fixture(scope="module")
def there(world: World) -> dict[str, str]:
    """Something of the other workspace at every address."""
    return {name: make(world.other) for name, make in MAKERS.items()}


# --- Pages -------------------------------------------------------------------------------------


def page_path(world: World, page: Page, values: dict[str, str]) -> str:
    path = page.path
    for place, kind in PLACES.items():
        value = (
            "parked" if kind == "name" and re.search("conversation|test", path) else values[kind]
        )
        path = path.replace(f"<{place}>", value)
    return f"/w/{world.mine.slug}/{path}"


PAGE_CELLS = [(page, asker) for page in PAGES for asker in PEOPLE]


@pytest.mark.parametrize(("page", "asker"), PAGE_CELLS, ids=lambda x: getattr(x, "path", x) or "/")
def test_everybody_gets_what_the_table_says_of_a_page(world: World, page: Page, asker: str) -> None:
    response = world.client(asker, None).get(page_path(world, page, world.targets))
    assert response.status_code == of_page(page, asker), response.text[:300]
    if response.status_code != 200:
        assert f"canary of {world.mine.slug}" not in response.text
    assert f"canary of {world.other.slug}" not in response.text


FOREIGN_PAGES = [page for page in PAGES if "<" in page.path]


@pytest.mark.parametrize("page", FOREIGN_PAGES, ids=lambda page: page.path)
def test_a_page_of_another_workspace_s_row_is_not_there(
    world: World, there: dict[str, str], page: Page
) -> None:
    response = world.client("admin", None).get(page_path(world, page, there))
    assert response.status_code == page.foreign
    assert f"canary of {world.other.slug}" not in response.text


ALONE_CELLS = [(path, who) for path in ALONE for who in ("anonymous", "viewer")]


@pytest.mark.parametrize(("path", "asker"), ALONE_CELLS)
def test_pages_of_no_workspace(world: World, path: str, asker: str) -> None:
    due = ALONE[path][asker != "anonymous"]
    assert world.client(asker, None).get("/" + path.replace("<str:token>", "x")).status_code == due


# --- Sockets -----------------------------------------------------------------------------------


def closed_with(world: World, asker: str, path: str, run: str) -> int | None:
    """The code that a socket is closed with; None: it tells something."""
    sent = world.client(asker, SOCKETS[path]).headers
    slug = sent["Heartbit-Workspace"] if "names" in asker else world.mine.slug
    asks = {"events/": {"type": "subscribe"}, "": None}.get(path, {"type": "resume", "after": {}})
    return close_code(world, sent, f"/ws/{slug}/{path.replace('<uuid:run>', run)}", asks)


def close_code(
    world: World, sent: Mapping[str, str], path: str, asks: dict[str, Any] | None = None
) -> int | None:
    """The code that a socket is closed with; None: it tells something."""
    address = f"ws{world.site.url.removeprefix('http')}{path}"
    headers = {name: sent[name] for name in ("Cookie", "Authorization") if name in sent}
    origin = Origin(world.site.url) if "Cookie" in sent else None  # of a page, not of a program
    with connect(address, origin=origin, additional_headers=headers) as socket:
        with contextlib.suppress(ConnectionClosed):
            if asks:
                socket.send(json.dumps(asks))
            said = json.loads(socket.recv(timeout=20))
            assert said["type"] in ("pulse", "lines", "position")
            return None
        code: int | None = socket.close_code
        return code


SOCKET_CELLS = [(path, asker) for path in SOCKETS for asker in ASKERS]
MINE_ALONE = ("admin", "right key")


@pytest.mark.parametrize(("path", "asker"), SOCKET_CELLS)
def test_everybody_gets_what_the_table_says_of_a_socket(
    world: World, path: str, asker: str
) -> None:
    code = closed_with(world, asker, path, world.targets["run_id"])
    assert code == of_socket(SOCKETS[path], asker)


@pytest.mark.parametrize("asker", ASKERS)
def test_everybody_gets_what_the_table_says_of_the_admins_socket(world: World, asker: str) -> None:
    code = close_code(world, world.client(asker, "runs:read").headers, f"/{REACH_SOCKET}")
    assert code == of_reach_socket(asker)


@pytest.mark.parametrize("asker", MINE_ALONE)
def test_a_socket_of_another_workspace_s_run_is_not_there(
    world: World, there: dict[str, str], asker: str
) -> None:
    assert closed_with(world, asker, "runs/<uuid:run>/", there["run_id"]) == NOT_FOUND


# --- Nothing is left out -----------------------------------------------------------------------


def test_every_route_has_a_row() -> None:
    mounted = set()
    for entry in urlpatterns:
        if isinstance(entry, URLResolver):
            for pattern in entry.url_patterns:
                assert isinstance(pattern, URLPattern), "a nested include needs a look"
                mounted.add(str(pattern.pattern).replace("<", "{").replace(">", "}"))
    assert mounted == {route.path.lstrip("/") for route in ROUTES} | OPEN
    described = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, operations in api.get_openapi_schema()["paths"].items()
        for method in operations
    }
    assert described == {(route.method, route.path) for route in ROUTES}


def test_every_page_has_a_row() -> None:
    assert {str(entry.pattern) for entry in page_patterns} == {page.path for page in PAGES}
    top = [str(entry.pattern) for entry in get_resolver().url_patterns]
    documents = {"docs/", "docs/<path:name>"}  # for everybody: tests/web/test_documents.py
    places = {"w/<slug:workspace>/", "admin/", "api/v1/", "^api(?:/|$)"}
    known = {*ALONE, *documents, *places}
    assert set(top) - known == set(OF_PROGRAMS)


@pytest.mark.parametrize(("path", "method"), OF_PROGRAMS.items())
def test_no_path_of_programs_opens_without_a_key(world: World, path: str, method: str) -> None:
    """What each does for whom is asked in tests/doors and tests/monitoring."""
    place = re.sub(r"<[^>]*>", "writer", path.replace("(?:/|$)", "/x/y").removeprefix("^"))
    before = world.fingerprint()
    for asker in ("anonymous", "wrong key", "revoked key"):
        response = world.client(asker, None).request(method, f"/{place}", json={})
        due = {404} if path.startswith("^") else {401}
        assert response.status_code in due, (asker, response.text[:300])
        assert "json" in response.headers["content-type"]
    assert world.fingerprint() == before, "nothing was written"


def test_every_socket_has_a_row() -> None:
    prefix = re.compile("^ws/<slug:workspace>/")
    found = {prefix.sub("", str(entry.pattern)) for entry in websocket_urlpatterns}
    assert found == {*SOCKETS, REACH_SOCKET}


def test_the_number_of_cells(capsys: pytest.CaptureFixture[str]) -> None:
    routes = sum(len(cells_of(route)) for route in ROUTES)
    ids = 2 * len(borrowed())
    pages = len(PAGE_CELLS) + len(FOREIGN_PAGES) + len(ALONE_CELLS)
    sockets = len(SOCKET_CELLS) + len(ASKERS) + len(MINE_ALONE)
    with capsys.disabled():
        print(  # noqa: T201  the figure of S7
            f"\nS7: {routes + ids + pages + sockets} cells: {routes} of routes, {ids} of ids, "
            f"{pages} of pages, {sockets} of sockets"
        )
    assert routes > 500
