"""Codes of errors, from the exceptions that have them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Final

from heartbit_site.api.errors import problem_code, status_of
from heartbit_site.base.errors import HeartbitError
from tests.reference.markdown import table

_PACKAGES: Final = ("heartbit_site.base", "heartbit_site.api", "heartbit_site.operations")
_APPS: Final = ("agents", "memory", "scheduling", "tools")
_HEAD: Final = """# Error codes

An error of the REST API is a problem details object (RFC 9457): `code` is for programs, `detail` one sentence
for people, with the remedy ([REST API](../howto/rest-api.md#errors)). Beside the codes of this table there are
`validation` (422, the request is not of its form), `not_found` (404, an address of nothing), `http`, `unavailable`
and `disk_full` (503, the database), and `internal` (500, a defect; the server's log has it).
Exit codes of commands are on [the command line's page](cli.md#exit-codes).

"""


def page() -> str:
    """Return the page."""
    for package in (*_PACKAGES, *_APPS):
        _import(package)
    kinds = {problem_code(kind): kind for kind in _below(HeartbitError) if _is_ours(kind)}
    rows = (
        [f"`{code}`", str(status_of(kind.__new__(kind))), (kind.__doc__ or "").split("\n\n")[0]]
        for code, kind in sorted(kinds.items())
    )
    return _HEAD + table("code, status, meaning", rows)


def _import(package: str) -> None:
    """Import the modules that define exceptions."""
    found = importlib.import_module(package)
    for module in pkgutil.walk_packages(found.__path__, f"{package}."):
        if module.name.endswith("errors") or package in _PACKAGES:
            importlib.import_module(module.name)


def _is_ours(kind: type[HeartbitError]) -> bool:
    return kind.__module__.startswith((*_PACKAGES, *(f"{app}." for app in _APPS)))


def _below(kind: type[HeartbitError]) -> Iterator[type[HeartbitError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
