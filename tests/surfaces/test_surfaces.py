"""Every verb of every noun on every surface: a hole that nobody has declared is red."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest

import heartbit_site.library as library
import heartbit_site.urls  # noqa: F401  registers the installation's pages of the admin
from heartbit_site.cli.main import COMMANDS, load
from heartbit_site.contract.operation import noun_modules, operations_of
from heartbit_site.web.urls import urlpatterns
from tests.surfaces import table
from tests.web.matrix_pages import LISTS

if TYPE_CHECKING:
    from collections.abc import Iterator

SURFACES = ("REST", "command", "page", "admin", "library")
BEAT = "django_celery_beat/"


def lines(text: str) -> list[list[str]]:
    found = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    assert all(len(cells) == len(SURFACES) for cells in found)
    return found


ROWS = lines(table.TABLE)
LOCAL = lines(table.WITHOUT_ROUTE)
HANDLERS = {one.handler for module in noun_modules() for one in operations_of(module)}


@cache
def commands() -> frozenset[str]:
    """Every command that does something."""
    found = set()
    for name in COMMANDS:
        words = getattr(load(name), "commands", None) or [""]
        found |= {f"{name} {word}".strip() for word in words}
    return frozenset(found)


@cache
def pages() -> frozenset[str]:
    return frozenset(str(entry.name) for entry in urlpatterns)


@cache
def admins() -> dict[str, Any]:
    admin.autodiscover()
    return {
        f"{model._meta.app_label}/{model._meta.model_name}": page
        for model, page in admin.site._registry.items()
    }


def problem(surface: str, cell: str) -> str:
    """What is wrong with a cell; empty: nothing."""
    if not cell:
        return "a hole that nobody has declared: build it, or name a reason"
    if cell.startswith("-"):
        return "" if cell[1:] in table.REASONS else f"no reason is called {cell[1:]}"
    match surface:
        case "REST":
            return "" if cell in HANDLERS else "no such operation"
        case "command":
            return "" if cell in commands() else "no such command"
        case "page":
            return "" if cell in pages() else "no such page"
        case "admin":
            return _admin_problem(*cell.partition(" ")[::2])
    return "" if _exists(cell) else "the library has no such name"


def _admin_problem(place: str, verb: str) -> str:
    page = admins().get(place)
    if page is None:
        return "no such list of the admin"
    if not verb:
        return ""
    request = HttpRequest()
    request.user = User(is_active=True, is_staff=True, is_superuser=True)
    return "" if getattr(page, f"has_{verb}_permission")(request) else f"nobody may {verb} there"


def _exists(name: str) -> bool:
    found: Any = library
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def cells() -> Iterator[tuple[str, str, str]]:
    for row in ROWS:
        yield from ((row[0], surface, cell) for surface, cell in zip(SURFACES, row, strict=True))
    for row in LOCAL:
        yield from ((row[0], *one) for one in zip(SURFACES[1:], row[1:], strict=True))


def test_every_cell_is_true_or_has_a_reason() -> None:
    wrong = [
        f"{verb}: {surface} {cell!r}: {said}"
        for verb, surface, cell in cells()
        if (said := problem(surface, cell))
    ]
    assert wrong == []


def test_nothing_of_a_surface_is_left_out() -> None:
    assert Counter(row[0] for row in ROWS) == Counter(HANDLERS), "one row for each operation"
    used = {surface: set[str]() for surface in SURFACES}
    for _, surface, cell in cells():
        used[surface].add(cell.partition(" ")[0] if surface == "admin" else cell)
    assert commands() - used["command"] == table.COMMANDS_OF_THE_MACHINE
    assert pages() - used["page"] == table.PARTS_OF_PAGES
    listed = {path.rstrip("/") for path in LISTS if not path.startswith(BEAT)}
    assert listed - used["admin"] == table.OF_OTHER_PACKAGES
    reasons = {cell[1:] for _, _, cell in cells() if cell.startswith("-")}
    assert reasons == table.REASONS.keys(), "a reason that nothing has"


def test_an_empty_cell_is_red() -> None:
    assert "hole" in problem("command", "")
    assert problem("command", "agents explode") == "no such command"
    assert problem("admin", "agents/run add") == "nobody may add there"


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    counts = {surface: Counter[str]() for surface in SURFACES}
    printed = []
    for row in (*ROWS, *LOCAL):
        noun, _, verb = row[0].partition(".")
        shown = [row[0] if row in LOCAL else f"{noun} {verb}"]
        for surface, cell in zip(SURFACES, row, strict=True):
            is_route = surface != "REST" or row in ROWS
            kind = "left out" if cell.startswith("-") or not is_route else "there"
            counts[surface][kind] += 1
            if surface != "REST":
                shown.append(re.sub("^-", "no: ", cell))
        printed.append(" | ".join(shown))
    figures = "; ".join(
        f"{surface} {count['there']} there, {count['left out']} left out"
        for surface, count in counts.items()
    )
    with capsys.disabled():
        print("\n" + "\n".join(printed))  # noqa: T201  the table of surfaces
        for name, reason in table.REASONS.items():
            print(f"no: {name}: {reason}")  # noqa: T201
        print(f"surfaces: {len(printed)} verbs; {figures}")  # noqa: T201
