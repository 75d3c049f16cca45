"""Bill of materials of the lock, as CycloneDX 1.6: versions, licences and who needs whom."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any, Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SELF: Final = "heartbit"
_STATED: Final = ("License-Expression", "License")
_CLASSIFIER: Final = "License :: "
_MOST_OF_NAME: Final = 100  # characters; longer ones are the licence's text


def bill(pinned: Mapping[str, str], *, at: datetime | None = None) -> dict[str, Any]:
    """Return the bill of materials as JSON.

    ``scope`` is that of the format: ``required`` is needed by every installation, ``optional`` by
    an extra, ``excluded`` by development alone. Licences are those of the installed metadata; a
    release that this platform does not install has none.

    Args:
        pinned: Versions by distribution.
        at: Time of the bill; None: now.
    """
    own = distribution(SELF)
    extras = list(_extras())
    required = _named(_closure([""], pinned))
    optional = _named(_closure(["", *extras], pinned))
    needs = _closure(["", *extras, "dev"], pinned)

    def scope(name: str) -> str:
        if name in required:
            return "required"
        return "optional" if name in optional else "excluded"

    def component(name: str, version: str) -> dict[str, Any]:
        row = {
            "type": "library",
            "bom-ref": _reference(name, version),
            "name": name,
            "version": version,
            "purl": _reference(name, version),
            "scope": scope(name),
        }
        licences = _licences(_installed(name))
        return {**row, "licenses": licences} if licences else row

    def references(name: str) -> list[str]:
        return sorted(_reference(one, pinned[one]) for one in needs.get(name, ()))

    top = _reference(SELF, own.version)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": (at or datetime.now(UTC)).isoformat(timespec="seconds"),
            "component": {
                "type": "application",
                "bom-ref": top,
                "name": SELF,
                "version": own.version,
                "licenses": _licences(own),
            },
        },
        "components": [component(name, version) for name, version in sorted(pinned.items())],
        "dependencies": [
            {"ref": top, "dependsOn": references(SELF)},
            *(
                {"ref": _reference(name, version), "dependsOn": references(name)}
                for name, version in sorted(pinned.items())
            ),
        ],
    }


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _extras() -> Iterator[str]:
    """Yield the extras of Heartbit, apart from that for development."""
    names = distribution(SELF).metadata.get_all("Provides-Extra") or ()
    yield from (name for name in names if name != "dev")


def _closure(start: Iterable[str], pinned: Mapping[str, str]) -> dict[str, set[str]]:
    """Return what Heartbit with some extras needs: the needs of each distribution by its name."""
    needs: dict[str, set[str]] = {}
    new = {(SELF, extra) for extra in start}
    seen = set(new)
    while new:
        name, extra = new.pop()
        for needed in _requirements(name, extra):
            other = str(canonicalize_name(needed.name))
            if other in pinned:
                needs.setdefault(name, set()).add(other)
                further = {(other, asked) for asked in ("", *needed.extras)} - seen
                seen |= further
                new |= further
    return needs


def _requirements(name: str, extra: str) -> Iterator[Requirement]:
    installed = _installed(name)
    for line in (installed.requires if installed else None) or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield needed


def _named(needs: Mapping[str, Collection[str]]) -> set[str]:
    return {one for others in needs.values() for one in others}


def _licences(installed: Distribution | None) -> list[dict[str, Any]]:
    if installed is None:
        return []
    stated_by = installed.metadata.get_all
    expression, stated = (" ".join(stated_by(name) or ()).strip() for name in _STATED)
    classifiers = stated_by("Classifier") or ()
    for text in (expression, stated):
        try:
            return [{"expression": canonicalize_license_expression(text)}]
        except InvalidLicenseExpression:
            continue
    names = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith(_CLASSIFIER)]
    if not names and 0 < len(stated) <= _MOST_OF_NAME:
        names = [stated]
    return [{"license": {"name": name}} for name in names]
